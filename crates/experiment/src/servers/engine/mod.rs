//! What differs between the kinds of server: how the data folder is prepared and with which settings
//! the server is launched. One file per family, with the same two members.
//!
//! Nothing is started here; `server` runs what these files name.

mod echo;
mod ferretdb;
mod http;
mod memcached;
mod mysql;
pub(crate) mod php_fpm;
mod postgres;
mod redis;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use looptax_model::dsn::{Kind, Protocol};
use looptax_wire::{Login, site};

use crate::servers::ServerError;
use crate::servers::process::StopSignal;
use crate::servers::scratch::Scratch;
use crate::servers::server::Listening;
use crate::servers::spawn::Program;

/// What is known before a server is launched.
pub(crate) struct Site<'a> {
    /// What to start.
    pub(crate) kind: Kind,
    /// What it speaks.
    pub(crate) protocol: Protocol,
    /// Its program.
    pub(crate) binary: PathBuf,
    /// Where.
    pub(crate) scratch: &'a Scratch,
    /// The account that clients will use.
    pub(crate) login: Login,
    /// Connections that it must take, ours for control included.
    pub(crate) n_connections: u32,
    /// Rows that it will hold.
    pub(crate) n_rows: u32,
    /// Further ways to it.
    pub(crate) listening: Listening,
}

/// Addresses of 127.0.0.1 that were free a moment ago.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    /// For the server.
    pub(crate) plain: SocketAddr,
    /// For its TLS, where that has a port of its own.
    pub(crate) tls: SocketAddr,
}

impl Site<'_> {
    /// Memory for `bytes_per_row`, at least 128 MiB, in MiB.
    fn cache_mib(&self, bytes_per_row: u64) -> u64 {
        (u64::from(self.n_rows) * bytes_per_row)
            .div_ceil(1 << 20)
            .max(128)
    }

    fn path_text(&self, name: &str) -> String {
        self.scratch.path(name).display().to_string()
    }

    /// All addresses that it listens on, with something between them.
    fn addresses(&self, separator: &str) -> String {
        let further = self.listening.addresses.iter().map(ToString::to_string);
        let all: Vec<String> = ["127.0.0.1".to_owned()]
            .into_iter()
            .chain(further)
            .collect();
        all.join(separator)
    }

    /// The abstract socket's name, where it is to have one: that of its folder, which nobody else has.
    fn abstract_name(&self) -> Option<String> {
        let folder = self.scratch.folder().file_name()?.to_str()?.to_owned();
        self.listening.has_abstract.then_some(folder)
    }
}

/// A server ready to be started.
pub(crate) struct Launch {
    /// What to run.
    pub(crate) program: Program,
    /// The socket that it will listen on, if it does.
    pub(crate) socket: Option<PathBuf>,
    /// The address that it will listen on, if it does.
    pub(crate) tcp: Option<SocketAddr>,
    /// Where it will speak TLS, if it does.
    pub(crate) tls: Option<SocketAddr>,
    /// Its abstract socket, if it has one.
    pub(crate) abstract_name: Option<Vec<u8>>,
    /// What it was told, for the record.
    pub(crate) settings: Vec<(String, String)>,
}

/// Writes configuration and secrets; returns the programs to run, in order, before the server.
pub(crate) fn prepare(site: &Site<'_>) -> Result<Vec<Program>, ServerError> {
    match site.protocol {
        Protocol::Mysql => mysql::prepare(site),
        Protocol::Postgres => postgres::prepare(site),
        Protocol::Redis => redis::prepare(site),
        Protocol::Memcached => memcached::prepare(site),
        Protocol::Mongodb => ferretdb::prepare(site),
        Protocol::Fastcgi => php_fpm::prepare(site),
        Protocol::Http => http::prepare(site),
        Protocol::Echo => echo::prepare(site),
    }
}

/// How many processes make the server: each listens on a socket, on TCP, or on both.
pub(crate) fn n_instances(protocol: Protocol) -> usize {
    match protocol {
        Protocol::Memcached => memcached::N_INSTANCES,
        _ => 1,
    }
}

/// What to start as process number `idx`, with these ports.
pub(crate) fn launch(site: &Site<'_>, idx: usize, ports: Ports) -> Result<Launch, ServerError> {
    match site.protocol {
        Protocol::Mysql => mysql::launch(site, ports.plain),
        Protocol::Postgres => postgres::launch(site, ports.plain),
        Protocol::Redis => redis::launch(site, ports),
        Protocol::Memcached => memcached::launch(site, idx, ports.plain),
        Protocol::Mongodb => ferretdb::launch(site, ports.plain),
        Protocol::Fastcgi => php_fpm::launch(site, ports.plain),
        Protocol::Http => http::launch(site, ports.plain),
        Protocol::Echo => echo::launch(site, ports.plain),
    }
}

/// Files with secrets that a running server no longer needs.
pub(crate) fn spent_files(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::Mysql => &[mysql::INIT_FILE],
        Protocol::Postgres => &[postgres::PASSWORD_FILE],
        Protocol::Redis => &[redis::CONFIG_FILE],
        Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => &[],
    }
}

/// How long it may take to get ready. Those that keep nothing on disk have nothing to recover
/// or create.
pub(crate) fn ready_limit(protocol: Protocol) -> Duration {
    match protocol {
        Protocol::Mysql | Protocol::Postgres | Protocol::Mongodb => Duration::from_secs(60),
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => Duration::from_secs(30),
    }
}

/// How to ask it to end.
pub(crate) fn stop_signal(protocol: Protocol) -> StopSignal {
    if protocol == Protocol::Postgres {
        StopSignal::Quit
    } else {
        StopSignal::Term
    }
}

/// The name under which clients log in; empty where there are none. The password is added by the caller.
pub(crate) fn user(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mysql | Protocol::Postgres | Protocol::Mongodb => "looptax",
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => "",
    }
}

/// What clients name as database: see [`Login::database`].
pub(crate) fn place(scratch: &Scratch, protocol: Protocol) -> Option<String> {
    match protocol {
        Protocol::Mysql | Protocol::Postgres | Protocol::Mongodb => Some("looptax".to_owned()),
        Protocol::Fastcgi => Some(scratch.path(php_fpm::SITE_FOLDER).display().to_string()),
        Protocol::Http => Some(format!("/{}", site::WHO)),
        Protocol::Redis | Protocol::Memcached | Protocol::Echo => None,
    }
}

/// Whether clients have to know a password.
pub(crate) fn has_password(protocol: Protocol) -> bool {
    !matches!(
        protocol,
        Protocol::Memcached | Protocol::Fastcgi | Protocol::Http | Protocol::Echo
    )
}

/// Names and values as owned text.
fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}
