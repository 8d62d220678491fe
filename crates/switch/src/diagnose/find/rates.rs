//! Computes the requests per second between two surveys, and the CPU time that the requests cost.
//!
//! Clients and chains both use this module, so they show the same figures for a connection.

use std::collections::HashMap;
use std::net::SocketAddr;

use looptax_host::discover::{Connection, NamespaceId, SealedFlow, Survey, Traffic};
use looptax_model::record::{CostSource, Estimate, Figure, Way};

/// The traffic of each TCP connection, by the connection's namespace and its two ends.
type TrafficOf = HashMap<(NamespaceId, SocketAddr, SocketAddr), Traffic>;

/// The earlier of two surveys, with which the later one is compared.
pub(super) struct Rates<'a> {
    earlier: &'a Survey,
    before: TrafficOf,
    seconds: f64,
}

impl<'a> Rates<'a> {
    pub(super) fn between(earlier: &'a Survey, later: &Survey) -> Self {
        Self { before: traffic_of(earlier), seconds: later.at_ns.saturating_sub(earlier.at_ns) as f64 / 1e9, earlier }
    }

    /// Returns the seconds between the two surveys.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Returns the requests per second over TCP connections that are open at the later survey. The requests of a new
    /// connection are counted from zero. `None` for a socket, because a socket's requests are not counted.
    pub(super) fn requests_per_s(&self, way: Way, connections: &[Connection]) -> Option<f64> {
        if !way.is_tcp() || self.seconds <= 0.0 {
            return None;
        }
        let mut n_requests = 0;
        for connection in connections {
            let now = connection.traffic?;
            let was = connection.tcp.and_then(|ends| self.before.get(&ends));
            let (was_in, was_out) = was.map_or((0, 0), |it| (it.data_segments_in, it.data_segments_out));
            // A small request and its answer are one segment in each direction. A large request or answer has more
            // segments, so the smaller of the two numbers counts.
            let n_in = now.data_segments_in.wrapping_sub(was_in);
            let n_out = now.data_segments_out.wrapping_sub(was_out);
            n_requests += u64::from(n_in.min(n_out));
        }
        Some(n_requests as f64 / self.seconds)
    }

    /// Returns how many connections to a server were closed per second between the surveys, over one transport. A
    /// closed connection that the earlier survey showed is not counted again. `None` for a transport whose closed
    /// connections cannot be seen.
    pub(super) fn closed_per_s(&self, later: &Survey, server_idx: usize, way: Way) -> Option<f64> {
        // A closed connection over a socket leaves no trace. For a connection between two namespaces, the trace does
        // not show which end is on this machine.
        if self.seconds <= 0.0 || matches!(way, Way::Unix | Way::Bridge) {
            return None;
        }
        let pid = later.servers[server_idx].process.pid;
        let was = { self.earlier.servers.iter() }.position(|it| it.process.pid == pid);
        let was = was.map(|idx| &self.earlier.others[idx].closed);
        let now = later.others[server_idx].closed.iter();
        let new = now.filter(|it| it.way() == Some(way) && was.is_none_or(|was| !was.contains(it)));
        Some(new.count() as f64 / self.seconds)
    }
}

fn traffic_of(survey: &Survey) -> TrafficOf {
    let of_servers = survey.clients.iter().flat_map(|it| &it.peer.connections);
    let unseen = survey.listeners.iter().flat_map(|it| &it.clients);
    let of_unseen = unseen.flat_map(|it| &it.connections);
    let of_links = survey.stack.links.iter().flat_map(|it| &it.connections);
    { of_servers.chain(of_unseen).chain(of_links) }.filter_map(|it| it.tcp.zip(it.traffic)).collect()
}

/// The kind of requests between a client and a server, for which looptax looks up a cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The server's kind; empty for a server that only passes requests on.
    pub(super) kind: &'a str,
    /// The client's kind, if the client is itself a server.
    pub(super) client_kind: Option<&'a str>,
    /// Whether each request has its own connection.
    pub(super) is_per_connection: bool,
    /// Whether the connections are encrypted.
    pub(super) is_sealed: bool,
}

