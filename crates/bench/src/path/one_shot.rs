//! A one-shot connection: opened, used for one query and closed.
//!
//! An application without a pool makes a one-shot connection for every page. The load engine repeats and times one-shot
//! connections; nothing is kept from one connection to the next. On each connection looptax makes only the cheapest
//! proof, that of the address family. It makes the other proofs once per epoch, on a connection of the same kind.

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

/// A key that is on no server.
const MISSING_KEY: &[u8] = b"looptax:missing";

/// The destination of one-shot connections, and how they connect.
#[derive(Debug, Clone)]
pub struct OneShot {
    /// The arm that the endpoint must belong to.
    pub arm: Arm,
    pub protocol: Protocol,
    pub endpoint: Endpoint,
    pub login: Login,
    /// Proof that the peer was checked on a connection of the same kind: a check on each connection would be part of
    /// the measurement.
    pub admitted: Admitted,
    pub limits: Limits,
    /// The TLS client, if connections use TLS.
    pub tls: Option<TlsClient>,
    /// Number of connections that this value and its copies have begun to open.
    pub n_begun: Arc<AtomicU64>,
}

impl OneShot {
    /// Connects, logs in, sends one query, says goodbye, and waits until the server has closed the connection, too.
    ///
    /// # Errors
    /// The errors of [`Conversation::open`]; [`PathError::Unproved`] if the address family is not the arm's;
    /// [`PathError::Protocol`] for a wrong answer.
    ///
    /// # Cost
    /// Allocates, as any login does.
    pub fn run(&self) -> Result<Calls, PathError> {
        let endpoint = &self.endpoint;
        let mut conversation = self.begin()?;
        let failed = |action| move |source| PathError::Protocol { action, endpoint: endpoint.to_string(), source };
        conversation.ask_once().map_err(failed("send one query"))?;
        conversation.close().map_err(failed("end the connection"))
    }
}

impl OneShot {
    /// Connects, logs in, and checks the address family.
    pub(crate) fn begin(&self) -> Result<Conversation, PathError> {
        self.n_begun.fetch_add(1, Ordering::Relaxed);
        let conversation = Conversation::open_briefly(self)?;
        let facts = conversation.facts();
        // For the arm `redirect`, only the process that moves a connection knows the destination of the connection. So
        // the caller compares the counts of that process.
        if self.arm == Arm::Redirect || has_family(self.arm, facts.family) {
            return Ok(conversation);
        }
        Err(PathError::Unproved {
            arm: self.arm.name(),
            connection_id: conversation.connection_id(),
            found: format!("its address family is {:?}", facts.family),
        })
    }
}

impl Conversation {
    /// Connects and logs in as an application does: sends no queries about the server, and reads only the address
    /// family from the kernel.
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

    /// Makes one round trip that reads no table, and compares the answer with the expected one.
    fn ask_once(&mut self) -> Result<(), WireError> {
        let is_right = match &mut self.connection {
            ProtocolConnection::Mysql(it) => has_one_cell(&it.query(&ping())?),
            ProtocolConnection::Postgres(it) => has_one_cell(&it.query(&ping())?),
            ProtocolConnection::Redis(it) => it.command(&[b"GET", MISSING_KEY])? == redis::Value::Bulk(None),
            ProtocolConnection::Echo(it) => return it.exchange(),
            // Not supported: most of these protocols have no login, and MongoDB's login would measure only the 15 000
            // rounds of its SCRAM. Besides, memcached has a separate process for each arm.
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

    /// Ends the session as a client should, so that the server does not count or log an aborted session. Does not wait
    /// until the server has closed its end.
    pub fn leave(self) {
        let goodbye = self.goodbye();
        // If the server has ended, this fails without harm.
        let _gone = self.into_link().write_all(goodbye);
    }

    /// Says goodbye if the protocol has a message for it, then closes this end as any client does, and waits until the
    /// server has closed its end.
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
