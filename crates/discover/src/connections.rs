//! Who is connected to which server, and over which transport.
//!
//! A connection has two ends in the kernel's lists: the server's, known by the endpoint that accepted
//! it, and the client's, known by the same two addresses the other way round (TCP) or as the peer
//! (Unix). They may lie in different network namespaces: then a bridge is between them. A connection
//! whose other end is nowhere on this machine comes from another one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;

use looptax_record::Way;

use crate::namespace_id::NamespaceId;
use crate::namespaces::Networks;
use crate::owners::Owners;
use crate::process::Process;
use crate::servers::{Endpoint, Place, Server, endpoints};
use crate::sighting::Sighting;
use crate::sock_diag::{TcpSocket, Traffic, UnixSocket};

/// What stands between a client and its server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// Its process.
    pub pid: u32,
    /// Its program: `docker-proxy`.
    pub program: String,
    /// The transport that it takes to the server itself.
    pub onward: Way,
    /// Whether it leads to other servers too: then not all of its clients need be this server's.
    pub leads_elsewhere: bool,
}

/// One TCP connection of a client, to be found again in a later look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The client's network namespace, address and peer; `None` for a Unix socket.
    pub tcp: Option<(NamespaceId, SocketAddr, SocketAddr)>,
    /// What went over it so far, as the client's end counts it.
    pub traffic: Option<Traffic>,
}

/// The connections of one process to one server, over one transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Whose they are, and which.
    pub peer: Peer,
    /// The server's place in the survey's list.
    pub server_idx: usize,
    /// What they lead through.
    pub via: Option<Hop>,
}

/// The connections of one process to one server or listening socket, over one transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The process; `None` where we may not see whose they are.
    pub process: Option<Process>,
    /// Whose sockets they are, where there is no process; `None` where the kernel does not tell.
    pub uid: Option<u32>,
    /// Over which transport.
    pub way: Way,
    /// Each of them.
    pub connections: Vec<Connection>,
}

impl Peer {
    /// Whether they are this process's.
    pub fn is_of(&self, pid: u32) -> bool {
        self.process.as_ref().is_some_and(|it| it.pid == pid)
    }
}

/// Programs that hand connections on. What is a server here too (a pooler) is in that list.
const PROXIES: [&str; 12] = [
    "docker-proxy",
    "rootlessport",
    "slirp4netns",
    "haproxy",
    "envoy",
    "mysqlrouter",
    "maxscale",
    "socat",
    "stunnel4",
    "pgcat",
    "odyssey",
    "twemproxy",
];

/// The ends of all connections, to be looked up by their addresses, and whose they are.
pub(crate) struct Ends<'a> {
    pub(crate) networks: &'a Networks,
    owners: &'a Owners,
    processes: HashMap<u32, &'a Process>,
    tcp: HashMap<(SocketAddr, SocketAddr), Vec<(NamespaceId, &'a TcpSocket)>>,
    unix: HashMap<u64, &'a UnixSocket>,
}

/// The client's end of a connection that a process has accepted.
struct Inbound {
    /// `None`: it comes from another machine, or through a rewritten address.
    inode: Option<u64>,
    uid: Option<u32>,
    way: Way,
    connection: Connection,
}

impl<'a> Ends<'a> {
    pub(crate) fn new(
        networks: &'a Networks,
        owners: &'a Owners,
        processes: &'a [Process],
    ) -> Self {
        let mut tcp: HashMap<_, Vec<_>> = HashMap::new();
        let mut unix = HashMap::new();
        for (network, sockets) in &networks.sockets {
            for socket in &sockets.tcp {
                if let Some(remote) = socket.remote {
                    tcp.entry((socket.local, remote))
                        .or_default()
                        .push((*network, socket));
                }
            }
            unix.extend(sockets.unix.iter().map(|socket| (socket.inode, socket)));
        }
        Self {
            networks,
            owners,
            processes: processes.iter().map(|it| (it.pid, it)).collect(),
            tcp,
            unix,
        }
    }

    /// The connections of this machine that these endpoints have accepted.
    pub(crate) fn sightings(&self, endpoints: &[Endpoint]) -> BTreeSet<Sighting> {
        let sighting = |inbound: Inbound| {
            let tcp = { inbound.connection.tcp }.map(|(_, client, server)| (client, server));
            Some(Sighting {
                tcp,
                inode: inbound.inode?,
                uid: inbound.uid,
            })
        };
        let all = self.inbound(endpoints).into_iter();
        all.filter_map(sighting).collect()
    }

    /// The connections that these endpoints have accepted, by their other ends.
    fn inbound(&self, endpoints: &[Endpoint]) -> Vec<Inbound> {
        let mut found = Vec::new();
        for (network, sockets) in &self.networks.sockets {
            for socket in &sockets.tcp {
                let Some(remote) = socket.remote else {
                    continue;
                };
                if endpoints
                    .iter()
                    .any(|it| it.accepts(*network, socket.local))
                {
                    found.push(self.tcp_end(*network, socket.local, remote));
                }
            }
            for socket in &sockets.unix {
                if endpoints.iter().any(|it| it.has_accepted(*network, socket)) {
                    found.extend(self.unix_end(socket));
                }
            }
        }
        found
    }

    /// How many connections to these endpoints were closed a moment ago: the kernel keeps each for a
    /// minute, at the end that closed first.
    pub(crate) fn n_closed(&self, endpoints: &[Endpoint]) -> usize {
        let mut n_closed = 0;
        for (network, sockets) in &self.networks.sockets {
            let is_ours = |address: SocketAddr| {
                let mut endpoints = endpoints.iter();
                endpoints.any(|it| it.accepts(*network, address))
            };
            let closed = sockets.closed.iter();
            n_closed += closed
                .filter(|(local, remote)| is_ours(*local) || is_ours(*remote))
                .count();
        }
        n_closed
    }

