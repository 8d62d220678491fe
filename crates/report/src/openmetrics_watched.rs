//! The counts of `watch` as OpenMetrics text, for each client, server and transport: either gauges of one snapshot, or
//! counters since the start of `watch`.
//!
//! Clients with the same program name are added up, because a collector keeps every name that it has ever received. The
//! label for the transport has the name from OpenTelemetry's conventions (`network.transport`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use looptax_model::record::{Watched, WatchedHop, WatchedQueue};
use looptax_model::stats::Times;

use crate::openmetrics::escaped;
use crate::openmetrics_found::{write_gauge, write_head};

/// Maximum number of combinations of client, server and transport with separate lines: the busiest ones.
const MOST_HOPS: usize = 50;
/// Maximum number of separate counters: the first counters are kept, because a counter must not disappear again. All
/// others are added up.
const MOST_SERIES: usize = 200;
/// The upper limits of the buckets of times are 64 ns times these powers of two: from 8.2 µs to 1.07 s.
const OCTAVES: std::ops::RangeInclusive<u32> = 7..=24;

struct Family {
    name: &'static str,
    help: &'static str,
    pick: fn(&WatchedHop) -> Option<f64>,
}

const FAMILIES: [Family; 8] = [
    Family {
        name: "looptax_watch_requests_per_second",
        help: "Answered requests of a client, counted by the kernel.",
        pick: |it| Some(it.requests_per_s),
    },
    Family {
        name: "looptax_watch_connections_opened_per_second",
        help: "Connections that a client opened.",
        pick: |it| Some(it.opened_per_s),
    },
    Family {
        name: "looptax_watch_request_duration_seconds_p50",
        help: "Half of the requests took less than this, from their arrival at the server until the client had the \
            answer.",
        pick: |it| it.times.map(|it| it.p50_us / 1e6),
    },
    Family {
        name: "looptax_watch_request_duration_seconds_p99",
        help: "99 % of the requests took less than this, from their arrival at the server until the client had the \
            answer.",
        pick: |it| it.times.map(|it| it.p99_us / 1e6),
    },
    Family {
        name: "looptax_watch_server_duration_seconds_p50",
        help: "In half of the requests, the server's part took less than this.",
        pick: |it| it.served.map(|it| it.p50_us / 1e6),
    },
    Family {
        name: "looptax_watch_server_cpu_seconds_per_request",
        help: "CPU time of the server, divided by the requests of all its clients.",
        pick: |it| it.server_cpu.as_ref()?.us_per_request.map(|it| it / 1e6),
    },
    Family {
        name: "looptax_watch_client_cpu_seconds_per_request",
        help: "CPU time of the client, divided by its requests to all its servers.",
        pick: |it| it.client_cpu.as_ref()?.us_per_request.map(|it| it / 1e6),
    },
    Family {
        name: "looptax_watch_accept_wait_seconds_p99",
        help: "99 % of the new connections to the address waited less than this until the server first received or \
            sent data.",
        pick: |it| it.accept_wait.map(|it| it.p99_us / 1e6),
    },
];

/// Returns the gauges of one snapshot. If several services with the same name send requests to the same server, their
/// rates are added up, and the times are those of the busiest service.
pub fn watched_openmetrics(watched: &Watched) -> String {
    let mut hops: BTreeMap<String, WatchedHop> = BTreeMap::new();
    for hop in watched.hops.iter().take(MOST_HOPS) {
        let known = hops.entry(labels(hop));
        known.and_modify(|it| add(it, hop)).or_insert_with(|| hop.clone());
    }
    let mut text = String::new();
    for family in &FAMILIES {
        let samples = hops.iter().filter_map(|(labels, hop)| Some((format!("{{{labels}}}"), (family.pick)(hop)?)));
        write_gauge(family.name, family.help, samples, &mut text);
    }
    for (name, help, pick) in QUEUES {
        let label = |it: &WatchedQueue| {
            let (server, address) = (escaped(&it.server), escaped(&it.address));
            format!("{{server=\"{server}\",pid=\"{}\",address=\"{address}\"}}", it.pid)
        };
        write_gauge(name, help, watched.queues.iter().map(|it| (label(it), pick(it) as f64)), &mut text);
    }
    text.push_str("# EOF\n");
    text
}

type OfQueues = (&'static str, &'static str, fn(&WatchedQueue) -> u64);

const QUEUES: [OfQueues; 2] = [
    ("looptax_watch_accept_queue_connections", "Connections that waited to be accepted.", |it| it.n_waiting),
    ("looptax_watch_accept_queue_limit", "The backlog of the queue; one connection more may wait.", |it| it.backlog),
];

/// Counters since the start of `watch`.
#[derive(Debug, Default)]
pub struct WatchedTotals {
    series: BTreeMap<String, Total>,
    /// For each kind of server, the CPU time in seconds, and the number of requests for which it was used.
    cpu: BTreeMap<String, (f64, u64)>,
}

