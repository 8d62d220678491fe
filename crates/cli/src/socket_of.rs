//! The socket that stands for an address: the one that was given, the running server's, or the usual
//! one.
//!
//! Looks at the machine; connects to nothing.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use looptax_advise::{Address, Fields, Product};
use looptax_discover::{Place, Server, ServerKind, survey};

use crate::failure::Failure;

/// What stands where a password would.
pub(crate) const HIDDEN: &str = "****";

/// A server's socket.
#[derive(Debug)]
pub(crate) struct SocketOf {
    /// Its file.
    pub(crate) file: String,
    /// The folder it lies in: what PostgreSQL's clients want.
    pub(crate) folder: String,
    /// How it was found, for a person.
    pub(crate) words: String,
}

impl SocketOf {
    /// What a dialect is filled in with; `password` is what is shown in the password's place.
    pub(crate) fn fields(&self, address: &Address, password: Option<String>) -> Fields {
        Fields {
            user: address.user.clone(),
            password,
            database: address.database.clone(),
            socket: self.file.clone(),
            folder: self.folder.clone(),
            port: address.port,
        }
    }
}

/// Finds it.
pub(crate) fn find(address: &Address, given: Option<&Path>) -> Result<SocketOf, Failure> {
    if let Some(path) = given {
        return Ok(of(address, path, "as given"));
    }
    if let Some(path) = &address.socket {
        return Ok(of(address, path, "the URL's own"));
    }
    let servers = survey(None).servers;
    let Some(server) = servers.iter().find(|it| listens_for(it, address)) else {
        let words =
            "the usual one: no server was seen on that port here, so look whether it is right";
        return Ok(of(address, &usual(address), words));
    };
    let named = format!("{}, pid {}", server.name(), server.process.pid);
    match server.paths().next() {
        Some(path) => Ok(of(address, path, &format!("of {named}"))),
        None => Err(Failure::usage(
            format!("{named} listens on port {} and has no socket", address.port),
            server.kind.how_to_add_a_socket(),
        )),
    }
}

/// PostgreSQL's path may be given as the folder or as the file.
fn of(address: &Address, path: &Path, words: &str) -> SocketOf {
    let name = format!(".s.PGSQL.{}", address.port);
    let (folder, file) = match address.product {
        Product::Postgres
            if path
                .file_name()
                .is_some_and(|it| it.to_string_lossy().starts_with(".s.PGSQL.")) =>
        {
            (path.parent().unwrap_or(path).to_owned(), path.to_owned())
        }
        Product::Postgres => (path.to_owned(), path.join(name)),
        _ => (path.parent().unwrap_or(path).to_owned(), path.to_owned()),
    };
    SocketOf {
        words: format!("{} over {} ({words})", address.product, file.display()),
        file: file.to_string_lossy().into_owned(),
        folder: folder.to_string_lossy().into_owned(),
    }
}

/// Where Debian's packages put it.
fn usual(address: &Address) -> PathBuf {
    PathBuf::from(match address.product {
        Product::Mysql => "/run/mysqld/mysqld.sock",
        Product::Postgres => "/run/postgresql",
        Product::Redis => "/run/redis/redis-server.sock",
        Product::Memcached => "/run/memcached/memcached.sock",
    })
}

/// Whether this server is the one behind the address.
pub(crate) fn listens_for(server: &Server, address: &Address) -> bool {
    let Some(wanted) = loopback(address) else {
        return false;
    };
    is_of(server.kind, address.product)
        && server
            .endpoints
            .iter()
            .any(|endpoint| match endpoint.place {
                Place::Tcp(own) => {
                    own.port() == wanted.port()
                        && (own.ip() == wanted.ip() || own.ip().is_unspecified())
                }
                Place::Path { .. } | Place::Abstract(_) => false,
            })
}

/// The address on this machine; a URL without a host means this machine too.
fn loopback(address: &Address) -> Option<SocketAddr> {
    let ip: IpAddr = match address.host.as_deref() {
        None | Some("localhost") => Ipv4Addr::LOCALHOST.into(),
        Some(host) => {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            bare.parse().ok()?
        }
    };
    Some(SocketAddr::new(ip, address.port))
}

fn is_of(kind: ServerKind, product: Product) -> bool {
    match product {
        Product::Mysql => matches!(
            kind,
            ServerKind::Mysql | ServerKind::Mariadb | ServerKind::Percona | ServerKind::Proxysql
        ),
        Product::Postgres => matches!(kind, ServerKind::Postgres | ServerKind::Pgbouncer),
        Product::Redis => matches!(
            kind,
            ServerKind::Redis | ServerKind::Valkey | ServerKind::Keydb | ServerKind::Dragonfly
        ),
        Product::Memcached => kind == ServerKind::Memcached,
    }
}
