//! The recipe of a family of servers, its input and its output.
//!
//! The recipes are in the files beside this one. Nothing is started here; `server` runs the result.

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

/// Starting and reaching the servers of a family.
pub(crate) struct Engine {
    /// Writes configuration and secrets; returns the programs to run, in order, before the server.
    pub(crate) prepare: fn(&Site<'_>) -> Result<Vec<Program>, ServerError>,
    /// Launches process number `idx`, with these ports.
    pub(crate) launch: Start,
    /// How many processes make the server: each listens on a socket, on TCP, or on both.
    pub(crate) n_instances: usize,
    /// Files with secrets that a running server no longer needs.
    pub(crate) spent_files: &'static [&'static str],
    /// Longest time until it is ready. A server without files on disk has nothing to recover or create.
    pub(crate) ready_limit: Duration,
    /// How to ask it to end.
    pub(crate) stop_signal: StopSignal,
    /// The name under which clients log in; empty if there is none. The password is added by the caller.
    pub(crate) user: &'static str,
    /// Whether clients have to know a password.
    pub(crate) has_password: bool,
    /// The name that clients give as database: see [`Login::database`].
    pub(crate) place: fn(&Scratch) -> Option<String>,
    /// Only of a pooler.
    pub(crate) pooling: Option<Pooling>,
}

pub(crate) struct Pooling {
    /// The database with which clients reach the server's port; its own name leads to the socket. `None` if a process
    /// reaches the server in one way only: then its instances reach it over the socket and over TCP, in this order.
    pub(crate) over_tcp: Option<&'static str>,
    /// The database that is the pooler itself, if it counts its clients' queries there.
    pub(crate) console: Option<&'static str>,
    pub(crate) modes: &'static [PoolMode],
    /// Whether this version keeps what clients prepare, in this mode.
    pub(crate) keeps_prepared: fn(&str, PoolMode) -> bool,
}

impl Engine {
    /// One without files, accounts or databases.
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

    /// One that keeps data, with its own account and database.
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

/// The facts that are known before a server is launched.
pub(crate) struct Site<'a> {
    pub(crate) kind: Kind,
    pub(crate) engine: &'static Engine,
    pub(crate) protocol: Protocol,
    pub(crate) binary: PathBuf,
    /// Where.
    pub(crate) scratch: &'a Scratch,
    /// The account that clients will use.
    pub(crate) login: Login,
    /// Connections that it must take, ours for control included.
    pub(crate) n_connections: u32,
    pub(crate) n_rows: u32,
    pub(crate) listening: Listening,
    pub(crate) behind: Option<Behind>,
}

/// The server that a pooler pools.
pub(crate) struct Behind {
    pub(crate) mode: PoolMode,
    pub(crate) socket: PathBuf,
    pub(crate) tcp: SocketAddr,
}

/// Addresses of 127.0.0.1 that were free a moment ago.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) plain: SocketAddr,
    /// For its TLS, if that has a separate port.
    pub(crate) tls: SocketAddr,
}

impl Site<'_> {
    /// Memory for `bytes_per_row`, at least 128 MiB, in MiB.
    pub(super) fn cache_mib(&self, bytes_per_row: u64) -> u64 {
        (u64::from(self.n_rows) * bytes_per_row).div_ceil(1 << 20).max(128)
    }

    /// The server behind; only a pooler asks.
    pub(super) fn behind(&self) -> &Behind {
        let behind = self.behind.as_ref();
        behind.expect("a pooler is started before a server")
    }

    pub(super) fn path_text(&self, name: &str) -> String {
        self.scratch.path(name).display().to_string()
    }

    /// Writes a file that an earlier launch may have written.
    pub(super) fn rewrite(&self, name: &str, text: &str) -> Result<PathBuf, ServerError> {
        if self.scratch.has(name) {
            self.scratch.remove_file(name)?;
        }
        self.scratch.write(name, text)
    }

    /// The socket that clients of PostgreSQL look for, in the scratch folder.
    pub(super) fn postgres_socket(&self, port: u16) -> Result<PathBuf, ServerError> {
        self.scratch.socket_path(&format!(".s.PGSQL.{port}"))
    }

    /// All addresses that it listens on, with something between them.
    pub(super) fn addresses(&self, separator: &str) -> String {
        let further = self.listening.addresses.iter().map(ToString::to_string);
        let all: Vec<String> = ["127.0.0.1".to_owned()].into_iter().chain(further).collect();
        all.join(separator)
    }

    /// The abstract socket's name, if it has one: that of its folder, which is unique.
    pub(super) fn abstract_name(&self) -> Option<String> {
        let folder = self.scratch.folder().file_name()?.to_str()?.to_owned();
        self.listening.has_abstract.then_some(folder)
    }
}

/// A server ready to be started.
pub(crate) struct Launch {
    pub(crate) program: Program,
    /// The socket that it will listen on, if it does.
    pub(crate) socket: Option<PathBuf>,
    /// The address that it will listen on, if it does.
    pub(crate) tcp: Option<SocketAddr>,
    /// The address for TLS, if it speaks it.
    pub(crate) tls: Option<SocketAddr>,
    /// Its abstract socket, if it has one.
    pub(crate) abstract_name: Option<Vec<u8>>,
    /// Its settings, for the record.
    pub(crate) settings: Vec<(String, String)>,
}

/// Names and values as owned text.
pub(super) fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
