//! The CPU time of a request: the samples of `looptax why`, epoch by epoch, and their sums.
//!
//! Filled by the experiment and by the analysis. Times are CPU time, all processes that a request needs together.

use crate::stats::range::{Count, Index, Probability, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Epoch, Figure};

/// Epochs of which one runs without the sampler; the verdict comes only from those.
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
    /// Names of the layers that a sample may belong to; the last one takes what no other does.
    pub layers: Vec<String>,
    /// Epochs with the sampler on, in the order of time. Those without it are the comparison's own.
    pub epochs: Vec<SampledEpoch>,
    /// Other counts of the kernel, by name.
    #[serde(default)]
    pub counters: Vec<String>,
    /// The counts in epochs of the warm-up, by name.
    #[serde(default)]
    pub counters_of_warm_up: Vec<String>,
    /// Those epochs.
    #[serde(default)]
    pub counted: Vec<CountedEpoch>,
    /// Processes of a request by their CPU time, the dearest first.
    #[serde(default)]
    pub processes: Vec<SampledPart>,
    /// Functions with the most own time, without the functions that they call; the dearest first.
    #[serde(default)]
    pub functions: Vec<SampledPart>,
    /// The call chains of all these epochs.
    pub stacks: Stacks,
    /// The sums of the layers, in their order; those without samples are left out.
    #[serde(default)]
    pub rows: Vec<WhyRow>,
    /// All layers together; these and their rows without the sampler's own part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<WhyRow>,
    /// All samples together, the sampler's own part among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<WhyRow>,
    /// CPU time of client and server by the kernel's clocks, in the epochs with the sampler on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_clocks: Option<WhyRow>,
    /// The same in the epochs without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_sampler: Option<WhyRow>,
    /// Time of the core per request in which no process that it needs ran, in the epochs without the sampler; if
    /// both ends share one core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<WhyRow>,
    /// The sampler's addition to a request's CPU time, per cent, both arms together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampler_pct: Option<Figure>,
    /// Counts per request: those of `counters`, then those of `counters_of_warm_up`.
    #[serde(default)]
    pub counts: Vec<WhyRow>,
    /// Why nothing may be concluded from it, a sentence each.
    #[serde(default)]
    pub invalid: Vec<String>,
}

impl Why {
    /// One of which nothing is sampled or said yet.
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
    /// CPU time between two samples of a core, on average: each epoch has another.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub period_ns: u64,
    /// Cores.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub cores: u32,
    /// Whether the kernel's own functions were seen.
    pub sees_kernel: bool,
    /// Samples taken in slices, of processes that a request needs.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_samples: u64,
    /// Samples in slices of processes that it does not need.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_of_others: u64,
    /// Samples that found no room.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_lost: u64,
    /// Facts that could not be seen and the way to see them, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// An epoch in which the sampler was on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledEpoch {
    /// Its slices as they were counted.
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
    /// The function; the file's name in brackets where it has no names. `None`: the whole process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Whether the function is the kernel's.
    #[serde(default)]
    pub is_kernel: bool,
    /// CPU time in each of `epochs`, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Vec<[Count; 2]>")]
    pub ns: Vec<[u64; 2]>,
    /// Its sum per request.
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
    /// Base64 of a zlib stream of lines, dearest first: the process and its frames from the outermost in, with `;`
    /// between them, then the baseline's and the other arm's nanoseconds, each after a space.
    pub packed: String,
    /// Requests that they are of, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub requests: [u64; 2],
    /// CPU time of rare chains that were left out for lack of room, `[baseline, other]`.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "[Count; 2]")]
    pub left_out_ns: [u64; 2],
}

/// The cost of one thing per request over each arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyRow {
    /// Its name.
    pub name: String,
    /// Per request, `[baseline, other]`; µs, or a count.
    pub arms: [Figure; 2],
    /// The other arm's less the baseline's.
    pub difference: Figure,
    /// Probability of such a difference or a larger one if there is none, corrected by Holm over all rows of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
}
