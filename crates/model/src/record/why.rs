//! The CPU time of a request: the samples of `looptax why` for each epoch, and their sums.
//!
//! Filled by the experiment and by the analysis. Times are CPU times; each of them is a sum over all processes that a
//! request needs.

use crate::stats::range::{Count, Index, Probability, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Epoch, Figure};

/// One of every `EPOCHS_PER_UNSAMPLED` epochs runs without the sampler. The verdict is computed only from epochs
/// without the sampler.
pub const EPOCHS_PER_UNSAMPLED: u64 = 3;

/// The samples of a pair of arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// The two arms, `[baseline, other]`, as indexes into the comparison's arms.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "[Index; 2]")]
    pub pair: [u32; 2],
    /// How the samples were taken.
    pub sampling: Sampling,
    /// Names of the layers to which a sample may belong; the last layer has the samples that belong to no other layer.
    pub layers: Vec<String>,
    /// The epochs in which the sampler was on, in order of time. Epochs without the sampler are among the comparison's
    /// own epochs.
    pub epochs: Vec<SampledEpoch>,
    /// Names of other events that the kernel counted.
    #[serde(default)]
    pub counters: Vec<String>,
    /// Names of the events that were counted in epochs of the warm-up.
    #[serde(default)]
    pub counters_of_warm_up: Vec<String>,
    /// The epochs of the warm-up in which the events of `counters_of_warm_up` were counted.
    #[serde(default)]
    pub counted: Vec<CountedEpoch>,
    /// The processes that a request needs, with their CPU time, the largest first.
    #[serde(default)]
    pub processes: Vec<SampledPart>,
    /// Functions with the most CPU time, sorted by this time, the largest first. The time of the functions that they
    /// call is not included.
    #[serde(default)]
    pub functions: Vec<SampledPart>,
    /// The call chains of all epochs in which the sampler was on.
    pub stacks: Stacks,
    /// The sum of each layer, in the order of the layers; layers without samples are left out.
    #[serde(default)]
    pub rows: Vec<WhyRow>,
    /// The sum of all layers. The sampler's own CPU time is not included in this sum, nor in the rows of the layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<WhyRow>,
    /// The sum of all samples, including the sampler's own CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<WhyRow>,
    /// CPU time of client and server by the kernel's clocks, in the epochs with the sampler on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_clocks: Option<WhyRow>,
    /// CPU time of client and server by the kernel's clocks, in the epochs without the sampler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_sampler: Option<WhyRow>,
    /// Time per request in which the core ran none of the processes that the request needs, in the epochs without the
    /// sampler; only if both ends share one core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<WhyRow>,
    /// CPU time that the sampler adds to a request, percent, both arms together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampler_pct: Option<Figure>,
    /// Counts per request: first those of `counters`, then those of `counters_of_warm_up`.
    #[serde(default)]
    pub counts: Vec<WhyRow>,
    /// Reasons why the samples must not be used, each as a sentence.
    #[serde(default)]
    pub invalid: Vec<String>,
}

impl Why {
    /// Makes a value without samples and without results.
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

/// How the samples were taken.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// The kernel's event that triggers a sample: `cpu-clock`.
    pub event: String,
    /// Mean CPU time of a core between two samples; it differs from epoch to epoch.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub period_ns: u64,
    /// Number of cores.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub cores: u32,
    /// Whether looptax could see the kernel's own functions.
    pub sees_kernel: bool,
    /// Number of samples in slices, of processes that a request needs.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_samples: u64,
    /// Number of samples, taken during slices, of processes that a request does not need.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_of_others: u64,
    /// Number of samples that were lost because the buffer was full.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_lost: u64,
    /// Facts that looptax could not see, each as a sentence that also says how to make the fact visible.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// An epoch in which the sampler was on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledEpoch {
    /// The slices of the epoch, with their counts.
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

/// A process that a request needs, or a function in which such a process spends time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledPart {
    /// The role of the process: `client`, `server`, `port proxy`, `pooler`, `supervisor`.
    pub process: String,
    /// The function's name, or the file's name in brackets if the file has no function names; `None` if this entry is
    /// for the whole process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Whether the function belongs to the kernel.
    #[serde(default)]
    pub is_kernel: bool,
    /// CPU time in each of `epochs`, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Vec<[Count; 2]>")]
    pub ns: Vec<[u64; 2]>,
    /// CPU time per request, from all epochs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<WhyRow>,
}

/// An epoch of the warm-up in which tracepoints were counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedEpoch {
    /// Number of requests in the slices of the epoch, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub requests: [u64; 2],
    /// The counts, `[baseline, other]`, in the order of `counters_of_warm_up`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Vec<Count>; 2]")]
    pub counts: [Vec<u64>; 2],
}

/// Call chains, each with its CPU time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stacks {
    /// Base64 of a zlib stream of lines, sorted by CPU time, the largest first. A line begins with the process and its
    /// frames, the outermost frame first, separated by `;`. Then the line has two numbers, each after a space: the
    /// nanoseconds over the baseline, and the nanoseconds over the other arm.
    pub packed: String,
    /// Number of requests to which the chains belong, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub requests: [u64; 2],
    /// CPU time of rare chains that were left out because of the size limit, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub left_out_ns: [u64; 2],
}

/// The cost per request of an item, such as a layer, over each arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyRow {
    /// The item's name.
    pub name: String,
    /// Cost per request, `[baseline, other]`, in µs or as a count.
    pub arms: [Figure; 2],
    /// The other arm's cost minus the baseline's cost.
    pub difference: Figure,
    /// p-value of the difference: the probability of a difference of this size or larger if there is in fact no
    /// difference. Corrected by Holm's method for the number of rows of the same kind.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
}
