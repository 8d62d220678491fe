//! Determines which sessions from this machine are encrypted, according to the server's list.
//!
//! The server lists only the sessions that the login may see; without rights to the list, there are no points.

use std::net::IpAddr;

use looptax_advise::check::{self, SealedSession};
use looptax_model::dsn::Protocol;
use looptax_model::record::Point;

use super::sides::{Opened, Sides};

const MOST_SESSIONS: usize = 1_000;

/// Returns points about the encrypted sessions, without looptax's own sessions.
pub(super) fn points(opened: &mut [&mut Opened], sides: &Sides<'_>) -> Vec<Point> {
    let own: Vec<String> =
        opened.iter().filter_map(|it| Some(it.conversation.as_ref().ok()?.connection_id().to_string())).collect();
    let Some(asked) = opened.iter_mut().find(|it| it.conversation.is_ok()) else {
        return Vec::new();
    };
    let own = own.join(",");
    let address = sides.address;
    let (sessions, port) = match address.protocol {
        Protocol::Mysql => (mysql(asked, &own), "SELECT @@port"),
        // A pooler's sessions are not its server's sessions.
        Protocol::Postgres if !sides.is_pooler() => (postgres(asked, &own), "SELECT current_setting('port')"),
        _ => return Vec::new(),
    };
    if sessions.is_empty() {
        return Vec::new();
    }
    // The address of a socket contains only the usual port, so looptax asks the server for its real port.
    let port = asked.ask(|it| it.number::<u16>(port)).unwrap_or_else(|| sides.tcp.port());
    let user = address.user.as_deref().unwrap_or("USER");
    let target = format!("{}://{user}@127.0.0.1:{port}/", address.protocol);
    let kind = sides.server.map_or_else(|| address.protocol.to_string(), |it| it.kind.name().to_owned());
    check::sealed_sessions(&kind, &target, &sessions)
}

/// Returns the encrypted sessions; empty if the Performance Schema is off, which is MariaDB's default.
fn mysql(asked: &mut Opened, own: &str) -> Vec<SealedSession> {
    let attribute = |name: &str| {
        format!(
            "(SELECT ATTR_VALUE FROM performance_schema.session_connect_attrs WHERE PROCESSLIST_ID = p.ID AND ATTR_NAME = '{name}')"
        )
    };
    let sql = format!(
        "SELECT p.USER, p.HOST, {}, CONCAT_WS(' ', {}, {}) FROM performance_schema.threads t \
         JOIN information_schema.PROCESSLIST p ON p.ID = t.PROCESSLIST_ID \
         WHERE t.CONNECTION_TYPE = 'SSL/TLS' AND p.ID NOT IN ({own}) LIMIT {MOST_SESSIONS}",
        attribute("program_name"),
        attribute("_client_name"),
        attribute("_client_version"),
    );
    let rows = asked.ask(|it| it.rows::<4>(&sql)).unwrap_or_default();
    let session = |[user, host, program, library]: [Option<String>; 4]| {
        // For a session over TCP, the column has a port after the host, also after `localhost`.
        let host = host?;
        let over_tcp = host.rsplit_once(':').map(|it| it.0);
        (host == "localhost" || over_tcp.is_some_and(is_loopback)).then(|| SealedSession {
            is_on_socket: over_tcp.is_none(),
            user: user.unwrap_or_default(),
            program: program.unwrap_or_default(),
            library: library.unwrap_or_default(),
        })
    };
    rows.into_iter().filter_map(session).collect()
}

fn postgres(asked: &mut Opened, own: &str) -> Vec<SealedSession> {
    let sql = format!(
        "SELECT a.usename::text, host(a.client_addr), a.application_name FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
         WHERE s.ssl AND pid NOT IN ({own}) LIMIT {MOST_SESSIONS}"
    );
    let rows = asked.ask(|it| it.rows::<3>(&sql)).unwrap_or_default();
    let session = |[user, host, program]: [Option<String>; 3]| {
        host.as_deref().is_some_and(is_loopback).then(|| SealedSession {
            is_on_socket: false,
            user: user.unwrap_or_default(),
            program: program.unwrap_or_default(),
            library: String::new(),
        })
    };
    rows.into_iter().filter_map(session).collect()
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|it| it.to_canonical().is_loopback())
}
