//! The recipe of a family of servers: the functions' input and output, and the facts that differ between families.
//!
//! The recipes themselves are in the other files of this folder. This folder does not start any program: `server` runs
//! the result of a recipe.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use looptax_model::dsn::{Kind, Protocol};
use looptax_wire::Login;

use crate::servers::ServerError;
use crate::servers::pooler::PoolMode;
use crate::servers::process::StopSignal;
use crate::servers::scratch::Scratch;
use crate::servers::server::Listening;
use crate::servers::spawn::Program;

type Start = fn(&Site<'_>, usize, Ports) -> Result<Launch, ServerError>;

/// How the servers of a family are started and reached.
pub(crate) struct Engine {
    /// Writes configuration and secrets; returns the programs that must be run before the server, in order.
    pub(crate) prepare: fn(&Site<'_>) -> Result<Vec<Program>, ServerError>,
    /// Launches process number `idx`, with these ports.
    pub(crate) launch: Start,
    /// Number of processes of a server: each listens on a socket, on TCP, or on both.
    pub(crate) n_instances: usize,
    /// Files with secrets that a running server no longer needs.
    pub(crate) spent_files: &'static [&'static str],
    /// Time limit until the server is ready. A server without files on disk has nothing to recover or create, so its
    /// limit is short.
    pub(crate) ready_limit: Duration,
    pub(crate) stop_signal: StopSignal,
    /// The user name with which clients log in; empty if there are no accounts. The caller adds the password.
    pub(crate) user: &'static str,
    /// Whether clients need a password.
    pub(crate) has_password: bool,
    /// The database name that clients send: see [`Login::database`].
    pub(crate) place: fn(&Scratch) -> Option<String>,
    /// The facts that only a pooler has; `None` for other servers.
    pub(crate) pooling: Option<Pooling>,
}

pub(crate) struct Pooling {
    /// The database name for which the pooler connects to the server's port; for the database's own name it connects to
    /// the socket. `None` if each process reaches the server over only one transport: the first instance over the
    /// socket, the second instance over TCP.
    pub(crate) over_tcp: Option<&'static str>,
    /// The database that represents the pooler itself, if the pooler counts its clients' queries there.
    pub(crate) console: Option<&'static str>,
    pub(crate) modes: &'static [PoolMode],
    /// Whether this version keeps clients' prepared statements in this mode.
    pub(crate) keeps_prepared: fn(&str, PoolMode) -> bool,
}

impl Engine {
    /// Makes the recipe of a server without files, accounts or databases.
    pub(super) const fn bare(launch: Start) -> Self {
        Self {
            prepare: |_| Ok(Vec::new()),
            launch,
            n_instances: 1,
            spent_files: &[],
            ready_limit: Duration::from_secs(30),
            stop_signal: StopSignal::Term,
            user: "",
            has_password: false,
            place: |_| None,
            pooling: None,
        }
    }

    /// Makes the recipe of a server that stores data, with its own account and database.
    pub(super) const fn database(launch: Start) -> Self {
        Self {
            ready_limit: Duration::from_secs(60),
            user: "looptax",
            has_password: true,
            place: |_| Some("looptax".to_owned()),
            ..Self::bare(launch)
        }
    }
}

/// The facts about a server that are known before it is launched.
pub(crate) struct Site<'a> {
    pub(crate) kind: Kind,
    pub(crate) engine: &'static Engine,
    pub(crate) protocol: Protocol,
    pub(crate) binary: PathBuf,
    pub(crate) scratch: &'a Scratch,
    /// The account that clients will use.
    pub(crate) login: Login,
    /// Number of connections that the server must accept, including looptax's control connections.
    pub(crate) n_connections: u32,
    pub(crate) n_rows: u32,
    pub(crate) listening: Listening,
    pub(crate) behind: Option<Behind>,
}

/// The server behind a pooler.
pub(crate) struct Behind {
    pub(crate) mode: PoolMode,
    pub(crate) socket: PathBuf,
    pub(crate) tcp: SocketAddr,
}

/// Addresses of 127.0.0.1 whose ports were free when they were chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) plain: SocketAddr,
    /// The address for TLS, if TLS has a separate port.
    pub(crate) tls: SocketAddr,
}

impl Site<'_> {
    /// Returns the memory for all rows at `bytes_per_row`, in MiB; at least 128.
    pub(super) fn cache_mib(&self, bytes_per_row: u64) -> u64 {
        (u64::from(self.n_rows) * bytes_per_row).div_ceil(1 << 20).max(128)
    }

    /// Returns the server behind a pooler. Only recipes of poolers call this.
    pub(super) fn behind(&self) -> &Behind {
        let behind = self.behind.as_ref();
        behind.expect("only recipes of poolers call this")
    }

    pub(super) fn path_text(&self, name: &str) -> String {
        self.scratch.path(name).display().to_string()
    }

    /// Writes a file, replacing the file of an earlier launch.
    pub(super) fn rewrite(&self, name: &str, text: &str) -> Result<PathBuf, ServerError> {
        if self.scratch.has(name) {
            self.scratch.remove_file(name)?;
        }
        self.scratch.write(name, text)
    }

    /// Returns the path of the socket in the scratch folder, with the file name that PostgreSQL's clients expect.
    pub(super) fn postgres_socket(&self, port: u16) -> Result<PathBuf, ServerError> {
        self.scratch.socket_path(&format!(".s.PGSQL.{port}"))
    }

    /// Returns all addresses on which the server listens, joined by `separator`.
    pub(super) fn addresses(&self, separator: &str) -> String {
        let further = self.listening.addresses.iter().map(ToString::to_string);
        let all: Vec<String> = ["127.0.0.1".to_owned()].into_iter().chain(further).collect();
        all.join(separator)
    }

    /// Returns the abstract socket's name, if the server has one: the name of the server's folder, which is unique.
    pub(super) fn abstract_name(&self) -> Option<String> {
        let folder = self.scratch.folder().file_name()?.to_str()?.to_owned();
        self.listening.has_abstract.then_some(folder)
    }
}

/// A server that is ready to be started.
pub(crate) struct Launch {
    pub(crate) program: Program,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) tcp: Option<SocketAddr>,
    pub(crate) tls: Option<SocketAddr>,
    pub(crate) abstract_name: Option<Vec<u8>>,
    /// The server's settings, for the record.
    pub(crate) settings: Vec<(String, String)>,
}

pub(super) fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
