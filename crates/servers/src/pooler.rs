//! `PgBouncer` beside a private PostgreSQL: its configuration, its start, and the wait until it listens.
//!
//! One process takes all clients, over a socket and over TCP alike, and has two databases, which are the same one
//! behind it: one that it reaches over PostgreSQL's socket, one over its port. A pool for each session, so that what a
//! client prepares stays with it: `PgBouncer` knows prepared statements in other modes from 1.21 on alone.
//! Started by `server` as a companion, so that whatever ends the server ends it too. Tested live with 1.18.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;

use looptax_dsn::{Kind, Protocol};
use looptax_wire::Login;

use crate::child::ChildGuard;
use crate::deadline::Deadline;
use crate::process::{Process, StopSignal};
use crate::scratch::Scratch;
use crate::spawn::Program;
use crate::{ServerError, binary, ready};

/// The database that leads to PostgreSQL's port; its own name leads to the socket.
pub const OVER_TCP: &str = "looptax_tcp";

/// The database that is the pooler itself.
pub const CONSOLE: &str = "pgbouncer";

const CONFIG_FILE: &str = "pgbouncer.ini";
const USERS_FILE: &str = "pgbouncer.users";

/// It reads two files, and connects to nobody before it is asked.
const READY_LIMIT: Duration = Duration::from_secs(10);
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// Starts with a new port after "address in use".
const TRIES: usize = 3;

/// What it is told, for the record, beside where it listens.
const SETTINGS: [(&str, &str); 8] = [
    ("pool_mode", "session"),
    ("auth_type", "scram-sha-256"),
    ("server_reset_query", "DISCARD ALL"),
    ("server_idle_timeout", "0"),
    ("server_lifetime", "86400"),
    ("log_connections", "0"),
    ("log_disconnections", "0"),
    ("log_stats", "0"),
];

/// Where PostgreSQL is, and for how many.
pub(crate) struct Behind<'a> {
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
    let Login { user, password, .. } = behind.login;
    let users = format!("\"{user}\" \"{}\"\n", password.reveal());
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

fn start_once(
    path: &Path,
    behind: &Behind<'_>,
    tcp: SocketAddr,
    scratch: &Scratch,
) -> Result<Pooler, ServerError> {
    if scratch.path(CONFIG_FILE).exists() {
        scratch.remove_file(CONFIG_FILE)?;
    }
    let config = scratch.write(CONFIG_FILE, &configuration(behind, tcp, scratch))?;
    let program = Program {
        path: path.to_owned(),
        args: vec![config.display().to_string()],
        input: String::new(),
        secret: None,
    };
    let socket = scratch.socket_path(&format!(".s.PGSQL.{}", tcp.port()))?;
    let mut guard = ChildGuard::spawn(&program, StopSignal::Term, scratch)?;
    let deadline = Deadline::after(READY_LIMIT);
    loop {
        if let Some(status) = guard.ended() {
            return Err(ServerError::Exited {
                kind: Kind::Pgbouncer,
                status: status.to_string(),
                log_tail: scratch.log_tail(),
            });
        }
        let is_ready = ready::is_ready(
            Protocol::Postgres,
            behind.login,
            Some(&socket),
            Some(tcp),
            guard.pid(),
        );
        if is_ready {
            break;
        }
        if deadline.has_passed() {
            return Err(ServerError::NotReady {
                kind: Kind::Pgbouncer,
                after: READY_LIMIT,
                log_tail: scratch.log_tail(),
            });
        }
        thread::sleep(LOOK_PAUSE);
    }
    let named = |(name, value): (&str, &str)| (format!("pgbouncer {name}"), value.to_owned());
    Ok(Pooler {
        child: guard.keep(),
        version: binary::version_of(path),
        socket,
        tcp,
        settings: SETTINGS.into_iter().map(named).collect(),
    })
}

/// # Source
/// pgbouncer.org, "config".
fn configuration(behind: &Behind<'_>, tcp: SocketAddr, scratch: &Scratch) -> String {
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
    for (name, value) in SETTINGS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} = {value}");
    }
    text
}