    /// Who is connected to some endpoints, and the number of connections from elsewhere.
    pub(crate) fn peers_of(&self, endpoints: &[Endpoint]) -> (Vec<Peer>, usize) {
        let mut groups = Groups::new();
        let mut n_remote = 0;
        for inbound in self.inbound(endpoints) {
            let Some(inode) = inbound.inode else {
                n_remote += 1;
                continue;
            };
            let pid = self.owners.of_socket(inode).first().copied();
            let uid = inbound.uid.filter(|_| pid.is_none());
            groups
                .entry((pid, uid, inbound.way))
                .or_default()
                .push(inbound.connection);
        }
        let peers = { groups.into_iter() }.map(|((pid, uid, way), connections)| Peer {
            process: pid.and_then(|pid| self.processes.get(&pid).copied().cloned()),
            uid,
            way,
            connections,
        });
        (peers.collect(), n_remote)
    }

    /// The clients behind a proxy, in its place; empty for a process that is none, or that nobody uses
    /// just now.
    fn through(&self, proxy: &Client) -> Vec<Client> {
        let Some(process) = &proxy.peer.process else {
            return Vec::new();
        };
        let program = process.program_name();
        if !PROXIES.contains(&&*program) {
            return Vec::new();
        }
        let via = Hop {
            pid: process.pid,
            program,
            onward: proxy.peer.way,
            leads_elsewhere: false,
        };
        let (peers, _) = self.peers_of(&endpoints(process, self.networks, self.owners));
        { peers.into_iter() }
            .map(|peer| Client {
                peer,
                server_idx: proxy.server_idx,
                via: Some(via.clone()),
            })
            .collect()
    }

    fn tcp_end(&self, network: NamespaceId, local: SocketAddr, remote: SocketAddr) -> Inbound {
        let candidates = self
            .tcp
            .get(&(remote, local))
            .map_or(&[][..], Vec::as_slice);
        // The same addresses may be in use in several namespaces: the server's own comes first.
        let near = candidates.iter().find(|(there, _)| *there == network);
        let end = near.or(candidates.first());
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

    /// `None` for one that nobody has accepted yet, or whose client is gone.
    fn unix_end(&self, accepted: &UnixSocket) -> Option<Inbound> {
        let peer = accepted.peer.filter(|peer| self.unix.contains_key(peer))?;
        Some(Inbound {
            inode: Some(peer),
            uid: self.unix[&peer].uid,
            way: Way::Unix,
            connection: Connection {
                tcp: None,
                traffic: None,
            },
        })
    }
}

impl Endpoint {
    /// Whether a connection with this local address was accepted here.
    pub(crate) fn accepts(&self, network: NamespaceId, local: SocketAddr) -> bool {
        network == self.network && self.place.takes(local)
    }

    /// Whether a Unix socket is one that was accepted here. It lies in the client's namespace, with
    /// the name that the server was bound to.
    fn has_accepted(&self, network: NamespaceId, socket: &UnixSocket) -> bool {
        let Some(name) = socket.name.as_ref().filter(|_| !socket.is_listening) else {
            return false;
        };
        match &self.place {
            Place::Tcp(_) => false,
            Place::Path { path, .. } => {
                *path == name.shown() && (self.file.is_none() || self.file == socket.file)
            }
            Place::Abstract(own) => *own == name.shown() && network == self.network,
        }
    }
}

/// What was seen beside the clients, server by server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtherConnections {
    /// Connections from other machines, or whose addresses were rewritten on the way.
    pub n_remote: usize,
    /// TCP connections of this machine that were closed within the last minute.
    pub n_closed: usize,
}

/// The clients of all servers, by server, then process; and what was seen beside them.
pub(crate) fn clients(servers: &[Server], ends: &Ends<'_>) -> (Vec<Client>, Vec<OtherConnections>) {
    let mut clients = Vec::new();
    let mut others = vec![OtherConnections::default(); servers.len()];
    for (server_idx, server) in servers.iter().enumerate() {
        let (direct, n_unknown) = ends.peers_of(&server.endpoints);
        others[server_idx] = OtherConnections {
            n_remote: n_unknown,
            n_closed: ends.n_closed(&server.endpoints),
        };
        // A server's connections to itself are nobody's tax.
        for peer in { direct.into_iter() }.filter(|it| !it.is_of(server.process.pid)) {
            let client = Client {
                peer,
                server_idx,
                via: None,
            };
            let beyond = ends.through(&client);
            if beyond.is_empty() {
                clients.push(client);
            } else {
                clients.extend(beyond);
            }
        }
    }
    mark_shared_hops(&mut clients);
    (clients, others)
}

/// Connections by process, by user where there is no process, and by transport.
type Groups = BTreeMap<(Option<u32>, Option<u32>, Way), Vec<Connection>>;

/// Which of a proxy's connections go on to which server is not to be seen when it serves several.
fn mark_shared_hops(clients: &mut [Client]) {
    let mut servers_of: HashMap<u32, BTreeSet<usize>> = HashMap::new();
    for client in clients.iter() {
        if let Some(hop) = &client.via {
            servers_of
                .entry(hop.pid)
                .or_default()
                .insert(client.server_idx);
        }
    }
    for hop in clients.iter_mut().filter_map(|client| client.via.as_mut()) {
        hop.leads_elsewhere = servers_of[&hop.pid].len() > 1;
    }
}
