//! Checks whether a result depends on a part of the epochs: on the disturbed epochs, or on one half of the run.
//!
//! Noise that affects both arms alike only makes the interval wider, because the coin decides which arm a given
//! disturbance affects. A result is in doubt only if θ itself differs between parts. Called by `primary`.

use super::Input;
use crate::stats::epoch::Epoch;
use crate::stats::estimate::{Estimate, tax_pct};
use crate::stats::verdict::{Direction, Parts, Reason, Verdict, classify, direction};
use crate::stats::{hodges_lehmann, rank_sum};

/// Two parts are compared only if each has at least this many epochs: six epochs are enough for an interval at
/// [`PART_ALPHA`].
pub(super) const LEAST_EPOCHS: usize = 6;
/// The level of the test for a difference of θ between the two parts.
const DIFFER_P: f64 = 0.01;
/// The level of the same test if the undisturbed epochs by themselves are inconclusive. In simulations of a disturbance
/// that affected only one arm, up to one run in seven reported a difference at level 0.01, and one run in twelve at
/// level 0.05.
const UNSUPPORTED_P: f64 = 0.05;
/// The level of a part's own interval.
const PART_ALPHA: f64 = 0.05;
/// θ of the two parts must differ by more than this share of the whole effect.
const LARGEST_SHARE: f64 = 0.25;

/// A verdict, and the arm that loses. Two parts of a run may have different verdicts, and different arms may lose.
pub(super) type Finding = (Verdict, Option<Direction>);

/// Two parts of a run with different θ.
#[derive(Debug, Clone)]
pub(super) struct Apart {
    parts: Parts,
    p_value: f64,
    thetas: [Estimate; 2],
    findings: [Finding; 2],
}

impl Apart {
    /// Compares the epochs for which `is_first` is true with the other epochs; returns `None` if one of these parts
    /// has too few epochs, or if θ does not differ between the parts.
    ///
    /// θ differs if the shift is larger than both δ and a quarter of `theta`, and the rank-sum test is significant at
    /// 0.01. If the parts are the disturbed and the undisturbed epochs, and the undisturbed epochs by themselves are
    /// inconclusive, the level is 0.05. If the undisturbed epochs by themselves have another result than the whole
    /// run, no test is necessary.
    pub(super) fn find(
        input: &Input,
        theta: &Estimate,
        parts: Parts,
        is_first: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let [first, rest] = split(input.epochs, is_first);
        if first.len().min(rest.len()) < LEAST_EPOCHS {
            return None;
        }
        let least = input.delta.max(LARGEST_SHARE * theta.value.abs());
        rank_sum::shift(&first, &rest).filter(|shift| shift.abs() > least)?;
        let p_value = rank_sum::p_value(&first, &rest)?;
        let estimate = |thetas: &[f64]| hodges_lehmann::estimate(thetas, PART_ALPHA);
        let thetas = [estimate(&first)?, estimate(&rest)?];
        let findings = thetas.map(|theta| {
            let verdict = classify(&theta, input.delta);
            (verdict, direction(&theta, verdict))
        });
        let verdict = classify(theta, input.delta);
        let finding = (verdict, direction(theta, verdict));
        let least_p = match (parts, findings[1]) {
            (Parts::Halves, _) => DIFFER_P,
            (Parts::Disturbed, rest) if rest == finding => DIFFER_P,
            (Parts::Disturbed, (Verdict::Inconclusive, _)) => UNSUPPORTED_P,
            // The undisturbed epochs by themselves have another result than the whole run, so no test is necessary.
            (Parts::Disturbed, _) => f64::INFINITY,
        };
        if p_value >= least_p {
            return None;
        }
        Some(Self { parts, p_value, thetas, findings })
    }

    /// Returns whether both parts have the same result as the whole run.
    pub(super) fn agree_with(&self, finding: Finding) -> bool {
        self.findings == [finding; 2]
    }

    /// Returns the lowest and the highest tax of the two intervals, if all taxes between them have the same sign.
    pub(super) fn one_sided_pct(&self) -> Option<[f64; 2]> {
        let [first, rest] = &self.thetas;
        one_sided_pct(first.lo.min(rest.lo), first.hi.max(rest.hi))
    }

    /// Returns the reason why `verdict` is withheld.
    pub(super) fn reason(&self, verdict: Verdict) -> Reason {
        Reason::PartsDiffer {
            parts: self.parts,
            n_epochs: self.thetas.map(|theta| theta.n as u64),
            tax_pct: self.thetas.map(|theta| tax_pct(theta.value)),
            verdicts: self.findings.map(|(verdict, _)| verdict),
            directions: self.findings.map(|(_, direction)| direction),
            p_value: self.p_value,
            verdict,
        }
    }

    pub(super) fn parts(&self) -> Parts {
        self.parts
    }
}

/// Returns the taxes for the θ `lo` and `hi`, in percent; `None` if zero is between them.
pub(super) fn one_sided_pct(lo: f64, hi: f64) -> Option<[f64; 2]> {
    (lo > 0.0 || hi < 0.0).then(|| [lo, hi].map(tax_pct))
}

/// Returns θ of the epochs for which `is_first` is true, and θ of the other epochs.
fn split(epochs: &[Epoch], is_first: impl Fn(usize) -> bool) -> [Vec<f64>; 2] {
    let mut parts = [Vec::new(), Vec::new()];
    for (idx, epoch) in epochs.iter().enumerate() {
        parts[usize::from(!is_first(idx))].extend(epoch.theta());
    }
    parts
}
