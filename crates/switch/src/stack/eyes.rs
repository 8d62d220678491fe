//! Inspects the connections between a web server and its upstream, in the kernel's lists.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use looptax_host::discover::{Endpoint, Outlook, Place, Process, Server, holders, is_listened_at, listens_on};
use looptax_model::dsn::Kind;

use super::Sides;
use super::back;

type Ends = (SocketAddr, SocketAddr);

/// Connections to a port and to a socket, which are inspected repeatedly.
pub(super) struct Eyes {
    /// Both programs. The upstream's process is the process that listened at the last `refresh`.
    pub(super) sides: Sides,
    pub(super) tcp: SocketAddr,
    /// The endpoints of the port before the switch.
    ports: Vec<Endpoint>,
    outlook: Outlook,
    known: BTreeSet<Ends>,
    known_inodes: BTreeSet<u64>,
    /// The web server's workers that were seen on the socket.
    pub(super) over_socket: BTreeSet<String>,
}

impl Eyes {
    pub(super) fn open(sides: &Sides, tcp: SocketAddr) -> Self {
        let ports = ports(sides, tcp);
        let mut eyes = Self {
            outlook: outlook(sides, &ports),
            sides: sides.clone(),
            tcp,
            ports,
            known: BTreeSet::new(),
            known_inodes: BTreeSet::new(),
            over_socket: BTreeSet::new(),
        };
        eyes.look();
        eyes
    }

    /// Looks up again which process listens on the socket, and the endpoints of the process, because a reload changes
    /// them.
    pub(super) fn refresh(&mut self, socket: &Path) {
        if let Some(found) = self.on(socket) {
            self.sides.back_master = found;
        }
        self.outlook = outlook(&self.sides, &self.ports);
    }

    /// Returns the number of TCP connections that are new since the last call.
    pub(super) fn look(&mut self) -> usize {
        let mut n_new = 0;
        let mut sockets = BTreeSet::new();
        for it in self.outlook.look() {
            match it.tcp {
                Some(ends) if ends.1.port() == self.tcp.port() => {
                    n_new += usize::from(self.known.insert(ends));
                }
                None if it.inode != 0 && self.known_inodes.insert(it.inode) => {
                    sockets.insert(it.inode);
                }
                _ => {}
            }
        }
        if !sockets.is_empty() {
            self.take(&holders(&sockets));
        }
        n_new
    }

    fn take(&mut self, held: &BTreeMap<u64, Process>) {
        let own = held.values().filter(|it| self.sides.is_front(it));
        let names = own.map(|it| format!("{} {}", it.program_name(), it.pid));
        self.over_socket.extend(names);
    }

    /// Whether the web server keeps an open connection to the port.
    pub(super) fn has_kept(&self) -> bool {
        let held = at_port(&self.outlook, self.tcp);
        held.values().any(|it| self.sides.is_front(it))
    }

    /// Returns the process that listens on this socket and belongs to the upstream. After a restart this is a different
    /// process.
    pub(super) fn on(&self, socket: &Path) -> Option<Process> {
        let own = &self.sides.back_master;
        if back::listens(own, socket) {
            return Some(own.clone());
        }
        let is_it = |place: &Place| matches!(place, Place::Path { path, .. } if path == socket);
        back::find(self.sides.back, is_it)
    }

    pub(super) fn is_port_open(&self) -> bool {
        is_listened_at(self.tcp, &self.sides.front_master) == Some(true)
    }
}

/// Returns the programs other than the web server that are connected to the port at present.
pub(super) fn others_at(sides: &Sides, tcp: SocketAddr) -> BTreeSet<String> {
    let held = at_port(&outlook(sides, &ports(sides, tcp)), tcp);
    let others = held.values().filter(|it| !sides.is_front(it));
    others.map(|it| format!("{}, pid {}", it.program_name(), it.pid)).collect()
}

/// Returns the processes at the other ends of the connections to a port, by inode.
fn at_port(outlook: &Outlook, tcp: SocketAddr) -> BTreeMap<u64, Process> {
    let to_port = { outlook.look().into_iter() }.filter(|it| it.tcp.is_some_and(|ends| ends.1.port() == tcp.port()));
    let inodes = to_port.map(|it| it.inode).filter(|it| *it != 0);
    holders(&inodes.collect())
}

/// Returns the endpoints at which the upstream listens on a port. If none of these endpoints accepts the address, adds
/// the address itself.
fn ports(sides: &Sides, tcp: SocketAddr) -> Vec<Endpoint> {
    let all = listens_on(&sides.back_master);
    let is_port = |it: &&Endpoint| matches!(it.place, Place::Tcp(at) if at.port() == tcp.port());
    let mut found: Vec<Endpoint> = all.iter().filter(is_port).cloned().collect();
    if !found.iter().any(|it| it.place.takes(tcp)) {
        let mut other = all.first().cloned();
        if let Some(it) = &mut other {
            it.place = Place::Tcp(tcp);
        }
        found.extend(other);
    }
    found
}

/// Returns an `Outlook` for the upstream's endpoints, and for the port: after the port is closed, the kernel still
/// lists its connections of the last minute.
fn outlook(sides: &Sides, ports: &[Endpoint]) -> Outlook {
    let pool = &sides.back_master;
    let mut endpoints = listens_on(pool);
    for port in ports {
        if !endpoints.iter().any(|it| it.place == port.place) {
            endpoints.push(port.clone());
        }
    }
    let server = Server {
        kind: Kind::PhpFpm,
        version: None,
        name: pool.program_name(),
        process: pool.clone(),
        endpoints,
        is_hidden: false,
    };
    Outlook::new(&server, &[sides.front_master.pid])
}
