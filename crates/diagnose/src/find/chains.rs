//! Chains of hops, read off the graph of services: what a page goes through, and what that costs.
//!
//! Web servers and proxies part the chains, for each of their upstreams is another application; from the application on
//! all that it asks is one chain, for a page pays all of it. Behind a database nothing belongs to a page.

use std::collections::{BTreeSet, VecDeque};

use looptax_discover::{Closed, Link, Service, Stack, Survey};
use looptax_dsn::Kind;
use looptax_record::{CostSource, FoundChain, FoundHop, Way};

use super::rates::{Rates, cost, sum};

/// More chains than these are of no use to anybody, and web servers behind web servers multiply them.
const MOST_CHAINS: usize = 64;

/// The chains of a look; a database's clients that nothing else is connected to are none.
pub(super) fn chains(
    survey: &Survey,
    rates: Option<&Rates<'_>>,
    sources: &[CostSource],
) -> Vec<FoundChain> {
    let graph = Graph::new(survey);
    let view = View {
        survey,
        rates,
        sources,
    };
    let paths = graph.paths();
    paths.iter().map(|it| view.chain(it)).collect()
}

/// Links in the order of a chain, with the service that it begins at.
struct Path {
    first: usize,
    links: Vec<usize>,
}

struct Graph<'a> {
    stack: &'a Stack,
    survey: &'a Survey,
    /// The places of each service's links, by its own place.
    links: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    fn new(survey: &'a Survey) -> Self {
        let stack = &survey.stack;
        let mut links = vec![Vec::new(); stack.services.len()];
        for (idx, link) in stack.links.iter().enumerate() {
            if let Some(client) = link.client {
                links[client].push(idx);
            }
        }
        Self {
            stack,
            survey,
            links,
        }
    }

    fn paths(&self) -> Vec<Path> {
        let asked: BTreeSet<usize> = { self.stack.links.iter() }
            .filter(|it| it.client.is_some())
            .map(|it| it.server)
            .collect();
        let mut found = Vec::new();
        let mut covered = BTreeSet::new();
        let all = 0..self.stack.services.len();
        // Where all are asked by each other the first one begins.
        for first in all.clone().filter(|it| !asked.contains(it)).chain(all) {
            let is_open = self.links_of(first).iter().any(|it| !covered.contains(it));
            if !is_open {
                continue;
            }
            let mut paths = Vec::new();
            if self.service(first).hands_on {
                self.parted(first, first, &mut Vec::new(), &mut paths);
            } else {
                let links = self.followed(first, Vec::new());
                paths.push(Path { first, links });
            }
            covered.extend(paths.iter().flat_map(|it| &it.links).copied());
            found.extend(paths.into_iter().filter(|it| self.is_chain(it)));
        }
        found.extend(self.asked_in_passing(&asked));
        found.truncate(MOST_CHAINS);
        found
    }

    /// What runs an application, asks nothing just now, and was asked by connections that are gone.
    fn asked_in_passing<'b>(
        &'b self,
        asked: &'b BTreeSet<usize>,
    ) -> impl Iterator<Item = Path> + 'b {
        let servers = self
            .survey
            .servers
            .iter()
            .zip(&self.survey.others)
            .enumerate();
        let passing = servers.filter(|(idx, (server, others))| {
            let is_seen = asked.contains(idx) || !self.links[*idx].is_empty();
            let mut closed = others.closed.iter();
            is_application(server.kind) && !is_seen && closed.any(|it| it.way().is_some())
        });
        passing.map(|(first, _)| Path {
            first,
            links: Vec::new(),
        })
    }

    /// One chain per upstream, as long as only web servers and proxies are on the way.
    fn parted(&self, first: usize, from: usize, way: &mut Vec<usize>, found: &mut Vec<Path>) {
        for link in self.links_of(from) {
            if found.len() >= MOST_CHAINS {
                return;
            }
            if way.contains(link) {
                continue;
            }
            way.push(*link);
            let next = self.stack.links[*link].server;
            let mut onward = self.links_of(next).iter();
            if self.service(next).hands_on && onward.any(|it| !way.contains(it)) {
                self.parted(first, next, way, found);
            } else {
                let links = self.followed(next, way.clone());
                found.push(Path { first, links });
            }
            way.pop();
        }
    }

    /// The links before, and all that is asked from there on: each link once, nearer ones first.
    fn followed(&self, from: usize, mut links: Vec<usize>) -> Vec<usize> {
        let mut next = VecDeque::from([from]);
        while let Some(service) = next.pop_front() {
            for link in self.links_of(service) {
                if !links.contains(link) {
                    links.push(*link);
                    next.push_back(self.stack.links[*link].server);
                }
            }
        }
        links
    }

    fn service(&self, idx: usize) -> &Service {
        &self.stack.services[idx]
    }

    fn links_of(&self, service: usize) -> &[usize] {
        if self.goes_on(service) {
            &self.links[service]
        } else {
            &[]
        }
    }

    /// Whether what it asks belongs to what it is asked: not so for a database, which asks its own replica.
    fn goes_on(&self, service: usize) -> bool {
        let is_database = |idx: usize| {
            let kind = self.survey.servers[idx].kind;
            !is_application(kind) && !kind.is_pooler()
        };
        !self.service(service).server_idx.is_some_and(is_database)
    }

    /// Whether more than a program and its servers is in it, or it begins at what is asked itself.
    fn is_chain(&self, path: &Path) -> bool {
        let first = self.service(path.first);
        let mut clients = path.links.iter().map(|it| self.stack.links[*it].client);
        let is_between = first.hands_on || first.server_idx.is_some();
        is_between || clients.any(|it| it != Some(path.first))
    }
}

