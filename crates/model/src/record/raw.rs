//! Every epoch and slice as it was counted; verdicts are computed from these numbers.
//!
//! Filled by the experiment, epoch by epoch. Only counts and nanoseconds, no estimate. The single latencies of an epoch
//! are packed.

use crate::stats::range::{Core, Count, Index, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Hex64, Placement};

/// The raw data of a comparison.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Raw {
    /// The counted epochs of all pairs of arms, in the order of time.
    pub epochs: Vec<Epoch>,
}

/// Fresh connections for two arms, then their slices.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Epoch {
    /// The two arms, `[baseline, other]`, as indexes into the comparison's arms.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "[Index; 2]")]
    pub pair: [u32; 2],
    /// The order of the slices, a letter each: `b` baseline, `o` other.
    pub order: String,
    /// Time to connect both arms, log in and prove the transports.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub reconnect_us: u64,
    /// Time to prime all connections.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub prime_us: u64,
    /// Core of each connection's client end; `null` where it is not pinned.
    #[serde(default, deserialize_with = "Core::read")]
    #[schemars(with = "Vec<Option<Core>>")]
    pub client_cores: Vec<Option<u32>>,
    /// Core of each connection's server end; `null` where it is not pinned.
    #[serde(default, deserialize_with = "Core::read")]
    #[schemars(with = "Vec<Option<Core>>")]
    pub server_cores: Vec<Option<u32>>,
    /// The placement that the client kept by following the server's threads; `null` if both ends were pinned, or
    /// neither. Slices that ran in another placement do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Placement>,
    /// The slices, in the order of time.
    pub slices: Vec<Slice>,
    /// Whether both arms gave the same answers to the same requests, as far as both have answered.
    pub answers_agree: bool,
    /// The time of all CPUs in this epoch.
    pub cpu_ticks: Option<CpuTicks>,
    /// CPU time of looptax in this epoch, in ticks.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub own_ticks: Option<f64>,
    /// CPU time of the server in this epoch, in ticks.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub server_ticks: Option<f64>,
    /// Time in which some task waited for a CPU, from the kernel's pressure stall information.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub cpu_pressure_us: Option<u64>,
    /// How often the control group was throttled.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub n_throttled: Option<u64>,
    /// How late an open loop's requests were sent, 99th percentile, `[baseline, other]`.
    #[serde(default, skip_serializing_if = "is_closed", deserialize_with = "SmallCount::read")]
    #[schemars(with = "[Option<SmallCount>; 2]")]
    pub lag_p99_ns: [Option<u32>; 2],
    /// The latencies of the active windows, `[baseline, other]`; `null` = not kept.
    #[serde(default)]
    pub samples: [Option<Samples>; 2],
}

/// A short time in which exactly one arm ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Slice {
    /// The arm, as index into the comparison's arms.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub arm_idx: u32,
    /// Start of its guard, in time since the start of the comparison.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub start_ns: u64,
    /// Length of the guard.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub guard_ns: u64,
    /// Length of the active window.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub active_ns: u64,
    /// From the end of the window to the last answer in flight.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub drain_ns: u64,
    /// Requests answered in the active window.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub completions: u64,
    /// The completions in the first 10 ms of the window.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub early: u64,
    /// Requests in flight at the end of the window, answered afterwards.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub drained: u64,
    /// Latencies of the drained requests. The end of the window cut these requests off, so they are not among the
    /// samples.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Vec<SmallCount>")]
    pub drained_ns: Vec<u32>,
    /// All requests answered, including those of guard and drain: the CPU times belong to these requests.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub requests: u64,
    /// Requests that failed.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub errors: u64,
    /// Sum of the latencies of the active window.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub latency_sum_ns: u64,
    /// Latencies that did not fit into the buffer and are missing from the samples.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_unsampled: u64,
    /// Median latency, in an open loop and with pauses between requests; there the verdict comes from it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub median_ns: Option<u32>,
    /// Requests of an open loop that waited for a connection.
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub queued: u64,
    /// Requests of an open loop that were due and not yet sent when the slice ended; each is among the samples with the
    /// time that it had waited.
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub unsent: u64,
    /// How long the oldest unsent request had waited.
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub behind_ns: u64,
    /// Requests answered in each 100 ms of the active window; empty for short windows.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Vec<SmallCount>")]
    pub completions_per_100ms: Vec<u32>,
    /// System calls of the client that send, over the same span as `requests`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub sends: u64,
    /// System calls of the client that receive, including those that found no data.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub receives: u64,
    /// System calls of the client that wait: poll, epoll.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub waits: u64,
    /// Bytes that the client received, if they were counted.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub received_bytes: Option<u64>,
    /// Time that the client spent in an injected delay; 0 without such a delay.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub injected_ns: u64,
    /// CPU time of the client's threads.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub client_cpu_ns: Option<u64>,
    /// The part of `client_cpu_ns` in user mode.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub client_user_ns: Option<u64>,
    /// CPU time of the server.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub server_cpu_ns: Option<u64>,
    /// Time that a supervisor spent on the client's connections during the slice's requests.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub supervisor_ns: Option<u64>,
    /// Context switches of the client's threads because they waited.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub client_voluntary_switches: Option<u64>,
    /// Context switches of the client's threads because the scheduler took the core away.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub client_involuntary_switches: Option<u64>,
    /// Context switches of the server's threads, of both kinds.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub server_switches: Option<u64>,
    /// Time in which the client's threads could run but had no core.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub client_run_delay_ns: Option<u64>,
    /// Time in which the server's threads could run but had no core.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub server_run_delay_ns: Option<u64>,
    /// Where the two ends of its connections ran; `null` if they are pinned, or if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats: Option<Seats>,
    /// Checksum of the answers.
    pub checksum: Option<Hex64>,
}

