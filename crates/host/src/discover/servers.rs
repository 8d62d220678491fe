//! Finds the processes that are servers, and the addresses on which each server listens.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::read;
use looptax_model::dsn::Kind;
use looptax_model::record::HowKnown;
use rustix::fs::{FileType, Stat, major, minor};

use crate::discover::kind::of_process;
use crate::discover::namespace_id::NamespaceId;
use crate::discover::namespaces::{Networks, networks};
use crate::discover::once::own_sockets;
use crate::discover::owners::Owners;
use crate::discover::process::Process;
use crate::discover::sock_diag::{FileId, Queue, TcpSocket, UnixName};
use crate::discover::version::Versions;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub kind: Kind,
    /// The server's version, if its program or its package shows it.
    pub version: Option<String>,
    /// The name that people use for the server, such as `mariadbd` or `gunicorn`.
    pub name: String,
    pub process: Process,
    pub endpoints: Vec<Endpoint>,
    /// Whether looptax may not inspect the process. If so, the server's addresses are inferred, or not known.
    pub is_hidden: bool,
}

/// An address on which a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub place: Place,
    /// How full the queue of waiting connections is.
    pub queue: Queue,
    /// The network namespace in which the server listens.
    pub network: NamespaceId,
    /// How looptax knows that the endpoint belongs to the server.
    pub known: HowKnown,
    pub(crate) file: Option<FileId>,
    /// Whether this is "all addresses" of IPv6, and another socket listens at the same port for IPv4.
    pub(crate) is_ipv6_only: bool,
}

/// The address or path of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Tcp(SocketAddr),
    /// A socket with a path, as the server sees it.
    Path {
        path: PathBuf,
        file: SocketFile,
    },
    /// An abstract name, written with a leading `@`.
    Abstract(PathBuf),
}

impl Place {
    /// Whether a socket at this place accepts connections to this address.
    pub fn takes(&self, to: SocketAddr) -> bool {
        let Self::Tcp(own) = self else {
            return false;
        };
        // "All addresses" of IPv4 does not include IPv6 addresses; "all addresses" of IPv6 usually includes both.
        let is_among_all = own.ip().is_unspecified() && (own.is_ipv6() || to.is_ipv4());
        own.port() == to.port() && (own.ip() == to.ip() || is_among_all)
    }
}

/// The file at a socket's path, as far as looptax knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketFile {
    /// The socket on which the server listens.
    Present { uid: u32, gid: u32, mode: u32 },
    /// Another file has replaced the socket, so clients can no longer reach the server by this path.
    Replaced,
    /// There is no file: it was deleted while the server was running.
    Missing,
    /// Not known, because looptax may not inspect the path.
    Unknown,
}

impl Endpoint {
    /// Returns the endpoint's address, if it is a TCP address.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self.place {
            Place::Tcp(address) => Some(address),
            Place::Path { .. } | Place::Abstract(_) => None,
        }
    }

    /// Returns the endpoint's port, if its address is a TCP address.
    pub fn port(&self) -> Option<u16> {
        self.tcp().map(|it| it.port())
    }

    /// Whether this endpoint's socket was bound to this very file, compared by inode and device.
    pub fn is_bound_to(&self, found: &Stat) -> bool {
        // The kernel's own form of a device number; `st_dev` has the number in another form.
        let device = major(found.st_dev) << 20 | minor(found.st_dev);
        self.file == Some((found.st_ino as u32, device))
    }

    /// Whether both endpoints belong to the same listening socket, whatever file is at its path.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_at = match (&self.place, &other.place) {
            (Place::Path { path, .. }, Place::Path { path: others, .. }) => path == others,
            (own, others) => own == others,
        };
        is_at && self.network == other.network && self.file == other.file
    }
}

impl Server {
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// Whether the server has a socket to which a client can connect.
    pub fn has_socket(&self) -> bool {
        self.endpoints.iter().any(|endpoint| match &endpoint.place {
            Place::Tcp(_) => false,
            Place::Abstract(_) => true,
            Place::Path { file, .. } => {
                matches!(file, SocketFile::Present { .. } | SocketFile::Unknown)
            }
        })
    }

    /// Whether it is certain that the server has no socket to which a client can connect.
    pub fn lacks_socket(&self) -> bool {
        !self.is_hidden && !self.has_socket()
    }

