//! Builds the graph of services and the links between them. The links are the requests on this machine; workers are
//! combined into services.
//!
//! A service is a server, a web server or proxy, or a program that sends requests to one of them. The code that shows
//! the graph searches the graph for chains.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use looptax_model::dsn::Kind;
use looptax_model::record::Way;

use crate::discover::ends::{Connection, Ends, Peer, Peers};
use crate::discover::family::{Families, places};
use crate::discover::flows::{Parties, way};
use crate::discover::glimpses::{Glimpse, Glimpses};
use crate::discover::process::Process;
use crate::discover::servers::{Endpoint, Server, listening};
use crate::discover::web::{is_proxy, is_web_server, known_as};
use crate::eyes::{Counted, Look};

/// A program's process, with the processes that it has started to share its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The process that represents the service: the server's process, or the process that started the others.
    pub process: Process,
    /// The name that people use for the service, such as `nginx` or `php-fpm8.2`.
    pub name: String,
    /// The index of the server in the survey's list, if the service is a server.
    pub server_idx: Option<usize>,
    /// Whether the service answers browsers, according to its name.
    pub is_web_server: bool,
    /// Whether the service only passes requests on: a web server, a proxy or a pooler.
    pub hands_on: bool,
}

/// The connections of one service to another, over one transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The index in `services` of the service that sends the requests; `None` if looptax may not see it.
    pub client: Option<usize>,
    /// The index in `services` of the service that receives the requests.
    pub server: usize,
    pub way: Way,
    /// The connections that are open at present.
    pub connections: Vec<Connection>,
    /// The number of connections that were seen recently and are closed now.
    pub n_passing: usize,
    /// The client's processes that hold the open connections.
    pub processes: BTreeSet<u32>,
}

/// All services that send or receive requests, and the links between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stack {
    /// The services; the servers are first, in the order of their list.
    pub services: Vec<Service>,
    pub links: Vec<Link>,
}

/// Builds the stack of these servers; `peers` has the same order as `servers`.
pub(crate) fn stack(
    servers: &[Server],
    peers: &[Peers],
    processes: &[Process],
    ends: &Ends<'_>,
    glimpses: Option<&Glimpses>,
    counted: Option<&Look>,
) -> Stack {
    let mut draft = Draft::new(servers, processes);
    for (server, (peers, _)) in peers.iter().enumerate() {
        draft.link(server, peers);
    }
    let relays = draft.relays(processes, ends);
    for relay in &relays {
        let (peers, _) = ends.peers_of(&relay.endpoints);
        let counts = draft.takes_anybody(relay.idx, servers);
        let peers = peers.into_iter().filter(|it| counts || draft.is_service(it));
        let peers: Vec<Peer> = peers.collect();
        draft.link(relay.idx, &peers);
    }
    for it in counted.iter().flat_map(|it| &it.counted) {
        draft.count(it, servers);
    }
    // The kernel's counts already include the connections of the glimpses.
    let glimpses = glimpses.filter(|_| counted.is_none()).map_or(&[][..], |it| &it.all);
    for glimpse in glimpses.iter().filter(|it| !ends.has(it.arrival.inode)) {
        draft.pass(glimpse, servers);
    }
    draft.finish()
}

/// A web server or proxy that is not in the list of servers, with its endpoints.
struct Relay {
    idx: usize,
    endpoints: Vec<Endpoint>,
}

/// A stack that is being built.
struct Draft<'a> {
    families: Families<'a>,
    servers: HashMap<u32, usize>,
    /// The indexes of the services that are not servers. The key is the pid of a service's leading process.
    others: HashMap<u32, usize>,
    services: Vec<Service>,
    links: BTreeMap<(Option<usize>, usize, Way), Link>,
}

impl<'a> Draft<'a> {
    fn new(servers: &[Server], processes: &'a [Process]) -> Self {
        let services = servers.iter().enumerate().map(|(idx, server)| {
            let is_web_server = is_web_server(&server.name);
            Service {
                process: server.process.clone(),
                name: server.name.clone(),
                server_idx: Some(idx),
                is_web_server,
                hands_on: is_web_server || server.kind.is_pooler(),
            }
        });
        Self {
            families: Families::new(processes),
            servers: places(servers),
            others: HashMap::new(),
            services: services.collect(),
            links: BTreeMap::new(),
        }
    }

