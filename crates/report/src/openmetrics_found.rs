//! The results of `find` as OpenMetrics text, for the node exporter's folder of text files: a gauge for each fact of
//! one snapshot.
//!
//! Clients with the same program name are added up. At most [`MOST_PAIRS`] pairs of client and server have their own
//! lines; all others share one line, because Prometheus keeps a series for every name that it has ever received.

use std::collections::BTreeMap;
use std::fmt::Write;

use looptax_model::record::{Found, FoundClient, NoteCode};

use crate::openmetrics::escaped;

/// Maximum number of pairs of client and server with separate lines: the pairs with the largest losses.
const MOST_PAIRS: usize = 50;
/// The client name under which all other pairs are added up.
const OTHERS: &str = "(others)";
/// The factor from milliseconds of CPU time per second to cores.
const CORES: f64 = 1e-3;

type Pair<'a> = (&'a str, &'a str, String);

/// The sums over the connections of a pair.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    connections: f64,
    requests_per_s: Option<f64>,
    cores: Option<[f64; 3]>,
}

struct Family {
    name: &'static str,
    help: &'static str,
    pick: fn(&Sum) -> Option<f64>,
}

const FAMILIES: [Family; 5] = [
    Family {
        name: "connections",
        help: "Connections from programs on this machine to servers on this machine.",
        pick: |it| Some(it.connections),
    },
    Family {
        name: "requests_per_second",
        help: "Requests; if the kernel did not count requests, TCP segments with data.",
        pick: |it| it.requests_per_s,
    },
    Family {
        name: "cpu_lost_cores",
        help: "Extra CPU time of TCP compared with the socket, an estimate.",
        pick: |it| it.cores.map(|it| it[0]),
    },
    Family {
        name: "cpu_lost_cores_lower",
        help: "Extra CPU time of TCP compared with the socket: lower end of the interval.",
        pick: |it| it.cores.map(|it| it[1]),
    },
    Family {
        name: "cpu_lost_cores_upper",
        help: "Extra CPU time of TCP compared with the socket: upper end of the interval.",
        pick: |it| it.cores.map(|it| it[2]).filter(|it| it.is_finite()),
    },
];

impl Sum {
    fn add(&mut self, other: Self) {
        self.connections += other.connections;
        if let Some(rate) = other.requests_per_s {
            *self.requests_per_s.get_or_insert(0.0) += rate;
        }
        if let Some(more) = other.cores {
            let cores = self.cores.get_or_insert([0.0; 3]);
            cores.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
    }

    fn weight(&self) -> (f64, f64) {
        let lost = self.cores.map_or(0.0, |it| it[0]);
        (lost, self.requests_per_s.unwrap_or(0.0))
    }
}

/// Returns the gauges of one snapshot. The ends of intervals are added up too, so the intervals of sums are wider than
/// necessary.
pub fn found_openmetrics(found: &Found) -> String {
    let pairs = largest(pairs(found));
    let mut text = String::new();
    let version = escaped(&found.looptax_version);
    let one = |name, help, value: f64, text: &mut String| {
        gauge(name, help, [(String::new(), value)], text);
    };
    let info = format!("{{version=\"{version}\"}}");
    gauge("info", "The version of looptax that made these metrics.", [(info, 1.0)], &mut text);
    let sees_all = f64::from(u8::from(found.unseen().is_empty()));
    one("sees_all", "Whether looptax could inspect every process, namespace and connection.", sees_all, &mut text);
    let fallen = { found.notes.iter() }.filter(|it| it.code == NoteCode::FellBack);
    one("fell_back", "Programs that use TCP again after a switch to the socket.", as_f64(fallen.count()), &mut text);
    let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
    for server in &found.servers {
        *servers.entry(&server.kind).or_default() += 1;
    }
    let servers = servers.into_iter().map(|(kind, n)| (format!("{{server=\"{}\"}}", escaped(kind)), as_f64(n)));
    gauge("servers", "Number of running servers.", servers, &mut text);
    for family in &FAMILIES {
        let known = { pairs.iter() }.filter_map(|(pair, sum)| Some((labels(pair), (family.pick)(sum)?)));
        gauge(family.name, family.help, known, &mut text);
    }
    text.push_str("# EOF\n");
    text
}

fn pairs(found: &Found) -> BTreeMap<Pair<'_>, Sum> {
    let mut pairs: BTreeMap<Pair<'_>, Sum> = BTreeMap::new();
    for client in &found.clients {
        let server = { found.servers.iter() }.find(|it| it.pid == client.server_pid);
        let Some(server) = server else { continue };
        let program = client.peer.program.as_deref().unwrap_or("(not seen)");
        let pair = (&*server.kind, program, client.peer.way.to_string());
        pairs.entry(pair).or_default().add(sum_of(client));
    }
    pairs
}

fn sum_of(client: &FoundClient) -> Sum {
    let lost = client.cpu_ms_per_s.as_ref().and_then(|it| it.known());
    Sum {
        connections: u32::try_from(client.peer.n_connections).map_or(f64::MAX, f64::from),
        requests_per_s: client.peer.requests_per_s.filter(|it| it.is_finite()),
        cores: lost.map(|it| {
            let lo = it.lo.unwrap_or(0.0);
            [it.value, lo, it.hi.unwrap_or(f64::INFINITY)].map(|ms| ms * CORES)
        }),
    }
}

/// Keeps the pairs with the largest losses, and adds up all others as one client for each server and transport.
fn largest(pairs: BTreeMap<Pair<'_>, Sum>) -> BTreeMap<Pair<'_>, Sum> {
    let mut sorted: Vec<(Pair<'_>, Sum)> = pairs.into_iter().collect();
    sorted.sort_by(|(_, one), (_, other)| {
        let (one, other) = (one.weight(), other.weight());
        other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1))
    });
    let mut kept = BTreeMap::new();
    for (n, ((server, client, way), sum)) in sorted.into_iter().enumerate() {
        let client = if n < MOST_PAIRS { client } else { OTHERS };
        let total: &mut Sum = kept.entry((server, client, way)).or_default();
        total.add(sum);
    }
    kept
}

fn labels((server, client, way): &Pair<'_>) -> String {
    format!("{{server=\"{}\",client=\"{}\",way=\"{}\"}}", escaped(server), escaped(client), escaped(way))
}

fn gauge(name: &str, help: &str, samples: impl IntoIterator<Item = (String, f64)>, text: &mut String) {
    write_gauge(&format!("looptax_find_{name}"), help, samples, text);
}

/// Writes a metric under its full name, with all its samples.
pub(crate) fn write_gauge(name: &str, help: &str, samples: impl IntoIterator<Item = (String, f64)>, text: &mut String) {
    write_head(name, "gauge", help, text);
    for (labels, value) in samples {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}

/// Writes the lines before a metric's samples.
pub(crate) fn write_head(name: &str, kind: &str, help: &str, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn as_f64(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::MAX, f64::from)
}
