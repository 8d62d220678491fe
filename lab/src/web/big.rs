//! Records made up for the page: a large sweep with noise, and one whose every string is hostile.
//!
//! The figures are those of no machine; only their number and form matter.

use looptax_record::{
    Arm, Client, Comparison, Cpu, CpuTax, CpuTicks, Diagnostics, Direction, Epoch, Figure, Hex64,
    Host, Latency, Load, METHOD_VERSION, Placement, PlacementUsed, Proof, Raw, Reason, Record,
    SCHEMA_VERSION, Schedule, Slice, Target, Tax, Verdict, Workload,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const ARMS: [&str; 3] = ["unix", "tcp", "tls"];
/// An epoch's order, a letter each: what Thue and Morse would do.
const ORDER: &str = "obboboob";
const SLICE_NS: u64 = 50_000_000;

/// A string that would steer a browser, a terminal or a reader's eye where it is not made harmless.
pub(super) const HOSTILE: &str =
    "</script><img src=x onerror=alert(1)><b>&\"'\u{202e}\u{1b}[2J`${7*7}`<!--";

/// A sweep of 1 to 1024 connections over three arms, with so many epochs per pair of arms.
pub(super) fn sweep(n_epochs: usize) -> Record {
    let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(1));
    let comparisons = (0..11).map(|power| comparison(1 << power, n_epochs, &mut noise));
    let comparisons = comparisons.collect();
    Record {
        schema_version: SCHEMA_VERSION,
        method_version: METHOD_VERSION,
        looptax_version: "0.1.0".to_owned(),
        id: "sweep".to_owned(),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        finished_at: None,
        command: ["looptax", "compare", "private:redis", "--sweep", "1..1024"]
            .map(str::to_owned)
            .to_vec(),
        seed: Hex64(1),
        host: Host {
            kernel: "6.1.0 made up".to_owned(),
            cpus: 2,
            ..Host::default()
        },
        comparisons,
        looks: Vec::new(),
        samples: None,
        remedies: Vec::new(),
        problems: Vec::new(),
        interrupted: false,
    }
}

/// The same record with hostile strings wherever one may come from outside.
pub(super) fn hostile(mut record: Record) -> Record {
    let hostile = || HOSTILE.to_owned();
    record.id = hostile();
    record.started_at = hostile();
    record.looptax_version = hostile();
    record.command = vec!["looptax".to_owned(), hostile()];
    record.problems = vec![hostile()];
    record.host.kernel = hostile();
    record.host.cpu_model = Some(hostile());
    record.host.sysctls.insert(hostile(), hostile());
    for comparison in &mut record.comparisons {
        comparison.target.version = hostile();
        comparison.target.name = hostile();
        comparison.target.private = false;
        comparison.target.settings.insert(hostile(), hostile());
        comparison.workload.name = hostile();
        comparison.placement.real = hostile();
        comparison.warnings = vec![hostile()];
        for (arm, name) in comparison.arms.iter_mut().zip(ARMS) {
            arm.name = format!("{name}{HOSTILE}");
            arm.endpoint = hostile();
            arm.proof.server_view = Some(hostile());
            arm.proof.tls = Some(hostile());
        }
        for tax in &mut comparison.tax {
            tax.arm.push_str(HOSTILE);
            tax.baseline.push_str(HOSTILE);
        }
    }
    record
}

/// Numbers that look like noise and are the same every time.
struct Noise(Xoshiro256PlusPlus);

