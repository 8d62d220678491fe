//! `PgBouncer` beside a private PostgreSQL: its configuration, its start, and the wait until it listens.
//!
//! One process takes all clients, over a socket and over TCP alike, and has two databases, which are the same one
//! behind it: one that it reaches over PostgreSQL's socket, one over its port. What a client prepares stays with its session;
//! in other modes `PgBouncer` keeps it from 1.21 on alone.
//! Started by `server` as a companion, so that whatever ends the server ends it too. Tested live with 1.18.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use looptax_model::dsn::{Kind, Protocol};
use looptax_wire::{Login, WireError, postgres};

use crate::servers::child::{ChildGuard, Waited};
use crate::servers::process::{Process, StopSignal};
use crate::servers::scratch::Scratch;
use crate::servers::spawn::Program;
use crate::servers::stopping::Stoppable;
use crate::servers::{ServerError, binary, ready};

/// The database that leads to PostgreSQL's port; its own name leads to the socket.
pub const OVER_TCP: &str = "looptax_tcp";

/// The database that is the pooler itself.
pub const CONSOLE: &str = "pgbouncer";

const CONFIG_FILE: &str = "pgbouncer.ini";
const USERS_FILE: &str = "pgbouncer.users";

/// It reads two files, and connects to nobody before it is asked.
const READY_LIMIT: Duration = Duration::from_secs(10);
/// Starts with a new port after "address in use".
const TRIES: usize = 3;

/// The first version that keeps what clients prepare in every mode.
const PREPARES_FROM: (u32, u32) = (1, 21);
/// Statements of each connection to PostgreSQL that it keeps then; nothing is kept by default before 1.24.
const MOST_PREPARED: (&str, &str) = ("max_prepared_statements", "200");

/// What it is told, for the record, beside its mode and where it listens.
const SETTINGS: [(&str, &str); 7] = [
    ("auth_type", "scram-sha-256"),
    ("server_reset_query", "DISCARD ALL"),
    ("server_idle_timeout", "0"),
    ("server_lifetime", "86400"),
    ("log_connections", "0"),
    ("log_disconnections", "0"),
    ("log_stats", "0"),
];

/// For how long a client has a connection to PostgreSQL for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PoolMode {
    /// As long as it is connected.
    #[default]
    Session,
    Transaction,
    /// For a statement; no transaction has two.
    Statement,
}

impl PoolMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Session, Self::Transaction, Self::Statement];

    /// As `pool_mode` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        }
    }
}

/// The version of the `PgBouncer` that is installed.
///
/// # Errors
/// [`ServerError::BinaryMissing`].
pub fn installed_version() -> Result<String, ServerError> {
    Ok(binary::version_of(&binary::require_binary(
        Kind::Pgbouncer,
    )?))
}

/// Whether this version keeps what clients prepare, in this mode.
pub fn keeps_prepared(version: &str, mode: PoolMode) -> bool {
    let mut numbers = version.split('.').map(|it| it.parse::<u32>().ok());
    let version = (numbers.next().flatten(), numbers.next().flatten());
    let is_new = matches!(version, (Some(major), Some(minor)) if (major, minor) >= PREPARES_FROM);
    mode == PoolMode::Session || is_new
}

/// Where PostgreSQL is, and for how many.
pub(crate) struct Behind<'a> {
    pub(crate) mode: PoolMode,
    pub(crate) socket: &'a Path,
    pub(crate) tcp: SocketAddr,
    pub(crate) login: &'a Login,
    pub(crate) n_connections: u32,
}

/// A pooler that answers.
pub(crate) struct Pooler {
    pub(crate) child: (Child, Process),
    pub(crate) version: String,
    pub(crate) socket: PathBuf,
    pub(crate) tcp: SocketAddr,
    pub(crate) settings: Vec<(String, String)>,
}

/// Starts it with ports from `free_address` until nobody else has taken one in between.
pub(crate) fn start(
    behind: &Behind<'_>,
    scratch: &Scratch,
    free_address: impl Fn() -> Result<SocketAddr, ServerError>,
) -> Result<Pooler, ServerError> {
    let path = binary::require_binary(Kind::Pgbouncer)?;
    let users = format!("\"{}\" \"{}\"\n", behind.login.user, verifier(behind)?);
    scratch.write(USERS_FILE, &users)?;
    let mut n_tries = 1;
    loop {
        let tcp = free_address()?;
        match start_once(&path, behind, tcp, scratch) {
            Err(ServerError::Exited { log_tail, .. })
                if n_tries < TRIES && log_tail.contains("ddress already in use") =>
            {
                n_tries += 1;
            }
            outcome => return outcome,
        }
    }
}

