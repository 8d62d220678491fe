//! Reads from a docker-proxy's command line where the proxy leads.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::discover::process::Process;

const PROXY: &str = "docker-proxy";

/// Returns each proxy with the address to which it leads.
pub(crate) fn led(processes: &[Process]) -> impl Iterator<Item = (&Process, SocketAddr)> {
    let proxies = processes.iter().filter(|it| it.program_name() == PROXY);
    proxies.filter_map(|proxy| Some((proxy, target(&proxy.arguments())?)))
}

/// Returns the target address in the proxy's command line, for TCP.
///
/// # Source
/// moby, `cmd/docker-proxy`: its flags `-proto`, `-container-ip` and `-container-port`.
fn target(arguments: &[String]) -> Option<SocketAddr> {
    let value = |name: &str| {
        let is_name = |it: &String| it.trim_start_matches('-') == name && it.starts_with('-');
        let at = arguments.iter().position(is_name)?;
        arguments.get(at + 1)
    };
    let is_tcp = value("proto").is_none_or(|it| it == "tcp");
    let ip: Ipv4Addr = value("container-ip")?.parse().ok()?;
    let port = value("container-port")?.parse().ok()?;
    is_tcp.then_some(SocketAddr::new(IpAddr::V4(ip), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(target(&arguments).map(|it| it.to_string()).as_deref(), expected);
    }

    #[test]
    fn the_command_line_says_where_it_leads() {
        check(
            "/usr/bin/docker-proxy -proto tcp -host-ip 127.0.0.1 -host-port 13306 -container-ip 172.17.0.2 -container-port 3306 -use-listen-fd",
            Some("172.17.0.2:3306"),
        );
        check("docker-proxy -proto udp -container-ip 172.17.0.2 -container-port 53", None);
        check("docker-proxy -proto tcp -container-ip 172.17.0.2", None);
        check("docker-proxy -container-port", None);
    }
}
