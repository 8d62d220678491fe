//! The cost of one arm compared with the baseline, and the verdict on it.
//!
//! A positive figure is always a loss: less throughput, more time, more CPU.

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
    /// Throughput lost, percent of the baseline's. The verdict comes from this figure.
    pub throughput_pct: Figure,
    /// θ = ln(baseline's throughput / the other's); the percentage is computed from it.
    pub theta: Figure,
    /// Throughput lost, computed from all requests over all time, including stalls.
    pub total_throughput_pct: Figure,
    /// Latency added, µs per request.
    pub latency_us: Latency,
    /// CPU time added, µs per request.
    pub cpu_us: CpuTax,
    /// The verdict on throughput.
    pub verdict: Verdict,
    /// The arm that loses; `null` if that is not known. It may be known without a verdict, if only the size of the
    /// effect is uncertain.
    pub direction: Option<Direction>,
    /// The arm that needs more CPU time per request at both ends together, if throughput shows no direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dearer_by_cpu: Option<Direction>,
    /// The reason for the verdict.
    pub reason: Reason,
    /// Set if it is known which arm loses, but not how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertain_size: Option<UncertainSize>,
    /// How much of the machine's time other processes and the hypervisor took, if it was much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<Disturbance>,
    /// Fields of this object whose difference holds after Holm's adjustment: `latency_us.p50`.
    #[serde(default)]
    pub starred: Vec<String>,
    /// Number of epochs behind the figures.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_epochs: u32,
    /// The look at which it was judged, from 0; `null` if the run was interrupted before the first look.
    #[serde(default, deserialize_with = "Index::read")]
    #[schemars(with = "Option<Index>")]
    pub look: Option<u32>,
    /// The two-sided level of every interval of this object.
    #[serde(deserialize_with = "Level::read")]
    #[schemars(with = "Level")]
    pub alpha: f64,
    /// Whether the comparison ended before the last planned look.
    pub stopped_early: bool,
    /// Diagnostics of the same data.
    pub diagnostics: Diagnostics,
}

impl Tax {
    /// Whether the difference is only just certain: the interval of the throughput excludes zero, but that of the time
    /// per request does not.
    pub fn is_just(&self) -> bool {
        let [pct, us] = [&self.throughput_pct, &self.latency_us.mean].map(|it| it.known());
        self.verdict == Verdict::Difference
            && pct.zip(us).is_some_and(|(pct, us)| pct.excludes_zero() && !us.excludes_zero())
    }

    /// Whether its figure may be shown: the run is valid, the size of the effect is certain, and neither parts of the
    /// run nor the first moments of its slices contradict it.
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
    /// Number of these epochs.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_epochs: u32,
    /// Whether there were too few undisturbed epochs to compare them with; the verdict then holds only under this
    /// disturbance.
    pub is_throughout: bool,
    /// CPU time that the hypervisor gave to other machines in these epochs, percent of all.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub steal_pct: f64,
    /// CPU time of processes that are neither looptax nor the server in these epochs, percent of all.
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
    /// At both ends together.
    pub both: Figure,
}
