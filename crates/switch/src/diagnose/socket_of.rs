//! Finds the socket that replaces an address: the socket that the caller passed, the running server's socket, or the
//! socket at the usual path.
//!
//! Inspects the machine; connects to nothing.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_advise::Fields;
use looptax_host::discover::{
    Client, Endpoint, FoundBy, NamespaceId, Published, Server, Survey, socket_named, sockets_beside,
};
use looptax_model::dsn::{Address, Kind, Protocol};
use looptax_model::failure::Failure;
use looptax_model::record::HowKnown;

use crate::diagnose::find::container_of;
use crate::diagnose::local::own_address;
use crate::diagnose::path_here::path_here;

#[derive(Debug)]
pub struct SocketOf {
    pub file: String,
    /// The folder that contains the socket; PostgreSQL's clients use this folder instead of the file.
    pub folder: String,
    /// How looptax found the socket, for a person.
    pub words: String,
    /// Whether looptax did not see the socket, and the path is only the usual path in packages.
    pub is_guess: bool,
    /// Whether looptax did not see the socket's owner. The socket then counts only if a login shows that it leads to
    /// the server on the port.
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

/// A published port, and the server in a container to which it leads.
pub(crate) type Behind<'a> = (&'a Published, &'a Server);

/// The servers on this machine, as a client in one network namespace sees them.
#[derive(Debug, Clone, Copy)]
pub struct Near<'a> {
    pub servers: &'a [Server],
    /// The namespace in which the client's 127.0.0.1 is; `None` if looptax does not know the namespace.
    pub network: Option<NamespaceId>,
    /// The clients of these servers, for questions about the number of clients.
    pub clients: &'a [Client],
    /// The ports of those servers that containers publish on this machine.
    pub published: &'a [Published],
}

impl<'a> Near<'a> {
    pub fn us(servers: &'a [Server]) -> Self {
        let network = looptax_host::discover::process(std::process::id()).and_then(|own| own.network);
        Self { servers, network, clients: &[], published: &[] }
    }

    /// The servers and published ports that a survey found, as this process sees them.
    pub fn around_us(survey: &'a Survey) -> Self {
        Self { published: &survey.published, ..Self::us(&survey.servers) }
    }

    /// Returns an empty list, for a question that does not need servers.
    pub fn nobody() -> Self {
        Self { servers: &[], network: None, clients: &[], published: &[] }
    }

    /// Counts this machine's open connections to a server, as far as looptax knows them.
    pub fn n_open(self, server: &Server) -> usize {
        let place = self.servers.iter().position(|it| it.process.pid == server.process.pid);
        let own = self.clients.iter().filter(|it| Some(it.server_idx) == place);
        own.map(|it| it.peer.connections.len()).sum()
    }

