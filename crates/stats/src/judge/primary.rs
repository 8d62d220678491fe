//! θ of a run and the verdict on it, with the objections that take a verdict back.
//!
//! Looks at throughput, noise, drift and guard only, so that the experiment can ask after every epoch
//! without paying for the percentiles. Called by the experiment and by `judge`.

use super::Input;
use crate::diagnostics::{guard_transient, noisy_epochs, trend};
use crate::epoch::Epoch;
use crate::estimate::Estimate;
use crate::verdict::{Direction, Reason, Verdict, classify, direction, plain_reason};
use crate::{hodges_lehmann, signed_rank};

/// Below this p-value a trend of θ is an objection.
const TREND_P: f64 = 0.01;

/// The answer to the one question that decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Primary {
    /// θ = ln(baseline / other); `None` without a whole epoch.
    pub theta: Option<Estimate>,
    /// The verdict on it, objections heard.
    pub verdict: Verdict,
    /// Who loses, when somebody does.
    pub direction: Option<Direction>,
    /// Why.
    pub reason: Reason,
}

/// A verdict and who loses: what an objection can change.
type Finding = (Verdict, Option<Direction>);

/// Estimates θ and gives the verdict; the cheap part of [`super::judge`].
///
/// θ by [`hodges_lehmann::estimate`] over the epochs, the verdict by [`classify`]. A finding is taken
/// back to inconclusive when it changes without the epochs in noisy windows (chosen without looking
/// at the outcome), or when θ has a trend (p < 0.01) and it changes without the first quarter of the
/// epochs. A difference, real or negligible, is also taken back when the first 10 ms of the windows
/// could make more than a quarter of it: see [`guard_transient`]. Too few epochs left for an interval is a change as well: more epochs will answer it.
///
/// Example: θ rising from 0 to 0.1 over 12 epochs is a difference, without the first quarter as well:
/// it stands.
pub fn primary(input: &Input) -> Primary {
    let theta = estimate(input, |_| true);
    let (verdict, reason) = verdict(input, theta.as_ref());
    Primary {
        theta,
        verdict,
        direction: theta.and_then(|theta| direction(&theta, verdict)),
        reason,
    }
}

fn verdict(input: &Input, theta: Option<&Estimate>) -> (Verdict, Reason) {
    if !input.invalid.is_empty() {
        let reasons = input.invalid.clone();
        return (Verdict::Invalid, Reason::Invalid { reasons });
    }
    let need = signed_rank::least_n(input.alpha) as u64;
    let Some(theta) = theta else {
        return (
            Verdict::Inconclusive,
            Reason::TooFewEpochs { have: 0, need },
        );
    };
    let verdict = classify(theta, input.delta);
    if verdict != Verdict::Inconclusive {
        let finding = (verdict, direction(theta, verdict));
        let objection = noise_objection(input, finding)
            .or_else(|| drift_objection(input, finding))
            .or_else(|| guard_objection(input, theta, verdict));
        if let Some(objection) = objection {
            return (Verdict::Inconclusive, objection);
        }
    }
    (verdict, plain_reason(theta, verdict, input.delta, need))
}

fn noise_objection(input: &Input, finding: Finding) -> Option<Reason> {
    let noisy = noisy_epochs(input.epochs);
    if noisy.is_empty() {
        return None;
    }
    let without = find(input, |idx| noisy.binary_search(&idx).is_err());
    (without != finding).then_some(Reason::NoisyEpochs {
        n_noisy: noisy.len() as u64,
        n_epochs: input.epochs.len() as u64,
        verdict: finding.0,
        verdict_without: without.0,
    })
}

fn drift_objection(input: &Input, finding: Finding) -> Option<Reason> {
    let thetas: Vec<f64> = input.epochs.iter().filter_map(Epoch::theta).collect();
    let trend = trend(&thetas).filter(|trend| trend.p_value < TREND_P)?;
    let first_quarter = input.epochs.len() / 4;
    let without = find(input, |idx| idx >= first_quarter);
    (without != finding).then_some(Reason::Trend {
        p_value: trend.p_value,
        verdict: finding.0,
        verdict_without: without.0,
    })
}

