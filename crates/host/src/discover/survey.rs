//! Surveys the whole machine once: servers, clients, faults, and parts that could not be seen.

use crate::eyes::Look;
use crate::{entrance, rights};

use crate::discover::connections::{Client, OtherConnections, clients, others};
use crate::discover::ends::{Ends, Peers};
use crate::discover::glimpses::Glimpses;
use crate::discover::inferred::{Listener, attribute};
use crate::discover::monotonic::monotonic_ns;
use crate::discover::namespace_id::NamespaceId;
use crate::discover::namespaces::networks;
use crate::discover::owners::Owners;
use crate::discover::problems::{Problem, Seen, problems};
use crate::discover::process::{self, processes};
use crate::discover::published::{Published, published};
use crate::discover::servers::{Server, servers};
use crate::discover::stack::{Stack, stack};
use crate::discover::upstreams::upstreams;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// The servers, in the order of their pids.
    pub servers: Vec<Server>,
    /// The servers' clients on this machine, in the order of the servers.
    pub clients: Vec<Client>,
    /// For each server, the connections that do not belong to clients on this machine.
    pub others: Vec<OtherConnections>,
    /// The graph of services, in which workers are combined; programs that are not servers are included.
    pub stack: Stack,
    /// Listening sockets whose process is not visible, and that cannot be assigned to a single server.
    pub listeners: Vec<Listener>,
    /// Ports of the host that lead to servers in containers.
    pub published: Vec<Published>,
    /// looptax's own network namespace.
    pub own_network: Option<NamespaceId>,
    /// Faults, and parts that could not be seen.
    pub problems: Vec<Problem>,
    /// The time when the sockets were listed, in nanoseconds of the monotonic clock.
    pub at_ns: u64,
}

/// Surveys the machine. Uses the versions that the earlier survey has found.
///
/// # Cost
/// A netlink dump per address family and network namespace, some ten system calls per process and one per open file.
pub fn survey(earlier: Option<&Survey>) -> Survey {
    look(earlier, None, None)
}

/// Surveys the machine again, and adds the connections since the earlier survey: from the kernel's counts, or else from
/// the glimpses.
///
/// # Cost
/// As [`survey`].
pub fn survey_after(earlier: &Survey, glimpses: &Glimpses, counted: Option<&Look>) -> Survey {
    look(Some(earlier), Some(glimpses), counted)
}

fn look(earlier: Option<&Survey>, glimpses: Option<&Glimpses>, counted: Option<&Look>) -> Survey {
    // If looptax has no right to enter namespaces, it reports them as not visible.
    entrance::start().ok();
    let _lowered = rights::lowered_to(rights::LOOKING);
    let processes = processes();
    let own = process::process(std::process::id()).and_then(|own| own.network);
    let at_ns = monotonic_ns();
    let networks = networks(&processes, own);
    let owners = Owners::from_processes(&processes);
    let known = earlier.map_or(&[][..], |it| &it.servers);
    let mut servers = servers(&processes, &networks, &owners, known);
    let ends = Ends::new(&networks, &owners, &processes);
    servers.extend(upstreams(&processes, &servers, known, &ends, glimpses));
    servers.sort_by_key(|it| it.process.pid);
    let listeners = attribute(&mut servers, &processes, &ends, &owners);
    let peers = servers.iter().map(|it| ends.peers_of(&it.endpoints));
    let peers: Vec<Peers> = peers.collect();
    let clients = clients(&servers, &peers, &ends);
    let others = others(&servers, &peers, &ends);
    let stack = stack(&servers, &peers, &processes, &ends, glimpses, counted);
    let published = published(&processes, &servers, &clients, &networks, &owners);

    let problems = problems(&Seen {
        networks: &networks,
        owners: &owners,
        servers: &servers,
        clients: &clients,
        others: &others,
        listeners: &listeners,
    });
    Survey { servers, clients, others, stack, listeners, published, own_network: own, problems, at_ns }
}
