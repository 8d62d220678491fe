//! Finds chains of hops: the servers through which a page's requests pass, and the cost of each hop.
//!
//! `paths` decides which hops belong to a chain.

use std::collections::BTreeSet;

use looptax_host::discover::{Closed, Link, SealedFlow, Survey};
use looptax_model::record::{CostSource, FoundChain, FoundHop, Way};

use super::counts::Counts;
use super::missing::may_miss;
use super::paths::{Graph, Path};
use super::rates::{Asked, Rates, cost, is_sealed, source_of, sum};
use super::shares::{Shares, charged, rate_of};

/// Returns the chains of a survey. A database and its clients form a chain only if another process connects to these
/// clients.
pub(super) fn chains(
    survey: &Survey,
    rates: Option<&Rates<'_>>,
    counts: Option<&Counts<'_>>,
    sealed: &[SealedFlow],
    sources: &[CostSource],
) -> Vec<FoundChain> {
    let graph = Graph::new(survey);
    let view = View { survey, rates, counts, sealed, sources };
    let paths = graph.paths();
    let links = survey.stack.links.iter();
    let shares =
        Shares { stack: &survey.stack, paths: &paths, rates: links.map(|it| rate_of(&view.hop(it))).collect() };
    paths.iter().map(|it| view.chain(it, &shares)).collect()
}

/// The facts from which a chain's hops are described.
struct View<'a> {
    survey: &'a Survey,
    rates: Option<&'a Rates<'a>>,
    counts: Option<&'a Counts<'a>>,
    sealed: &'a [SealedFlow],
    sources: &'a [CostSource],
}

