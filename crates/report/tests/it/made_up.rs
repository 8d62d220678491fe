//! Parts of a made-up record, from which each test makes the record that it needs.
//!
//! No machine has measured these figures.

use looptax_model::record::{
    Arm, Client, Comparison, Cpu, CpuTax, Diagnostics, Direction, Figure, Hex64, Latency, Look, LookArm, Placement,
    PlacementUsed, Proof, RateRange, Reason, Record, Schedule, Target, Tax, Verdict, Workload,
};

/// Makes a record of these comparisons and glimpses.
pub(crate) fn record(comparisons: Vec<Comparison>, looks: Vec<Look>) -> Record {
    Record {
        seed: Hex64(1),
        comparisons,
        looks,
        ..Record::begun("1".to_owned(), "2026-01-02T03:04:05Z".to_owned(), "0.1.0")
    }
}

/// Makes a comparison of `tcp` with `unix` on MariaDB, with a clear difference, and with these rates.
pub(crate) fn comparison(connections: u32, placement: Placement, per_s: [f64; 2]) -> Comparison {
    let us = per_s.map(|per_s| f64::from(connections) * 1e6 / per_s);
    Comparison {
        connections,
        arms: vec![arm("unix", per_s[0], us[0]), arm("tcp", per_s[1], us[1])],
        tax: vec![tax("tcp", 100.0 * (1.0 - per_s[1] / per_s[0]), us[1] - us[0])],
        ..Comparison::unmeasured(
            target("mariadb", "10.11.19-MariaDB-0+deb12u1"),
            workload(),
            used(placement),
            Client::Poll,
            schedule(),
        )
    }
}

/// Makes a glimpse of ten seconds at placement `free`, with the range of rates of each arm.
pub(crate) fn look(connections: u32, ranges: [(f64, f64); 2]) -> Look {
    let arm = |(name, (min, max)): (&str, (f64, f64))| LookArm {
        name: name.to_owned(),
        rate_100ms_per_s: RateRange { min, median: f64::midpoint(min, max), max },
        modes_per_s: Vec::new(),
    };
    Look {
        target: target("mariadb", "10.11.19-MariaDB-0+deb12u1"),
        workload: workload(),
        connections,
        placement: used(Placement::Free),
        client: Client::Poll,
        client_like: None,
        seconds: 10.0,
        arms: ["unix", "tcp"].into_iter().zip(ranges).map(arm).collect(),
        reason: None,
    }
}

pub(crate) fn target(kind: &str, version: &str) -> Target {
    Target {
        kind: kind.to_owned(),
        version: version.to_owned(),
        private: true,
        name: format!("private:{kind}"),
        ..Target::default()
    }
}

/// Makes a tax with the verdict "difference", whose interval is `pct` plus or minus half a point.
pub(crate) fn tax(arm: &str, pct: f64, us: f64) -> Tax {
    let around = |value: f64, by: f64| Figure::new(value, value - by, value + by, 10);
    Tax {
        arm: arm.to_owned(),
        baseline: "unix".to_owned(),
        throughput_pct: around(pct, 0.5),
        theta: around(-(1.0 - pct / 100.0).ln(), 0.005),
        total_throughput_pct: around(pct, 2.0),
        latency_us: latency(around(us, 0.1)),
        cpu_us: CpuTax {
            client: Figure::missing("not read"),
            server: Figure::missing("not read"),
            both: around(us / 2.0, 0.1),
        },
        verdict: Verdict::Difference,
        direction: Some(if pct > 0.0 { Direction::OtherSlower } else { Direction::OtherFaster }),
        dearer_by_cpu: None,
        reason: Reason::ExcludesZero,
        uncertain_size: None,
        disturbance: None,
        starred: Vec::new(),
        n_epochs: 10,
        look: Some(0),
        alpha: 0.00417,
        stopped_early: true,
        diagnostics: Diagnostics::default(),
    }
}

pub(crate) fn arm(name: &str, per_s: f64, us: f64) -> Arm {
    Arm {
        name: name.to_owned(),
        endpoint: "somewhere".to_owned(),
        verified: true,
        proof: Proof::default(),
        throughput_per_s: Figure::new(per_s, per_s - 1.0, per_s + 1.0, 10),
        latency_us: latency(Figure::new(us, us - 0.1, us + 0.1, 10)),
        latency_pooled_us: None,
        cpu_us_per_query: Cpu { client: Figure::missing("not read"), server: Figure::missing("not read") },
        context_switches_per_query: Figure::new(1.0, 0.98, 1.02, 10),
        syscalls_per_query: None,
    }
}

fn latency(mean: Figure) -> Latency {
    let none = || Figure::missing("not needed here");
    Latency { mean, p50: none(), p90: none(), p99: none(), p999: none() }
}

fn workload() -> Workload {
    Workload {
        name: "point-select".to_owned(),
        protocol: Some("prepared".to_owned()),
        statements: 1,
        pipeline: 1,
        rows: Some(100_000),
        ..Workload::default()
    }
}

fn used(asked: Placement) -> PlacementUsed {
    PlacementUsed { asked, real: String::new() }
}

fn schedule() -> Schedule {
    Schedule {
        slice_ms: 50.0,
        guard_ms: 10.0,
        octets_per_epoch: 1,
        looks: Vec::new(),
        fixed: false,
        precise: false,
        delta_pct: 1.0,
        warmup_epochs: 4,
        seed: Hex64(1),
    }
}
