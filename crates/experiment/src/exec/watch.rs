//! Finds out which transport a command really uses: looks at the command's open connections while the command runs.
//!
//! If looptax knows the server, only connections to this server count. Otherwise every TCP connection counts, and every
//! Unix socket that has a name, except the sockets of services that any program may use.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use looptax_bench::path::{Endpoint, Peer, peers_of};
use looptax_bench::{Sight, Watcher};
use looptax_host::read;
use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;
use looptax_model::record::Sightings;
use looptax_model::stats::Side;

use crate::target::Target;

/// Folders of the sockets of name services, message buses and logs: the C library connects to these sockets by itself.
const SERVICES: [&str; 6] = ["/run/nscd", "/var/run/nscd", "/run/systemd", "/run/dbus", "/run/user", "/dev/log"];

/// Observes the connections of commands, and knows which transport each command should use.
pub(super) struct Onlooker {
    arms: [Arm; 2],
    server: Option<(PathBuf, SocketAddr)>,
}

impl Onlooker {
    /// Makes an [`Onlooker`] for the commands of `arms`. The commands connect to `target`; without a target they may
    /// connect to any server.
    pub(super) fn new(target: Option<&Target>, arms: [Arm; 2]) -> Result<Self, Failure> {
        let mut server = None;
        if let Some(target) = target
            && let (Endpoint::Unix(path), Endpoint::Tcp(tcp)) =
                (target.endpoint(Arm::Unix)?, target.endpoint(Arm::Tcp)?)
        {
            server = Some((path, tcp));
        }
        Ok(Self { arms, server })
    }

    fn sort(&self, peer: Peer) -> Sight {
        match (peer, &self.server) {
            (Peer::Unix(path), Some((socket, _))) => Sight { unix: is_same_file(&path, socket), tcp: false },
            (Peer::Tcp(address), Some((_, tcp))) => Sight { unix: false, tcp: canonical(address) == canonical(*tcp) },
            (Peer::Unix(path), None) => {
                Sight { unix: !SERVICES.iter().any(|folder| path.starts_with(folder)), tcp: false }
            }
            (Peer::Tcp(_), None) => Sight { unix: false, tcp: true },
        }
    }
}

impl Watcher for Onlooker {
    fn watch(&mut self, _: Side, pid: u32) -> Sight {
        let mut sight = Sight::default();
        for peer in peers_of(pid) {
            let found = self.sort(peer);
            sight.unix |= found.unix;
            sight.tcp |= found.tcp;
        }
        sight
    }

    fn objection(&self, side: Side, seen: Sight, before: Sightings) -> Option<String> {
        let arm = self.arms[side.idx()];
        let (own, other, own_before) =
            if arm.is_unix() { (seen.unix, seen.tcp, before.n_unix) } else { (seen.tcp, seen.unix, before.n_tcp) };
        let is_elsewhere = match &self.server {
            Some(_) => other,
            // The command may also connect to other services, so the run counts as wrong only if the command was never
            // seen on its own arm.
            None => other && !own && own_before == 0,
        };
        let name = if arm.is_unix() { Arm::Tcp } else { Arm::Unix };
        is_elsewhere.then(|| format!("the command used {name}, so the run shows nothing about {arm}"))
    }
}

/// Whether two paths lead to the same socket: the command and the server may use different paths for the socket.
fn is_same_file(one: &Path, two: &Path) -> bool {
    one == two || read::real_path(one).is_ok_and(|one| read::real_path(two).is_ok_and(|two| one == two))
}

/// Returns an address without the IPv6 form of IPv4: `::ffff:127.0.0.1` becomes 127.0.0.1.
fn canonical(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn onlooker(is_known: bool) -> Onlooker {
        let server = (PathBuf::from("/x/s.sock"), "127.0.0.1:77".parse().unwrap());
        Onlooker { arms: [Arm::Unix, Arm::Tcp], server: is_known.then_some(server) }
    }

    #[track_caller]
    fn check(is_known: bool, peer: Peer, expected: (bool, bool)) {
        let found = onlooker(is_known).sort(peer);
        assert_eq!((found.unix, found.tcp), expected);
    }

    #[test]
    fn with_a_known_server_only_connections_to_it_count() {
        let tcp = |address: &str| Peer::Tcp(address.parse().unwrap());
        check(true, Peer::Unix("/x/s.sock".into()), (true, false));
        check(true, Peer::Unix("/y/s.sock".into()), (false, false));
        check(true, tcp("127.0.0.1:77"), (false, true));
        check(true, tcp("[::ffff:127.0.0.1]:77"), (false, true));
        check(true, tcp("127.0.0.1:78"), (false, false));
        check(false, tcp("127.0.0.1:78"), (false, true));
        check(false, Peer::Unix("/y/s.sock".into()), (true, false));
        check(false, Peer::Unix("/run/nscd/socket".into()), (false, false));
    }

    #[track_caller]
    fn objects(is_known: bool, side: Side, seen: (bool, bool), n_own_before: u64) -> bool {
        let seen = Sight { unix: seen.0, tcp: seen.1 };
        let before = Sightings { n_runs: n_own_before, n_unix: n_own_before, n_tcp: n_own_before };
        onlooker(is_known).objection(side, seen, before).is_some()
    }

    #[test]
    fn the_wrong_transport_is_objected_to_and_none_is_not() {
        assert!(objects(true, Side::Other, (true, false), 0));
        assert!(objects(true, Side::Baseline, (true, true), 3));
        assert!(!objects(true, Side::Baseline, (true, false), 0));
        assert!(!objects(true, Side::Other, (false, false), 0));
        assert!(objects(false, Side::Other, (true, false), 0));
        assert!(!objects(false, Side::Other, (true, true), 0));
        assert!(!objects(false, Side::Other, (true, false), 1));
    }
}