    /// Returns the endpoints on which the server's process was seen to listen, without inferred endpoints.
    pub fn seen_endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        let endpoints = self.endpoints.iter();
        endpoints.filter(|it| it.known == HowKnown::Seen)
    }

    /// Returns the most certain of the server's sockets that have a path, and how this socket is known. Of several
    /// equally certain sockets, returns the socket whose name fits this port: a socket with another name may be meant
    /// for commands.
    pub fn socket(&self, port: u16) -> Option<(&Path, HowKnown)> {
        let paths = || {
            self.endpoints.iter().filter_map(|it| match &it.place {
                Place::Path { path, .. } => Some((&**path, it.known)),
                Place::Tcp(_) | Place::Abstract(_) => None,
            })
        };
        let best = paths().map(|it| it.1).max()?;
        let mut known_best = paths().filter(|it| it.1 == best);
        let is_named = |path: &Path| {
            let protocol = self.kind.protocol();
            protocol.is_some_and(|it| it.may_name(path, port))
        };
        let named = known_best.clone().find(|it| is_named(it.0));
        named.or_else(|| known_best.next())
    }

    /// Returns the paths of the server's sockets, as the server sees them.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.endpoints.iter().filter_map(|endpoint| match &endpoint.place {
            Place::Path { path, .. } => Some(&**path),
            Place::Tcp(_) | Place::Abstract(_) => None,
        })
    }
}

/// Returns the servers among `processes`. For a process that has not changed, uses the facts in `known` from the
/// earlier survey.
pub(crate) fn servers(processes: &[Process], networks: &Networks, owners: &Owners, known: &[Server]) -> Vec<Server> {
    let named: Vec<(Kind, &Process)> = processes.iter().filter_map(|it| Some((of_process(it)?, it))).collect();
    let listening = listening_of(networks, owners);
    let sockets_of = |process: &Process| listening.get(&process.pid).cloned().unwrap_or_default();
    let mut versions = Versions::new();
    named
        .iter()
        // A worker of PostgreSQL is not a separate server, and the process with which Redis saves its data is not one
        // either. A process that uWSGI's emperor has started is a separate server if it has its own sockets.
        .filter(|(kind, process)| {
            !named.iter().any(|(other, parent)| {
                other == kind && parent.pid == process.parent && sockets_of(process).is_subset(&sockets_of(parent))
            })
        })
        .map(|(kind, process)| {
            let same = known.iter().find(|it| it.process == **process);
            let (kind, version) = match same {
                Some(same) => (same.kind, same.version.clone()),
                None => versions.of(*kind, process),
            };
            Server {
                kind,
                version,
                name: name_of(process),
                endpoints: endpoints(process, networks, owners),
                is_hidden: owners.hidden.contains(&process.pid),
                process: (*process).clone(),
            }
        })
        .collect()
}

/// Returns the name that people use for a server that is recognised by its program. A file may have several names:
/// Debian's redis-server is a link to redis-check-rdb. Therefore the name that the process has set is preferred, if it
/// is the name of a known server.
pub(crate) fn name_of(process: &Process) -> String {
    if Kind::of_program(&process.name).is_some() { process.name.clone() } else { process.program_name() }
}

/// Returns the inodes of the listening sockets of each process.
pub(crate) fn listening_of(networks: &Networks, owners: &Owners) -> HashMap<u32, BTreeSet<u64>> {
    let mut found: HashMap<u32, BTreeSet<u64>> = HashMap::new();
    for sockets in networks.sockets.values() {
        let tcp = sockets.tcp.iter().filter(|it| it.remote.is_none());
        let unix = sockets.unix.iter().filter(|it| it.is_listening);
        for inode in tcp.map(|it| it.inode).chain(unix.map(|it| it.inode)) {
            for pid in owners.of_socket(inode) {
                found.entry(*pid).or_default().insert(inode);
            }
        }
    }
    found
}

/// Returns the endpoints on which a process listens at present, TCP first, whatever its program is; empty if looptax
/// may not inspect the process.
///
/// # Cost
/// A netlink dump per address family, and a `readlink` per file that the process has open.
pub fn listens_on(process: &Process) -> Vec<Endpoint> {
    let one = std::slice::from_ref(process);
    endpoints(process, &around(process), &Owners::from_processes(one))
}

/// Whether any process listens at this address in the network namespace of `process`; `None` if the namespace is not
/// visible.
///
/// # Cost
/// A netlink dump per address family.
pub fn is_listened_at(to: SocketAddr, process: &Process) -> Option<bool> {
    let sockets = around(process).sockets.remove(&process.network?)?;
    let mut all = sockets.tcp.iter();
    Some(all.any(|it| it.remote.is_none() && Place::Tcp(it.local).takes(to)))
}

/// Returns the sockets of looptax's own network namespace and of a process's namespace.
pub(crate) fn around(process: &Process) -> Networks {
    let own = crate::discover::process::process(std::process::id()).and_then(|own| own.network);
    match (own.filter(|it| process.network == Some(*it)), own_sockets()) {
        (Some(here), Ok(sockets)) => Networks { sockets: [(here, (*sockets).clone())].into(), closed: Vec::new() },
        _ => networks(std::slice::from_ref(process), own),
    }
}

/// Returns the endpoints of a process, TCP first.
pub(crate) fn endpoints(process: &Process, networks: &Networks, owners: &Owners) -> Vec<Endpoint> {
    let is_own = |inode| owners.of_socket(inode).contains(&process.pid);
    let found = listening(networks, Some(process), is_own).into_iter();
    found.map(|(endpoint, _)| endpoint).collect()
}

