//! Why a verdict is what it is, with the figures that a sentence needs.
//!
//! The sentence itself is the report's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Verdict;

/// Why a verdict is what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// The interval excludes zero.
    ExcludesZero,
    /// The interval lies inside ±δ.
    InsideDelta,
    /// The interval is too wide to say.
    TooWide {
        /// Half the interval of the tax, in points.
        half_width_pct: f64,
        /// The least tax that cannot be excluded.
        lo_pct: f64,
        /// The largest tax that cannot be excluded.
        hi_pct: f64,
        /// Epochs after which the interval would be as narrow as ±δ.
        n_epochs_needed: u64,
    },
    /// Too few epochs for any interval at this level.
    TooFewEpochs {
        /// Epochs there are.
        have: u64,
        /// Epochs the level needs.
        need: u64,
    },
    /// Without the noisy epochs the verdict would be another.
    NoisyEpochs {
        /// Epochs in windows with too much steal or foreign CPU.
        n_noisy: u64,
        /// All epochs.
        n_epochs: u64,
        /// The verdict before this objection.
        verdict: Verdict,
        /// The verdict without those epochs.
        verdict_without: Verdict,
    },
    /// The effect drifted, and without the first quarter the verdict would be another.
    Trend {
        /// p-value of the trend.
        p_value: f64,
        /// The verdict before this objection.
        verdict: Verdict,
        /// The verdict without the first quarter.
        verdict_without: Verdict,
    },
    /// The first 10 ms of the windows could make more than a quarter of the effect.
    GuardTransient {
        /// Their rate over that of the rest, `[baseline, other]`; 1 when all is well.
        ratios: [f64; 2],
        /// The verdict before this objection.
        verdict: Verdict,
    },
    /// The measurement cannot be used.
    Invalid {
        /// What made it so, one each.
        reasons: Vec<String>,
    },
}
