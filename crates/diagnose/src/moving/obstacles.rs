//! What speaks against moving, by server: its port's protocol, and logins that would differ.
//!
//! The program logs in as over TCP and does not know that it is on a socket. Where that may end otherwise
//! and nobody knows which account it has, its connections stay on TCP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use looptax_advise::check::Hba;
use looptax_discover::Server;
use looptax_dsn::Kind;

use super::candidate::Candidate;
use crate::check::hba_file;

/// A server on this machine answers at once; one that does not is left alone.
const PATIENCE: Duration = Duration::from_secs(1);

/// Words of a program that show that it demands TLS: PostgreSQL refuses it on its socket, and elsewhere
/// whoever demands it has a reason that we do not know.
///
/// `PGSSLMODE=require` holds PostgreSQL's first one as well; MySQL's are those of Connector/J, of MariaDB's,
/// of the command lines, and of go-sql-driver, whose `tls` is too short a word to stand alone.
pub(super) fn demands(kind: Kind) -> Vec<String> {
    let words: &[&str] = match kind {
        Kind::Postgres | Kind::Pgbouncer => &[
            "sslmode=require",
            "sslmode=verify",
            "ssl=require",
            "ssl=verify",
            "ssl=true",
            "sslnegotiation=direct",
            "channel_binding=require",
            "channelbinding=require",
            "gssencmode=require",
        ],
        Kind::Mysql | Kind::Mariadb | Kind::Percona | Kind::Proxysql => &[
            "sslmode=required",
            "sslmode=verify",
            "sslmode=trust",
            "ssl-mode=required",
            "ssl-mode=verify",
            "usessl=true",
            "requiressl=true",
            "?tls=true",
            "&tls=true",
            "?tls=skip-verify",
            "&tls=skip-verify",
        ],
        _ => &[],
    };
    words.iter().map(|it| (*it).to_owned()).collect()
}

/// Whether the port speaks what the socket speaks.
pub(super) fn of_port(pair: &Candidate, server: &Server) -> Option<String> {
    let is_redis = matches!(
        server.kind,
        Kind::Redis | Kind::Valkey | Kind::Keydb | Kind::Dragonfly
    );
    let first = *pair.from.first()?;
    (is_redis && !answers_plainly(first))
        .then(|| "the port does not answer plainly: it speaks TLS, or its server hangs".to_owned())
}

/// Whether somebody answers a PING in Redis's own protocol.
fn answers_plainly(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<u8> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"PING\r\n")?;
        let mut first = [0];
        stream.read_exact(&mut first)?;
        Ok(first[0])
    };
    // A server that wants a password first says so in an error.
    ask().is_ok_and(|first| first == b'+' || first == b'-')
}

/// Whether some account that gets in over TCP may not get in over the socket.
pub(super) fn of_logins(server: &Server) -> Option<String> {
    match server.kind {
        Kind::Mysql | Kind::Percona if !is_before_version_8(server) => Some(
            "over the socket MySQL 8 and later take a password only in clear once its cache has lost it, which no client does that believes in TCP and has no TLS; --check DSN tries the login, --map moves it whatever happens"
                .to_owned(),
        ),
        Kind::Postgres => rules(server),
        _ => None,
    }
}

fn is_before_version_8(server: &Server) -> bool {
    let version = server.version.as_deref().unwrap_or_default();
    let major = version
        .split('.')
        .next()
        .and_then(|it| it.parse::<u32>().ok());
    major.is_some_and(|major| major < 8)
}

fn rules(server: &Server) -> Option<String> {
    let unknown = "--check DSN tries the login, --map moves it whatever happens";
    let Some((path, text)) = hba_file(server) else {
        return Some(format!(
            "its pg_hba.conf, which may treat sockets otherwise, cannot be read; {unknown}"
        ));
    };
    let hba = Hba::parse(&text);
    if let Some(number) = hba.unread.first() {
        return Some(format!(
            "line {number} of {path} was not understood; {unknown}"
        ));
    }
    let line = hba.otherwise_on_sockets()?;
    let (number, method) = (line.number, &line.method);
    Some(format!(
        "line {number} of {path} lets in over the socket by `{method}`, which may refuse who gets in over TCP; {unknown}"
    ))
}