/// Returns the listening sockets whose inodes `is_wanted` accepts, TCP first, each with its user. A path is looked up
/// as `process` sees it, or as looptax sees it if `process` is `None`.
pub(crate) fn listening(
    networks: &Networks,
    process: Option<&Process>,
    is_wanted: impl Fn(u64) -> bool,
) -> Vec<(Endpoint, Option<u32>)> {
    let mut found = Vec::new();
    for (network, sockets) in &networks.sockets {
        let listening = || sockets.tcp.iter().filter(|it| it.remote.is_none());
        for socket in listening() {
            if is_wanted(socket.inode) {
                let is_rival = |it: &TcpSocket| it.local.is_ipv4() && it.local.port() == socket.local.port();
                let endpoint = Endpoint {
                    place: Place::Tcp(socket.local),
                    queue: socket.queue,
                    network: *network,
                    known: HowKnown::Seen,
                    file: None,
                    is_ipv6_only: socket.local.is_ipv6() && listening().any(is_rival),
                };
                found.push((endpoint, Some(socket.uid)));
            }
        }
    }
    for (network, sockets) in &networks.sockets {
        for socket in &sockets.unix {
            let Some(name) = &socket.name else { continue };
            if socket.is_listening && is_wanted(socket.inode) {
                let endpoint = Endpoint {
                    place: unix_place(process, name, socket.file),
                    queue: socket.queue.unwrap_or(Queue { waiting: 0, backlog: 0 }),
                    network: *network,
                    known: HowKnown::Seen,
                    file: socket.file,
                    is_ipv6_only: false,
                };
                found.push((endpoint, socket.uid));
            }
        }
    }
    found
}

fn unix_place(process: Option<&Process>, name: &UnixName, bound: Option<FileId>) -> Place {
    match name {
        UnixName::Abstract(_) => Place::Abstract(name.shown()),
        UnixName::Path(path) => Place::Path {
            file: match process {
                Some(process) => file_at(process, path, bound),
                None => file_here(path, bound),
            },
            path: path.clone(),
        },
    }
}

/// Describes the file at `path` in looptax's own file system, if a socket was bound to this very file. looptax does not
/// know at which root folder the path starts; therefore another file, or a missing file, proves nothing.
fn file_here(path: &Path, bound: Option<FileId>) -> SocketFile {
    let found = read::look_at_link(path).ok().flatten();
    let found = found.filter(|it| path.is_absolute() && is_socket(it));
    let same = found.filter(|it| bound.is_some() && is_file(it, bound));
    same.map_or(SocketFile::Unknown, |it| present(&it))
}

fn present(found: &Stat) -> SocketFile {
    SocketFile::Present { uid: found.st_uid, gid: found.st_gid, mode: found.st_mode & 0o7777 }
}

pub(crate) fn is_socket(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Socket
}

/// Describes the file at `path`, as `process` sees this path, compared with the file to which the socket was bound. A
/// relative path starts at the working folder of the process.
fn file_at(process: &Process, path: &Path, bound: Option<FileId>) -> SocketFile {
    match process.view().and_then(|it| it.look_at_link(path)) {
        Ok(Some(found)) if is_socket(&found) && is_file(&found, bound) => present(&found),
        Ok(Some(_)) => SocketFile::Replaced,
        Ok(None) => SocketFile::Missing,
        Err(_) => SocketFile::Unknown,
    }
}

/// Whether the file may be the one to which a socket was bound: the kernel reports only the lower half of that file's
/// inode number.
pub(crate) fn is_file(found: &Stat, bound: Option<FileId>) -> bool {
    bound.is_none_or(|(inode, _)| found.st_ino as u32 == inode)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::fd::AsFd;

    use rustix::net::{AddressFamily, SocketType, bind, listen, socket, sockopt};

    use super::*;

    #[test]
    fn all_addresses_of_ipv6_exclude_ipv4_if_another_socket_has_the_port() {
        let of_ipv4 = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let port = of_ipv4.local_addr().unwrap().port();
        let of_ipv6 = socket(AddressFamily::INET6, SocketType::STREAM, None);
        let of_ipv6 = of_ipv6.and_then(|it| {
            sockopt::set_ipv6_v6only(it.as_fd(), true)?;
            bind(&it, &SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, port)))?;
            listen(&it, 1)?;
            Ok(it)
        });
        let _of_ipv6: std::os::fd::OwnedFd = of_ipv6.unwrap();
        let own = crate::discover::process::process(std::process::id()).unwrap();
        let all: Vec<Endpoint> = listens_on(&own).into_iter().filter(|it| it.port() == Some(port)).collect();
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let takers: Vec<bool> = all.iter().filter(|it| it.accepts(it.network, to)).map(|it| it.is_ipv6_only).collect();
        assert_eq!((all.len(), takers), (2, vec![false]), "{all:?}");
    }
}
