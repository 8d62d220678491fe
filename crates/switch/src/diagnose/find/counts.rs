//! Assigns the requests that the kernel counted between two surveys to the clients.
//!
//! A client counts even if it has closed all its connections before the later survey.

use std::collections::BTreeSet;

use looptax_host::discover::{Asks, Client, Flow, Party, Peer, Survey, flows};
use looptax_host::eyes::Look;
use looptax_model::record::Way;

/// A client that sends fewer requests per second may have sent them just before or after the kernel counted.
const FEWEST_LACKED_PER_S: f64 = 2.0;

/// The request rates of one client.
#[derive(Debug, Clone, Copy)]
pub(super) struct PerSecond {
    pub(super) requests_per_s: f64,
    pub(super) opened_per_s: f64,
    /// The median time of the client's requests; `None` if there were no requests.
    pub(super) p50_us: Option<f64>,
}

impl PerSecond {
    /// Whether the counts lack the requests of connections over which data was sent and answered. This can happen if a
    /// proxy splices its data, or if the packet filter replaces the address to which the client connected.
    pub(super) fn lacks(self, requests_by_segments_per_s: Option<f64>) -> bool {
        let has_counted = self.requests_per_s > 0.0 || self.opened_per_s > 0.0;
        !has_counted && requests_by_segments_per_s.is_some_and(|it| it >= FEWEST_LACKED_PER_S)
    }
}

/// The counted flows between a survey's servers and their clients.
pub(super) struct Counts<'a> {
    survey: &'a Survey,
    flows: Vec<Flow>,
    seconds: f64,
}

impl<'a> Counts<'a> {
    pub(super) fn new(look: &Look, survey: &'a Survey) -> Self {
        Self { survey, flows: flows(look, &survey.servers), seconds: look.over.as_secs_f64() }
    }

    /// Returns the request rates of a connected client; `None` if its requests pass through another process, or looptax
    /// does not see its process.
    pub(super) fn of(&self, client: &Client) -> Option<PerSecond> {
        let pid = client.peer.process.as_ref().filter(|_| client.via.is_none())?.pid;
        let own = self.flows.iter().filter(|it| is_to(it, client.server_idx, client.peer.way));
        let mut sum = Asks::default();
        own.filter_map(|it| it.processes.get(&pid)).for_each(|it| sum.add(it));
        Some(self.per_second(&sum))
    }

    /// Returns the rates of the requests that one service sends to another.
    pub(super) fn between(&self, client_pid: u32, server_idx: usize, way: Way) -> PerSecond {
        let is_own = |it: &&Flow| {
            let client = it.client.as_ref().and_then(|it| it.process.as_ref());
            client.is_some_and(|it| it.pid == client_pid) && is_to(it, server_idx, way)
        };
        let mut sum = Asks::default();
        let own = self.flows.iter().filter(is_own);
        own.flat_map(|it| it.processes.values()).for_each(|it| sum.add(it));
        self.per_second(&sum)
    }

    /// Returns the services whose requesting processes have closed all their connections: each as a client without a
    /// connection, with the service's name and its request rates.
    pub(super) fn without_connection(&self) -> impl Iterator<Item = (Client, String, PerSecond)> {
        self.flows.iter().filter_map(|flow| {
            let (server_idx, party) = (flow.server_idx?, flow.client.as_ref()?);
            let is_its_own = |pid| pid == self.survey.servers[server_idx].process.pid;
            if party.process.as_ref().is_some_and(|it| is_its_own(it.pid)) {
                return None;
            }
            let clients = self.survey.clients.iter().filter(|it| is_to(flow, it.server_idx, it.peer.way));
            let connected: BTreeSet<u32> = clients.filter_map(|it| Some(it.peer.process.as_ref()?.pid)).collect();
            let mut sum = Asks::default();
            let gone = flow.processes.iter().filter(|(pid, _)| !connected.contains(pid));
            gone.for_each(|(_, asks)| sum.add(asks));
            let peer = Peer { process: party.process.clone(), uid: None, way: flow.way, connections: Vec::new() };
            let client = Client { peer, server_idx, via: None };
            (sum != Asks::default()).then(|| (client, party.name.clone(), self.per_second(&sum)))
        })
    }

    /// Whether these processes may use a server although looptax counted no requests: they were idle during the
    /// snapshot, and no process opened a connection to the server.
    pub(super) fn leave_open(&self, server_idx: usize, processes: &[u32]) -> bool {
        let is_one = |it: &Option<Party>| {
            it.as_ref().and_then(|it| it.process.as_ref()).is_some_and(|it| processes.contains(&it.pid))
        };
        !self.flows.iter().any(|it| {
            let are_busy = (is_one(&it.client) || is_one(&it.server)) && it.counts.n_turns() > 0;
            are_busy || it.server_idx == Some(server_idx) && it.counts.n_opened > 0
        })
    }

    fn per_second(&self, asks: &Asks) -> PerSecond {
        let per_s = |n: u64| n as f64 / self.seconds;
        let p50_us = asks.times.quantile_ns(0.5).map(|it| it / 1e3);
        PerSecond { requests_per_s: per_s(asks.n_turns), opened_per_s: per_s(asks.n_opened), p50_us }
    }
}

fn is_to(flow: &Flow, server_idx: usize, way: Way) -> bool {
    (flow.server_idx, flow.way) == (Some(server_idx), way)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use looptax_host::discover::{Home, process};
    use looptax_host::eyes::{Asked, Counts as Counted};

    use super::*;

    /// Returns a flow from this test to a server, which is given by its index.
    fn flow(server_idx: usize, n_opened: u64) -> Flow {
        let client = Party { name: "app".to_owned(), process: process(std::process::id()), home: Home::Elsewhere };
        Flow {
            client: Some(client),
            processes: BTreeMap::new(),
            server: None,
            server_idx: Some(server_idx),
            way: Way::Loopback,
            asked: Asked::Tcp { to: ([127, 0, 0, 1], 3306).into(), network: 1 },
            address: "127.0.0.1:3306".to_owned(),
            counts: Counted { n_opened, ..Counted::default() },
        }
    }

    #[test]
    fn what_was_counted_leaves_no_hop_open_where_others_connect_or_the_application_worked() {
        let survey = Survey::default();
        let leave_open = |flow: Option<Flow>, process: u32| {
            Counts { survey: &survey, flows: Vec::from_iter(flow), seconds: 1.0 }.leave_open(1, &[process])
        };
        let own = std::process::id();
        let mut busy = flow(2, 0);
        busy.counts.times = serde_json::from_str(r#"{"sum_ns":1000,"buckets":[[10,1]]}"#).unwrap();
        for (flow, process, expected) in [
            (None, own, true),
            (Some(flow(2, 1)), own, true),
            (Some(flow(1, 1)), own + 1, false),
            (Some(busy.clone()), own, false),
            (Some(busy), own + 1, true),
        ] {
            assert_eq!(leave_open(flow.clone(), process), expected, "{flow:?}");
        }
    }
}