fn is_application(kind: Kind) -> bool {
    matches!(kind, Kind::PhpFpm | Kind::Uwsgi | Kind::Http)
}

/// What is said of the links of a path.
struct View<'a> {
    survey: &'a Survey,
    rates: Option<&'a Rates<'a>>,
    sources: &'a [CostSource],
}

impl View<'_> {
    fn chain(&self, path: &Path) -> FoundChain {
        let stack = &self.survey.stack;
        let first = &stack.services[path.first];
        let unseen = self.unseen(path.first);
        // Any server but a web server is asked by somebody.
        let begins_here = first.is_web_server || first.server_idx.is_none();
        let links = path.links.iter().map(|idx| self.hop(&stack.links[*idx]));
        let hops: Vec<FoundHop> = unseen.into_iter().chain(links).collect();
        let without = { hops.iter() }
            .filter(|it| it.way.is_tcp() && it.cpu_ms_per_s.is_none())
            .filter(|it| self.is_without_cost(it));
        let kinds: BTreeSet<String> = without
            .map(|it| it.kind.clone().unwrap_or_else(|| it.server.clone()))
            .collect();
        FoundChain {
            cpu_ms_per_s: sum(hops.iter().filter_map(|it| it.cpu_ms_per_s.as_ref())),
            kinds_without_cost: kinds.into_iter().collect(),
            begins_here,
            hops,
        }
    }

    /// Whether no source has a figure, whatever the rate.
    fn is_without_cost(&self, hop: &FoundHop) -> bool {
        cost(hop.kind.as_deref().unwrap_or_default(), 1.0, self.sources).is_none()
    }

    fn hop(&self, link: &Link) -> FoundHop {
        let client = link.client.map(|idx| &self.survey.stack.services[idx]);
        let rate = |it: &Rates<'_>| it.requests_per_s(link.way, &link.connections);
        let closed_per_s = if link.n_passing > 0 && self.is_only_passing(link) {
            self.closed_per_s(link.server, link.way)
        } else {
            None
        };
        self.with_cost(FoundHop {
            client_pid: client.map(|it| it.process.pid),
            client: client.map(|it| it.name.clone()),
            n_processes: link.processes.len() as u64,
            n_connections: link.connections.len() as u64,
            n_passing: link.n_passing as u64,
            requests_per_s: self.rates.and_then(rate),
            closed_per_s,
            ..self.empty(link.server, link.way)
        })
    }

    /// Whether nobody else was seen to connect to that server for a moment: then what was closed was this one's.
    fn is_only_passing(&self, link: &Link) -> bool {
        let mut links = self.survey.stack.links.iter();
        !links.any(|it| {
            let is_same = (it.server, it.way) == (link.server, link.way);
            is_same && it.client != link.client && it.n_passing > 0
        })
    }

    /// Connections to a server that nobody is seen to ask: those that came and went, and others' whose process is
    /// not seen.
    fn unseen(&self, service: usize) -> Vec<FoundHop> {
        let Some(idx) = self.survey.stack.services[service].server_idx else {
            return Vec::new();
        };
        let closed = self.survey.others[idx].closed.iter();
        let mut ways: BTreeSet<Way> = closed.filter_map(Closed::way).collect();
        let links = self.survey.stack.links.iter();
        let hidden = links.filter(|it| it.client.is_none() && it.server == service);
        let mut hops = Vec::new();
        for link in hidden {
            ways.remove(&link.way);
            let closed_per_s = self.closed_per_s(service, link.way);
            hops.push(self.with_cost(FoundHop {
                closed_per_s,
                ..self.hop(link)
            }));
        }
        hops.extend(ways.into_iter().map(|way| {
            self.with_cost(FoundHop {
                closed_per_s: self.closed_per_s(service, way),
                ..self.empty(service, way)
            })
        }));
        hops
    }

    fn closed_per_s(&self, service: usize, way: Way) -> Option<f64> {
        let idx = self.survey.stack.services[service].server_idx?;
        self.rates?.closed_per_s(self.survey, idx, way)
    }

    fn empty(&self, server: usize, way: Way) -> FoundHop {
        let server = &self.survey.stack.services[server];
        let kind = server.server_idx.map(|idx| self.survey.servers[idx].kind);
        FoundHop {
            client_pid: None,
            client: None,
            n_processes: 0,
            server_pid: server.process.pid,
            server: server.name.clone(),
            kind: kind.map(|it| it.name().to_owned()),
            way,
            n_connections: 0,
            n_passing: 0,
            requests_per_s: None,
            closed_per_s: None,
            cpu_ms_per_s: None,
        }
    }

    /// Each connection that was closed counts as one request.
    fn with_cost(&self, hop: FoundHop) -> FoundHop {
        let open = hop.requests_per_s.filter(|_| hop.n_connections > 0);
        let rate = match (open, hop.closed_per_s) {
            (None, None) => None,
            (open, closed) => Some(open.unwrap_or(0.0) + closed.unwrap_or(0.0)),
        };
        let kind = hop.kind.as_deref().unwrap_or_default();
        FoundHop {
            cpu_ms_per_s: rate.and_then(|rate| cost(kind, rate, self.sources)),
            ..hop
        }
    }
}
