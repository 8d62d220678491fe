//! A one-shot connection: opened, asked one question and closed.
//!
//! An application without a pool makes one such connection for every page. The load engine repeats them and times them;
//! nothing is kept between two of them. Of the proofs only the cheap one is made here, the address family; the rest is
//! proved on a connection of the same kind, once per epoch.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use looptax_model::dsn::Arm;
use looptax_model::dsn::Protocol;
use looptax_wire::{Login, WireError, fastcgi, mysql, postgres, redis, upstream};

use crate::path::conversation::{ProtocolConnection, log_in, sealed};
use crate::path::endpoint::has_family;
use crate::path::workload::{PING_BYTES, ping};
use crate::path::{Admitted, Calls, Conversation, Endpoint, Limits, Link, PathError, TlsClient};

/// A key that no server has.
const MISSING_KEY: &[u8] = b"looptax:missing";

/// The destination of one-shot connections, and how they connect.
#[derive(Debug, Clone)]
pub struct OneShot {
    /// The arm that the endpoint must be.
    pub arm: Arm,
    pub protocol: Protocol,
    /// Where.
    pub endpoint: Endpoint,
    pub login: Login,
    /// That the peer was looked at, on a connection of the same kind: to look again each time would be measured, too.
    pub admitted: Admitted,
    pub limits: Limits,
    /// How it is sealed, if it is.
    pub tls: Option<TlsClient>,
    /// Connections that it and its copies have begun to open.
    pub n_begun: Arc<AtomicU64>,
}

impl OneShot {
    /// Connects, logs in, asks once, says goodbye, and waits until the server has closed, too.
    ///
    /// # Errors
    /// Those of [`Conversation::open`]; [`PathError::Unproved`] when the address family is not the
    /// arm's; [`PathError::Protocol`] for a wrong answer.
    ///
    /// # Cost
    /// Allocates as any login does.
    pub fn run(&self) -> Result<Calls, PathError> {
        let endpoint = &self.endpoint;
        let mut conversation = self.begin()?;
        let failed = |action| move |source| PathError::Protocol { action, endpoint: endpoint.to_string(), source };
        conversation.ask_once().map_err(failed("send one query"))?;
        conversation.close().map_err(failed("end the connection"))
    }
}

impl OneShot {
    /// Connects, logs in, and looks at the address family.
    pub(crate) fn begin(&self) -> Result<Conversation, PathError> {
        self.n_begun.fetch_add(1, Ordering::Relaxed);
        let conversation = Conversation::open_briefly(self)?;
        let facts = conversation.facts();
        // Only the process that moves a connection knows where it leads: the caller compares counts.
        if self.arm == Arm::Redirect || has_family(self.arm, facts.family) {
            return Ok(conversation);
        }
        Err(PathError::Unproved {
            arm: self.arm.name(),
            connection_id: conversation.connection_id(),
            found: format!("address family {:?}", facts.family),
        })
    }
}

impl Conversation {
    /// Connects and logs in as an application does: without questions about the server, and of the kernel's facts it
    /// reads only the family.
    ///
    /// # Errors
    /// As [`Conversation::open`].
    fn open_briefly(one_shot: &OneShot) -> Result<Self, PathError> {
        let OneShot { arm, protocol, endpoint, login, admitted, limits, tls, .. } = one_shot;
        let link = Link::open_briefly(*arm, endpoint, *limits)?;
        let facts = link.facts().clone();
        if let Some(tls) = tls {
            let connection = sealed::log_in(*protocol, link, login, *admitted, tls, limits.io, true);
            return Self::from_sealed_login(connection, facts, endpoint, *admitted);
        }
        let connection = match protocol {
            Protocol::Redis => redis::Connection::login_briefly(link, login, limits.io).map(ProtocolConnection::Redis),
            Protocol::Fastcgi => {
                let silent = fastcgi::Connection::silent(link, login.place());
                Ok(ProtocolConnection::Fastcgi(silent))
            }
            Protocol::Http => {
                let silent = upstream::Connection::silent(link, login.place());
                Ok(ProtocolConnection::Http(silent))
            }
            _ => log_in(*protocol, link, login, *admitted, limits.io),
        };
        Self::from_login(connection, facts, endpoint, *admitted)
    }

    /// One round trip that reads no table, and compares the answer with the expected one.
    fn ask_once(&mut self) -> Result<(), WireError> {
        let is_right = match &mut self.connection {
            ProtocolConnection::Mysql(it) => has_one_cell(&it.query(&ping())?),
            ProtocolConnection::Postgres(it) => has_one_cell(&it.query(&ping())?),
            ProtocolConnection::Redis(it) => it.command(&[b"GET", MISSING_KEY])? == redis::Value::Bulk(None),
            ProtocolConnection::Echo(it) => return it.exchange(),
            // They have no login, and MongoDB's would be the 15 000 rounds of its SCRAM and nothing else; besides,
            // memcached has a separate process on each arm.
            ProtocolConnection::Memcached(_)
            | ProtocolConnection::Mongodb(_)
            | ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_) => {
                return Err(WireError::Unsupported { what: "a login".to_owned() });
            }
        };
        if is_right {
            return Ok(());
        }
        Err(WireError::Malformed {
            protocol: self.protocol().title(),
            action: "send one query",
            expected: "one row of 120 bytes, or nothing for a missing key",
            found: "something else".to_owned(),
        })
    }

    /// Ends the session as a client should, so that the server counts no aborted one and logs none; without waiting for
    /// the server's end.
    pub fn leave(self) {
        let goodbye = self.goodbye();
        // The server may be gone; then the goodbye has no receiver.
        let _gone = self.into_link().write_all(goodbye);
    }

    /// Says goodbye where the protocol has a word for it, closes this end as any client does then, and
    /// waits for the server's end.
    fn close(self) -> Result<Calls, WireError> {
        let goodbye = self.goodbye();
        self.into_link().end(goodbye)
    }

    /// Returns the protocol's last message; empty if it does not have one.
    pub(crate) fn goodbye(&self) -> &'static [u8] {
        match &self.connection {
            ProtocolConnection::Mysql(_) => &mysql::GOODBYE,
            ProtocolConnection::Postgres(_) => &postgres::GOODBYE,
            ProtocolConnection::Redis(_)
            | ProtocolConnection::Memcached(_)
            | ProtocolConnection::Mongodb(_)
            | ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_)
            | ProtocolConnection::Echo(_) => &[],
        }
    }
}

fn has_one_cell(rows: &[Vec<Option<Vec<u8>>>]) -> bool {
    match rows {
        [row] => matches!(row.as_slice(), [Some(cell)] if cell.len() == PING_BYTES),
        _ => false,
    }
}
