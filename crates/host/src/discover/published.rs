//! Finds ports that a container publishes: a `docker-proxy` listens on each of them, and its command line shows where
//! the port leads.
//!
//! A port counts only if exactly one known server listens on the target's address and port, in a network namespace that
//! has the address. A port does not count if a connection through the proxy was seen to reach another server.

use std::net::{IpAddr, SocketAddr};

use crate::kernel;

use crate::discover::connections::Client;
use crate::discover::docker_proxy::led;
use crate::discover::namespaces::Networks;
use crate::discover::owners::Owners;
use crate::discover::process::Process;
use crate::discover::servers::{Endpoint, Server, endpoints};

/// A port that leads to a server in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub proxy: Process,
    /// The addresses on which the proxy listens.
    pub endpoints: Vec<Endpoint>,
    /// The server's index in the survey's list.
    pub server_idx: usize,
    /// The port on which the server itself listens.
    pub server_port: u16,
}

pub(crate) fn published(
    processes: &[Process],
    servers: &[Server],
    clients: &[Client],
    networks: &Networks,
    owners: &Owners,
) -> Vec<Published> {
    let led = led(processes).filter_map(|(proxy, target)| {
        let server_idx = only_server(servers, target)?;
        if clients.iter().any(|it| leads_elsewhere(proxy, it, server_idx)) {
            return None;
        }
        Some(Published {
            proxy: proxy.clone(),
            endpoints: endpoints(proxy, networks, owners),
            server_idx,
            server_port: target.port(),
        })
    });
    led.collect()
}

/// Whether a connection starts at the proxy or passes through it, and ends at another server.
fn leads_elsewhere(proxy: &Process, client: &Client, server_idx: usize) -> bool {
    let hop = client.via.as_ref().filter(|hop| hop.pid == proxy.pid);
    let is_its = hop.is_some() || client.peer.is_of(proxy.pid);
    let is_shared = hop.is_some_and(|hop| hop.leads_elsewhere);
    is_shared || is_its && client.server_idx != server_idx
}

/// Returns the index of the server at an address of another network namespace; `None` if the address may belong to
/// several servers.
fn only_server(servers: &[Server], target: SocketAddr) -> Option<usize> {
    let mut found = servers.iter().enumerate().filter(|(_, server)| {
        let mut own = server.endpoints.iter();
        own.any(|it| it.place.takes(target)) && has_address(&server.process, target.ip())
    });
    match (found.next(), found.next()) {
        (Some((idx, _)), None) => Some(idx),
        _ => None,
    }
}

fn has_address(process: &Process, ip: IpAddr) -> bool {
    let table = kernel::text(process.file("net/fib_trie")).unwrap_or_default();
    is_local(&table, ip)
}

/// Whether a routing table lists the address as the machine's own: a line `|-- IP`, followed by a line `/32 host
/// LOCAL`.
fn is_local(table: &str, ip: IpAddr) -> bool {
    let leaf = format!("|-- {ip}");
    let mut lines = table.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line == leaf && lines.next() == Some("/32 host LOCAL") {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_leaf_of_the_machines_own_is_its_address() {
        let table = "Main:\n  +-- 172.17.0.0/16 2 0 2\n     |-- 172.17.0.0\n        /16 link UNICAST\n     |-- 172.17.0.2\n        /32 host LOCAL\n     |-- 172.17.255.255\n        /32 link BROADCAST\n";
        let is_own = |ip: &str| is_local(table, ip.parse().unwrap());
        assert!(is_own("172.17.0.2"));
        assert!(!is_own("172.17.0.0"));
        assert!(!is_own("172.17.255.255"));
        assert!(!is_own("172.17.0.20"));
    }
}
