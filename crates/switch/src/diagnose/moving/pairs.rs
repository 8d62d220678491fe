//! Pairs each port of a server with the socket that leads to the same server.
//!
//! Port and socket have to belong to the same process. If a server has several ports or sockets, they are for different
//! protocols (such as MySQL's X protocol, or an administrator's port). Only names that show the protocol, or else the
//! user's options, decide which port and socket form a pair.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use looptax_host::discover::{Endpoint, NamespaceId, Place, Server, SocketFile};
use looptax_host::{FileId, read};
use looptax_redirect::{Owner, SocketName};

use super::candidate::{Candidate, named};
use crate::diagnose::listener::listening;

/// A socket of a server, and the reason why looptax cannot use it, if there is one.
pub(super) struct Socket {
    pub name: SocketName,
    pub bound: SocketName,
    /// The file's name, or the abstract name.
    pub short: String,
    pub objection: Option<String>,
}

impl Socket {
    pub(super) fn owner(&self, server: &Server) -> Owner {
        Owner { uid: server.process.uid, bound: self.bound.clone() }
    }
}

/// Returns the pairs of a server in looptax's network namespace; a port without a socket does not form a pair.
pub(super) fn pairs_of(server: &Server, network: Option<NamespaceId>) -> Vec<Candidate> {
    let is_near = |it: &&Endpoint| network.is_none_or(|own| own == it.network);
    let near: Vec<&Endpoint> = server.seen_endpoints().filter(is_near).collect();
    let mut ports: Vec<u16> = near.iter().filter_map(|it| it.port()).collect();
    ports.sort_unstable();
    ports.dedup();
    let sockets: Vec<Socket> = server.seen_endpoints().filter_map(|it| socket(server, it)).collect();
    let mut found = Vec::new();
    for port in &ports {
        let addresses = near.iter().filter_map(|it| it.tcp()).filter(|it| it.port() == *port);
        let from = loopback(addresses, *port);
        if from.is_empty() || sockets.is_empty() {
            continue;
        }
        found.push(match socket_for(*port, &ports, &sockets) {
            Some(socket) => candidate(server, from, socket, socket.objection.clone()),
            None => candidate(
                server,
                from,
                &sockets[0],
                Some(
                    "the server listens on several ports and sockets; pass the port and the socket that belong \
                    together with --map"
                        .to_owned(),
                ),
            ),
        });
    }
    found
}

fn candidate(server: &Server, from: Vec<SocketAddr>, to: &Socket, stays: Option<String>) -> Candidate {
    Candidate {
        server: Some((server.name(), server.process.pid)),
        owner: Some(to.owner(server)),
        stays,
        ..Candidate::new(from, to.name.clone())
    }
}

pub(super) fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The port of MySQL's second protocol, which has its own socket too.
const X_PORT: u16 = 33_060;
const X_NAME: &str = "mysqlx";

pub(super) fn socket_for<'a>(port: u16, ports: &[u16], sockets: &'a [Socket]) -> Option<&'a Socket> {
    let named_for = |socket: &&Socket| {
        let name = &socket.short;
        name == &format!(".s.PGSQL.{port}") || name == &format!("mongodb-{port}.sock")
    };
    let is_x = |socket: &&Socket| socket.short.contains(X_NAME);
    if let Some(socket) = sockets.iter().find(named_for) {
        return Some(socket);
    }
    let ports: Vec<u16> = ports.iter().copied().filter(|it| (*it == X_PORT) == (port == X_PORT)).collect();
    let mut fitting = sockets.iter().filter(|it| is_x(it) == (port == X_PORT));
    match (&*ports, fitting.next(), fitting.next()) {
        ([_], Some(socket), None) => Some(socket),
        _ => None,
    }
}

fn socket(server: &Server, endpoint: &Endpoint) -> Option<Socket> {
    match &endpoint.place {
        Place::Tcp(_) => None,
        Place::Abstract(name) => {
            let name = name.to_string_lossy();
            Some(Socket { name: named(&name), bound: named(&name), short: name.into_owned(), objection: None })
        }
        Place::Path { path, file } => Some(Socket {
            name: SocketName::Path(path.clone()),
            bound: SocketName::Path(path.clone()),
            short: short_name(path),
            objection: objection(server, path, *file),
        }),
    }
}

