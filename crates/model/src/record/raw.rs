//! The counts of every epoch and slice; verdicts are computed from these numbers.
//!
//! The experiment fills this form, epoch by epoch. The form has only counts and nanoseconds, no estimates. The
//! latencies of an epoch are packed.

use crate::stats::range::{Core, Count, Index, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Hex64, Placement};

/// The raw data of a comparison.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Raw {
    /// The epochs of all pairs of arms, in order of time.
    pub epochs: Vec<Epoch>,
}

/// An epoch: new connections for two arms, then the slices of both arms.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Epoch {
    /// The two arms, `[baseline, other]`, as indexes into the comparison's arms.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "[Index; 2]")]
    pub pair: [u32; 2],
    /// The arm of each slice, in order of time, as a letter: `b` baseline, `o` other.
    pub order: String,
    /// Time to connect both arms, log in and prove the transports.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub reconnect_us: u64,
    /// Time to prime all connections with requests that do not count.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub prime_us: u64,
    /// For each connection, the core of its client end; `null` if this end is not pinned.
    #[serde(default, deserialize_with = "Core::read")]
    #[schemars(with = "Vec<Option<Core>>")]
    pub client_cores: Vec<Option<u32>>,
    /// For each connection, the core of its server end; `null` if this end is not pinned.
    #[serde(default, deserialize_with = "Core::read")]
    #[schemars(with = "Vec<Option<Core>>")]
    pub server_cores: Vec<Option<u32>>,
    /// The placement that the client kept by moving with the server's threads; `null` if both ends were pinned, or if
    /// neither end was pinned. Slices in another placement do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Placement>,
    /// The slices, in order of time.
    pub slices: Vec<Slice>,
    /// Whether both arms gave the same answers to the same requests, as far as both arms answered; `true` also if the
    /// answers cannot be compared.
    pub answers_agree: bool,
    /// The CPU time of all CPUs in this epoch, by kind.
    pub cpu_ticks: Option<CpuTicks>,
    /// CPU time of looptax in this epoch, in ticks.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub own_ticks: Option<f64>,
    /// CPU time of the server in this epoch, in ticks.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub server_ticks: Option<f64>,
    /// Time in which at least one task waited for a CPU, from the kernel's pressure stall information.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub cpu_pressure_us: Option<u64>,
    /// Number of times that the control group was throttled.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub n_throttled: Option<u64>,
    /// Delay with which an open loop's requests were sent, 99th percentile, `[baseline, other]`.
    #[serde(default, skip_serializing_if = "is_closed", deserialize_with = "SmallCount::read")]
    #[schemars(with = "[Option<SmallCount>; 2]")]
    pub lag_p99_ns: [Option<u32>; 2],
    /// The latencies of the active windows, `[baseline, other]`; `null` if they were not kept.
    #[serde(default)]
    pub samples: [Option<Samples>; 2],
}

