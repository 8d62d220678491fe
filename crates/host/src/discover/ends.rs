//! Finds the two ends of all connections, and the processes that hold them.
//!
//! A connection has two ends in the kernel's lists. The server's end is recognised by the endpoint that accepted the
//! connection. The client's end has the same two addresses in reverse order (TCP), or is the peer (Unix). The two ends
//! may be in different network namespaces that a bridge connects. If the other end is not on this machine, the
//! connection comes from another machine.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use looptax_model::record::Way;

use crate::discover::docker_proxy::led;
use crate::discover::namespace_id::NamespaceId;
use crate::discover::namespaces::Networks;
use crate::discover::owners::Owners;
use crate::discover::process::Process;
use crate::discover::servers::{Endpoint, Place, endpoints};
use crate::discover::sighting::Sighting;
use crate::discover::sock_diag::{FileId, TcpSocket, Traffic, UnixName, UnixSocket};

/// A client's connection, with the facts by which a later survey recognises the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The client's network namespace, address and peer; `None` for a Unix socket.
    pub tcp: Option<(NamespaceId, SocketAddr, SocketAddr)>,
    /// The traffic over the connection so far, as counted at the client's end.
    pub traffic: Option<Traffic>,
}

/// The connections of one process to one server or listening socket, over one transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The process; `None` if looptax may not see which process holds the sockets.
    pub process: Option<Process>,
    /// The owner of the sockets, if the process is not known; `None` if the kernel does not report the owner.
    pub uid: Option<u32>,
    pub way: Way,
    pub connections: Vec<Connection>,
}

impl Peer {
    pub fn is_of(&self, pid: u32) -> bool {
        self.process.as_ref().is_some_and(|it| it.pid == pid)
    }
}

/// A TCP connection that was closed in the last minute. Its process is no longer known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Closed {
    /// The network namespace of the end that closed first.
    pub network: NamespaceId,
    pub client: SocketAddr,
    pub server: SocketAddr,
}

impl Closed {
    /// Returns the transport of the connection, if both ends were certainly on this machine.
    pub fn way(&self) -> Option<Way> {
        match (self.client.ip(), self.server.ip()) {
            (IpAddr::V4(client), IpAddr::V4(_)) if client.is_loopback() => Some(Way::Loopback),
            (IpAddr::V6(client), IpAddr::V6(_)) if client.is_loopback() => Some(Way::Loopback6),
            (client, server) => (client == server).then_some(Way::OwnAddress),
        }
    }
}

/// The clients of some endpoints, and the number of connections from other machines.
pub(crate) type Peers = (Vec<Peer>, usize);

/// The ends of all connections, which can be looked up by their addresses, and the owners of these ends.
pub(crate) struct Ends<'a> {
    pub(crate) networks: &'a Networks,
    pub(crate) owners: &'a Owners,
    processes: HashMap<u32, &'a Process>,
    tcp: HashMap<(SocketAddr, SocketAddr), Vec<(NamespaceId, &'a TcpSocket)>>,
    /// The clients of published ports that reach the server without the proxy. The key consists of the client's address
    /// and the server's address.
    redirected: HashMap<(SocketAddr, SocketAddr), (NamespaceId, &'a TcpSocket)>,
    tcp_inodes: HashSet<u64>,
    unix: HashMap<u64, &'a UnixSocket>,
}

/// A connection to a listening socket of this machine.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) inode: u64,
    pub(crate) way: Way,
    /// The network namespace of the server's end; for a Unix socket, of the client's end.
    network: NamespaceId,
    at: Acceptor,
}

#[derive(Debug, Clone)]
enum Acceptor {
    Tcp(SocketAddr),
    Unix(UnixSocket),
}

impl Arrival {
    pub(crate) fn is_at(&self, endpoint: &Endpoint) -> bool {
        match &self.at {
            Acceptor::Tcp(local) => endpoint.accepts(self.network, *local),
            Acceptor::Unix(socket) => endpoint.is_called(self.network, socket),
        }
    }
}

/// The server-side addresses at which connections were accepted, without duplicates.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accepted {
    tcp: HashSet<(NamespaceId, SocketAddr)>,
    unix: Vec<(NamespaceId, UnixSocket)>,
}

impl Accepted {
    /// Whether any of the connections was accepted at this endpoint.
    pub(crate) fn has(&self, endpoint: &Endpoint) -> bool {
        let mut tcp = self.tcp.iter();
        let mut unix = self.unix.iter();
        tcp.any(|(network, local)| endpoint.accepts(*network, *local))
            || unix.any(|(network, socket)| endpoint.is_called(*network, socket))
    }

    pub(crate) fn add(&mut self, arrival: &Arrival) {
        match &arrival.at {
            Acceptor::Tcp(local) => {
                self.tcp.insert((arrival.network, *local));
            }
            Acceptor::Unix(socket) => {
                let known = |(there, it): &(NamespaceId, UnixSocket)| {
                    *there == arrival.network && it.name == socket.name && it.file == socket.file
                };
                if !self.unix.iter().any(known) {
                    self.unix.push((arrival.network, socket.clone()));
                }
            }
        }
    }
}

