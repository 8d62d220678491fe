//! The data of a page besides the record itself; the command line makes them from raw counts and samples.
//!
//! Plain data, made by the same statistics that judged the run.

use looptax_model::record::Record;

/// A record, and the data made from its raw counts and samples.
#[derive(Debug)]
pub struct Shown<'a> {
    pub record: &'a Record,
    pub name: &'a str,
    /// The details of each comparison, in the record's order.
    pub details: Vec<Detail>,
    /// The reason why there are no latency distributions; `None` if there are some.
    pub no_samples: Option<String>,
    /// The distributions of all arms as an `HdrHistogram` interval log; empty without samples.
    pub hdr_log: String,
}

/// Data about a comparison besides its own fields.
#[derive(Debug, Default)]
pub struct Detail {
    /// The epochs in chronological order, each with its position in the record.
    pub epochs: Vec<EpochShown>,
    /// The latency distribution of each arm, in the order of the arms; `None` without samples.
    pub distributions: Vec<Option<Distribution>>,
    /// The call chains of each sampled pair, in order, or the reason why they cannot be read.
    pub chains: Vec<Result<ChainsShown, String>>,
}

/// The call chains of two arms, combined into one tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainsShown {
    /// The names of the frames, without duplicates.
    pub names: Vec<String>,
    /// The frames in depth-first order: each frame is before the frames that it calls, which are sorted by cost, the
    /// highest first. The first frame represents all processes.
    pub frames: Vec<FrameShown>,
}

/// A place in the call chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameShown {
    /// The depth of the frame: the number of its callers in the tree.
    pub depth: u32,
    pub name: u32,
    /// CPU time in the frame itself, without the frames that it calls, `[baseline, other]`, in nanoseconds.
    pub ns: [u64; 2],
}

/// An epoch of a pair of arms, with its effect and the disturbances during it.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochShown {
    /// The epoch's index among all epochs of the comparison.
    pub epoch_idx: usize,
    /// The indexes of the two arms, `[baseline, other]`.
    pub pair: [u32; 2],
    /// The tax of this epoch, in percent; `None` for an epoch that was cut short.
    pub effect_pct: Option<f64>,
    /// The typical time per request on each arm, in nanoseconds; the response time if the verdict is based on it.
    pub cost_ns: [Option<f64>; 2],
    /// CPU time that the hypervisor gave to other machines, in percent of all CPU time.
    pub steal_pct: Option<f64>,
    /// CPU time of processes other than looptax and the server, in percent of all CPU time.
    pub foreign_pct: Option<f64>,
    /// Whether the epoch is one of the disturbed epochs that are left out in the check of a verdict.
    pub is_noisy: bool,
}

/// The distribution of an arm's latencies.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    pub n: u64,
    /// The percentiles in rising order.
    pub percentiles: Vec<PercentileShown>,
}

/// A percentile of an arm's latency, in µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PercentileShown {
    /// The percentile's number: 99.9.
    pub pct: f64,
    pub us: f64,
    /// The lower end of the interval, which is computed as if requests were independent.
    pub lo_us: Option<f64>,
    pub hi_us: Option<f64>,
}