/// Returns the reason why looptax cannot use a socket's file. The program may have fewer rights than looptax; only its
/// own connections show whether it can use the file.
fn objection(server: &Server, path: &Path, file: SocketFile) -> Option<String> {
    let shown = path.display();
    match file {
        SocketFile::Missing => return Some(format!("the server's socket {shown} was deleted")),
        SocketFile::Replaced => {
            return Some(format!("another file has replaced the server's socket at {shown}"));
        }
        SocketFile::Present { .. } | SocketFile::Unknown => {}
    }
    let own = read::look(path).and_then(|it| it.ok_or_else(|| rustix::io::Errno::NOENT.into()));
    let own = match own {
        Ok(own) => own,
        Err(error) => {
            return Some(format!("looptax cannot reach the server's socket {shown}: {error}"));
        }
    };
    // If the server sees other folders than looptax, another server's socket may be at this path.
    let its = server.process.view().and_then(|it| it.look(path));
    if let Ok(Some(its)) = its
        && FileId::from(&its) != FileId::from(&own)
    {
        return Some(format!("looptax sees a different file at {shown} than the server"));
    }
    usable(path)
}

/// Returns the reason why looptax may not connect to a socket, according to its file's rights.
pub(super) fn usable(path: &Path) -> Option<String> {
    let shown = path.display();
    let may_write = read::may(path, rustix::fs::Access::WRITE_OK);
    may_write.err().map(|error| format!("this user may not use the server's socket {shown}: {error}"))
}

/// Returns the loopback addresses among these addresses. Unspecified addresses also accept loopback connections.
pub(super) fn loopback(addresses: impl Iterator<Item = SocketAddr>, port: u16) -> Vec<SocketAddr> {
    let (v4, v6) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));
    let mut found = Vec::new();
    for address in addresses {
        match address.ip() {
            ip if ip == v4 || ip == v6 => found.push(ip),
            IpAddr::V4(ip) if ip.is_unspecified() => found.push(v4),
            IpAddr::V6(ip) if ip.is_unspecified() => {
                found.push(v6);
                // This IPv6 listener also accepts IPv4 connections, unless another process listens on the port over
                // IPv4.
                if listening("tcp", port).is_empty() {
                    found.push(v4);
                }
            }
            _ => {}
        }
    }
    found.sort();
    found.dedup();
    found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sockets(names: &[&str]) -> Vec<Socket> {
        let socket =
            |name: &&str| Socket { name: named(name), bound: named(name), short: (*name).to_owned(), objection: None };
        names.iter().map(socket).collect()
    }

    #[track_caller]
    fn check(port: u16, ports: &[u16], names: &[&str], expected: Option<&str>) {
        let sockets = sockets(names);
        let found = socket_for(port, ports, &sockets);
        assert_eq!(found.map(|it| &*it.short), expected);
    }

    #[test]
    fn one_port_and_one_socket_belong_together() {
        check(3306, &[3306], &["mysqld.sock"], Some("mysqld.sock"));
        check(6379, &[6379, 6380], &["redis.sock"], None);
        check(3306, &[3306], &["a.sock", "b.sock"], None);
    }

    #[test]
    fn names_tell_several_apart() {
        let mysql = ["mysqld.sock", "mysqlx.sock"];
        check(3306, &[3306, 33_060], &mysql, Some("mysqld.sock"));
        check(33_060, &[3306, 33_060], &mysql, Some("mysqlx.sock"));
        check(33_060, &[3306, 33_060], &mysql[..1], None);
        check(5433, &[5433], &[".s.PGSQL.5432", ".s.PGSQL.5433"], Some(".s.PGSQL.5433"));
        check(6432, &[6432], &[".s.PGSQL.6432"], Some(".s.PGSQL.6432"));
    }

    #[test]
    fn every_address_that_means_loopback_counts() {
        let found = |text: &str| {
            let address = text.parse().unwrap();
            let found = loopback([address].into_iter(), address.port());
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found("127.0.0.1:3306"), ["127.0.0.1:3306"]);
        assert_eq!(found("0.0.0.0:3306"), ["127.0.0.1:3306"]);
        assert_eq!(found("192.0.2.1:3306"), [""; 0]);
        assert!(found("[::]:3306").contains(&"[::1]:3306".to_owned()));
    }
}