/// Returns the index of the cost that fits these requests: the cost for this kind of client, else for any client of
/// this kind of server, else for every kind of server. For requests over kept connections, only a cost over kept
/// connections fits; for requests that each have their own connection, only a cost with one connection per request
/// fits. Encrypted requests get the cost of plain TCP if the cost of TLS was not measured; plain requests never get the
/// cost of TLS.
pub(super) fn source_of(asked: Asked<'_>, sources: &[CostSource]) -> Option<usize> {
    let of = |kind: Option<&str>, client_kind: Option<&str>, is_sealed: bool| {
        let is_it = |it: &CostSource| {
            let is_of_kind = (it.kind.as_deref(), it.client_kind.as_deref()) == (kind, client_kind);
            is_of_kind && (it.is_per_connection, it.is_sealed) == (asked.is_per_connection, is_sealed)
        };
        sources.iter().position(is_it)
    };
    let kind = Some(asked.kind);
    let any = |is_sealed: bool| {
        let own = asked.client_kind.and_then(|it| of(kind, Some(it), is_sealed));
        own.or_else(|| of(kind, None, is_sealed)).or_else(|| of(None, None, is_sealed))
    };
    asked.is_sealed.then(|| any(true)).flatten().or_else(|| any(false))
}

/// Whether all data on this client's connections to a server is encrypted.
pub(super) fn is_sealed(sealed: &[SealedFlow], client: &str, server_idx: usize, way: Way) -> bool {
    let is_it = |it: &SealedFlow| {
        let is_same = (it.server_idx, it.way.is_tcp()) == (server_idx, way.is_tcp());
        is_same && it.client.as_deref() == Some(client) && it.n_plain == 0
    };
    sealed.iter().any(is_it)
}

/// Returns the CPU time that requests cost according to one source, in ms per second.
pub(super) fn cost(requests_per_s: f64, source: &CostSource) -> Option<Figure> {
    let Estimate { value, lo, hi, n } = *source.cpu_us_per_request.known()?;
    let ms_per_s = |us: f64| us * requests_per_s / 1e3;
    let end = |end: Option<f64>, open: f64| end.map_or(open, ms_per_s);
    Some(Figure::new(ms_per_s(value), end(lo, f64::NEG_INFINITY), end(hi, f64::INFINITY), n))
}

/// Adds the costs of several hops. Also adds the ends of their intervals, as if all the errors had the same direction.
pub(super) fn sum(costs: impl Iterator<Item = Figure>) -> Option<Figure> {
    let known = costs.filter_map(|it| it.known().copied());
    known.fold(None, |sum: Option<Figure>, next| {
        let Some(before) = sum.as_ref().and_then(Figure::known).copied() else {
            return Some(Figure::Known(next));
        };
        let end =
            |one: Option<f64>, other: Option<f64>, open: f64| one.zip(other).map_or(open, |(one, other)| one + other);
        Some(Figure::new(
            before.value + next.value,
            end(before.lo, next.lo, f64::NEG_INFINITY),
            end(before.hi, next.hi, f64::INFINITY),
            before.n.min(next.n),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_added_with_the_ends_of_their_intervals_and_open_ends_stay_open() {
        let (one, other) = (Figure::new(1.0, 0.5, 1.5, 20), Figure::new(2.0, 1.0, 4.0, 12));
        let both = sum([one.clone(), other].into_iter());
        assert_eq!(both, Some(Figure::new(3.0, 1.5, 5.5, 12)));
        let open = Figure::new(2.0, 1.0, f64::INFINITY, 12);
        let both = sum([one, open].into_iter());
        assert_eq!(both, Some(Figure::new(3.0, 1.5, f64::INFINITY, 12)));
        assert_eq!(sum(std::iter::empty()), None);
    }
}
