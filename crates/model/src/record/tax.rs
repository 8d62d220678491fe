//! The cost of one arm over the baseline, and the verdict on it.
//!
//! Positive is a loss everywhere: less throughput, more time, more CPU.

use crate::stats::range::{Index, Level, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Diagnostics, Direction, Figure, Latency, Reason, UncertainSize, Verdict};

/// The other arm compared with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tax {
    /// The name of the other arm.
    pub arm: String,
    /// The name of the baseline.
    pub baseline: String,
    /// Throughput lost, percent of the baseline's. This one decides.
    pub throughput_pct: Figure,
    /// θ = ln(baseline's throughput / the other's): what the percentage was made from.
    pub theta: Figure,
    /// The same from all requests over all time, stalls included.
    pub total_throughput_pct: Figure,
    /// Latency added, µs per request.
    pub latency_us: Latency,
    /// CPU time added, µs per request.
    pub cpu_us: CpuTax,
    /// The verdict on throughput.
    pub verdict: Verdict,
    /// The arm that loses; `null` if that is not known. It is known without a verdict, too, if only the
    /// size of the effect is uncertain.
    pub direction: Option<Direction>,
    /// Who takes more CPU time per request, both ends together, where throughput gives no direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dearer_by_cpu: Option<Direction>,
    /// Why the verdict is what it is.
    pub reason: Reason,
    /// Set where it is known who loses and not how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertain_size: Option<UncertainSize>,
    /// The machine's time that others took, if they took much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<Disturbance>,
    /// Fields of this object whose difference holds after Holm's adjustment: `latency_us.p50`.
    #[serde(default)]
    pub starred: Vec<String>,
    /// Epochs it rests on.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_epochs: u32,
    /// The look at which it was judged, from 0; `null` when it was broken off before one.
    #[serde(default, deserialize_with = "Index::read")]
    #[schemars(with = "Option<Index>")]
    pub look: Option<u32>,
    /// The two-sided level of every interval of this object.
    #[serde(deserialize_with = "Level::read")]
    #[schemars(with = "Level")]
    pub alpha: f64,
    /// Whether it ended before the last planned look.
    pub stopped_early: bool,
    /// Diagnostics of the same data.
    pub diagnostics: Diagnostics,
}

impl Tax {
    /// Whether the interval of its time per request holds zero, where that of its throughput does not: then it is just a
    /// difference.
    pub fn is_just(&self) -> bool {
        let [pct, us] = [&self.throughput_pct, &self.latency_us.mean].map(|it| it.known());
        self.verdict == Verdict::Difference
            && pct.zip(us).is_some_and(|(pct, us)| pct.excludes_zero() && !us.excludes_zero())
    }

    /// Whether its figure may be shown: the run can be used, its size is certain, and it is not what parts of the run, or
    /// the first moments of its slices, took back.
    pub fn has_size(&self) -> bool {
        let is_taken_back = matches!(self.reason, Reason::PartsDiffer { .. } | Reason::GuardTransient { .. });
        self.verdict != Verdict::Invalid
            && self.uncertain_size.is_none()
            && !(self.verdict == Verdict::Inconclusive && is_taken_back)
    }
}

/// Epochs in which others took much of the machine, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// How many.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_epochs: u32,
    /// Whether there were too few others to compare them with: the verdict is one under this
    /// disturbance.
    pub is_throughout: bool,
    /// CPU time that the hypervisor gave to others in these epochs, percent of all.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub steal_pct: f64,
    /// CPU time of processes that are neither ours nor the server in these epochs, percent of all.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub foreign_pct: f64,
}

/// CPU time added per request, µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTax {
    /// At the load generator.
    pub client: Figure,
    /// At the server.
    pub server: Figure,
    /// At both together.
    pub both: Figure,
}