/// What PostgreSQL keeps of the password. With the password itself `PgBouncer` goes through SCRAM's 4,096 rounds at
/// every login, which takes it more than 3 ms; with this a client's proof is enough, for PostgreSQL too.
///
/// # Source
/// pgbouncer.org, "config", section "Authentication file format"; measured with 1.18.
fn verifier(behind: &Behind<'_>) -> Result<String, ServerError> {
    let login = Login {
        database: Some("postgres".to_owned()),
        ..behind.login.clone()
    };
    let sql = "SELECT rolpassword FROM pg_authid WHERE rolname = current_user";
    let ask = || {
        let stream = opened(behind.socket).map_err(|source| WireError::Io {
            action: "connect",
            source,
        })?;
        let limit = READY_LIMIT;
        let stream = Stoppable { stream, limit };
        let mut session = postgres::Connection::login(stream, &login, limit)?;
        let kept = session.query(sql)?.into_iter().flatten().flatten().next();
        let kept = String::from_utf8(kept.unwrap_or_default()).unwrap_or_default();
        if kept.starts_with("SCRAM-SHA-256$") {
            Ok(kept)
        } else {
            let (action, expected) = ("ask for a verifier", "one of SCRAM-SHA-256");
            // What it is may be the password.
            Err(WireError::malformed(
                "PostgreSQL",
                action,
                expected,
                b"another",
            ))
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

fn start_once(
    path: &Path,
    behind: &Behind<'_>,
    tcp: SocketAddr,
    scratch: &Scratch,
) -> Result<Pooler, ServerError> {
    if scratch.has(CONFIG_FILE) {
        scratch.remove_file(CONFIG_FILE)?;
    }
    let version = binary::version_of(path);
    let settings = settings(behind.mode, &version);
    let text = configuration(behind, tcp, &settings, scratch);
    let config = scratch.write(CONFIG_FILE, &text)?;
    let program = Program {
        path: path.to_owned(),
        args: vec![config.display().to_string()],
        input: String::new(),
        secret: None,
    };
    let socket = scratch.socket_path(&format!(".s.PGSQL.{}", tcp.port()))?;
    let mut guard = ChildGuard::spawn(&program, StopSignal::Term, scratch)?;
    let waited = guard.wait(READY_LIMIT, |pid| {
        let postgres = Protocol::Postgres;
        ready::is_ready(postgres, behind.login, Some(&socket), Some(tcp), pid)
    })?;
    match waited {
        Waited::Ready => {}
        Waited::Ended(status) => {
            return Err(ServerError::Exited {
                kind: Kind::Pgbouncer,
                status: status.to_string(),
                log_tail: scratch.log_tail(),
            });
        }
        Waited::TooLong => {
            return Err(ServerError::NotReady {
                kind: Kind::Pgbouncer,
                after: READY_LIMIT,
                log_tail: scratch.log_tail(),
            });
        }
    }
    let named = |(name, value): (&str, &str)| (format!("pgbouncer {name}"), value.to_owned());
    Ok(Pooler {
        child: guard.keep(),
        version,
        socket,
        tcp,
        settings: settings.into_iter().map(named).collect(),
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
fn configuration(
    behind: &Behind<'_>,
    tcp: SocketAddr,
    settings: &[(&str, &str)],
    scratch: &Scratch,
) -> String {
    let folder = scratch.path("").display().to_string();
    let n = behind.n_connections;
    let port = behind.tcp.port();
    let database = behind.login.database.as_deref().unwrap_or_default();
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
        behind.tcp.ip(),
        tcp.ip(),
        tcp.port(),
        scratch.path(USERS_FILE).display(),
        behind.login.user,
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
            assert_eq!(
                keeps_prepared(version, PoolMode::Transaction),
                is_kept,
                "{version}"
            );
            assert!(keeps_prepared(version, PoolMode::Session));
        }
    }
}