    pub fn server(self, address: &Address) -> Option<&'a Server> {
        let mut servers = self.servers.iter();
        let is_one = |it: &&Server| it.kind.protocol() == Some(address.protocol);
        servers.find(|it| is_one(it) && listens_for(&it.endpoints, address, self.network))
    }

    /// Returns the server to which this address leads, with the endpoints at which its clients connect. Also returns
    /// whether the ports of these endpoints belong to a container's proxy, and not to the server.
    pub(crate) fn server_as_seen(self, address: &Address) -> (Option<Server>, bool) {
        if let Some(own) = self.server(address).or_else(|| self.listener(address)) {
            return (Some(own.clone()), false);
        }
        let behind = self.behind(address).map(|(published, server)| {
            let sockets = server.endpoints.iter().filter(|it| it.tcp().is_none());
            let endpoints = published.endpoints.iter().chain(sockets).cloned().collect();
            Server { endpoints, ..server.clone() }
        });
        let is_behind_proxy = behind.is_some();
        (behind, is_behind_proxy)
    }

    /// Returns the server of any kind that listens at this address.
    pub fn listener(self, address: &Address) -> Option<&'a Server> {
        let mut servers = self.servers.iter();
        servers.find(|it| listens_for(&it.endpoints, address, self.network))
    }

    /// Returns the published port at this address, and the server in a container to which it leads.
    pub(crate) fn behind(self, address: &Address) -> Option<Behind<'a>> {
        let mut published = self.published.iter();
        let found = published.find(|it| listens_for(&it.endpoints, address, self.network))?;
        Some((found, self.servers.get(found.server_idx)?))
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
        let published = near.behind(address).and_then(|it| behind(it, address));
        if let Some(found) = published.or_else(|| candidate(address, near)) {
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

/// Returns the socket from the address only: the socket that the caller passed, or the path where packages usually put
/// it. Does not inspect this machine. `None` for protocols whose servers have no usual path.
pub(crate) fn assumed(address: &Address, given: Option<&Path>) -> Option<SocketOf> {
    match given {
        Some(path) => Some(socket_at(address, path, "as given")),
        None if matches!(address.protocol, Protocol::Http | Protocol::Echo) => None,
        None => Some(SocketOf { is_guess: true, ..socket_at(address, &usual(address), "the usual one") }),
    }
}

/// Explains why looptax proposes the usual socket although it saw no server of this kind on the port, and what it sees
/// on the port.
pub(crate) fn unseen(host: Option<&str>, port: u16) -> String {
    let ip = own_address(host.unwrap_or("localhost"));
    let own = looptax_host::discover::process(std::process::id());
    let listens = ip
        .zip(own)
        .is_some_and(|(ip, own)| looptax_host::discover::is_listened_at(SocketAddr::new(ip, port), &own) == Some(true));
    let why = if !listens {
        "looptax saw no program that listens on that port of this machine"
    } else if rustix::process::geteuid().is_root() {
        "the program that listens on that port is not a known server of this kind"
    } else {
        "only root can see which program listens on that port"
    };
    format!("the usual path: {why}, so check whether this path is right")
}

/// Whether `dsn` also prints lines for the server's own file. The socket then need not exist yet.
pub(crate) const fn is_made_by_lines(kind: Kind) -> bool {
    matches!(kind, Kind::PhpFpm | Kind::Http)
}

/// Returns the socket of the user whose process listens on the port, if that process is not visible and the user has
/// only one socket.
fn candidate(address: &Address, near: Near<'_>) -> Option<SocketOf> {
    let here = Near::us(&[]).network;
    let ip = own_address(address.host.as_deref().unwrap_or("localhost"));
    let ip = ip.filter(|_| near.network.is_some() && near.network == here)?;
    let mut found = sockets_beside(address.protocol, SocketAddr::new(ip, address.port));
    found.retain(|it| it.by != FoundBy::UsualPlace);
    let [only] = &*found else { return None };
    let words = match only.by {
        FoundBy::Process => "the only socket of the program that listens on that port",
        _ => "the only socket with a usual name that belongs to the user of the program on that port",
    };
    Some(SocketOf { is_candidate: true, ..socket_at(address, &only.path, words) })
}

/// Returns the socket of a server behind a published port, if the server's container shares the folder of the socket
/// with this machine.
pub(super) fn behind((published, server): Behind<'_>, address: &Address) -> Option<SocketOf> {
    let (path, _) = server.socket(published.server_port)?;
    let here = path_here(&server.process, path)?;
    let words = format!("of {}, pid {}, in {}", server.name(), server.process.pid, container_of(&server.process));
    Some(socket_at(address, &here, &words))
}

/// The socket at a path; `words` say how it was found. PostgreSQL's path may be the folder or the file.
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

/// Returns the path at which Debian's packages put the socket.
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

/// Whether a program with these endpoints listens at the address.
fn listens_for(endpoints: &[Endpoint], address: &Address, network: Option<NamespaceId>) -> bool {
    let Some(ip) = own_address(address.host.as_deref().unwrap_or("localhost")) else {
        return false;
    };
    // Every network namespace has its own loopback, so a loopback address counts only in the client's namespace.
    let is_near = |endpoint: &Endpoint| !ip.is_loopback() || network.is_none_or(|network| network == endpoint.network);
    endpoints.iter().any(|it| it.place.takes((ip, address.port).into()) && is_near(it))
}