/// The placement of the two ends of a slice's connections: each connection is looked at twice, before and after the
/// slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Seats {
    /// Looks that found both ends on the same core.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub same: u32,
    /// Looks that found the ends on different cores.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub split: u32,
    /// How often the scheduler moved an end between the two looks; `null` if the kernel does not report it.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub moves: Option<u64>,
}

impl Seats {
    /// Returns the placement if all looks found the same.
    pub fn placement(self) -> Option<Placement> {
        match (self.same, self.split, self.moves) {
            (1.., 0, Some(0) | None) => Some(Placement::Same),
            (0, 1.., Some(0) | None) => Some(Placement::Split),
            _ => None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_closed(lags: &[Option<u32>; 2]) -> bool {
    *lags == [None, None]
}

/// A tick of `/proc`, in nanoseconds: 10 ms on every architecture (`USER_HZ` is 100).
pub const TICK_NS: u64 = 10_000_000;

/// Differences of the first line of `/proc/stat`, in ticks of 10 ms over all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuTicks {
    /// User time.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub user: u64,
    /// User time at low priority.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub nice: u64,
    /// Kernel time.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub system: u64,
    /// Idle time.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub idle: u64,
    /// Idle time with disk input or output outstanding.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub iowait: u64,
    /// Hard interrupts.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub irq: u64,
    /// Soft interrupts.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub softirq: u64,
    /// Time that the hypervisor gave to other machines.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub steal: u64,
}

impl CpuTicks {
    /// Returns the increase since `then`, for counters that only grow.
    #[must_use]
    pub fn since(self, then: Self) -> Self {
        Self {
            user: self.user.saturating_sub(then.user),
            nice: self.nice.saturating_sub(then.nice),
            system: self.system.saturating_sub(then.system),
            idle: self.idle.saturating_sub(then.idle),
            iowait: self.iowait.saturating_sub(then.iowait),
            irq: self.irq.saturating_sub(then.irq),
            softirq: self.softirq.saturating_sub(then.softirq),
            steal: self.steal.saturating_sub(then.steal),
        }
    }

    /// Percent of the ticks in which something ran; `None` if there are no ticks.
    pub fn busy_pct(self) -> Option<f64> {
        let busy = self.user + self.nice + self.system + self.irq + self.softirq + self.steal;
        let all = busy + self.idle + self.iowait;
        (all > 0).then(|| 100.0 * busy as f64 / all as f64)
    }
}

/// The latencies of one arm in one epoch, sorted by size, not by time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// Number of samples.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub count: u64,
    /// Base64 of a zlib stream of pairs of numbers, from the fastest request on: by how many nanoseconds a latency
    /// exceeds the one before, and how many requests had it. A number is written seven bits to the byte, lowest first;
    /// the top bit is set if more bytes follow.
    pub packed: String,
}
