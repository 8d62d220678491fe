//! Finds the socket that replaces an address: the one that was given, the running server's, or the usual one.
//!
//! Looks at the machine; connects to nothing.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_advise::Fields;
use looptax_host::discover::{Client, Endpoint, FoundBy, NamespaceId, Server, socket_named, sockets_beside};
use looptax_model::dsn::{Address, Kind, Protocol};
use looptax_model::failure::Failure;
use looptax_model::record::HowKnown;

use crate::diagnose::local::own_address;

#[derive(Debug)]
pub struct SocketOf {
    pub file: String,
    /// The folder that contains the socket: PostgreSQL's clients take the folder.
    pub folder: String,
    /// How looptax found the socket, for a person.
    pub words: String,
    /// Whether looptax did not see the socket, but only knows the path that packages usually use.
    pub is_guess: bool,
    /// Whether looptax did not see the socket's owner: the socket counts only if a login shows that it leads to the
    /// server on the port.
    pub is_candidate: bool,
}

impl SocketOf {
    /// Returns the fields for a dialect's template; `password` is the text that is shown in the password's place.
    pub fn fields(&self, address: &Address, password: Option<String>) -> Fields {
        Fields {
            user: address.user.clone(),
            password,
            database: address.database.clone(),
            socket: self.file.clone(),
            folder: self.folder.clone(),
            port: address.port,
            options: None,
            page: address.page.clone().filter(|it| it != "/"),
        }
    }
}

/// The servers on this machine, as a client in one network namespace sees them.
#[derive(Debug, Clone, Copy)]
pub struct Near<'a> {
    pub servers: &'a [Server],
    /// The namespace whose 127.0.0.1 the client means; `None` if it is not known.
    pub network: Option<NamespaceId>,
    /// The clients of those servers, for questions about their number.
    pub clients: &'a [Client],
}

impl<'a> Near<'a> {
    pub fn us(servers: &'a [Server]) -> Self {
        let network = looptax_host::discover::process(std::process::id()).and_then(|own| own.network);
        Self { servers, network, clients: &[] }
    }

    /// No servers: for a question that does not need servers.
    pub fn nobody() -> Self {
        Self { servers: &[], network: None, clients: &[] }
    }

    /// Adds the clients that are connected to these servers: as many may connect together.
    #[must_use]
    pub fn with_clients(self, clients: &'a [Client]) -> Self {
        Self { clients, ..self }
    }

    /// Counts the open connections of this machine to a server, as far as they are known.
    pub fn n_open(self, server: &Server) -> usize {
        let place = self.servers.iter().position(|it| it.process.pid == server.process.pid);
        let own = self.clients.iter().filter(|it| Some(it.server_idx) == place);
        own.map(|it| it.peer.connections.len()).sum()
    }

    pub fn server(self, address: &Address) -> Option<&'a Server> {
        let mut servers = self.servers.iter();
        servers.find(|it| it.kind.protocol() == Some(address.protocol) && listens_for(it, address, self.network))
    }

    /// Returns the server at this address, of whatever kind.
    pub fn listener(self, address: &Address) -> Option<&'a Server> {
        let mut servers = self.servers.iter();
        servers.find(|it| listens_for(it, address, self.network))
    }
}

pub fn find(address: &Address, given: Option<&Path>, near: Near<'_>) -> Result<SocketOf, Failure> {
    if let Some(path) = given {
        let named = socket_named(path, address.protocol, address.port);
        let path = named.map_err(|n| {
            Failure::usage(
                format!("{n} sockets are in the folder {}", path.display()),
                "pass the socket's file: --socket FILE",
            )
        })?;
        return Ok(socket_at(address, &path, "as given"));
    }
    if let Some(path) = &address.socket {
        return Ok(socket_at(address, path, "from the URL"));
    }
    let Some(server) = near.server(address) else {
        if let Some(found) = candidate(address, near) {
            return Ok(found);
        }
        let words = unseen(address.host.as_deref(), address.port);
        return Ok(SocketOf { is_guess: true, ..socket_at(address, &usual(address), &words) });
    };
    let named = format!("{}, pid {}", server.name(), server.process.pid);
    match server.socket(address.port) {
        Some((path, HowKnown::Seen)) => Ok(socket_at(address, path, &format!("of {named}"))),
        Some((path, known)) => {
            let by = known.inferred_by().unwrap_or_default();
            Ok(SocketOf { is_candidate: true, ..socket_at(address, path, &format!("{by}, of {named}")) })
        }
        None if server.is_hidden => Ok(candidate(address, near).unwrap_or_else(|| SocketOf {
            is_guess: true,
            ..socket_at(
                address,
                &usual(address),
                &format!("the usual path: only root can see whether {named} listens there"),
            )
        })),
        None if server.lacks_socket() && is_made_by_lines(server.kind) => {
            let words = format!(
                "the usual path: {named} listens on port {} and has no socket yet; the lines for the server create \
                 this socket",
                address.port
            );
            Ok(SocketOf { is_guess: true, ..socket_at(address, &usual(address), &words) })
        }
        None => Err(Failure::usage(
            format!("{named} listens on port {} and has no socket", address.port),
            server.kind.facts().how_to_add_a_socket,
        )),
    }
}

