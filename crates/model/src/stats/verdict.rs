//! The verdict that follows from an interval of θ, and the reasons that withdraw a verdict.
//!
//! This file has the rule and its types, not the estimate; the report makes the sentence for a person. Called by
//! `judge`, and by the experiment at its interim analyses.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::estimate::{Estimate, tax_pct};
use crate::stats::range::{Count, MOST_COUNT, Probability, Real};

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The interval does not contain zero and reaches beyond ±δ.
    Difference,
    /// The interval does not contain zero but is inside ±δ: the effect is real, and too small to matter.
    Negligible,
    /// The interval contains zero and is inside ±δ.
    Equivalent,
    /// The question is open: more epochs or a quieter machine are needed.
    Inconclusive,
    /// The measurement cannot be used.
    Invalid,
}

/// The arm that loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The other arm is slower than the baseline.
    OtherSlower,
    /// The other arm is faster than the baseline.
    OtherFaster,
}

/// Two parts of a run that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parts {
    /// The disturbed epochs and the other epochs.
    Disturbed,
    /// The first half and the second half of the run.
    Halves,
}

/// An effect whose direction is known and whose size is uncertain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UncertainSize {
    /// The cause of the uncertainty.
    pub cause: SizeCause,
    /// The smallest possible tax, percent; it has the same sign as [`Self::hi_pct`].
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub lo_pct: f64,
    /// The largest possible tax, percent.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub hi_pct: f64,
}

impl UncertainSize {
    pub(crate) fn new(cause: SizeCause, [lo_pct, hi_pct]: [f64; 2]) -> Self {
        Self { cause, lo_pct, hi_pct }
    }
}

/// The reason why the size of an effect is uncertain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeCause {
    /// The size differs between the disturbed epochs and the other epochs.
    Disturbed,
    /// The size differs between the first and the second half of the run.
    Drifted,
    /// A part of the effect occurs directly after each change between the arms.
    UnevenStart,
    /// The interval is too wide to give a figure.
    Wide,
    /// The rates of the slices have two modes, and the ends of a connection were not kept on their cores.
    TwoSpeeds,
}

/// The reason for a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// The interval does not contain zero.
    ExcludesZero,
    /// The interval is inside ±δ.
    InsideDelta,
    /// The interval is too wide to decide.
    TooWide {
        /// Half width of the tax's interval, in percentage points.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        half_width_pct: f64,
        /// The smallest tax that cannot be excluded, percent.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        lo_pct: f64,
        /// The largest tax that cannot be excluded, percent.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        hi_pct: f64,
        /// Number of epochs after which the interval would be as narrow as ±δ.
        #[serde(deserialize_with = "Count::read")]
        #[schemars(with = "Count")]
        n_epochs_needed: u64,
    },
    /// There are too few epochs for an interval at this level.
    TooFewEpochs {
        /// Number of epochs so far.
        #[serde(deserialize_with = "Count::read")]
        #[schemars(with = "Count")]
        have: u64,
        /// Number of epochs that are necessary at this level.
        #[serde(deserialize_with = "Count::read")]
        #[schemars(with = "Count")]
        need: u64,
    },
    /// θ differs between two parts of the run, and at least one part does not have the same result as the run.
    PartsDiffer {
        /// The two parts.
        parts: Parts,
        /// Number of epochs in each part.
        #[serde(deserialize_with = "Count::read")]
        #[schemars(with = "[Count; 2]")]
        n_epochs: [u64; 2],
        /// The tax in each part, percent.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "[Real; 2]")]
        tax_pct: [f64; 2],
        /// The verdict for each part, at a level of 5 %.
        verdicts: [Verdict; 2],
        /// The arm that loses in each part.
        directions: [Option<Direction>; 2],
        /// p-value of "no difference between the parts", by the rank-sum test.
        #[serde(deserialize_with = "Probability::read")]
        #[schemars(with = "Probability")]
        p_value: f64,
        /// The verdict before this objection.
        verdict: Verdict,
    },
    /// The first 10 ms of the windows could account for more than a quarter of the effect.
    GuardTransient {
        /// Rate in the first 10 ms divided by the rate in the rest, `[baseline, other]`; 1 if there is no transient.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "[Real; 2]")]
        ratios: [f64; 2],
        /// The verdict before this objection.
        verdict: Verdict,
    },
    /// The measurement cannot be used.
    Invalid {
        /// The causes, each as a sentence.
        reasons: Vec<String>,
    },
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Difference => "difference",
            Self::Negligible => "negligible",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the verdict that follows from an interval of θ only, compared with ±δ = [ln(1−δ), ln(1+δ)].
