//! Lists the connections of one server in the kernel, and remembers the process that holds each connection.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use looptax_host::discover::{Outlook, Process, Server, Sighting, holders};

use crate::clock::Since;

/// For this long looptax tries to find the process of a new TCP connection: a process that is just starting may be
/// missing in the list of processes.
const HELD_WITHIN: Duration = Duration::from_secs(1);

pub(super) struct Connections {
    outlook: Option<Outlook>,
    /// The addresses of client and server, each with the inode of its last connection; 0 if this connection was closed
    /// before looptax saw it.
    known_tcp: BTreeMap<(SocketAddr, SocketAddr), u64>,
    known_inodes: BTreeSet<u64>,
    /// The inodes of looptax's own connections to the socket.
    pub(super) ours: BTreeSet<u64>,
    /// The open connections to the socket, each with the look that first saw it.
    pub(super) open_since: BTreeMap<u64, u64>,
    pub(super) n_looks: u64,
    /// The process that holds the client's end of each TCP connection.
    pub(super) clients: BTreeMap<SocketAddr, Process>,
    /// The process that holds the client's end of each connection to the socket.
    pub(super) over_socket: BTreeMap<u64, Process>,
    /// The TCP connections that are open at present, each since the first look that found it open.
    pub(super) open_tcp: BTreeMap<SocketAddr, Since>,
    /// The clients' ends of connections that the last look found new, and that served another connection before.
    pub(super) reused: Vec<SocketAddr>,
}

impl Connections {
    pub(super) fn of(server: Option<&Server>, clients: &[u32]) -> Self {
        Self {
            outlook: server.map(|it| Outlook::new(it, clients)),
            known_tcp: BTreeMap::new(),
            known_inodes: BTreeSet::new(),
            ours: BTreeSet::new(),
            open_since: BTreeMap::new(),
            n_looks: 0,
            clients: BTreeMap::new(),
            over_socket: BTreeMap::new(),
            open_tcp: BTreeMap::new(),
            reused: Vec::new(),
        }
    }

    /// Lists the connections in the network namespaces of these processes too.
    pub(super) fn look_from(&mut self, server: Option<&Server>, clients: &[u32]) {
        self.outlook = server.map(|it| Outlook::new(it, clients));
    }

    /// Returns the connections that are new since the last look, each with the process that holds it. A client's port
    /// may serve another connection later, even of another process.
    pub(super) fn look(&mut self) -> Vec<(Sighting, Option<Process>)> {
        let all = { self.outlook.as_ref() }.map(Outlook::look).unwrap_or_default();
        self.reused.clear();
        let (new, known): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| self.is_new(it));
        let open = || { new.iter().chain(&known) }.filter(|it| it.inode != 0);
        self.n_looks += 1;
        let open_now = open().filter(|it| it.tcp.is_none()).map(|it| it.inode);
        self.open_since = continued(&self.open_since, open_now, self.n_looks);
        for from in &self.reused {
            self.clients.remove(from);
            self.open_tcp.remove(from);
        }
        let now = Since::now();
        let open_tcp = { open() }.filter_map(|it| it.tcp).map(|(from, _)| from);
        self.open_tcp = open_tcp.map(|from| (from, self.open_tcp.get(&from).copied().unwrap_or(now))).collect();
        let is_unheld = |from: &SocketAddr| {
            !self.clients.contains_key(from) && self.open_tcp.get(from).is_some_and(|it| it.elapsed() < HELD_WITHIN)
        };
        let unheld: Vec<Sighting> =
            known.iter().filter(|it| it.tcp.is_some_and(|(from, _)| is_unheld(&from))).copied().collect();
        let inodes: BTreeSet<u64> = { new.iter().chain(&unheld) }.map(|it| it.inode).filter(|it| *it != 0).collect();
        let held = if inodes.is_empty() { BTreeMap::new() } else { holders(&inodes) };
        for (sighting, holder) in { new.iter().chain(&unheld) }.filter_map(|it| Some((it, held.get(&it.inode)?))) {
            match sighting.tcp {
                Some((from, _)) => {
                    self.clients.insert(from, holder.clone());
                }
                None if holder.pid == std::process::id() => {
                    self.ours.insert(sighting.inode);
                }
                None => {
                    self.over_socket.insert(sighting.inode, holder.clone());
                }
            }
        }
        new.into_iter().map(|it| (it, held.get(&it.inode).cloned())).collect()
    }

    /// Returns the connections to the socket that are open at present and were open at the previous look.
    pub(super) fn lasting(&self) -> impl Iterator<Item = &u64> {
        self.open_since.iter().filter(|(_, since)| **since < self.n_looks).map(|it| it.0)
    }

    fn is_new(&mut self, sighting: &Sighting) -> bool {
        let Sighting { tcp, inode, .. } = *sighting;
        let Some(ends) = tcp else {
            return self.known_inodes.insert(inode);
        };
        let known = self.known_tcp.get(&ends).copied();
        if known == Some(inode) || known.is_some() && inode == 0 {
            return false;
        }
        self.reused.extend(known.map(|_| ends.0));
        self.known_tcp.insert(ends, inode);
        true
    }
}

/// Returns the present connections, each with the number of the look that first saw it.
pub(super) fn continued(before: &BTreeMap<u64, u64>, now: impl Iterator<Item = u64>, look: u64) -> BTreeMap<u64, u64> {
    now.map(|it| (it, before.get(&it).copied().unwrap_or(look))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_serves_another_connection_is_new() {
        let mut connections = Connections::of(None, &[]);
        let ends =
            |port: u16| Some((SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from(([127, 0, 0, 1], 3306))));
        let mut is_new = |port, inode| {
            connections.reused.clear();
            let is_new = connections.is_new(&Sighting { tcp: ends(port), inode, uid: None });
            (is_new, connections.reused.len())
        };
        assert_eq!(is_new(40_000, 7), (true, 0));
        assert_eq!(is_new(40_000, 7), (false, 0));
        assert_eq!(is_new(40_000, 0), (false, 0), "it was closed");
        assert_eq!(is_new(40_000, 8), (true, 1));
        assert_eq!(is_new(40_001, 0), (true, 0), "it was closed before looptax saw it");
        assert_eq!(is_new(40_001, 9), (true, 1));
    }
}