/// A short time in which exactly one arm ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Slice {
    /// The arm, as an index into the comparison's arms.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub arm_idx: u32,
    /// Start of the slice's guard: time since the start of the comparison.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub start_ns: u64,
    /// Length of the guard: the first part of the slice, in which requests do not count.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub guard_ns: u64,
    /// Length of the active window, in which requests count.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub active_ns: u64,
    /// Time from the end of the window to the last answer.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub drain_ns: u64,
    /// Number of requests that were answered in the active window.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub completions: u64,
    /// Number of requests that were answered in the first 10 ms of the window.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub early: u64,
    /// Number of requests that were in flight at the end of the window, and were answered afterwards.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub drained: u64,
    /// Latencies of the drained requests. The window ended before their answers, so they are not among the samples.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Vec<SmallCount>")]
    pub drained_ns: Vec<u32>,
    /// Number of all answered requests, including the requests of guard and drain, because the CPU times include these
    /// requests.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub requests: u64,
    /// Number of requests that failed.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub errors: u64,
    /// Sum of the latencies of the active window.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub latency_sum_ns: u64,
    /// Number of latencies that did not fit into the buffer and are missing in the samples.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_unsampled: u64,
    /// Median latency, if the load is an open loop or has pauses between requests. The verdict is then computed from
    /// this median.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub median_ns: Option<u32>,
    /// Number of requests of an open loop that had to wait for a free connection.
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub queued: u64,
    /// Number of requests of an open loop that were due but not yet sent when the slice ended. Each of these requests
    /// is among the samples, with the time that it had waited until then.
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub unsent: u64,
    /// Time that the oldest unsent request had waited.
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub behind_ns: u64,
    /// Number of requests answered in each 100 ms of the active window; empty for short windows.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Vec<SmallCount>")]
    pub completions_per_100ms: Vec<u32>,
    /// Number of the client's system calls that send data, in the same period as `requests`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub sends: u64,
    /// Number of the client's system calls that receive data, including calls that found no data.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub receives: u64,
    /// Number of the client's system calls that wait: poll, epoll.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub waits: u64,
    /// Number of bytes that the client received, if they were counted.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub received_bytes: Option<u64>,
    /// Time that the client spent in an injected delay; 0 if no delay was injected.
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
    /// Time that the supervisor, which moves connections to the socket, spent on the client's connections while the
    /// slice's requests were answered.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub supervisor_ns: Option<u64>,
    /// Context switches of the client's threads that happened because a thread waited.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub client_voluntary_switches: Option<u64>,
    /// Context switches of the client's threads that happened because the scheduler took the core away.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub client_involuntary_switches: Option<u64>,
    /// Context switches of the server's threads, for both reasons.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub server_switches: Option<u64>,
    /// Time in which the client's threads were ready to run but had no core.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub client_run_delay_ns: Option<u64>,
    /// Time in which the server's threads were ready to run but had no core.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub server_run_delay_ns: Option<u64>,
    /// The cores on which the two ends of the connections ran; `null` if the ends are pinned, or if this is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats: Option<Seats>,
    /// Checksum of the answers.
    pub checksum: Option<Hex64>,
}

/// Whether the two ends of a slice's connections ran on the same core. looptax looks at each connection twice, before
/// the slice and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Seats {
    /// Number of looks that found both ends on the same core.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub same: u32,
    /// Number of looks that found the ends on different cores.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub split: u32,
    /// Number of times that the scheduler moved an end between the two looks; `null` if the kernel does not report it.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub moves: Option<u64>,
}

impl Seats {
    /// Returns the placement, if all looks found the same placement and no end moved.
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

/// Length of a tick in `/proc`, in nanoseconds: 10 ms on every architecture (`USER_HZ` is 100).
pub const TICK_NS: u64 = 10_000_000;

/// The increase of each number in the first line of `/proc/stat`, in ticks of 10 ms over all CPUs.
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
    /// Idle time during which a disk operation was in progress.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub iowait: u64,
    /// Time in hard interrupts.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub irq: u64,
    /// Time in soft interrupts.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub softirq: u64,
    /// Time that the hypervisor gave to other machines.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub steal: u64,
}

impl CpuTicks {
    /// Returns the increase since `then`; the counters only grow.
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

    /// Returns the percentage of the ticks in which a CPU was busy; `None` if there are no ticks.
    pub fn busy_pct(self) -> Option<f64> {
        let busy = self.user + self.nice + self.system + self.irq + self.softirq + self.steal;
        let all = busy + self.idle + self.iowait;
        (all > 0).then(|| 100.0 * busy as f64 / all as f64)
    }
}

/// The latencies of one arm in one epoch. They are sorted by size, so their order in time is lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// Number of samples.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub count: u64,
    /// Base64 of a zlib stream of pairs of numbers, in order of increasing latency. The first number of a pair is the
    /// difference from the previous latency, in nanoseconds; the second is the number of requests with this latency. A
    /// number is written with seven bits per byte, the lowest bits first; the top bit of a byte is set if more bytes
    /// follow.
    pub packed: String,
}