/// Returns the socket by the address only: the one that was given, or the path where packages usually put it. looptax
/// does not look at this machine; `None` for protocols whose servers have no usual path.
pub(crate) fn assumed(address: &Address, given: Option<&Path>) -> Option<SocketOf> {
    match given {
        Some(path) => Some(socket_at(address, path, "as given")),
        None if matches!(address.protocol, Protocol::Http | Protocol::Echo) => None,
        None => Some(SocketOf { is_guess: true, ..socket_at(address, &usual(address), "the usual one") }),
    }
}

/// Explains why the usual socket is taken, by what looptax sees of the port if it sees no server.
pub(crate) fn unseen(host: Option<&str>, port: u16) -> String {
    let ip = own_address(host.unwrap_or("localhost"));
    let own = looptax_host::discover::process(std::process::id());
    let listens = ip
        .zip(own)
        .is_some_and(|(ip, own)| looptax_host::discover::is_listened_at(SocketAddr::new(ip, port), &own) == Some(true));
    let why = if !listens {
        "looptax saw no server with a socket on that port"
    } else if rustix::process::geteuid().is_root() {
        "the program that listens on that port is not a known server of this kind"
    } else {
        "only root can see which program listens on that port"
    };
    format!("the usual path: {why}, so check whether this path is right")
}

/// Whether `dsn` also prints lines for the server's own side, so that the socket need not exist yet.
pub(crate) const fn is_made_by_lines(kind: Kind) -> bool {
    matches!(kind, Kind::PhpFpm | Kind::Http)
}

/// If the process that listens on the port is not visible: the only socket of that listener's user.
fn candidate(address: &Address, near: Near<'_>) -> Option<SocketOf> {
    let here = Near::us(&[]).network;
    let ip = own_address(address.host.as_deref().unwrap_or("localhost"));
    let ip = ip.filter(|_| near.network.is_some() && near.network == here)?;
    let mut found = sockets_beside(address.protocol, SocketAddr::new(ip, address.port));
    found.retain(|it| it.by != FoundBy::UsualPlace);
    let [only] = &*found else { return None };
    let words = "the only socket of the user whose program listens on that port";
    Some(SocketOf { is_candidate: true, ..socket_at(address, &only.path, words) })
}

/// PostgreSQL's path may be the folder or the file.
fn socket_at(address: &Address, path: &Path, words: &str) -> SocketOf {
    let address = Address { socket: Some(path.to_owned()), ..address.clone() };
    let file = address.socket_file().unwrap_or_default();
    let folder = file.parent().unwrap_or(&file).to_owned();
    SocketOf {
        words: format!("{} over {} ({words})", address.protocol, file.display()),
        file: file.to_string_lossy().into_owned(),
        folder: folder.to_string_lossy().into_owned(),
        is_guess: false,
        is_candidate: false,
    }
}

/// The path at which Debian's packages put the socket.
fn usual(address: &Address) -> PathBuf {
    PathBuf::from(match address.protocol {
        Protocol::Mongodb => return PathBuf::from(format!("/tmp/mongodb-{}.sock", address.port)),
        Protocol::Mysql => "/run/mysqld/mysqld.sock",
        Protocol::Postgres => "/run/postgresql",
        Protocol::Redis => "/run/redis/redis-server.sock",
        Protocol::Memcached => "/run/memcached/memcached.sock",
        Protocol::Fastcgi => "/run/php/php-fpm.sock",
        Protocol::Http => "/run/app.sock",
        Protocol::Echo => "/run",
    })
}

/// Whether this server listens at the address.
fn listens_for(server: &Server, address: &Address, network: Option<NamespaceId>) -> bool {
    let Some(ip) = own_address(address.host.as_deref().unwrap_or("localhost")) else {
        return false;
    };
    // Every namespace has its own loopback.
    let is_near = |endpoint: &Endpoint| !ip.is_loopback() || network.is_none_or(|network| network == endpoint.network);
    server.endpoints.iter().any(|it| it.place.takes((ip, address.port).into()) && is_near(it))
}
