//! Counts the clients' ports that closed connections still hold. A client that opens a new connection for each request
//! may run out of ports.
//!
//! Inspects only looptax's own network namespace, whose settings `/proc/sys` shows. Called for servers with many short
//! connections.
//!
//! # Source
//! tcp(7), `ip_local_port_range`; the kernel's `tcp_twsk_unique` in `net/ipv4/tcp_ipv4.c` for `tcp_tw_reuse`, whose
//! value 2 has an effect only on the loopback.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use crate::discover::once::own_sockets;
use crate::kernel;

/// How many of a client's ports are held by closed connections to one server address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortsHeld {
    pub server: SocketAddr,
    pub n_held: usize,
    /// The number of ports that a client has for one of its addresses.
    pub n_ports: usize,
    /// The value of `net.ipv4.tcp_tw_reuse`, if it allows a new connection to use a held port after a second.
    pub reuse: Option<u8>,
}

/// For how many seconds a closed connection holds its port.
const HELD_S: usize = 60;

impl PortsHeld {
    /// Returns the number of connections per second at which all ports are held.
    pub const fn most_per_s(self) -> usize {
        self.n_ports / HELD_S
    }
}

/// Returns the server address for which closed connections hold the most ports, with the number of these ports; `None`
/// if no port is held.
///
/// # Cost
/// A netlink dump per address family.
pub fn ports_held(is_server: impl Fn(SocketAddr) -> bool) -> Option<PortsHeld> {
    let all = own_sockets().ok()?;
    let setting = |name: &str| kernel::text(format!("/proc/sys/net/ipv4/{name}")).ok();
    let ports = range_of(&setting("ip_local_port_range")?)?;
    let reuse = setting("tcp_tw_reuse").and_then(|it| it.trim().parse().ok());
    among(&all.closed, is_server, &ports, reuse)
}

/// Counts the held ports. A connection counts only if the client closed it first: the end that closed first holds its
/// port, and the kernel lists that end as the local one.
fn among(
    closed: &[(SocketAddr, SocketAddr)],
    is_server: impl Fn(SocketAddr) -> bool,
    ports: &RangeInclusive<u16>,
    reuse: Option<u8>,
) -> Option<PortsHeld> {
    let mut groups: BTreeMap<(IpAddr, SocketAddr), usize> = BTreeMap::new();
    for (local, remote) in closed {
        if is_server(*remote) && ports.contains(&local.port()) {
            *groups.entry((local.ip(), *remote)).or_default() += 1;
        }
    }
    let ((_, server), n_held) = groups.into_iter().max_by_key(|(_, n_held)| *n_held)?;
    let is_reused = |it: &u8| *it == 1 || *it == 2 && server.ip().is_loopback();
    Some(PortsHeld { server, n_held, n_ports: ports.len(), reuse: reuse.filter(is_reused) })
}

/// Parses a range such as `32768 60999`, with a tab between the numbers.
fn range_of(text: &str) -> Option<RangeInclusive<u16>> {
    let mut words = text.split_whitespace();
    let first = words.next()?.parse().ok()?;
    Some(first..=words.next()?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_count_for_one_address_of_the_client_and_one_of_the_server() {
        let ports = range_of("32768\t60999\n").unwrap();
        let server: SocketAddr = "127.0.0.1:6379".parse().unwrap();
        let pair = |ip: &str, port: u16| (SocketAddr::new(ip.parse().unwrap(), port), server);
        let mut closed: Vec<_> = (40_000..40_010).map(|port| pair("127.0.0.1", port)).collect();
        closed.extend((40_000..40_003).map(|port| pair("10.0.0.1", port)));
        // A port outside the range, a port that the server's side holds, and a port towards another server.
        closed.push(pair("127.0.0.1", 1000));
        closed.push((server, "127.0.0.1:50000".parse().unwrap()));
        closed.push(("127.0.0.1:50001".parse().unwrap(), "127.0.0.1:1".parse().unwrap()));
        let held = |reuse| among(&closed, |it| it == server, &ports, reuse).unwrap();
        assert_eq!(held(Some(0)), PortsHeld { server, n_held: 10, n_ports: 28_232, reuse: None });
        assert_eq!(held(Some(0)).most_per_s(), 470);
        assert_eq!(held(Some(2)).reuse, Some(2));
        assert_eq!(among(&closed, |it| it.port() == 9, &ports, None), None);
    }
}
