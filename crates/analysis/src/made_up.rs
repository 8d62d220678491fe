//! Made-up epochs for the tests of this folder. The figures are those of no machine.

use looptax_bench::{CoreMap, CpuTicks, EpochData, MachineDelta, SliceData};
use looptax_record as record;
use looptax_stats::Side;

/// An epoch with these requests per slice of 50 ms, `[baseline, other]`; `idx` varies the rest.
pub(crate) fn data(idx: u64, counts: [u64; 2]) -> EpochData {
    let order = [1, 0, 0, 1, 0, 1, 1, 0].map(|side: usize| Side::BOTH[side]);
    let slices = order.into_iter().zip(0..);
    EpochData {
        reconnect_ns: 12_000_000 + idx,
        prime_ns: 3_000_000,
        n_primed: 40,
        cores: CoreMap {
            client: vec![Some(1), Some(0)],
            server: vec![Some(1), Some(0), None],
        },
        slices: slices
            .map(|(side, slice_idx)| slice(side, 8 * idx + slice_idx, counts[side.idx()]))
            .collect(),
        samples: [
            vec![9_000 + idx as u32; 200],
            vec![10_000 + idx as u32; 200],
        ],
        machine: MachineDelta {
            ticks: Some(CpuTicks {
                user: 40,
                nice: 1,
                system: 20,
                idle: 33 + idx,
                iowait: 1,
                irq: 2,
                softirq: 9,
                steal: 0,
            }),
            cpu_pressure_us: Some(1_000),
            n_throttled: Some(0),
        },
        lag_p99_ns: [None, None],
        own_cpu_ns: Some(401_234_567 + idx),
        answers_agree: true,
    }
}

/// An arm that was proved to be what `name` says.
pub(crate) fn arm(name: &str) -> super::judged::ProvedArm {
    super::judged::ProvedArm {
        name: name.to_owned(),
        endpoint: "somewhere".to_owned(),
        verified: true,
        proof: record::Proof {
            server_identity: Some("this one".to_owned()),
            ..record::Proof::default()
        },
    }
}

/// One without arms and epochs: one connection, both ends on one core, as fast as answers come.
pub(crate) fn comparison() -> record::Comparison {
    record::Comparison {
        target: record::Target {
            kind: "redis".to_owned(),
            version: String::new(),
            private: true,
            name: "private:redis".to_owned(),
            settings: std::collections::BTreeMap::new(),
            pid: None,
            processes_per_arm: None,
            started_at: None,
            offers_tls: None,
        },
        workload: record::Workload {
            name: "get".to_owned(),
            protocol: None,
            statements: 1,
            pipeline: 1,
            distribution: None,
            rows: None,
            request_bytes: None,
            response_bytes: None,
            stream: None,
        },
        connections: 1,
        placement: record::PlacementUsed {
            asked: record::Placement::Same,
            real: String::new(),
        },
        client: record::Client::Poll,
        client_like: None,
        remedy: None,
        load: record::Load::default(),
        commands: None,
        schedule: record::Schedule {
            slice_ms: 50.0,
            guard_ms: 10.0,
            octets_per_epoch: 1,
            looks: Vec::new(),
            fixed: false,
            precise: false,
            delta_pct: 1.0,
            warmup_epochs: 2,
            seed: record::Hex64(1),
        },
        arms: Vec::new(),
        tax: Vec::new(),
        bill: None,
        warnings: Vec::new(),
        stalls: Vec::new(),
        server_count: None,
        time_wait: None,
        raw: record::Raw::default(),
    }
}

fn slice(side: Side, idx: u64, n: u64) -> SliceData {
    SliceData {
        side,
        start_ns: idx * 60_000_000,
        guard_ns: 10_000_000,
        active_ns: 50_000_000,
        drain_ns: 9_000,
        completions: n,
        early: n / 5,
        drained: 1,
        drained_ns: vec![8_000 + idx as u32],
        requests: n + n / 5 + 1,
        latency_sum_ns: 9_000 * n,
        sends: n + n / 5 + 1,
        receives: 2 * (n + n / 5 + 1),
        received_bytes: 0,
        waits: n,
        client_cpu_ns: 4_000 * n + idx,
        client_user_ns: 700 * n,
        client_voluntary: n,
        client_involuntary: 2,
        server_cpu_ns: Some(5_000 * n + 7 * idx),
        server_switches: Some(n + 1),
        injected_ns: 17,
        buckets: vec![n as u32],
        checksum: idx,
        n_unsampled: 0,
        median_ns: None,
        n_queued: 0,
        n_unsent: 0,
        behind_ns: 0,
    }
}
