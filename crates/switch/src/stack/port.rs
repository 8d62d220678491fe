//! The port on which the upstream will no longer listen, and the lines of a web server's files that lead to it. Writes
//! nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use crate::diagnose::check::Switchable;
use crate::diagnose::own_address;
use looptax_advise::app::{NamedPort, named_ports};
use looptax_host::discover::{Place, Process, listens_on};

use super::connections;

/// A port on which no process will listen any more.
#[derive(Debug, Clone)]
pub(super) struct Port {
    /// The address to which the web server passes pages at present.
    pub(super) tcp: SocketAddr,
    /// The addresses on which the port's process listens.
    places: Vec<Place>,
}

impl Port {
    /// Returns the port of this address, with the addresses on which the process listens at present.
    pub(super) fn of(master: &Process, tcp: SocketAddr) -> Self {
        let places = listens_on(master).into_iter().map(|it| it.place);
        Self { tcp, places: places.collect() }
    }

    /// Whether a connection leads to the port's process.
    pub(super) fn is_way_of(&self, it: &Switchable) -> bool {
        it.tcp.is_some_and(|to| self.takes(to))
    }

    fn takes(&self, to: SocketAddr) -> bool {
        // A client that connects to the unspecified address reaches loopback.
        let ip = match to.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let to = SocketAddr::new(ip, to.port());
        to.port() == self.tcp.port() && self.places.iter().any(|it| it.takes(to))
    }

    /// Returns the lines of a file that contain the port's address, in any directive. If this file changes (`moves`),
    /// the lines that move are left out.
    pub(super) fn other_lines(&self, (path, text): (&Path, &str), application: &str, moves: bool) -> Vec<usize> {
        let all = connections(path, text, application, Path::new("/")).unwrap_or_default();
        let own = all.iter().filter(|it| self.is_way_of(it));
        let mut known: Vec<usize> = own.filter_map(|it| it.checked.line).collect();
        let mut found = if moves { Vec::new() } else { known.clone() };
        for named in named_ports(application, text, self.tcp.port()) {
            // Each connection that looptax knows explains one mention of the port: the mention in the connection's
            // directive.
            let explained = known.iter().position(|line| named.lines.contains(line));
            match explained {
                Some(at) => drop(known.swap_remove(at)),
                None if self.is_named_by(&named) => found.push(*named.lines.start()),
                None => {}
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a mention may mean this port; a host that only the web server can resolve also counts.
    fn is_named_by(&self, named: &NamedPort) -> bool {
        let host = &*named.host;
        if host.contains(['$', '%', '{', '*']) {
            return true;
        }
        let ip = match host {
            "" | "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
            host => own_address(host),
        };
        ip.is_some_and(|ip| self.takes(SocketAddr::new(ip, self.tcp.port())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "\
server { location /a { proxy_pass http://127.0.0.1:8000; } }
server { location /b { proxy_pass http://127.0.0.2:8000; } }
server { location /c { proxy_pass http://203.0.113.7:8000; } }
server { location /d { grpc_pass 127.0.0.1:8000; proxy_pass http://0.0.0.0:8000; } }
server { location /e { proxy_pass http://127.0.0.1:8001; } }
";

    fn port(listened: &str) -> Port {
        Port { tcp: "127.0.0.1:8000".parse().unwrap(), places: vec![Place::Tcp(listened.parse().unwrap())] }
    }

    #[track_caller]
    fn check(listened: &str, moved: &[usize], left: &[usize], elsewhere: &[usize]) {
        let (port, path) = (port(listened), Path::new("/etc/nginx/sites/shop"));
        let all = connections(path, SITE, "nginx_proxy", Path::new("/a.sock")).unwrap();
        let own = all.iter().filter(|it| port.is_way_of(it));
        let lines: Vec<usize> = own.filter_map(|it| it.checked.line).collect();
        assert_eq!(lines, moved, "{listened}");
        let others = |moves| port.other_lines((path, SITE), "nginx_proxy", moves);
        assert_eq!(others(true), left, "{listened}");
        assert_eq!(others(false), elsewhere, "{listened}");
    }

    #[test]
    fn all_addresses_of_this_machine_lead_to_whoever_listens_at_all_and_no_other_machines_does() {
        check("0.0.0.0:8000", &[1, 2, 4], &[4], &[1, 2, 4]);
        check("127.0.0.1:8000", &[1, 4], &[4], &[1, 4]);
        check("127.0.0.2:8000", &[2], &[], &[2]);
    }
}
