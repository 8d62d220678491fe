//! Finds chains in the graph of services, as paths of links.
//!
//! A web server or proxy has a separate chain for each upstream, because each upstream is another application. All
//! servers that an application uses, directly or indirectly, belong to one chain, because a page pays for all of them.
//! Links that start at a database do not belong to a page.

use std::collections::{BTreeSet, VecDeque};

use looptax_host::discover::{Service, Stack, Survey};
use looptax_model::dsn::Kind;

/// The maximum number of chains that are returned: a longer list does not help, and web servers behind web servers
/// multiply chains.
const MOST_CHAINS: usize = 64;

/// The links of a chain, in order, and the service at which the chain begins.
pub(super) struct Path {
    pub(super) first: usize,
    pub(super) links: Vec<usize>,
}

pub(super) struct Graph<'a> {
    stack: &'a Stack,
    survey: &'a Survey,
    /// For each service, the indexes of the links that start at it.
    links: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(survey: &'a Survey) -> Self {
        let stack = &survey.stack;
        let mut links = vec![Vec::new(); stack.services.len()];
        for (idx, link) in stack.links.iter().enumerate() {
            if let Some(client) = link.client {
                links[client].push(idx);
            }
        }
        Self { stack, survey, links }
    }

    pub(super) fn paths(&self) -> Vec<Path> {
        let asked: BTreeSet<usize> =
            { self.stack.links.iter() }.filter(|it| it.client.is_some()).map(|it| it.server).collect();
        let mut found = Vec::new();
        let mut covered = BTreeSet::new();
        let all = 0..self.stack.services.len();
        // If every service gets requests from another service, the chain begins at the first service in the list.
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

    /// Returns applications that have no open connections, but to which other processes opened and closed connections.
    fn asked_in_passing<'b>(&'b self, asked: &'b BTreeSet<usize>) -> impl Iterator<Item = Path> + 'b {
        let servers = self.survey.servers.iter().zip(&self.survey.others).enumerate();
        let passing = servers.filter(|(idx, (server, others))| {
            let is_seen = asked.contains(idx) || !self.links[*idx].is_empty();
            let mut closed = others.closed.iter();
            is_application(server.kind) && !is_seen && closed.any(|it| it.way().is_some())
        });
        passing.map(|(first, _)| Path { first, links: Vec::new() })
    }

    /// Finds one chain per upstream. Before its upstream, each chain contains only web servers and proxies.
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

    /// Returns the given links and all links that can be reached from a service: each link once, nearer links first.
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
        if self.goes_on(service) { &self.links[service] } else { &[] }
    }

    /// Whether the requests that a service sends belong to the requests that it gets. This is not so for a database: a
    /// database may send requests to its own replica.
    fn goes_on(&self, service: usize) -> bool {
        let is_database = |idx: usize| {
            let kind = self.survey.servers[idx].kind;
            !is_application(kind) && !kind.is_pooler()
        };
        !self.service(service).server_idx.is_some_and(is_database)
    }

    /// Whether the path is more than a program and its servers, or begins at a service that itself gets requests.
    fn is_chain(&self, path: &Path) -> bool {
        let first = self.service(path.first);
        let mut clients = path.links.iter().map(|it| self.stack.links[*it].client);
        let is_between = first.hands_on || first.server_idx.is_some();
        is_between || clients.any(|it| it != Some(path.first))
    }
}

pub(super) fn is_application(kind: Kind) -> bool {
    matches!(kind, Kind::PhpFpm | Kind::Uwsgi | Kind::Http)
}
