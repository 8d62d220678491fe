//! Reads the kernel's list of sockets at the addresses of known servers.
//!
//! Queries only sockets, and inspects no process. Called by `watch` for each snapshot.

use crate::discover::ends::Ends;
use crate::discover::namespaces::networks;
use crate::discover::owners::Owners;
use crate::discover::process::{Process, process, processes};
use crate::discover::servers::{Endpoint, Place, Server, listening};
use crate::discover::sock_diag::Queue;
use crate::{entrance, rights};

/// The sockets at a server's addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The server's process.
    pub pid: u32,
    /// The number of connections that come from other machines, or have addresses that were rewritten on the way.
    pub n_remote: usize,
    /// The addresses on which the server listens at present, each with its queue.
    pub queues: Vec<(Place, Queue)>,
}

/// Lists the sockets of these servers.
///
/// # Cost
/// A netlink dump per address family and network namespace of a server. If a connection comes from outside these
/// namespaces, also a dump of every namespace, and some ten system calls per process.
pub fn listed(servers: &[Server]) -> Vec<Listed> {
    entrance::start().ok();
    let _lowered = rights::lowered_to(rights::LOOKING);
    let own = process(std::process::id()).and_then(|own| own.network);
    let look = |around: &[Process]| -> Vec<Listed> {
        let networks = networks(around, own);
        let owners = Owners::default();
        let ends = Ends::new(&networks, &owners, &[]);
        let listening = listening(&networks, None, |_| true);
        let queues = |server: &Server| -> Vec<(Place, Queue)> {
            let own = |it: &Endpoint| server.endpoints.iter().find(|own| own.is_same(it)).map(|own| own.place.clone());
            listening.iter().filter_map(|(it, _)| Some((own(it)?, it.queue))).collect()
        };
        let one =
            |it: &Server| Listed { pid: it.process.pid, n_remote: ends.peers_of(&it.endpoints).1, queues: queues(it) };
        servers.iter().map(one).collect()
    };
    let theirs: Vec<Process> = servers.iter().map(|it| it.process.clone()).collect();
    let found = look(&theirs);
    // The other end of a connection may be in a namespace without a server, so all namespaces are listed.
    if found.iter().any(|it| it.n_remote > 0) { look(&processes()) } else { found }
}
