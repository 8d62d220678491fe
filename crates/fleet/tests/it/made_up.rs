//! A made-up machine whose names are hostile.

use looptax_fleet::sent::Sender;
use looptax_fleet::{Batch, FallenClient, Names, Seen};
use looptax_model::record::{
    Client, Comparison, CpuTax, Diagnostics, Direction, EndpointTransport, FOUND_SCHEMA_VERSION, Figure, Found,
    FoundClient, FoundEndpoint, FoundPeer, FoundServer, Hex64, Host, HowKnown, Latency, Placement, PlacementUsed,
    Reason, Record, Schedule, Target, Tax, Verdict, Way, Workload,
};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Names that people and programs have chosen, or might choose.
const NAMES: [&str; 8] = [
    "php-fpm8.2",
    "'; DROP TABLE findings; --",
    "<script>alert(1)</script>",
    "$(reboot)`reboot`",
    "\0\n\r\t\\N\\.",
    "{\"table\": \"reports\"}",
    "\u{202e}txt.exe\u{1b}]0;x\u{7}",
    "",
];

pub(crate) fn sender(n: u64) -> Sender {
    Sender { report_id: format!("{n:032x}"), host_id: "c0ffee".repeat(5), at_ms: 1_795_000_000_000 + n.cast_signed() }
}

/// Returns a random name, which is sometimes very long.
fn name(rng: &mut Xoshiro256PlusPlus) -> String {
    let name = NAMES[rng.next_u32() as usize % NAMES.len()];
    let n_times = if rng.next_u32().is_multiple_of(16) { 5_000 } else { 1 };
    name.repeat(n_times)
}

fn figure(rng: &mut Xoshiro256PlusPlus) -> Figure {
    let value = f64::from(rng.next_u32() % 1_000);
    match rng.next_u32() % 3 {
        0 => Figure::missing("not measured"),
        1 => Figure::new(value, f64::NEG_INFINITY, f64::INFINITY, 3),
        _ => Figure::new(value, value - 1.0, value + 1.0, 9),
    }
}

/// Returns a result of `find` with `n` clients of two servers.
pub(crate) fn found(rng: &mut Xoshiro256PlusPlus, n: usize) -> Found {
    let servers = [1, 2].map(|pid| FoundServer {
        kind: name(rng),
        version: Some(name(rng)),
        pid,
        program: name(rng),
        user: name(rng),
        home: Some(name(rng)),
        is_hidden: false,
        endpoints: vec![FoundEndpoint {
            transport: EndpointTransport::Unix,
            address: "/run/s.sock".to_owned(),
            file: Some(looptax_model::record::FILE_GONE.to_owned()),
            n_waiting: 0,
            backlog: 80,
            known: HowKnown::Seen,
        }],
        network: None,
        n_remote: 0,
        n_closed_last_minute: 0,
    });
    let client = |idx: usize, rng: &mut Xoshiro256PlusPlus| FoundClient {
        peer: FoundPeer {
            pid: Some(100 + idx as u32),
            program: Some(name(rng)),
            user: Some(name(rng)),
            home: None,
            way: if idx.is_multiple_of(2) { Way::Loopback } else { Way::Unix },
            n_connections: rng.next_u64() % 9,
            asks_by_its_files: false,
            is_sealed: false,
            requests_per_s: Some([f64::NAN, f64::from(rng.next_u32())][idx % 2]),
            opened_per_s: None,
            p50_us: None,
        },
        // Sometimes the client's server is not in the list.
        server_pid: 1 + rng.next_u32() % 3,
        via: None,
        onward: None,
        cpu_ms_per_s: Some(figure(rng)),
        cost_from: Vec::new(),
    };
    Found {
        schema_version: FOUND_SCHEMA_VERSION,
        looptax_version: name(rng),
        at: "2026-11-21T12:00:00+00:00".to_owned(),
        rates_over_s: Some(1.0),
        counted_by: looptax_model::record::CountedBy::Segments,
        cost_sources: Vec::new(),
        sees_all: true,
        clients: (0..n).map(|idx| client(idx, rng)).collect(),
        servers: servers.into(),
        chains: Vec::new(),
        listeners: Vec::new(),
        notes: Vec::new(),
    }
}

pub(crate) fn record(id: &str, verdict: Verdict) -> Record {
    let target = Target { kind: "mariadb".to_owned(), ..Target::default() };
    let used = PlacementUsed { asked: Placement::Same, real: String::new() };
    let schedule = Schedule {
        slice_ms: 50.0,
        guard_ms: 10.0,
        octets_per_epoch: 1,
        looks: Vec::new(),
        fixed: false,
        precise: false,
        delta_pct: 1.0,
        warmup_epochs: 2,
        seed: Hex64(1),
    };
    let comparison = Comparison {
        tax: vec![tax(verdict)],
        ..Comparison::unmeasured(target, Workload::default(), used, Client::Poll, schedule)
    };
    Record { comparisons: vec![comparison], ..Record::begun(id.to_owned(), "2026-01-02T03:04:05Z".to_owned(), "0.1.0") }
}

fn tax(verdict: Verdict) -> Tax {
    let none = || Figure::missing("not needed here");
    Tax {
        arm: "tcp".to_owned(),
        baseline: "unix".to_owned(),
        throughput_pct: none(),
        theta: Figure::new(0.25, 0.2, 0.3, 12),
        total_throughput_pct: none(),
        latency_us: Latency { mean: none(), p50: none(), p90: none(), p99: none(), p999: none() },
        cpu_us: CpuTax { client: none(), server: none(), both: Figure::new(3.5, 3.0, 4.0, 12) },
        verdict,
        direction: Some(Direction::OtherSlower),
        dearer_by_cpu: None,
        reason: Reason::ExcludesZero,
        uncertain_size: None,
        disturbance: None,
        starred: Vec::new(),
        n_epochs: 12,
        look: Some(0),
        alpha: 0.05,
        stopped_early: false,
        diagnostics: Diagnostics::default(),
    }
}

pub(crate) fn batch(rng: &mut Xoshiro256PlusPlus, n: u64, names: &Names) -> Batch {
    let n_clients = rng.next_u32() as usize % 20;
    let seen = Seen {
        name: &name(rng),
        machine: &Host::default(),
        found: &found(rng, n_clients),
        fallen: &[FallenClient { pid: 100, server_pid: 1 }],
        records: &[record("r", Verdict::Difference)],
    };
    Batch::new(&sender(n), seen, names)
}
