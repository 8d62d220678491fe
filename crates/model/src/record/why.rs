//! The CPU time of a request: the samples of `looptax why`, epoch by epoch, and their sums.
//!
//! Filled by the experiment and by the analysis. Times are CPU time of all processes that a request needs, together.

use crate::stats::range::{Count, Index, Probability, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Epoch, Figure};

/// Of this many epochs one runs without the sampler; the verdict comes only from such epochs.
pub const EPOCHS_PER_UNSAMPLED: u64 = 3;

/// The samples of one pair of arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// The two arms, `[baseline, other]`, as indexes into the comparison's arms.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "[Index; 2]")]
    pub pair: [u32; 2],
    /// How it was sampled.
    pub sampling: Sampling,
    /// Names of the layers that a sample may belong to; the last layer gets the samples that belong to no other.
    pub layers: Vec<String>,
    /// Epochs with the sampler on, in the order of time. Those without the sampler are among the comparison's own
    /// epochs.
    pub epochs: Vec<SampledEpoch>,
    /// Other events that the kernel counted, by name.
    #[serde(default)]
    pub counters: Vec<String>,
    /// Events that were counted in epochs of the warm-up, by name.
    #[serde(default)]
    pub counters_of_warm_up: Vec<String>,
    /// The epochs of the warm-up in which they were counted.
    #[serde(default)]
    pub counted: Vec<CountedEpoch>,
    /// The processes that a request needs, with their CPU time, the largest first.
    #[serde(default)]
    pub processes: Vec<SampledPart>,
    /// Functions with the most CPU time in their own code, without the functions that they call; the largest first.
    #[serde(default)]
    pub functions: Vec<SampledPart>,
    /// The call chains of all epochs with the sampler on.
    pub stacks: Stacks,
    /// The sums of the layers, in the order of the layers; layers without samples are left out.
    #[serde(default)]
    pub rows: Vec<WhyRow>,
    /// All layers together; neither this sum nor the rows of the layers include the sampler's own part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<WhyRow>,
    /// All samples together, including the sampler's own part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<WhyRow>,
    /// CPU time of client and server by the kernel's clocks, in the epochs with the sampler on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_clocks: Option<WhyRow>,
    /// CPU time of client and server by the kernel's clocks, in the epochs without the sampler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_sampler: Option<WhyRow>,
    /// Time per request in which the core ran no process that the request needs, in the epochs without the sampler;
    /// only if both ends share one core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<WhyRow>,
    /// The sampler's addition to a request's CPU time, percent, both arms together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampler_pct: Option<Figure>,
    /// Counts per request: those of `counters`, then those of `counters_of_warm_up`.
    #[serde(default)]
    pub counts: Vec<WhyRow>,
    /// Reasons why nothing may be concluded from the samples, a sentence each.
    #[serde(default)]
    pub invalid: Vec<String>,
}

impl Why {
    /// One in which nothing is sampled or concluded yet.
    pub fn unmeasured(pair: [u32; 2], sampling: Sampling, layers: Vec<String>) -> Self {
        Self {
            pair,
            sampling,
            layers,
            epochs: Vec::new(),
            counters: Vec::new(),
            counters_of_warm_up: Vec::new(),
            counted: Vec::new(),
            processes: Vec::new(),
            functions: Vec::new(),
            stacks: Stacks::default(),
            rows: Vec::new(),
            sum: None,
            sampled: None,
            by_clocks: None,
            without_sampler: None,
            idle: None,
            sampler_pct: None,
            counts: Vec::new(),
            invalid: Vec::new(),
        }
    }
}

/// How the machine was sampled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// The kernel's event: `cpu-clock`.
    pub event: String,
    /// CPU time between two samples of a core, on average; it differs from epoch to epoch.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub period_ns: u64,
    /// Number of cores.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub cores: u32,
    /// Whether looptax could see the kernel's own functions.
    pub sees_kernel: bool,
    /// Samples in slices, of processes that a request needs.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_samples: u64,
    /// Samples in slices, of processes that a request does not need.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_of_others: u64,
    /// Samples that were lost for lack of buffer space.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_lost: u64,
    /// Facts that looptax could not see, and how to make them visible, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// An epoch in which the sampler was on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledEpoch {
    /// Its slices, as counted.
    pub raw: Epoch,
    /// CPU time by layer, `[baseline, other]`, in the order of `layers`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Vec<Count>; 2]")]
    pub layer_ns: [Vec<u64>; 2],
    /// The counts, `[baseline, other]`, in the order of `counters`.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "[Vec<Count>; 2]")]
    pub counts: [Vec<u64>; 2],
}

/// A process that a request needs, or a function in which it spends time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledPart {
    /// The role of the process: `client`, `server`, `port proxy`, `pooler`, `supervisor`.
    pub process: String,
    /// The function; the file's name in brackets if the file has no function names. `None`: the whole process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Whether the function belongs to the kernel.
    #[serde(default)]
    pub is_kernel: bool,
    /// CPU time in each of `epochs`, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Vec<[Count; 2]>")]
    pub ns: Vec<[u64; 2]>,
    /// CPU time per request, over all epochs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<WhyRow>,
}

/// An epoch of the warm-up in which tracepoints were counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedEpoch {
    /// Requests of its slices, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub requests: [u64; 2],
    /// Counts, `[baseline, other]`, in the order of `counters_of_warm_up`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Vec<Count>; 2]")]
    pub counts: [Vec<u64>; 2],
}

/// Call chains with the CPU time in them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stacks {
    /// Base64 of a zlib stream of lines, those with the most CPU time first. A line has the process and its frames,
    /// outermost first, separated by `;`, then the nanoseconds of the baseline and of the other arm, each after a
    /// space.
    pub packed: String,
    /// Number of requests to which the chains belong, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub requests: [u64; 2],
    /// CPU time of rare chains that were left out for lack of room, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub left_out_ns: [u64; 2],
}

/// The cost per request of one item, such as a layer, on each arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyRow {
    /// Its name.
    pub name: String,
    /// Cost per request, `[baseline, other]`: µs, or a count.
    pub arms: [Figure; 2],
    /// The other arm's cost minus the baseline's.
    pub difference: Figure,
    /// Probability of such a difference or a larger one if there is no difference, corrected by Holm over all rows of
    /// its kind.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
}
