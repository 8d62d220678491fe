//! What `watch` counted as OpenMetrics text: gauges of one look, one for each client, server and way.
//!
//! Clients are summed by the names of their programs: a collector keeps every name that it ever saw. The label of the
//! way is called as OpenTelemetry's conventions call it (`network.transport`).

use std::collections::BTreeMap;

use looptax_model::record::{Watched, WatchedHop};

use crate::openmetrics::escaped;
use crate::openmetrics_found::write_gauge;

/// Most triples with lines of their own: the busiest.
const MOST_HOPS: usize = 50;

struct Family {
    name: &'static str,
    help: &'static str,
    pick: fn(&WatchedHop) -> Option<f64>,
}

const FAMILIES: [Family; 5] = [
    Family {
        name: "looptax_watch_requests_per_second",
        help: "Requests that a client had answered, counted by the kernel.",
        pick: |it| Some(it.requests_per_s),
    },
    Family {
        name: "looptax_watch_connections_opened_per_second",
        help: "Connections that a client opened.",
        pick: |it| Some(it.opened_per_s),
    },
    Family {
        name: "looptax_watch_request_duration_seconds_p50",
        help: "Half of the requests took less, from their arrival at the server until the client had the answer.",
        pick: |it| it.times.map(|it| it.p50_us / 1e6),
    },
    Family {
        name: "looptax_watch_request_duration_seconds_p99",
        help: "99 % of the requests took less, from their arrival at the server until the client had the answer.",
        pick: |it| it.times.map(|it| it.p99_us / 1e6),
    },
    Family {
        name: "looptax_watch_server_duration_seconds_p50",
        help: "The server's part of half of the requests took less.",
        pick: |it| it.served.map(|it| it.p50_us / 1e6),
    },
];

/// The gauges of one look. Where several services of one name ask the same server, rates are summed and times are those of
/// the busiest.
pub fn watched_openmetrics(watched: &Watched) -> String {
    let mut hops: BTreeMap<String, WatchedHop> = BTreeMap::new();
    for hop in watched.hops.iter().take(MOST_HOPS) {
        let known = hops.entry(labels(hop));
        known.and_modify(|it| add(it, hop)).or_insert_with(|| hop.clone());
    }
    let mut text = String::new();
    for family in &FAMILIES {
        let samples = hops.iter().filter_map(|(labels, hop)| Some((labels.clone(), (family.pick)(hop)?)));
        write_gauge(family.name, family.help, samples, &mut text);
    }
    text.push_str("# EOF\n");
    text
}

fn add(sum: &mut WatchedHop, hop: &WatchedHop) {
    sum.requests_per_s += hop.requests_per_s;
    sum.opened_per_s += hop.opened_per_s;
}

fn labels(hop: &WatchedHop) -> String {
    let client = hop.client.as_ref().map_or("(elsewhere)", |it| &it.program);
    let server = hop.kind.as_ref().or(hop.server.as_ref().map(|it| &it.program));
    let transport = if hop.way.is_tcp() { "tcp" } else { "unix" };
    format!(
        "{{client=\"{}\",server=\"{}\",network_transport=\"{transport}\",address=\"{}\"}}",
        escaped(client),
        escaped(server.map_or("", String::as_str)),
        escaped(&hop.address)
    )
}
