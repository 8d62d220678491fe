//! `PgBouncer` in front of a private PostgreSQL.
//!
//! One process accepts all clients, both over a socket and over TCP. `PgBouncer` has two database names for the same
//! PostgreSQL database: for one name, it connects to PostgreSQL's socket; for the other name, to PostgreSQL's port. A
//! prepared statement belongs to its client's session; in modes other than session pooling, `PgBouncer` supports
//! prepared statements only from version 1.21 on. Tested live with 1.18.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use looptax_wire::{Login, WireError, postgres};

use super::recipe::{Engine, Launch, Pooling, Site};
use crate::servers::pooler::PoolMode;
use crate::servers::spawn::Program;
use crate::servers::stopping::Stoppable;
use crate::servers::{ServerError, binary};

/// The database name for which `PgBouncer` connects to PostgreSQL's port. For the database's own name, it connects to
/// the socket.
const OVER_TCP: &str = "looptax_tcp";

const CONFIG_FILE: &str = "pgbouncer.ini";
const USERS_FILE: &str = "pgbouncer.users";

/// How long `PgBouncer` may take to be ready. It reads two files, and connects to PostgreSQL only after a client has
/// connected.
const READY_LIMIT: Duration = Duration::from_secs(10);

/// The first version that keeps clients' prepared statements in every mode.
const PREPARES_FROM: (u32, u32) = (1, 21);
/// Number of prepared statements that `PgBouncer` keeps for each connection to PostgreSQL. Before 1.24 the default is
/// 0.
const MOST_PREPARED: (&str, &str) = ("max_prepared_statements", "200");

/// The settings for the record, without the mode and the addresses.
const SETTINGS: [(&str, &str); 7] = [
    ("auth_type", "scram-sha-256"),
    ("server_reset_query", "DISCARD ALL"),
    ("server_idle_timeout", "0"),
    ("server_lifetime", "86400"),
    ("log_connections", "0"),
    ("log_disconnections", "0"),
    ("log_stats", "0"),
];

pub(super) const ENGINE: Engine = Engine {
    prepare: |site| {
        let users = format!("\"{}\" \"{}\"\n", site.login.user, verifier(site)?);
        site.scratch.write(USERS_FILE, &users)?;
        Ok(Vec::new())
    },
    ready_limit: READY_LIMIT,
    pooling: Some(Pooling {
        over_tcp: Some(OVER_TCP),
        console: Some("pgbouncer"),
        modes: &PoolMode::ALL,
        keeps_prepared,
    }),
    ..Engine::bare(|site, _, ports| launch(site, ports.plain))
};

/// Whether this version keeps clients' prepared statements in this mode.
fn keeps_prepared(version: &str, mode: PoolMode) -> bool {
    let mut numbers = version.split('.').map(|it| it.parse::<u32>().ok());
    let version = (numbers.next().flatten(), numbers.next().flatten());
    let is_new = matches!(version, (Some(major), Some(minor)) if (major, minor) >= PREPARES_FROM);
    mode == PoolMode::Session || is_new
}

/// Asks PostgreSQL for the verifier that it stores for the password. If `PgBouncer` had the password itself, it would
/// compute SCRAM's 4,096 rounds at every login, which takes more than 3 ms. With the verifier, the client's proof is
/// enough for the login to `PgBouncer` and to PostgreSQL.
///
/// # Source
/// pgbouncer.org, "config", section "Authentication file format"; measured with 1.18.
fn verifier(site: &Site<'_>) -> Result<String, ServerError> {
    let login = Login { database: Some("postgres".to_owned()), ..site.login.clone() };
    let sql = "SELECT rolpassword FROM pg_authid WHERE rolname = current_user";
    let ask = || {
        let stream = opened(&site.behind().socket).map_err(|source| WireError::Io { action: "connect", source })?;
        let limit = READY_LIMIT;
        let stream = Stoppable { stream, limit };
        let mut session = postgres::Connection::login(stream, &login, limit)?;
        let kept = session.query(sql)?.into_iter().flatten().flatten().next();
        let kept = String::from_utf8(kept.unwrap_or_default()).unwrap_or_default();
        if kept.starts_with("SCRAM-SHA-256$") {
            Ok(kept)
        } else {
            let (action, expected) = ("ask for a verifier", "a SCRAM-SHA-256 verifier");
            // The text that was received is not shown, because it may be the password.
            Err(WireError::malformed("PostgreSQL", action, expected, b"another"))
        }
    };
    ask().map_err(|source| ServerError::Verifier { source })
}

fn opened(socket: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(READY_LIMIT))?;
    stream.set_write_timeout(Some(READY_LIMIT))?;
    Ok(stream)
}

fn launch(site: &Site<'_>, tcp: SocketAddr) -> Result<Launch, ServerError> {
    let settings = settings(site.behind().mode, &binary::version_of(&site.binary));
    let text = configuration(site, tcp, &settings);
    let config = site.rewrite(CONFIG_FILE, &text)?;
    let named = |(name, value): &(&str, &str)| (format!("pgbouncer {name}"), (*value).to_owned());
    Ok(Launch {
        program: Program::new(site.binary.clone(), vec![config.display().to_string()]),
        socket: Some(site.postgres_socket(tcp.port())?),
        tcp: Some(tcp),
        tls: None,
        abstract_name: None,
        settings: settings.iter().map(named).collect(),
    })
}

fn settings(mode: PoolMode, version: &str) -> Vec<(&'static str, &'static str)> {
    let mut settings = vec![("pool_mode", mode.name())];
    settings.extend(SETTINGS);
    if mode != PoolMode::Session && keeps_prepared(version, mode) {
        settings.push(MOST_PREPARED);
    }
    settings
}

/// # Source
/// pgbouncer.org, "config".
fn configuration(site: &Site<'_>, tcp: SocketAddr, settings: &[(&str, &str)]) -> String {
    let folder = site.path_text("");
    let n = site.n_connections;
    let behind = site.behind().tcp;
    let port = behind.port();
    let database = site.login.database.as_deref().unwrap_or_default();
    let mut text = format!(
        "[databases]\n\
         {database} = host={folder} port={port} dbname={database}\n\
         {OVER_TCP} = host={} port={port} dbname={database}\n\
         [pgbouncer]\n\
         listen_addr = {}\n\
         listen_port = {}\n\
         unix_socket_dir = {folder}\n\
         unix_socket_mode = 0700\n\
         auth_file = {}\n\
         stats_users = {}\n\
         max_client_conn = {n}\n\
         default_pool_size = {n}\n",
        behind.ip(),
        tcp.ip(),
        tcp.port(),
        site.path_text(USERS_FILE),
        site.login.user,
    );
    for (name, value) in settings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} = {value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_prepare_is_kept_from_a_version_on() {
        for (version, is_kept) in [
            ("1.18.0", false),
            ("1.20.1", false),
            ("1.21.0", true),
            ("1.24.1", true),
            ("2.0", true),
            ("unknown", false),
        ] {
            assert_eq!(keeps_prepared(version, PoolMode::Transaction), is_kept, "{version}");
            assert!(keeps_prepared(version, PoolMode::Session));
        }
    }
}
