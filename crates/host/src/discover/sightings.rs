//! Lists the connections of one server. This is cheap enough to be done many times a second.
//!
//! A survey misses a connection that a page opens and closes within milliseconds. To find such a connection, a caller
//! uses this module repeatedly.

use crate::discover::ends::Ends;
use crate::discover::namespaces::{Networks, networks};
use crate::discover::once::{owners, processes};
use crate::discover::owners::Owners;
use crate::discover::process::{Process, process};
use crate::discover::servers::{Place, Server, around};
use crate::discover::sighting::Sighting;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// The network namespaces in which a server's connections are visible.
#[derive(Debug)]
pub struct Outlook {
    server: Server,
    members: Vec<Process>,
}

impl Outlook {
    /// Chooses the namespaces to list: looptax's own, the server's, and those of the client processes.
    pub fn new(server: &Server, clients: &[u32]) -> Self {
        let members = { clients.iter() }.filter_map(|pid| process(*pid));
        Self { members: members.chain([server.process.clone()]).collect(), server: server.clone() }
    }

    /// Returns the server's open connections, and over TCP also the connections that were closed in the last minute.
    ///
    /// # Cost
    /// A netlink dump per address family and network namespace; no process is inspected.
    pub fn look(&self) -> BTreeSet<Sighting> {
        let own = process(std::process::id()).and_then(|own| own.network);
        let networks = networks(&self.members, own);
        let owners = Owners::default();
        let ends = Ends::new(&networks, &owners, &[]);
        let mut found = ends.sightings(&self.server.endpoints);
        found.extend(self.closed(&networks));
        found
    }

    fn closed<'a>(&'a self, networks: &'a Networks) -> impl Iterator<Item = Sighting> + 'a {
        let all = networks.sockets.iter();
        let pairs = all.flat_map(|(network, sockets)| {
            let closed = sockets.closed.iter();
            closed.map(move |(local, remote)| (*network, *local, *remote))
        });
        pairs.filter_map(|(network, local, remote)| {
            let is_servers = |end| { self.server.endpoints.iter() }.any(|it| it.accepts(network, end));
            // The kernel lists only the end that closed first, which may be the client's or the server's.
            let (client, server) = match (is_servers(local), is_servers(remote)) {
                (true, _) => (remote, local),
                (_, true) => (local, remote),
                _ => return None,
            };
            Some(Sighting { tcp: Some((client, server)), inode: 0, uid: None })
        })
    }
}

/// Returns the processes that hold these sockets at present, as far as looptax may inspect them.
///
/// # Cost
/// A `readlink` per open file of every process.
pub fn holders(inodes: &BTreeSet<u64>) -> BTreeMap<u64, Process> {
    let (processes, owners) = (processes(), owners());
    let holder = |inode: &u64| {
        let pid = owners.of_socket(*inode).first()?;
        let process = processes.iter().find(|it| it.pid == *pid)?;
        Some((*inode, process.clone()))
    };
    inodes.iter().filter_map(holder).collect()
}

/// Returns the process that listens at this address in the network namespace of `process`, whatever its program is;
/// `None` if looptax may not see it.
///
/// # Cost
/// A netlink dump per address family, and a `readlink` per open file of every process.
pub fn listener_at(to: SocketAddr, process: &Process) -> Option<Process> {
    let sockets = around(process).sockets.remove(&process.network?)?;
    let mut all = sockets.tcp.iter();
    let socket = all.find(|it| it.remote.is_none() && Place::Tcp(it.local).takes(to))?;
    let holders = holders(&BTreeSet::from([socket.inode]));
    holders.into_values().next()
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use super::*;
    use crate::discover::servers::Endpoint;
    use looptax_model::dsn::Kind;

    /// Returns this process as a server that listens at this address.
    fn own_server(at: SocketAddr) -> Server {
        let process = process(std::process::id()).unwrap();
        Server {
            kind: Kind::Redis,
            version: None,
            name: process.program_name(),
            endpoints: vec![Endpoint {
                place: crate::discover::Place::Tcp(at),
                queue: crate::discover::Queue { waiting: 0, backlog: 1 },
                network: process.network.unwrap(),
                known: looptax_model::record::HowKnown::Seen,
                file: None,
                is_ipv6_only: false,
            }],
            process,
            is_hidden: false,
        }
    }

    #[test]
    fn a_connection_is_seen_while_it_is_open_with_its_holder_and_after_it_was_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let outlook = Outlook::new(&own_server(at), &[]);
        // The kernel may still list connections of an earlier server on the same port.
        let before = outlook.look();
        let client = TcpStream::connect(at).unwrap();
        let (server, _) = listener.accept().unwrap();
        let ends = Some((client.local_addr().unwrap(), at));
        let open = &outlook.look() - &before;
        let [seen] = open.iter().collect::<Vec<_>>()[..] else { panic!("{open:?}") };
        assert_eq!(seen.tcp, ends);
        assert_eq!(seen.uid, Some(rustix::process::geteuid().as_raw()));
        let held = holders(&[seen.inode].into());
        assert_eq!(held[&seen.inode].pid, std::process::id());
        drop((client, server));
        // A process that another test is starting holds both ends until it executes its program.
        let seen_now = || -> Vec<_> {
            let now = &outlook.look() - &before;
            now.iter().map(|it| (it.tcp, it.inode)).collect()
        };
        let let_go = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            seen_now() == [(ends, 0)]
        });
        assert!(let_go, "{:?}", seen_now());
    }
}
