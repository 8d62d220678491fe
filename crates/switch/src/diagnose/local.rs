//! Determines whether a host is this machine: a socket works only within one machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use looptax_host::{kernel, read};

/// Returns the address of `host` on this machine; `None` if `host` is another machine, or looptax cannot determine its
/// address. looptax does not ask a name server, because the application may have got a different answer.
pub fn own_address(host: &str) -> Option<IpAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = match bare.parse() {
        Ok(address) => address,
        Err(_) => in_hosts(&read::system_text("/etc/hosts"), bare)?,
    };
    // A process can bind only to an address of its machine, unless the machine may use other machines' addresses
    // (keepalived, HAProxy).
    let is_bound = UdpSocket::bind((found, 0)).is_ok();
    (is_bound && (!may_be_others(found) || has_interface(found))).then_some(found)
}

/// Whether this machine lets a process bind to addresses that none of the machine's interfaces has.
fn may_be_others(address: IpAddr) -> bool {
    let family = if address.is_ipv4() { "ipv4" } else { "ipv6" };
    let path = format!("/proc/sys/net/{family}/ip_nonlocal_bind");
    kernel::text(path).is_ok_and(|it| it.trim() != "0")
}

fn has_interface(address: IpAddr) -> bool {
    let read = |path| kernel::text(path).unwrap_or_default();
    address.is_loopback()
        || address.is_unspecified()
        || match address {
            IpAddr::V4(address) => in_routes(&read("/proc/net/fib_trie"), address),
            IpAddr::V6(address) => in_interfaces(&read("/proc/net/if_inet6"), address),
        }
}

/// Whether `/proc/net/fib_trie` lists the address as one of this machine: a line `|-- 10.0.0.5`, and below it `/32 host
/// LOCAL`.
fn in_routes(trie: &str, address: Ipv4Addr) -> bool {
    let leaf = format!("|-- {address}");
    let mut lines = trie.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        if line == leaf && lines.peek().is_some_and(|it| it.starts_with("/32 host LOCAL")) {
            return true;
        }
    }
    false
}

/// Whether `/proc/net/if_inet6` lists the address: each line begins with an address of 32 hexadecimal digits.
fn in_interfaces(list: &str, address: Ipv6Addr) -> bool {
    let digits = format!("{:032x}", u128::from(address));
    list.lines().any(|it| it.starts_with(&digits))
}

fn in_hosts(hosts: &str, name: &str) -> Option<IpAddr> {
    hosts.lines().find_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let address = words.next()?.parse().ok()?;
        words.any(|it| it.eq_ignore_ascii_case(name)).then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_those_in_its_hosts() {
        let hosts = "127.0.0.1 localhost\n127.0.1.1 web # old\n10.9.9.9 db\n";
        assert_eq!(in_hosts(hosts, "WEB"), "127.0.1.1".parse().ok());
        assert_eq!(in_hosts(hosts, "old"), None);
        assert!(own_address("[::1]").is_some() || own_address("127.0.0.1").is_some());
        assert_eq!(own_address("203.0.113.9"), None);
    }

    #[test]
    fn where_any_address_can_be_bound_to_those_of_interfaces_are_own() {
        let trie = "Local:\n  +-- 10.0.0.0/24 2 0 2\n     |-- 10.0.0.0\n        /24 link UNICAST\n     |-- 10.0.0.5\n        /32 host LOCAL\n     |-- 10.0.0.255\n        /32 link BROADCAST\n";
        let is_route = |it: &str| in_routes(trie, it.parse().unwrap());
        assert!(is_route("10.0.0.5") && !is_route("10.0.0.255") && !is_route("10.0.0.7"));
        let list = "fe800000000000000000000000000001 02 40 20 80     eth0\n";
        let is_interface = |it: &str| in_interfaces(list, it.parse().unwrap());
        assert!(is_interface("fe80::1") && !is_interface("fe80::2"));
        assert!(has_interface(Ipv4Addr::LOCALHOST.into()));
        assert!(!has_interface("203.0.113.9".parse().unwrap()));
    }
}
