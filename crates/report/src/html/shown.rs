//! The data of a page besides the record's own fields; the command line makes them from raw counts and samples.
//!
//! Plain data; they come from the same statistics that judged the run.

use looptax_model::record::Record;

/// A record, and the data made from its raw counts and samples.
#[derive(Debug)]
pub struct Shown<'a> {
    pub record: &'a Record,
    pub name: &'a str,
    /// The details of each comparison, in the record's order.
    pub details: Vec<Detail>,
    /// Why there are no latency distributions; `None` if there are some.
    pub no_samples: Option<String>,
    /// The distributions of all arms as an `HdrHistogram` interval log; empty without samples.
    pub hdr_log: String,
}

/// Details of a comparison besides its own fields.
#[derive(Debug, Default)]
pub struct Detail {
    /// The epochs in chronological order, each with its position in the record.
    pub epochs: Vec<EpochShown>,
    /// The latency distribution of each arm, in the order of the arms; `None` without samples.
    pub distributions: Vec<Option<Distribution>>,
    /// The call chains of each sampled pair, in order; or why they cannot be read.
    pub chains: Vec<Result<ChainsShown, String>>,
}

/// Call chains of two arms as one tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainsShown {
    /// The names of frames, each once.
    pub names: Vec<String>,
    /// Each frame comes before the frames that it calls, and these are sorted by cost, the highest first. The first
    /// frame represents all processes.
    pub frames: Vec<FrameShown>,
}

/// A place in the call chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameShown {
    /// The frame's depth: how many frames are above it.
    pub depth: u32,
    pub name: u32,
    /// CPU time in the frame itself, without the frames that it calls, `[baseline, other]`.
    pub ns: [u64; 2],
}

/// An epoch of a pair of arms, with its effect and its disturbances.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochShown {
    /// The epoch's position among all epochs of the comparison, from 0.
    pub epoch_idx: usize,
    /// The arms' indexes, `[baseline, other]`.
    pub pair: [u32; 2],
    /// The epoch's own tax, percent; `None` for an epoch that was cut short.
    pub effect_pct: Option<f64>,
    /// The typical cost of a request on each arm, nanoseconds; the response time if the verdict uses that.
    pub cost_ns: [Option<f64>; 2],
    /// CPU time that the hypervisor gave to other machines, percent of all CPU time.
    pub steal_pct: Option<f64>,
    /// CPU time of processes other than looptax and the server, percent of all CPU time.
    pub foreign_pct: Option<f64>,
    /// Whether it is one of the disturbed epochs that are left out when a verdict is checked.
    pub is_noisy: bool,
}

/// The distribution of an arm's request times.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    pub n: u64,
    /// The percentiles in rising order.
    pub percentiles: Vec<PercentileShown>,
}

/// A percentile of an arm's latency, µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PercentileShown {
    /// The percentile's number: 99.9.
    pub pct: f64,
    pub us: f64,
    /// The lower end of the interval, computed as if requests were independent.
    pub lo_us: Option<f64>,
    pub hi_us: Option<f64>,
}