/// The client's end of a connection that a process of this machine has accepted.
struct Inbound {
    /// The client's socket; `None` if the connection comes from another machine, or through a rewritten address.
    inode: Option<u64>,
    uid: Option<u32>,
    way: Way,
    connection: Connection,
}

impl<'a> Ends<'a> {
    pub(crate) fn new(networks: &'a Networks, owners: &'a Owners, processes: &'a [Process]) -> Self {
        let mut tcp: HashMap<_, Vec<_>> = HashMap::new();
        let mut tcp_inodes = HashSet::new();
        let mut unix = HashMap::new();
        for (network, sockets) in &networks.sockets {
            for socket in &sockets.tcp {
                tcp_inodes.insert(socket.inode);
                if let Some(remote) = socket.remote {
                    tcp.entry((socket.local, remote)).or_default().push((*network, socket));
                }
            }
            unix.extend(sockets.unix.iter().map(|socket| (socket.inode, socket)));
        }
        let by_pid = processes.iter().map(|it| (it.pid, it)).collect();
        let mut ends = Self { networks, owners, processes: by_pid, redirected: HashMap::new(), tcp, tcp_inodes, unix };
        ends.redirected = led(processes).flat_map(|(proxy, target)| ends.redirected_to(proxy, target)).collect();
        ends
    }

    /// Returns the clients that connected to a published port and are not connected to the proxy.
    ///
    /// The client connects to the machine's own address. Docker's rules of the packet filter replace this address with
    /// the container's address. Therefore the client's end and the server's end have only the client's address in
    /// common.
    fn redirected_to(
        &self,
        proxy: &Process,
        target: SocketAddr,
    ) -> HashMap<(SocketAddr, SocketAddr), (NamespaceId, &'a TcpSocket)> {
        let endpoints = endpoints(proxy, self.networks, self.owners);
        let sockets = self.networks.sockets.iter().flat_map(|(network, it)| it.tcp.iter().map(|it| (*network, it)));
        // A client in another container connects to the machine's address, too.
        let is_published = |remote| endpoints.iter().any(|it| it.accepts(it.network, remote));
        let clients = sockets.filter(|(_, socket)| {
            let remote = socket.remote.filter(|it| is_published(*it));
            remote.is_some_and(|remote| !self.tcp.contains_key(&(remote, socket.local)))
        });
        clients.map(|(network, socket)| ((socket.local, target), (network, socket))).collect()
    }

    /// Returns the connections within this machine that these endpoints have accepted.
    pub(crate) fn sightings(&self, endpoints: &[Endpoint]) -> BTreeSet<Sighting> {
        let sighting = |inbound: Inbound| {
            let tcp = { inbound.connection.tcp }.map(|(_, client, server)| (client, server));
            Some(Sighting { tcp, inode: inbound.inode?, uid: inbound.uid })
        };
        let all = self.inbound(endpoints).into_iter();
        all.filter_map(sighting).collect()
    }

    /// Returns the connections that these endpoints have accepted, each with its client's end.
    fn inbound(&self, endpoints: &[Endpoint]) -> Vec<Inbound> {
        let mut found = Vec::new();
        for (network, sockets) in &self.networks.sockets {
            for socket in &sockets.tcp {
                let Some(remote) = socket.remote else {
                    continue;
                };
                if endpoints.iter().any(|it| it.accepts(*network, socket.local)) {
                    found.push(self.tcp_end(*network, socket.local, remote));
                }
            }
            for socket in &sockets.unix {
                if endpoints.iter().any(|it| it.is_called(*network, socket)) {
                    found.extend(self.unix_ends(socket));
                }
            }
        }
        found
    }

    /// Returns the connections to these endpoints that were closed recently. The kernel keeps such a connection for a
    /// minute, at the end that closed the connection first.
    pub(crate) fn closed(&self, endpoints: &[Endpoint]) -> BTreeSet<Closed> {
        let mut found = BTreeSet::new();
        for (network, sockets) in &self.networks.sockets {
            let is_ours = |address: SocketAddr| {
                let mut endpoints = endpoints.iter();
                endpoints.any(|it| it.accepts(*network, address))
            };
            for (local, remote) in &sockets.closed {
                let (client, server) = match (is_ours(*local), is_ours(*remote)) {
                    (true, _) => (*remote, *local),
                    (_, true) => (*local, *remote),
                    _ => continue,
                };
                found.insert(Closed { network: *network, client, server });
            }
        }
        found
    }