impl View<'_> {
    fn chain(&self, path: &Path, shares: &Shares<'_>) -> FoundChain {
        let stack = &self.survey.stack;
        let first = &stack.services[path.first];
        let unseen = self.unseen(path.first);
        // Every server other than a web server gets its requests from another process.
        let begins_here = first.is_web_server || first.server_idx.is_none();
        let links = path.links.iter().map(|idx| {
            let is_shared = shares.is_shared(*idx);
            FoundHop { is_shared, share: shares.of(path, *idx).filter(|_| is_shared), ..self.hop(&stack.links[*idx]) }
        });
        let hops: Vec<FoundHop> = unseen.into_iter().chain(links).collect();
        let without = |is_per_connection: bool| {
            let hops = hops.iter().filter(|it| it.way.is_tcp());
            let open = hops.filter(|it| self.is_without_cost(it, is_per_connection));
            let kinds = open.map(|it| it.kind.clone().unwrap_or_else(|| it.server.clone()));
            kinds.collect::<BTreeSet<String>>().into_iter().collect()
        };
        FoundChain {
            cpu_ms_per_s: sum(hops.iter().filter_map(charged)),
            kinds_without_cost: without(false),
            kinds_without_connection_cost: without(true),
            may_miss: may_miss(self.survey, path, self.counts),
            begins_here,
            hops,
        }
    }

    /// Whether the hop has requests whose cost is unknown: requests with their own connection if `is_per_connection`,
    /// else requests that share a connection.
    fn is_without_cost(&self, hop: &FoundHop, is_per_connection: bool) -> bool {
        let mut parts = parts(hop).into_iter();
        parts.any(|(_, it)| it == is_per_connection && self.source(hop, it).is_none())
    }

    /// Returns the index in `sources` of the cost of requests over this hop.
    fn source(&self, hop: &FoundHop, is_per_connection: bool) -> Option<usize> {
        let servers = &self.survey.servers;
        let client = { servers.iter() }.find(|it| Some(it.process.pid) == hop.client_pid);
        let asked = Asked {
            kind: hop.kind.as_deref().unwrap_or_default(),
            client_kind: client.map(|it| it.kind.name()),
            is_per_connection,
            is_sealed: hop.is_sealed,
        };
        source_of(asked, self.sources)
    }

    fn hop(&self, link: &Link) -> FoundHop {
        let client = link.client.map(|idx| &self.survey.stack.services[idx]);
        let asked = self.counts.zip(client).and_then(|(counts, client)| {
            let server_idx = self.survey.stack.services[link.server].server_idx?;
            Some(counts.between(client.process.pid, server_idx, link.way))
        });
        let by_segments = self.rates.and_then(|it| it.requests_per_s(link.way, &link.connections));
        let asked = asked.filter(|it| !it.lacks(by_segments));
        let closed_per_s = if asked.is_none() && link.n_passing > 0 && self.is_only_passing(link) {
            self.closed_per_s(link.server, link.way)
        } else {
            None
        };
        let ends = client.zip(self.survey.stack.services[link.server].server_idx);
        let is_sealed = ends.is_some_and(|(client, idx)| is_sealed(self.sealed, &client.name, idx, link.way));
        self.with_cost(FoundHop {
            is_sealed,
            client_pid: client.map(|it| it.process.pid),
            client: client.map(|it| it.name.clone()),
            n_processes: link.processes.len() as u64,
            n_connections: link.connections.len() as u64,
            n_passing: link.n_passing as u64,
            requests_per_s: asked.map_or(by_segments, |it| Some(it.requests_per_s)),
            closed_per_s,
            opened_per_s: asked.map(|it| it.opened_per_s),
            ..self.empty(link.server, link.way)
        })
    }

    /// Whether only this link's client was seen to open and close connections to the link's server. If so, the closed
    /// connections belonged to this client.
    fn is_only_passing(&self, link: &Link) -> bool {
        let mut links = self.survey.stack.links.iter();
        !links.any(|it| {
            let is_same = (it.server, it.way) == (link.server, link.way);
            is_same && it.client != link.client && it.n_passing > 0
        })
    }

    /// Returns the hops to a server from clients that are not visible: connections that were opened and closed, and
    /// connections of processes that looptax may not inspect.
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
            hops.push(self.with_cost(FoundHop { closed_per_s, ..self.hop(link) }));
        }
        hops.extend(ways.into_iter().map(|way| {
            self.with_cost(FoundHop { closed_per_s: self.closed_per_s(service, way), ..self.empty(service, way) })
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
            is_sealed: false,
            n_connections: 0,
            n_passing: 0,
            requests_per_s: None,
            closed_per_s: None,
            opened_per_s: None,
            is_shared: false,
            share: None,
            cpu_ms_per_s: None,
            cost_from: Vec::new(),
        }
    }

    fn with_cost(&self, hop: FoundHop) -> FoundHop {
        if !hop.way.is_tcp() {
            return hop;
        }
        let mut costs = Vec::new();
        let mut cost_from = Vec::new();
        for (rate, is_per_connection) in parts(&hop) {
            let source = rate.and_then(|_| self.source(&hop, is_per_connection));
            costs.extend(rate.zip(source).and_then(|(rate, idx)| cost(rate, &self.sources[idx])));
            cost_from.extend(source);
        }
        FoundHop { cpu_ms_per_s: sum(costs.into_iter()), cost_from, ..hop }
    }
}

/// Splits the hop's requests into parts; returns for each part its rate, and whether each of its requests has its own
/// connection. A closed connection counts as one request. If there are more closed connections than requests over open
/// connections, all requests count as having their own connection.
fn parts(hop: &FoundHop) -> Vec<(Option<f64>, bool)> {
    if let Some((requests, opened)) = hop.requests_per_s.zip(hop.opened_per_s) {
        // The first request of each connection bears the cost of opening the connection.
        let parts = [(requests - opened, false), (opened.min(requests), true)];
        let parts = parts.into_iter().filter(|(rate, _)| *rate > 0.0);
        return parts.map(|(rate, is_per_connection)| (Some(rate), is_per_connection)).collect();
    }
    let open = hop.requests_per_s.filter(|_| hop.n_connections > 0);
    match (open, hop.closed_per_s.filter(|it| *it > 0.0)) {
        (None, None) => vec![(None, hop.n_connections == 0)],
        (Some(open), None) => vec![(Some(open), false)],
        (open, Some(closed)) if closed > open.unwrap_or(0.0) => {
            vec![(Some(open.unwrap_or(0.0) + closed), true)]
        }
        (open, closed) => vec![(open, false), (closed, true)],
    }
}

#[cfg(test)]
mod tests;