impl Noise {
    /// `value` give or take `share` of it.
    fn around(&mut self, value: f64, share: f64) -> f64 {
        let unit = (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        value * (1.0 + share * (2.0 * unit - 1.0))
    }
}

fn comparison(connections: u32, n_epochs: usize, noise: &mut Noise) -> Comparison {
    let crowd = 1.0 - 1.0 / f64::from(connections + 1);
    let per_s = [160e3 * crowd, 130e3 * crowd, 80e3 * crowd];
    let tax = [1, 2].map(|other| tax(other, per_s, connections));
    Comparison {
        target: target(),
        workload: workload(),
        connections,
        placement: PlacementUsed {
            asked: Placement::Same,
            real: "both ends of a connection pinned to one core".to_owned(),
        },
        client: Client::Event,
        client_like: None,
        load: Load::default(),
        commands: None,
        schedule: schedule(),
        arms: (0..ARMS.len())
            .map(|idx| arm(idx, per_s[idx], connections))
            .collect(),
        bill: None,
        tax: tax.to_vec(),
        warnings: Vec::new(),
        stalls: Vec::new(),
        server_count: None,
        time_wait: None,
        raw: raw(n_epochs, per_s, noise),
    }
}

fn raw(n_epochs: usize, per_s: [f64; 3], noise: &mut Noise) -> Raw {
    let mut start_ns = 1_000_000_000;
    let mut epochs = Vec::new();
    for idx in 0..n_epochs {
        for other in [1, 2] {
            // Every twentieth epoch is disturbed.
            let steal = if idx % 20 > 15 { 3 } else { 0 };
            epochs.push(epoch(other, per_s, steal, &mut start_ns, noise));
        }
    }
    Raw { epochs }
}

fn epoch(other: u32, per_s: [f64; 3], steal: u64, start_ns: &mut u64, noise: &mut Noise) -> Epoch {
    let slices = ORDER.chars().map(|letter| {
        let arm_idx = if letter == 'b' { 0 } else { other };
        *start_ns += SLICE_NS + 12_000_000;
        slice(arm_idx, per_s[arm_idx as usize], *start_ns, noise)
    });
    Epoch {
        pair: [0, other],
        order: ORDER.to_owned(),
        reconnect_us: 2_000,
        prime_us: 1_000,
        client_cores: vec![Some(0)],
        server_cores: vec![Some(0)],
        slices: slices.collect(),
        answers_agree: true,
        cpu_ticks: Some(CpuTicks {
            user: 40,
            system: 40,
            idle: 16,
            steal,
            ..CpuTicks::default()
        }),
        own_ticks: Some(30.0),
        server_ticks: Some(49.0),
        cpu_pressure_us: Some(1_000),
        n_throttled: None,
        lag_p99_ns: [None, None],
        samples: [None, None],
    }
}

fn slice(arm_idx: u32, per_s: f64, start_ns: u64, noise: &mut Noise) -> Slice {
    let completions = noise.around(per_s * SLICE_NS as f64 / 1e9, 0.05) as u64;
    Slice {
        arm_idx,
        start_ns,
        guard_ns: 10_000_000,
        active_ns: SLICE_NS,
        drain_ns: 100_000,
        completions,
        early: completions / 5,
        drained: 4,
        drained_ns: vec![90_001, 90_002, 90_003, 90_004],
        requests: completions + completions / 5,
        latency_sum_ns: SLICE_NS,
        sends: completions,
        receives: 2 * completions,
        waits: completions,
        received_bytes: Some(100 * completions),
        client_cpu_ns: Some(SLICE_NS / 3),
        client_user_ns: Some(SLICE_NS / 30),
        server_cpu_ns: Some(SLICE_NS / 2),
        client_voluntary_switches: Some(completions),
        client_involuntary_switches: Some(3),
        server_switches: Some(completions),
        checksum: Some(Hex64(noise.0.next_u64())),
        ..Slice::default()
    }
}

fn arm(idx: usize, per_s: f64, connections: u32) -> Arm {
    let us = f64::from(connections) * 1e6 / per_s;
    let figure = |value: f64| Figure::new(value, 0.98 * value, 1.03 * value, 120);
    Arm {
        name: ARMS[idx].to_owned(),
        endpoint: "somewhere".to_owned(),
        verified: true,
        proof: Proof::default(),
        throughput_per_s: figure(per_s),
        latency_us: Latency {
            mean: figure(us),
            p50: figure(0.9 * us),
            p90: figure(1.4 * us),
            p99: figure(2.5 * us),
            p999: figure(9.0 * us),
        },
        latency_pooled_us: None,
        cpu_us_per_query: Cpu {
            client: figure(1e6 / per_s / 3.0),
            server: figure(1e6 / per_s / 2.0),
        },
        context_switches_per_query: figure(1.0),
        syscalls_per_query: None,
    }
}

fn tax(other: usize, per_s: [f64; 3], connections: u32) -> Tax {
    let pct = 100.0 * (1.0 - per_s[other] / per_s[0]);
    let us = f64::from(connections) * (1e6 / per_s[other] - 1e6 / per_s[0]);
    let figure = |value: f64, by: f64| Figure::new(value, value - by, value + by, 120);
    Tax {
        arm: ARMS[other].to_owned(),
        baseline: ARMS[0].to_owned(),
        throughput_pct: figure(pct, 0.6),
        theta: figure(-(1.0 - pct / 100.0).ln(), 0.006),
        total_throughput_pct: figure(pct, 1.0),
        latency_us: Latency {
            mean: figure(us, 0.1 * us),
            p50: figure(us, 0.1 * us),
            p90: figure(1.5 * us, 0.2 * us),
            p99: figure(2.0 * us, us),
            p999: figure(3.0 * us, 4.0 * us),
        },
        cpu_us: CpuTax {
            client: figure(0.3, 0.1),
            server: figure(0.5, 0.1),
            both: figure(0.8, 0.1),
        },
        verdict: Verdict::Difference,
        direction: Some(Direction::OtherSlower),
        reason: Reason::ExcludesZero,
        starred: Vec::new(),
        n_epochs: 120,
        look: Some(0),
        alpha: 0.05,
        stopped_early: false,
        diagnostics: Diagnostics::default(),
    }
}

fn target() -> Target {
    Target {
        kind: "redis".to_owned(),
        version: "7.0.15".to_owned(),
        private: true,
        name: "private:redis".to_owned(),
        settings: std::collections::BTreeMap::new(),
        pid: None,
        processes_per_arm: None,
        started_at: None,
        offers_tls: None,
    }
}

fn workload() -> Workload {
    Workload {
        name: "get".to_owned(),
        protocol: None,
        statements: 1,
        pipeline: 1,
        distribution: None,
        rows: Some(100_000),
        request_bytes: None,
        response_bytes: None,
        stream: None,
    }
}

fn schedule() -> Schedule {
    Schedule {
        slice_ms: 50.0,
        guard_ms: 10.0,
        octets_per_epoch: 1,
        looks: Vec::new(),
        fixed: true,
        precise: false,
        delta_pct: 1.0,
        warmup_epochs: 4,
        seed: Hex64(1),
    }
}
