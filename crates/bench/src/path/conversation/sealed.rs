//! Logins over TLS: at which point each protocol starts it.

use std::io;
use std::time::Duration;

use looptax_model::dsn::Protocol;
use looptax_wire::{Login, WireError, mysql, postgres, redis};

use super::protocol::ProtocolConnection;
use crate::path::{Admitted, Link, TlsClient, TlsFacts};

/// Starts TLS at the point that the protocol requires, and logs in. If `is_brief`, Redis gets only the commands that an
/// application sends at its login.
pub(crate) fn log_in(
    protocol: Protocol,
    mut link: Link,
    login: &Login,
    admitted: Admitted,
    tls: &TlsClient,
    limit: Duration,
    is_brief: bool,
) -> Result<(ProtocolConnection, TlsFacts), WireError> {
    let mut facts = None;
    let mut start = |link: &mut Link| -> io::Result<()> {
        link.start_tls(tls)?;
        facts.clone_from(&link.facts().tls);
        Ok(())
    };
    let connection = match protocol {
        // TLS starts after the server's greeting.
        Protocol::Mysql => ProtocolConnection::Mysql(mysql::Connection::login_over_tls(
            link,
            &admitted.with(login),
            limit,
            &mut start,
        )?),
        // The client's first message asks for TLS.
        Protocol::Postgres => {
            postgres::ask_for_tls(&mut link, limit)?;
            start(&mut link).map_err(failed)?;
            ProtocolConnection::Postgres(postgres::Connection::login(link, login, limit)?)
        }
        // TLS starts with the first byte, on a separate port.
        Protocol::Redis => {
            start(&mut link).map_err(failed)?;
            let log_in = if is_brief { redis::Connection::login_briefly } else { redis::Connection::login };
            ProtocolConnection::Redis(log_in(link, login, limit)?)
        }
        Protocol::Memcached | Protocol::Mongodb | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => {
            return Err(none(protocol));
        }
    };
    let facts = facts.ok_or_else(|| none(protocol))?;
    Ok((connection, facts))
}

fn failed(source: io::Error) -> WireError {
    WireError::Io { action: "start TLS", source }
}

fn none(protocol: Protocol) -> WireError {
    WireError::Unsupported { what: format!("TLS to {}", protocol.title()) }
}
