//! Determines which process is connected to which server, and over which transport.
//!
//! A proxy does not count as a client. Instead, the programs that use the proxy count as clients. `ends` knows which
//! process holds which end of a connection.

use std::collections::{BTreeSet, HashMap};

use looptax_model::record::Way;

use crate::discover::ends::{Closed, Ends, Peer, Peers};
use crate::discover::servers::{Server, endpoints};
use crate::discover::web::is_proxy;

/// A program between a client and its server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    pub pid: u32,
    /// The name of the program, such as `docker-proxy`.
    pub program: String,
    /// The transport from this program to the server.
    pub onward: Way,
    /// Whether the program also leads to other servers, so that some of its clients may not belong to this server.
    pub leads_elsewhere: bool,
}

/// The connections of one process to one server, over one transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub peer: Peer,
    /// The server's index in the survey's list.
    pub server_idx: usize,
    pub via: Option<Hop>,
}

/// A server's connections that do not belong to clients on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherConnections {
    /// The number of connections that come from other machines, or have addresses that were rewritten on the way.
    pub n_remote: usize,
    /// TCP connections within this machine that were closed in the last minute.
    pub closed: BTreeSet<Closed>,
}

/// Returns, for each server, the connections that do not belong to clients on this machine.
pub(crate) fn others(servers: &[Server], peers: &[Peers], ends: &Ends<'_>) -> Vec<OtherConnections> {
    let each = servers.iter().zip(peers);
    each.map(|(server, (_, n_remote))| OtherConnections { n_remote: *n_remote, closed: ends.closed(&server.endpoints) })
        .collect()
}

/// Returns the clients of all servers, ordered by server and process; `peers` has the peers of each server.
pub(crate) fn clients(servers: &[Server], peers: &[Peers], ends: &Ends<'_>) -> Vec<Client> {
    let mut clients = Vec::new();
    for (server_idx, (server, (direct, _))) in servers.iter().zip(peers).enumerate() {
        // A server's connections to itself are left out: they take no time from other programs.
        for peer in { direct.iter() }.filter(|it| !it.is_of(server.process.pid)) {
            let client = Client { peer: peer.clone(), server_idx, via: None };
            let beyond = through(&client, ends);
            if beyond.is_empty() {
                clients.push(client);
            } else {
                clients.extend(beyond);
            }
        }
    }
    mark_shared_hops(&mut clients);
    clients
}

/// Returns the clients that use a proxy; these clients are listed instead of the proxy. Empty if the process is not a
/// proxy, or if no program uses it at present.
fn through(proxy: &Client, ends: &Ends<'_>) -> Vec<Client> {
    let Some(process) = &proxy.peer.process else {
        return Vec::new();
    };
    let program = process.program_name();
    if !is_proxy(&program) {
        return Vec::new();
    }
    let via = Hop { pid: process.pid, program, onward: proxy.peer.way, leads_elsewhere: false };
    let (peers, _) = ends.peers_of(&endpoints(process, ends.networks, ends.owners));
    { peers.into_iter() }.map(|peer| Client { peer, server_idx: proxy.server_idx, via: Some(via.clone()) }).collect()
}

/// Marks the proxies that serve several servers: the kernel does not show which of a proxy's connections belong to
/// which server.
fn mark_shared_hops(clients: &mut [Client]) {
    let mut servers_of: HashMap<u32, BTreeSet<usize>> = HashMap::new();
    for client in clients.iter() {
        if let Some(hop) = &client.via {
            servers_of.entry(hop.pid).or_default().insert(client.server_idx);
        }
    }
    for hop in clients.iter_mut().filter_map(|client| client.via.as_mut()) {
        hop.leads_elsewhere = servers_of[&hop.pid].len() > 1;
    }
}