    /// Returns the clients of some endpoints, and the number of connections from other machines.
    pub(crate) fn peers_of(&self, endpoints: &[Endpoint]) -> Peers {
        let mut groups = Groups::new();
        let mut n_remote = 0;
        for inbound in self.inbound(endpoints) {
            let Some(inode) = inbound.inode else {
                n_remote += 1;
                continue;
            };
            let pid = self.owners.of_socket(inode).first().copied();
            let uid = inbound.uid.filter(|_| pid.is_none());
            groups.entry((pid, uid, inbound.way)).or_default().push(inbound.connection);
        }
        let peers = { groups.into_iter() }.map(|((pid, uid, way), connections)| Peer {
            process: pid.and_then(|pid| self.processes.get(&pid).copied().cloned()),
            uid,
            way,
            connections,
        });
        (peers.collect(), n_remote)
    }

    /// Returns all connections within this machine to listening sockets of this machine, from any program.
    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        let mut found = Vec::new();
        for (network, sockets) in &self.networks.sockets {
            let listening = sockets.tcp.iter().filter(|it| it.remote.is_none());
            let ports: HashSet<u16> = listening.map(|it| it.local.port()).collect();
            let accepted = sockets.tcp.iter().filter(|it| ports.contains(&it.local.port()));
            for (local, remote) in accepted.filter_map(|it| Some((it.local, it.remote?))) {
                let end = self.tcp_end(*network, local, remote);
                found.extend(end.inode.map(|inode| Arrival {
                    inode,
                    way: end.way,
                    network: *network,
                    at: Acceptor::Tcp(local),
                }));
            }
            for socket in sockets.unix.iter().filter(|it| it.name.is_some()) {
                let ends = self.unix_ends(socket);
                found.extend(ends.filter_map(|it| it.inode).map(|inode| Arrival {
                    inode,
                    way: Way::Unix,
                    network: *network,
                    at: Acceptor::Unix(socket.clone()),
                }));
            }
        }
        found
    }

    /// Whether the socket with this inode is open at present.
    pub(crate) fn has(&self, inode: u64) -> bool {
        self.unix.contains_key(&inode) || self.tcp_inodes.contains(&inode)
    }

    fn other_end(
        &self,
        network: NamespaceId,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Option<&(NamespaceId, &'a TcpSocket)> {
        let candidates = self.tcp.get(&(remote, local)).map_or(&[][..], Vec::as_slice);
        // Several namespaces may use the same addresses, so the server's own namespace is preferred.
        let near = candidates.iter().find(|(there, _)| *there == network);
        near.or(candidates.first()).or_else(|| self.redirected.get(&(remote, local)))
    }

    fn tcp_end(&self, network: NamespaceId, local: SocketAddr, remote: SocketAddr) -> Inbound {
        let end = self.other_end(network, local, remote);
        let way = match (end, local) {
            (Some((there, _)), _) if *there != network => Way::Bridge,
            (_, SocketAddr::V4(local)) if local.ip().is_loopback() => Way::Loopback,
            (_, SocketAddr::V6(local)) if local.ip().is_loopback() => Way::Loopback6,
            _ => Way::OwnAddress,
        };
        Inbound {
            inode: end.map(|(_, socket)| socket.inode),
            uid: end.map(|(_, socket)| socket.uid),
            way,
            connection: Connection {
                tcp: end.map(|(there, socket)| (*there, socket.local, local)),
                traffic: end.and_then(|(_, socket)| socket.traffic),
            },
        }
    }

    /// Returns the clients of a Unix socket that has a server's name. For the end of a connection, returns the client
    /// at the other end. For a listening socket, returns the clients that wait to be accepted. A client that has ended
    /// does not count.
    fn unix_ends(&self, socket: &UnixSocket) -> impl Iterator<Item = Inbound> {
        let peers = socket.peers.iter().filter_map(|it| self.unix.get(it));
        peers.map(|peer| Inbound {
            inode: Some(peer.inode),
            uid: peer.uid,
            way: Way::Unix,
            connection: Connection { tcp: None, traffic: None },
        })
    }
}

impl Endpoint {
    /// Whether a connection with this local address was accepted at this endpoint.
    pub(crate) fn accepts(&self, network: NamespaceId, local: SocketAddr) -> bool {
        let is_of_ipv4 = self.is_ipv6_only && local.is_ipv4();
        network == self.network && self.place.takes(local) && !is_of_ipv4
    }

    /// Whether a Unix socket has the name to which the server's socket was bound. Such a Unix socket is either the
    /// listening socket itself, or the server's end of a connection. The server's end is in the client's namespace.
    fn is_called(&self, network: NamespaceId, socket: &UnixSocket) -> bool {
        socket.name.as_ref().is_some_and(|it| self.is_named(network, it, socket.file))
    }

    /// Whether the server's socket was bound to this name, and to this file if both files are known.
    pub(crate) fn is_named(&self, network: NamespaceId, name: &UnixName, file: Option<FileId>) -> bool {
        match &self.place {
            Place::Tcp(_) => false,
            Place::Path { path, .. } => *path == name.shown() && (self.file.is_none() || self.file == file),
            Place::Abstract(own) => *own == name.shown() && network == self.network,
        }
    }
}

/// The connections, grouped by process, user and transport. The user is given only if the process is not known.
type Groups = BTreeMap<(Option<u32>, Option<u32>, Way), Vec<Connection>>;
