//! Whether a host is this machine: a socket ends where the machine does.

use std::fs;
use std::net::{IpAddr, UdpSocket};

/// The address of `host` on this machine; `None` where it is another one, or not known. Asks no name
/// server: what it would answer is not where the application looked.
pub fn own_address(host: &str) -> Option<IpAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = match bare.parse() {
        Ok(address) => address,
        Err(_) => in_hosts(&fs::read_to_string("/etc/hosts").unwrap_or_default(), bare)?,
    };
    // Only an own address can be bound to.
    UdpSocket::bind((found, 0)).is_ok().then_some(found)
}

fn in_hosts(hosts: &str, name: &str) -> Option<IpAddr> {
    hosts.lines().find_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let address = words.next()?.parse().ok()?;
        words
            .any(|it| it.eq_ignore_ascii_case(name))
            .then_some(address)
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
}