    /// Returns the web servers and proxies that send requests to a server, or to each other.
    fn relays(&mut self, processes: &'a [Process], ends: &Ends<'_>) -> Vec<Relay> {
        let mut members: BTreeMap<u32, HashSet<u32>> = BTreeMap::new();
        for process in processes {
            let program = process.program_name();
            let is_relay = is_web_server(&program) || is_proxy(&program);
            if is_relay && self.families.server_of(process.pid, &self.servers).is_none() {
                let leader = self.families.leader(process.pid);
                members.entry(leader).or_default().insert(process.pid);
            }
        }
        let mut relays = Vec::new();
        for (leader, pids) in members {
            let Some(process) = self.families.process(leader) else {
                continue;
            };
            let is_own = |inode| ends.owners.of_socket(inode).iter().any(|it| pids.contains(it));
            let endpoints = listening(ends.networks, Some(process), is_own).into_iter();
            relays
                .push(Relay { idx: self.other(process), endpoints: endpoints.map(|(endpoint, _)| endpoint).collect() });
        }
        relays
    }

    /// Whether every client of this web server or proxy belongs to the stack. Every client of a proxy does. A client of
    /// a web server may be a browser, so all clients of a web server belong to the stack only if the web server passes
    /// requests on to a database.
    fn takes_anybody(&self, relay: usize, servers: &[Server]) -> bool {
        let is_database = |it: &Link| {
            let server = servers.get(it.server);
            server.is_some_and(|it| !matches!(it.kind, Kind::PhpFpm | Kind::Uwsgi | Kind::Http))
        };
        let mut own = self.links.values().filter(|it| it.client == Some(relay));
        !self.services[relay].is_web_server || own.any(is_database)
    }

    /// Whether a client belongs to the stack for another reason than this connection.
    fn is_service(&self, peer: &Peer) -> bool {
        let Some(process) = &peer.process else {
            return false;
        };
        let is_server = self.families.server_of(process.pid, &self.servers).is_some();
        is_server || self.others.contains_key(&self.families.leader(process.pid))
    }

    fn link(&mut self, server: usize, peers: &[Peer]) {
        for peer in peers {
            let client = peer.process.as_ref().map(|it| self.service_of(it));
            if client == Some(server) {
                continue;
            }
            let link = self.link_of(client, server, peer.way);
            link.connections.extend(&peer.connections);
            link.processes.extend(peer.process.iter().map(|it| it.pid));
        }
    }

    /// Adds the closed connections that the kernel counted between two processes.
    fn count(&mut self, counted: &Counted, servers: &[Server]) {
        let parties = Parties { families: &self.families, by_pid: &self.servers, servers };
        let (Some(end), (Some(server), answering)) = (&counted.client, parties.server(counted)) else {
            return;
        };
        let asking = parties.of(end);
        let way = way(&counted.asked, Some(&asking), answering.as_ref());
        let Some(process) = &asking.process else {
            return;
        };
        let client = self.service_of(process);
        if client == server {
            return;
        }
        // The kernel does not report when a Unix socket is closed, so opened connections are counted.
        let n_gone = if way == Way::Unix { counted.counts.n_opened } else { counted.counts.n_closed };
        let link = self.link_of(Some(client), server, way);
        let n_least = usize::from(link.connections.is_empty() && link.n_passing == 0);
        link.n_passing += usize::try_from(n_gone).unwrap_or(usize::MAX).max(n_least);
    }

    /// Adds a connection that a glimpse saw and that is closed now; the connection led to a server.
    fn pass(&mut self, glimpse: &Glimpse, servers: &[Server]) {
        let is_asked = |it: &Server| it.endpoints.iter().any(|at| glimpse.arrival.is_at(at));
        let Some(server) = servers.iter().position(is_asked) else {
            return;
        };
        let Some(process) = self.families.process(glimpse.pid) else {
            return;
        };
        let client = self.service_of(process);
        if client != server {
            let link = self.link_of(Some(client), server, glimpse.arrival.way);
            link.n_passing += 1;
        }
    }

    fn link_of(&mut self, client: Option<usize>, server: usize, way: Way) -> &mut Link {
        let link = self.links.entry((client, server, way));
        link.or_insert_with(|| Link {
            client,
            server,
            way,
            connections: Vec::new(),
            n_passing: 0,
            processes: BTreeSet::new(),
        })
    }

    fn service_of(&mut self, process: &Process) -> usize {
        if let Some(idx) = self.families.server_of(process.pid, &self.servers) {
            return idx;
        }
        let leader = self.families.leader(process.pid);
        let leader = self.families.process(leader);
        self.other(leader.unwrap_or(process))
    }

    /// Returns the index of a service that is not a server.
    fn other(&mut self, leader: &Process) -> usize {
        if let Some(idx) = self.others.get(&leader.pid) {
            return *idx;
        }
        let name = known_as(leader);
        let is_web_server = is_web_server(&name);
        self.services.push(Service {
            process: leader.clone(),
            server_idx: None,
            is_web_server,
            hands_on: is_web_server || is_proxy(&name),
            name,
        });
        self.others.insert(leader.pid, self.services.len() - 1);
        self.services.len() - 1
    }

    fn finish(self) -> Stack {
        Stack { services: self.services, links: self.links.into_values().collect() }
    }
}
