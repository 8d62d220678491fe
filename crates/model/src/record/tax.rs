//! The cost of one arm compared with the baseline, and the verdict on it.
//!
//! A positive figure is always a loss: less throughput, more time, or more CPU time.

use crate::stats::range::{Index, Level, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Diagnostics, Direction, Figure, Latency, Reason, UncertainSize, Verdict};

/// The cost of the other arm, compared with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tax {
    /// The name of the other arm.
    pub arm: String,
    /// The name of the baseline.
    pub baseline: String,
    /// Throughput lost, percent of the baseline's throughput. The verdict is computed from this figure.
    pub throughput_pct: Figure,
    /// θ = ln(baseline's throughput / other arm's throughput); `throughput_pct` is computed from θ.
    pub theta: Figure,
    /// Throughput lost, computed from all requests over the whole time, including stalls.
    pub total_throughput_pct: Figure,
    /// Latency added, µs per request.
    pub latency_us: Latency,
    /// CPU time added, µs per request.
    pub cpu_us: CpuTax,
    /// The verdict on throughput.
    pub verdict: Verdict,
    /// The arm that loses; `null` if this is not known. The direction may be known without a verdict, if only the size
    /// of the effect is uncertain.
    pub direction: Option<Direction>,
    /// The arm that needs more CPU time per request at both ends together, if the throughput does not show which arm
    /// loses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dearer_by_cpu: Option<Direction>,
    /// The reason for the verdict.
    pub reason: Reason,
    /// The range of the loss, if it is known which arm loses but not how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertain_size: Option<UncertainSize>,
    /// The epochs in which other processes or the hypervisor used much of the machine's time, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<Disturbance>,
    /// The fields of this object whose difference is still significant after Holm's correction: `latency_us.p50`.
    #[serde(default)]
    pub starred: Vec<String>,
    /// Number of epochs from which the figures were computed.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_epochs: u32,
    /// The interim analysis (look) at which the arm was judged, counted from 0; `null` if the run was interrupted
    /// before the first interim analysis.
    #[serde(default, deserialize_with = "Index::read")]
    #[schemars(with = "Option<Index>")]
    pub look: Option<u32>,
    /// The two-sided level of every interval in this object.
    #[serde(deserialize_with = "Level::read")]
    #[schemars(with = "Level")]
    pub alpha: f64,
    /// Whether the comparison ended before the last planned interim analysis.
    pub stopped_early: bool,
    /// Diagnostics of the same data.
    pub diagnostics: Diagnostics,
}

impl Tax {
    /// Returns whether the difference is only just significant. The interval of the throughput then does not contain
    /// zero, but the interval of the time per request contains zero.
    pub fn is_just(&self) -> bool {
        let [pct, us] = [&self.throughput_pct, &self.latency_us.mean].map(|it| it.known());
        self.verdict == Verdict::Difference
            && pct.zip(us).is_some_and(|(pct, us)| pct.excludes_zero() && !us.excludes_zero())
    }

    /// Returns whether the size of the tax may be shown. The size is hidden if the run is invalid, if the size is
    /// uncertain, or if the verdict was withdrawn because parts of the run differ or because of the transient after the
    /// guard.
    pub fn has_size(&self) -> bool {
        let is_taken_back = matches!(self.reason, Reason::PartsDiffer { .. } | Reason::GuardTransient { .. });
        self.verdict != Verdict::Invalid
            && self.uncertain_size.is_none()
            && !(self.verdict == Verdict::Inconclusive && is_taken_back)
    }
}

/// Epochs in which other processes or the hypervisor used much of the machine's time, and how much they used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// Number of disturbed epochs.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_epochs: u32,
    /// Whether there were too few undisturbed epochs for a comparison; the verdict is then valid only under this
    /// disturbance.
    pub is_throughout: bool,
    /// CPU time that the hypervisor gave to other machines in these epochs, percent of the machine's CPU time.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub steal_pct: f64,
    /// CPU time that other processes (neither looptax nor the server) used in these epochs, percent of the machine's
    /// CPU time.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub foreign_pct: f64,
}

/// CPU time added per request, µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTax {
    /// CPU time added at the load generator.
    pub client: Figure,
    /// CPU time added at the server.
    pub server: Figure,
    /// CPU time added at both ends together.
    pub both: Figure,
}
