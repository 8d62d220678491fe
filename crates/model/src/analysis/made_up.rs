//! Invented epochs for the tests of this folder. None of the figures was measured.

use crate::record::{self as record, CpuTicks, Epoch, Hex64, Samples, Slice};

/// Makes an epoch with these requests per slice of 50 ms, `[baseline, other]`; `idx` varies the other numbers.
pub(crate) fn epoch(idx: u64, pair: [u32; 2], counts: [u64; 2]) -> Epoch {
    let order = "obboboob";
    let slices = order.chars().zip(0..).map(|(letter, slice_idx)| {
        let side = usize::from(letter == 'o');
        slice(pair[side], 8 * idx + slice_idx, counts[side])
    });
    let slices: Vec<Slice> = slices.collect();
    let server_cpu_ns: Option<u64> = slices.iter().map(|it| it.server_cpu_ns).sum();
    let ticks = |cpu_ns: u64| cpu_ns as f64 / record::TICK_NS as f64;
    Epoch {
        pair,
        order: order.to_owned(),
        reconnect_us: 12_000 + idx,
        prime_us: 3_000,
        client_cores: vec![Some(1), Some(0), Some(1)],
        server_cores: vec![Some(1), Some(0), None],
        slices,
        answers_agree: true,
        cpu_ticks: Some(CpuTicks {
            user: 40,
            nice: 1,
            system: 20,
            idle: 33 + idx,
            iowait: 1,
            irq: 2,
            softirq: 9,
            steal: 0,
        }),
        own_ticks: Some(ticks(401_234_567 + idx)),
        server_ticks: server_cpu_ns.map(ticks),
        cpu_pressure_us: Some(1_000),
        n_throttled: Some(0),
        ..Epoch::default()
    }
}

/// Makes packed latencies of one side; [`unpacked`] turns each latency into 9 or 10 microseconds.
pub(crate) fn samples(side: u32, count: u64) -> Samples {
    Samples { count, packed: side.to_string() }
}

/// Returns the latencies that [`samples`] packed.
pub(crate) fn unpacked(samples: &Samples) -> Vec<u32> {
    let side: u32 = samples.packed.parse().unwrap();
    vec![9_000 + 1_000 * side; samples.count as usize]
}

/// Makes an arm of a record, without any figures.
pub(crate) fn unmeasured_arm(name: &str) -> record::Arm {
    let none = || record::Figure::missing("not measured");
    record::Arm {
        name: name.to_owned(),
        endpoint: name.to_owned(),
        verified: true,
        proof: record::Proof::default(),
        throughput_per_s: none(),
        latency_us: record::Latency { mean: none(), p50: none(), p90: none(), p99: none(), p999: none() },
        latency_pooled_us: None,
        cpu_us_per_query: record::Cpu { client: none(), server: none() },
        context_switches_per_query: none(),
        syscalls_per_query: None,
    }
}

/// Makes an arm that was proved to be the arm called `name`.
pub(crate) fn arm(name: &str) -> super::proved_arm::ProvedArm {
    super::proved_arm::ProvedArm {
        name: name.to_owned(),
        endpoint: "somewhere".to_owned(),
        verified: true,
        proof: record::Proof { server_identity: Some("this one".to_owned()), ..record::Proof::default() },
    }
}

/// Makes a comparison without arms and epochs: one connection, both ends on one core, a closed loop without pauses.
pub(crate) fn comparison() -> record::Comparison {
    record::Comparison::unmeasured(
        record::Target {
            kind: "redis".to_owned(),
            private: true,
            name: "private:redis".to_owned(),
            ..record::Target::default()
        },
        record::Workload { name: "get".to_owned(), statements: 1, pipeline: 1, ..record::Workload::default() },
        record::PlacementUsed { asked: record::Placement::Same, real: String::new() },
        record::Client::Poll,
        record::Schedule {
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
    )
}

fn slice(arm_idx: u32, idx: u64, n: u64) -> Slice {
    Slice {
        arm_idx,
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
        waits: n,
        client_cpu_ns: Some(4_000 * n + idx),
        client_user_ns: Some(700 * n),
        client_voluntary_switches: Some(n),
        client_involuntary_switches: Some(2),
        server_cpu_ns: Some(5_000 * n + 7 * idx),
        server_switches: Some(n + 1),
        injected_ns: 17,
        completions_per_100ms: vec![n as u32],
        checksum: Some(Hex64(idx)),
        ..Slice::default()
    }
}