/// Only an effect can be explained away; where there is none the rule has nothing to say.
fn guard_objection(input: &Input, theta: &Estimate, verdict: Verdict) -> Option<Reason> {
    let transient = guard_transient(input.epochs, input.alpha)?;
    let is_effect = matches!(verdict, Verdict::Difference | Verdict::Negligible);
    (is_effect && transient.may_explain(theta)).then_some(Reason::GuardTransient {
        ratios: transient.ratios,
        verdict,
    })
}

/// The plain finding from the epochs whose index is wanted.
fn find(input: &Input, is_wanted: impl Fn(usize) -> bool) -> Finding {
    estimate(input, is_wanted).map_or((Verdict::Inconclusive, None), |theta| {
        let verdict = classify(&theta, input.delta);
        (verdict, direction(&theta, verdict))
    })
}

fn estimate(input: &Input, is_wanted: impl Fn(usize) -> bool) -> Option<Estimate> {
    let epochs = input.epochs.iter().enumerate();
    let wanted = epochs.filter(|(idx, _)| is_wanted(*idx));
    let thetas: Vec<f64> = wanted.filter_map(|(_, epoch)| epoch.theta()).collect();
    hodges_lehmann::estimate(&thetas, input.alpha)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::{Noise, Side};
    use crate::vectors::{close, plain_slice};

    /// An epoch whose θ is about `theta`.
    fn epoch(theta: f64, steal_ticks: f64) -> Epoch {
        let count = |side| match side {
            Side::Baseline => (1e6 * theta.exp()).round() as u64,
            Side::Other => 1_000_000,
        };
        let order = [1, 0, 0, 1, 0, 1, 1, 0].map(|idx| Side::BOTH[idx]);
        Epoch {
            slices: order
                .map(|side| plain_slice(side, count(side), 50_000_000))
                .to_vec(),
            latencies_ns: [vec![], vec![]],
            noise: Some(Noise {
                total_ticks: 100.0,
                steal_ticks,
                softirq_ticks: 0.0,
                busy_ticks: 90.0,
                own_ticks: 45.0,
                server_ticks: 45.0,
            }),
        }
    }

    fn judged(epochs: &[Epoch], invalid: &[&str]) -> Primary {
        primary(&Input {
            epochs,
            connections: 1,
            alpha: 0.05,
            delta: 0.01,
            invalid: invalid.iter().map(ToString::to_string).collect(),
            stopped_early: false,
        })
    }

    fn steady(theta: f64, n_epochs: usize, steal_ticks: f64) -> Vec<Epoch> {
        vec![epoch(theta, steal_ticks); n_epochs]
    }

    #[track_caller]
    fn check(epochs: &[Epoch], verdict: Verdict, who: Option<Direction>) -> Reason {
        let found = judged(epochs, &[]);
        assert_eq!(
            (found.verdict, found.direction),
            (verdict, who),
            "{:?}",
            found.reason
        );
        found.reason
    }

    #[test]
    fn a_clear_run_has_a_plain_verdict() {
        check(
            &steady(0.05, 12, 0.0),
            Verdict::Difference,
            Some(Direction::OtherSlower),
        );
        check(
            &steady(-0.05, 12, 0.0),
            Verdict::Difference,
            Some(Direction::OtherFaster),
        );
        check(
            &steady(0.005, 12, 0.0),
            Verdict::Negligible,
            Some(Direction::OtherSlower),
        );
        check(&steady(0.0, 12, 0.0), Verdict::Equivalent, None);
        let reason = check(&steady(0.05, 5, 0.0), Verdict::Inconclusive, None);
        assert_eq!(reason, Reason::TooFewEpochs { have: 5, need: 6 });
        let reason = check(&[], Verdict::Inconclusive, None);
        assert_eq!(reason, Reason::TooFewEpochs { have: 0, need: 6 });
    }

    #[test]
    fn an_invalid_run_stays_invalid() {
        let found = judged(&steady(0.05, 12, 0.0), &["3 errors"]);
        assert_eq!(found.verdict, Verdict::Invalid);
        assert_eq!(found.direction, None);
        let reasons = vec!["3 errors".to_owned()];
        assert_eq!(found.reason, Reason::Invalid { reasons });
    }

    #[test]
    fn a_result_made_by_noisy_epochs_is_taken_back() {
        let epochs = [steady(0.0, 8, 0.0), steady(0.05, 16, 5.0)].concat();
        let reason = check(&epochs, Verdict::Inconclusive, None);
        let expected = Reason::NoisyEpochs {
            n_noisy: 16,
            n_epochs: 24,
            verdict: Verdict::Difference,
            verdict_without: Verdict::Equivalent,
        };
        assert_eq!(reason, expected);
        let epochs = [steady(0.05, 8, 0.0), steady(0.05, 16, 5.0)].concat();
        check(&epochs, Verdict::Difference, Some(Direction::OtherSlower));
    }

    /// Sets the share of the requests that fall into the first 10 ms of 50.
    fn with_early(mut epochs: Vec<Epoch>, shares: [f64; 2]) -> Vec<Epoch> {
        for slice in epochs.iter_mut().flat_map(|epoch| &mut epoch.slices) {
            slice.early = (slice.completions as f64 * shares[slice.side.idx()]).round() as u64;
        }
        epochs
    }

    #[test]
    fn a_result_made_right_after_the_guard_is_taken_back() {
        // The other arm's first 10 ms hold 18 % of its requests instead of 20: ln(0.82/0.8) = 0.0247
        // is added to θ, more than a quarter of 0.05 and less than one of 0.15.
        let shares = [0.2, 0.18];
        let reason = check(
            &with_early(steady(0.05, 12, 0.0), shares),
            Verdict::Inconclusive,
            None,
        );
        let Reason::GuardTransient { ratios, verdict } = reason else {
            panic!("{reason:?}");
        };
        assert_eq!(verdict, Verdict::Difference);
        close(ratios[0], 1.0, 1e-5);
        close(ratios[1], 0.18 / 0.82 * 4.0, 1e-5);
        let slower = Some(Direction::OtherSlower);
        check(
            &with_early(steady(0.15, 12, 0.0), shares),
            Verdict::Difference,
            slower,
        );
        check(
            &with_early(steady(0.05, 12, 0.0), [0.2, 0.2]),
            Verdict::Difference,
            slower,
        );
        check(
            &with_early(steady(0.0, 12, 0.0), shares),
            Verdict::Equivalent,
            None,
        );
    }

    #[test]
    fn a_result_made_by_the_first_quarter_is_taken_back() {
        let theta = |idx: u32| if idx < 5 { 0.3 } else { 0.02 } - 0.001 * f64::from(idx);
        let epochs: Vec<Epoch> = (0..20).map(|idx| epoch(theta(idx), 0.0)).collect();
        check(&epochs, Verdict::Difference, Some(Direction::OtherSlower));
        // Without the first five the interval reaches below zero.
        let theta = |idx: u32| {
            if idx < 5 {
                0.3
            } else {
                0.07 - 0.005 * f64::from(idx)
            }
        };
        let epochs: Vec<Epoch> = (0..20).map(|idx| epoch(theta(idx), 0.0)).collect();
        let reason = check(&epochs, Verdict::Inconclusive, None);
        assert!(
            matches!(
                reason,
                Reason::Trend {
                    verdict: Verdict::Difference,
                    ..
                }
            ),
            "{reason:?}"
        );
    }
}