#[derive(Debug, Default)]
struct Total {
    n_requests: u64,
    n_opened: u64,
    n_bytes_asked: u64,
    n_bytes_answered: u64,
    times: Times,
}

impl WatchedTotals {
    /// Adds a snapshot, including its times.
    pub fn add(&mut self, watched: &Watched) {
        for hop in &watched.hops {
            let own = labels(hop);
            let has_room = self.series.len() < MOST_SERIES || self.series.contains_key(&own);
            let total = self.series.entry(if has_room { own } else { OTHERS.to_owned() }).or_default();
            total.n_requests += hop.n_requests;
            total.n_opened += hop.n_opened;
            total.n_bytes_asked += hop.n_bytes_asked;
            total.n_bytes_answered += hop.n_bytes_answered;
            hop.looks.iter().for_each(|it| total.times.add(&it.times));
        }
        // All hops to the same server have the same figure.
        let servers: BTreeMap<u32, &WatchedHop> =
            watched.hops.iter().filter_map(|it| Some((it.server.as_ref()?.pid?, it))).collect();
        for hop in servers.into_values() {
            if let (Some(kind), Some(cpu)) = (&hop.kind, hop.server_cpu.as_ref().filter(|it| it.n_requests > 0)) {
                let total = self.cpu.entry(kind.clone()).or_default();
                total.0 += cpu.cpu_s;
                total.1 += cpu.n_requests;
            }
        }
    }

    pub fn openmetrics(&self) -> String {
        let mut text = String::new();
        for (name, help, pick) in COUNTERS {
            write_head(name, "counter", help, &mut text);
            for (labels, total) in &self.series {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{name}_total{{{labels}}} {}", pick(total));
            }
        }
        for (name, help, pick) in OF_SERVERS {
            write_head(name, "counter", help, &mut text);
            for (kind, total) in &self.cpu {
                let _ = writeln!(text, "{name}_total{{server=\"{}\"}} {}", escaped(kind), pick(total));
            }
        }
        write_head(DURATION, "histogram", DURATION_HELP, &mut text);
        for (labels, total) in &self.series {
            for octave in OCTAVES {
                let (below, s) = (total.times.n_below(octave), 64e-9 * f64::from(1_u32 << octave));
                let _ = writeln!(text, "{DURATION}_bucket{{{labels},le=\"{s}\"}} {below}");
            }
            let (n, sum_s) = (total.times.n(), total.times.sum_ns() as f64 / 1e9);
            let _ = writeln!(text, "{DURATION}_bucket{{{labels},le=\"+Inf\"}} {n}");
            let _ = writeln!(text, "{DURATION}_sum{{{labels}}} {sum_s}\n{DURATION}_count{{{labels}}} {n}");
        }
        text.push_str("# EOF\n");
        text
    }
}

/// The labels of the counter for hops that have no separate counter.
const OTHERS: &str = "client=\"(others)\",server=\"\",network_transport=\"\",address=\"\"";

type Counter = (&'static str, &'static str, fn(&Total) -> u64);

const COUNTERS: [Counter; 4] = [
    ("looptax_requests", "Answered requests of a client, counted by the kernel.", |it| it.n_requests),
    ("looptax_connections_opened", "Connections that a client opened.", |it| it.n_opened),
    ("looptax_request_bytes", "Bytes that were sent to the server.", |it| it.n_bytes_asked),
    ("looptax_response_bytes", "Bytes that the client received.", |it| it.n_bytes_answered),
];

type OfServers = (&'static str, &'static str, fn(&(f64, u64)) -> f64);

/// The first counter divided by the second gives the CPU time per request.
const OF_SERVERS: [OfServers; 2] = [
    ("looptax_server_cpu_seconds", "CPU time of the servers whose number of requests is known.", |it| it.0),
    ("looptax_server_cpu_requests", "Requests of all clients that used this CPU time.", |it| it.1 as f64),
];

const DURATION: &str = "looptax_request_duration_seconds";
const DURATION_HELP: &str = "From a request's arrival at the server until the client had the answer.";

fn add(sum: &mut WatchedHop, hop: &WatchedHop) {
    sum.requests_per_s += hop.requests_per_s;
    sum.opened_per_s += hop.opened_per_s;
}

fn labels(hop: &WatchedHop) -> String {
    let client = hop.client.as_ref().map_or("(elsewhere)", |it| &it.program);
    let server = hop.kind.as_ref().or(hop.server.as_ref().map(|it| &it.program));
    let transport = if hop.way.is_tcp() { "tcp" } else { "unix" };
    format!(
        "client=\"{}\",server=\"{}\",network_transport=\"{transport}\",address=\"{}\"",
        escaped(client),
        escaped(server.map_or("", String::as_str)),
        escaped(&hop.address)
    )
}