///
/// `delta` is a fraction in (0, 1). [`Verdict::Invalid`] is never returned; without an interval the verdict is
/// inconclusive. An interval that ends at zero contains zero, and an interval that ends at ±δ is inside ±δ.
///
/// Examples for δ = 0.01: [0.02, 0.04] is a difference, [0.001, 0.009] is negligible, [−0.005, 0.005] is equivalent,
/// and [−0.02, 0.04] is inconclusive.
pub fn classify(theta: &Estimate, delta: f64) -> Verdict {
    let is_inside = theta.lies_within((-delta).ln_1p(), delta.ln_1p());
    match (theta.covers(0.0), is_inside) {
        (false, false) => Verdict::Difference,
        (false, true) => Verdict::Negligible,
        (true, true) => Verdict::Equivalent,
        (true, false) => Verdict::Inconclusive,
    }
}

/// Returns the arm that loses; `None` if the verdict does not show which arm loses.
pub fn direction(theta: &Estimate, verdict: Verdict) -> Option<Direction> {
    match verdict {
        Verdict::Difference | Verdict::Negligible if theta.lo > 0.0 => Some(Direction::OtherSlower),
        Verdict::Difference | Verdict::Negligible => Some(Direction::OtherFaster),
        _ => None,
    }
}

/// Returns the reason for the verdict of [`classify`]. `need` is the number of epochs that an interval needs.
pub(crate) fn plain_reason(theta: &Estimate, verdict: Verdict, delta: f64, need: u64) -> Reason {
    match verdict {
        Verdict::Difference | Verdict::Negligible => Reason::ExcludesZero,
        Verdict::Equivalent => Reason::InsideDelta,
        _ if !theta.has_interval() => Reason::TooFewEpochs { have: theta.n as u64, need },
        _ => {
            let tax = theta.map_monotone(tax_pct);
            let widths = theta.half_width() / delta;
            Reason::TooWide {
                half_width_pct: tax.half_width(),
                lo_pct: tax.lo,
                hi_pct: tax.hi,
                n_epochs_needed: (theta.n as f64 * widths * widths).ceil().min(MOST_COUNT) as u64,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    fn theta(lo: f64, hi: f64) -> Estimate {
        Estimate { value: f64::midpoint(lo, hi), lo, hi, n: 10 }
    }

    #[track_caller]
    fn check(lo: f64, hi: f64, verdict: Verdict, who: Option<Direction>) {
        let theta = theta(lo, hi);
        assert_eq!(classify(&theta, 0.01), verdict);
        assert_eq!(direction(&theta, verdict), who);
    }

    #[test]
    fn the_table_is_read_from_top_to_bottom() {
        let (slower, faster) = (Some(Direction::OtherSlower), Some(Direction::OtherFaster));
        check(0.02, 0.04, Verdict::Difference, slower);
        check(0.005, 0.04, Verdict::Difference, slower);
        check(-0.04, -0.02, Verdict::Difference, faster);
        check(0.001, 0.009, Verdict::Negligible, slower);
        check(-0.009, -0.001, Verdict::Negligible, faster);
        check(-0.005, 0.005, Verdict::Equivalent, None);
        check(0.0, 0.005, Verdict::Equivalent, None);
        check(-0.02, 0.04, Verdict::Inconclusive, None);
        check(f64::NEG_INFINITY, f64::INFINITY, Verdict::Inconclusive, None);
    }

    #[test]
    fn a_verdict_is_printed_as_it_is_saved() {
        for verdict in
            [Verdict::Difference, Verdict::Negligible, Verdict::Equivalent, Verdict::Inconclusive, Verdict::Invalid]
        {
            let saved = serde_json::to_value(verdict).unwrap();
            assert_eq!(saved, verdict.to_string());
        }
    }

    #[test]
    fn delta_holds_on_the_ratio_not_on_its_logarithm() {
        check(-0.01005, 0.00995, Verdict::Equivalent, None);
        check(-0.01006, 0.00995, Verdict::Inconclusive, None);
        check(-0.01005, 0.00996, Verdict::Inconclusive, None);
    }

    #[test]
    fn an_open_answer_says_what_it_takes() {
        let reason = plain_reason(&theta(-0.02, 0.04), Verdict::Inconclusive, 0.01, 9);
        let Reason::TooWide { half_width_pct, lo_pct, hi_pct, n_epochs_needed } = reason else {
            panic!("{reason:?}");
        };
        close(lo_pct, -2.020_134, 1e-5);
        close(hi_pct, 3.921_056, 1e-5);
        close(half_width_pct, 2.970_595, 1e-5);
        assert!((90..=91).contains(&n_epochs_needed), "{n_epochs_needed}");
        let none = Estimate::without_interval(0.1, 4);
        assert_eq!(plain_reason(&none, Verdict::Inconclusive, 0.01, 9), Reason::TooFewEpochs { have: 4, need: 9 });
    }
}
