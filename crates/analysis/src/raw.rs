//! What the experiment counted in an epoch, as the record keeps it.
//!
//! Copies; computes nothing but units. Called after each comparison.

use looptax_bench::{CpuTicks, EpochData, SliceData};
use looptax_record as record;
use looptax_stats::Side;

/// A tick of `/proc/stat`, in nanoseconds: 10 ms on every architecture (`USER_HZ` is 100).
const TICK_NS: f64 = 10_000_000.0;

/// One epoch of the record; `pair` holds the arms' indexes, `[baseline, other]`, and `samples` where
/// the latencies of each lie, in the same order.
pub fn epoch(
    data: &EpochData,
    pair: [u32; 2],
    samples: [Option<record::SamplesAt>; 2],
) -> record::Epoch {
    let ticks = |cpu_ns: u64| cpu_ns as f64 / TICK_NS;
    let n_clients = data.cores.client.len();
    let n_connections = data.cores.server.len();
    let server_cpu_ns: Option<u64> = data.slices.iter().map(|slice| slice.server_cpu_ns).sum();
    let client_of = |connection: usize| *data.cores.client.get(connection % n_clients.max(1))?;
    record::Epoch {
        pair,
        order: data.slices.iter().map(|slice| letter(slice.side)).collect(),
        reconnect_us: data.reconnect_ns / 1000,
        prime_us: data.prime_ns / 1000,
        client_cores: (0..n_connections)
            .map(|connection| client_of(connection).map(|core| core as u32))
            .collect(),
        server_cores: data
            .cores
            .server
            .iter()
            .map(|core| core.map(|core| core as u32))
            .collect(),
        slices: data.slices.iter().map(|it| slice(it, pair)).collect(),
        answers_agree: data.answers_agree,
        cpu_ticks: data.machine.ticks.map(cpu_ticks),
        own_ticks: data.own_cpu_ns.map(ticks),
        server_ticks: server_cpu_ns.map(ticks),
        cpu_pressure_us: data.machine.cpu_pressure_us,
        n_throttled: data.machine.n_throttled,
        lag_p99_ns: data.lag_p99_ns,
        samples,
    }
}

/// The letter of a side in an epoch's order; [`super::numbers`] reads it back.
pub fn letter(side: Side) -> char {
    match side {
        Side::Baseline => 'b',
        Side::Other => 'o',
    }
}

fn slice(slice: &SliceData, pair: [u32; 2]) -> record::Slice {
    record::Slice {
        arm_idx: pair[slice.side.idx()],
        start_ns: slice.start_ns,
        guard_ns: slice.guard_ns,
        active_ns: slice.active_ns,
        drain_ns: slice.drain_ns,
        completions: slice.completions,
        early: slice.early,
        drained: slice.drained,
        drained_ns: slice.drained_ns.clone(),
        requests: slice.requests,
        // The first request that fails ends the run, and its epoch is not counted.
        errors: 0,
        latency_sum_ns: slice.latency_sum_ns,
        n_unsampled: slice.n_unsampled,
        median_ns: slice.median_ns,
        queued: slice.n_queued,
        unsent: slice.n_unsent,
        behind_ns: slice.behind_ns,
        completions_per_100ms: slice.buckets.clone(),
        sends: slice.sends,
        receives: slice.receives,
        waits: slice.waits,
        received_bytes: (slice.received_bytes > 0).then_some(slice.received_bytes),
        injected_ns: slice.injected_ns,
        client_cpu_ns: Some(slice.client_cpu_ns),
        client_user_ns: Some(slice.client_user_ns),
        server_cpu_ns: slice.server_cpu_ns,
        client_voluntary_switches: Some(slice.client_voluntary),
        client_involuntary_switches: Some(slice.client_involuntary),
        server_switches: slice.server_switches,
        client_run_delay_ns: None,
        server_run_delay_ns: None,
        checksum: Some(record::Hex64(slice.checksum)),
    }
}

fn cpu_ticks(ticks: CpuTicks) -> record::CpuTicks {
    record::CpuTicks {
        user: ticks.user,
        nice: ticks.nice,
        system: ticks.system,
        idle: ticks.idle,
        iowait: ticks.iowait,
        irq: ticks.irq,
        softirq: ticks.softirq,
        steal: ticks.steal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    #[test]
    fn each_slice_and_connection_finds_its_arm_and_core() {
        let found = epoch(&made_up::data(2, [0, 0]), [3, 5], [None, None]);
        assert_eq!(found.order, "obboboob");
        let arms: Vec<u32> = found.slices.iter().map(|slice| slice.arm_idx).collect();
        assert_eq!(arms, [5, 3, 3, 5, 3, 5, 5, 3]);
        // Three connections of two client threads: the third is driven by the first thread.
        assert_eq!(found.client_cores, [Some(1), Some(0), Some(1)]);
        assert_eq!(found.server_cores, [Some(1), Some(0), None]);
    }

    #[test]
    fn nothing_that_was_counted_gets_lost() {
        let data = made_up::data(2, [0, 0]);
        let found = epoch(&data, [0, 1], [None, None]);
        let (slice, counted) = (&found.slices[0], &data.slices[0]);
        assert_eq!(slice.drained_ns, counted.drained_ns);
        assert_eq!(slice.completions_per_100ms, counted.buckets);
        assert_eq!(slice.client_user_ns, Some(counted.client_user_ns));
        assert_eq!(slice.server_switches, counted.server_switches);
        assert_eq!(
            [slice.sends, slice.receives, slice.waits],
            [counted.sends, counted.receives, counted.waits]
        );
        assert_eq!(
            (slice.n_unsampled, slice.injected_ns),
            (counted.n_unsampled, counted.injected_ns)
        );
        assert!(found.answers_agree);
    }
}
