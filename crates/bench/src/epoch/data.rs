//! One epoch as it was: raw counts per slice, and the part of them that verdicts are made of.
//!
//! Plain data; filled by the epoch's coordinator, read by the command line.

use looptax_stats::{Epoch, Noise, Response, Side, Slice};

use crate::cores::CoreMap;
use crate::machine::{CpuTicks, MachineDelta};

/// A tick of `/proc/stat`.
const TICK_NS: f64 = 10_000_000.0;

/// One slice as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceData {
    /// Whose connections ran.
    pub side: Side,
    /// Start of the guard, in nanoseconds since the run began.
    pub start_ns: u64,
    /// Length of the guard.
    pub guard_ns: u64,
    /// Length of the counted window.
    pub active_ns: u64,
    /// From its end to the last answer.
    pub drain_ns: u64,
    /// Answers in the window; of them in its first 10 ms.
    pub completions: u64,
    /// See `completions`.
    pub early: u64,
    /// Answers after the window, and their latencies in nanoseconds.
    pub drained: u64,
    /// See `drained`.
    pub drained_ns: Vec<u32>,
    /// All answers, guard and drain included: what the CPU was spent on.
    pub requests: u64,
    /// Sum of the counted latencies in nanoseconds.
    pub latency_sum_ns: u64,
    /// System calls of the client: send, receive, wait.
    pub sends: u64,
    /// See `sends`.
    pub receives: u64,
    /// See `sends`.
    pub waits: u64,
    /// Bytes that the client received; 0 of errands, whose bytes nobody counts.
    pub received_bytes: u64,
    /// CPU of the client threads, and of it in user mode, in nanoseconds.
    pub client_cpu_ns: u64,
    /// See `client_cpu_ns`.
    pub client_user_ns: u64,
    /// Context switches of the client threads.
    pub client_voluntary: u64,
    /// See `client_voluntary`.
    pub client_involuntary: u64,
    /// CPU of the server's processes in nanoseconds, where known.
    pub server_cpu_ns: Option<u64>,
    /// Context switches of its threads, where known.
    pub server_switches: Option<u64>,
    /// Time burnt by an injected delay, in nanoseconds.
    pub injected_ns: u64,
    /// Answers by bucket of the window; empty for short slices.
    pub buckets: Vec<u32>,
    /// Digest of the connections' first answers.
    pub checksum: u64,
    /// Latencies that found no room.
    pub n_unsampled: u64,
    /// Median latency in nanoseconds, where the rate does not follow from the server alone.
    pub median_ns: Option<u32>,
    /// Requests of an open loop that waited for a connection, and those never sent.
    pub n_queued: u64,
    /// See `n_queued`.
    pub n_unsent: u64,
    /// How long the oldest unsent one had waited, in nanoseconds.
    pub behind_ns: u64,
}

/// One epoch as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochData {
    /// Time to open and prove all connections, in nanoseconds.
    pub reconnect_ns: u64,
    /// Time to prime them.
    pub prime_ns: u64,
    /// Requests that it took, on both sides' connections together.
    pub n_primed: u64,
    /// Where the ends ran.
    pub cores: CoreMap,
    /// In the order of time.
    pub slices: Vec<SliceData>,
    /// Latencies in the counted windows, `[baseline, other]`, in nanoseconds; empty beyond the cap.
    pub samples: [Vec<u32>; 2],
    /// How late an open loop's requests were sent, 99th percentile in nanoseconds, by side.
    pub lag_p99_ns: [Option<u32>; 2],
    /// What else the machine did.
    pub machine: MachineDelta,
    /// CPU of this process during the slices, in nanoseconds.
    pub own_cpu_ns: Option<u64>,
    /// Whether both sides gave the same answers to the same keys, where the plan compares them.
    pub answers_agree: bool,
}

impl EpochData {
    /// All requests of the epoch, counted or not.
    pub fn n_requests(&self) -> u64 {
        self.n_primed + self.slices.iter().map(|slice| slice.requests).sum::<u64>()
    }

    /// The part that verdicts are made of.
    pub fn numbers(&self) -> Epoch {
        let server_cpu_ns: Option<u64> = self.slices.iter().map(|slice| slice.server_cpu_ns).sum();
        let noise = self
            .machine
            .ticks
            .map(|ticks| noise(ticks, self.own_cpu_ns, server_cpu_ns));
        Epoch {
            slices: self.slices.iter().map(numbers_of_slice).collect(),
            latencies_ns: self.samples.clone(),
            noise,
        }
    }
}

fn numbers_of_slice(slice: &SliceData) -> Slice {
    Slice {
        side: slice.side,
        completions: slice.completions,
        early: slice.early,
        active_ns: slice.active_ns,
        drained: slice.drained,
        drain_ns: slice.drain_ns,
        requests: slice.requests,
        client_cpu_ns: Some(slice.client_cpu_ns),
        server_cpu_ns: slice.server_cpu_ns,
        client_switches: slice.client_voluntary + slice.client_involuntary,
        response: slice.median_ns.map(|median_ns| Response {
            median_ns,
            sum_ns: slice.latency_sum_ns,
        }),
    }
}

fn noise(ticks: CpuTicks, own_cpu_ns: Option<u64>, server_cpu_ns: Option<u64>) -> Noise {
    let sum = ticks.user + ticks.nice + ticks.system;
    let total = sum + ticks.idle + ticks.iowait + ticks.irq + ticks.softirq + ticks.steal;
    Noise {
        total_ticks: total as f64,
        steal_ticks: ticks.steal as f64,
        softirq_ticks: ticks.softirq as f64,
        busy_ticks: sum as f64,
        own_ticks: own_cpu_ns.unwrap_or(0) as f64 / TICK_NS,
        server_ticks: server_cpu_ns.unwrap_or(0) as f64 / TICK_NS,
    }
}
