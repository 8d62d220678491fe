//! Computes θ of a run and the verdict, and the objections that withdraw a verdict.
//!
//! This file uses only throughput, noise, drift and guard, so the experiment can call it after every epoch without
//! computing percentiles. Called by the experiment and by `judge`.

use super::Input;
use super::parts::{Apart, Finding, LEAST_EPOCHS, one_sided_pct};
use crate::stats::diagnostics::{NoiseShares, disturbed_epochs, guard_transient, noise_shares, rate_modes};
use crate::stats::epoch::{Epoch, Side, rate_per_s};
use crate::stats::estimate::{Estimate, tax_pct};
use crate::stats::moments::median;
use crate::stats::verdict::{
    Direction, Parts, Reason, SizeCause, UncertainSize, Verdict, classify, direction, plain_reason,
};
use crate::stats::{hodges_lehmann, signed_rank};

/// An interval is too wide to give a figure if its half width, in percentage points of tax, is larger than this, and
/// also larger than [`WIDE_SHARE`] of the tax.
const WIDE_POINTS: f64 = 5.0;
/// An interval is too wide to give a figure if its half width is larger than this share of the tax, and also larger
/// than [`WIDE_POINTS`].
const WIDE_SHARE: f64 = 1.0 / 3.0;
/// If foreign processes use more than this percentage of all CPU time, and nearly all epochs are disturbed, the size
/// of an effect is not known.
const BUSY_PCT: f64 = 25.0;

/// The result for throughput, which decides the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Primary {
    /// θ = ln(baseline / other); `None` if there is no complete epoch.
    pub theta: Option<Estimate>,
    /// The verdict, after all objections.
    pub verdict: Verdict,
    /// The arm that loses, if the arm is known. If only the size of the effect is uncertain, the arm may be known
    /// although the verdict is withheld.
    pub direction: Option<Direction>,
    pub reason: Reason,
    /// The range of the effect's size, if the direction of the effect is known but its size is uncertain.
    pub uncertain_size: Option<UncertainSize>,
    /// The epochs in which other processes or the hypervisor used much of the machine; `None` if there is no such
    /// epoch.
    pub disturbance: Option<Disturbance>,
}

impl Primary {
    /// Returns whether more epochs could show that the result depends on the disturbed epochs. This is so if there are
    /// both disturbed and undisturbed epochs, but too few of one kind for a comparison.
    pub fn is_unchecked(&self) -> bool {
        let few = |n: usize| (1..LEAST_EPOCHS).contains(&n);
        let disturbance = self.disturbance.as_ref();
        disturbance.is_some_and(|it| few(it.n_disturbed.min(it.n_undisturbed)))
    }
}

/// The epochs in which other processes or the hypervisor used much of the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disturbance {
    pub n_disturbed: usize,
    pub n_undisturbed: usize,
    /// The shares of CPU time that other processes and the hypervisor used in the disturbed epochs.
    pub shares: NoiseShares,
}

impl Disturbance {
    /// Returns whether there are too few undisturbed epochs for a comparison with the disturbed epochs. The verdict is
    /// then valid only for a machine that is disturbed in the same way.
    pub fn is_throughout(&self) -> bool {
        self.n_undisturbed < LEAST_EPOCHS
    }
}

/// Estimates θ and decides the verdict; this is the part of [`super::judge`] that is fast.
///
/// θ is estimated by [`hodges_lehmann::estimate`] over the epochs, and the verdict is decided by [`classify`]. If θ
/// differs between two parts of the run, the result becomes inconclusive, unless both parts have the same result as the
/// run. The parts are the disturbed epochs (which are chosen without the measured rates) and the other epochs, or the
/// two halves of the run. If a part has fewer than six epochs, the result remains. A difference, real or negligible,
/// becomes inconclusive if the first 10 ms of the windows could account for more than a quarter of it: see
/// [`guard_transient`].
///
/// Example: if θ is 0.05 in 12 disturbed epochs and in 8 other epochs, the verdict is a difference. If θ is 0.05 in the
/// disturbed epochs and 0 in the other epochs, the verdict is inconclusive. If θ is 0.05 in one part and 0.1 in the
/// other part, the verdict is a difference of uncertain size.
pub fn primary(input: &Input) -> Primary {
    let theta = estimate(input, |_| true);
    let disturbance = disturbance(input);
    let Answer { finding: (verdict, direction), reason, uncertain_size } = answer(input, theta.as_ref());
    Primary { theta, verdict, direction, reason, uncertain_size, disturbance }
}

struct Answer {
    finding: Finding,
    reason: Reason,
    uncertain_size: Option<UncertainSize>,
}

impl Answer {
    fn new(finding: Finding, reason: Reason) -> Self {
        Self { finding, reason, uncertain_size: None }
    }

    /// Makes an inconclusive answer; the arm that loses stays known if there is a `range_pct`, because a range has ends
    /// of the same sign.
    fn withheld(direction: Option<Direction>, reason: Reason, cause: SizeCause, range_pct: Option<[f64; 2]>) -> Self {
        Self {
            finding: (Verdict::Inconclusive, direction.filter(|_| range_pct.is_some())),
            reason,
            uncertain_size: range_pct.map(|range| UncertainSize::new(cause, range)),
        }
    }
}

fn answer(input: &Input, theta: Option<&Estimate>) -> Answer {
    if !input.invalid.is_empty() {
        let reasons = input.invalid.clone();
        return Answer::new((Verdict::Invalid, None), Reason::Invalid { reasons });
    }
    let need = signed_rank::least_n(input.alpha) as u64;
    let Some(theta) = theta else {
        let reason = Reason::TooFewEpochs { have: 0, need };
        return Answer::new((Verdict::Inconclusive, None), reason);
    };
    let verdict = classify(theta, input.delta);
    let finding = (verdict, direction(theta, verdict));
    let plain = Answer::new(finding, plain_reason(theta, verdict, input.delta, need));
    if verdict == Verdict::Inconclusive {
        return plain;
    }
    let mut answer = hold_apart(input, theta, plain);
    if answer.finding.0 == Verdict::Difference && answer.uncertain_size.is_none() {
        let size = |cause| UncertainSize::new(cause, [theta.lo, theta.hi].map(tax_pct));
        answer.uncertain_size = doubt_of_size(input, theta).map(size);
    }
    answer
}

/// Returns the reason why a difference has no figure although its direction is known.
fn doubt_of_size(input: &Input, theta: &Estimate) -> Option<SizeCause> {
    let tax = theta.map_monotone(tax_pct);
    let half_width = tax.half_width();
    let is_wide = half_width > WIDE_POINTS && half_width > WIDE_SHARE * tax.value.abs();
    let is_busy = |it: Disturbance| it.is_throughout() && it.shares.foreign_pct.is_some_and(|pct| pct > BUSY_PCT);
    if input.can_move && has_two_speeds(input.epochs) {
        Some(SizeCause::TwoSpeeds)
    } else if disturbance(input).is_some_and(is_busy) {
        Some(SizeCause::Disturbed)
    } else {
        is_wide.then_some(SizeCause::Wide)
    }
}

/// Returns whether the rates of all slices of both arms, each divided by the median rate of its arm, have two modes.
fn has_two_speeds(epochs: &[Epoch]) -> bool {
    let rates = |side| {
        let slices = epochs.iter().flat_map(move |epoch| epoch.slices_of(side));
        let mut rates: Vec<f64> = slices.map(rate_per_s).collect();
        let middle = median(&mut rates).unwrap_or(1.0);
        rates.into_iter().map(move |rate| rate / middle)
    };
    rate_modes(&Side::BOTH.into_iter().flat_map(rates).collect::<Vec<_>>()).is_some()
}

/// Returns `plain`, which is decided by θ and its interval, or a weaker answer if parts of the run differ or if the
/// start of the windows may explain the result.
fn hold_apart(input: &Input, theta: &Estimate, mut plain: Answer) -> Answer {
    let (verdict, direction) = plain.finding;
    for apart in differing_parts(input, theta) {
        let cause = match apart.parts() {
            Parts::Disturbed => SizeCause::Disturbed,
            Parts::Halves => SizeCause::Drifted,
        };
        let range_pct = apart.one_sided_pct();
        if !apart.agree_with(plain.finding) {
            return Answer::withheld(direction, apart.reason(verdict), cause, range_pct);
        }
        let size = range_pct.map(|range| UncertainSize::new(cause, range));
        plain.uncertain_size = plain.uncertain_size.or(size);
    }
    match guard_objection(input, theta, verdict) {
        Some((reason, range_pct)) => Answer::withheld(direction, reason, SizeCause::UnevenStart, range_pct),
        None => plain,
    }
}

fn differing_parts(input: &Input, theta: &Estimate) -> impl Iterator<Item = Apart> {
    let disturbed = disturbed_epochs(input.epochs);
    let is_disturbed = |idx| disturbed.binary_search(&idx).is_ok();
    let half = input.epochs.len() / 2;
    let apart = Apart::find(input, theta, Parts::Disturbed, is_disturbed);
    let halves = Apart::find(input, theta, Parts::Halves, |idx| idx < half);
    apart.into_iter().chain(halves)
}

fn disturbance(input: &Input) -> Option<Disturbance> {
    let epochs = input.epochs;
    let disturbed = disturbed_epochs(epochs);
    let noise = { disturbed.iter() }.filter_map(|idx| epochs[*idx].noise.as_ref());
    Some(Disturbance {
        n_disturbed: disturbed.len(),
        n_undisturbed: epochs.len() - disturbed.len(),
        shares: noise_shares(noise)?,
    })
}

/// Returns the objection that the first 10 ms of the windows may explain the result. A result without an effect needs
/// no explanation, so it has no such objection. Also returns the range of possible taxes, with and without the
/// transient, if the whole range is on one side of zero.
fn guard_objection(input: &Input, theta: &Estimate, verdict: Verdict) -> Option<(Reason, Option<[f64; 2]>)> {
    let transient = guard_transient(input.epochs, input.alpha)?;
    let is_effect = matches!(verdict, Verdict::Difference | Verdict::Negligible);
    let added = &transient.added_theta;
    let range_pct = one_sided_pct(theta.lo - added.hi.max(0.0), theta.hi - added.lo.min(0.0));
    let ratios = transient.ratios;
    (is_effect && transient.may_explain(theta)).then_some((Reason::GuardTransient { ratios, verdict }, range_pct))
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
    use crate::stats::epoch::Noise;
    use crate::stats::vectors::{close, plain_slice};

    /// Makes an epoch whose θ is about `theta`.
    fn epoch(theta: f64, steal_ticks: f64) -> Epoch {
        let count = |side| match side {
            Side::Baseline => (1e6 * theta.exp()).round() as u64,
            Side::Other => 1_000_000,
        };
        let order = [1, 0, 0, 1, 0, 1, 1, 0].map(|idx| Side::BOTH[idx]);
        Epoch {
            slices: order.map(|side| plain_slice(side, count(side), 50_000_000)).to_vec(),
            latencies_ns: [vec![], vec![]],
            noise: Some(Noise {
                total_ticks: 100.0,
                steal_ticks,
                softirq_ticks: 0.0,
                busy_ticks: 90.0,
                own_ticks: Some(45.0),
                server_ticks: Some(45.0),
            }),
        }
    }

    fn input<'a>(epochs: &'a [Epoch], invalid: &[&str]) -> Input<'a> {
        Input {
            epochs,
            connections: 1,
            alpha: 0.05,
            delta: 0.01,
            invalid: invalid.iter().map(ToString::to_string).collect(),
            stopped_early: false,
            can_move: false,
        }
    }

    fn judged(epochs: &[Epoch], invalid: &[&str]) -> Primary {
        primary(&input(epochs, invalid))
    }

    fn steady(theta: f64, n_epochs: usize, steal_ticks: f64) -> Vec<Epoch> {
        vec![epoch(theta, steal_ticks); n_epochs]
    }

    #[track_caller]
    fn check(epochs: &[Epoch], verdict: Verdict, who: Option<Direction>) -> Reason {
        let found = judged(epochs, &[]);
        assert_eq!((found.verdict, found.direction), (verdict, who), "{:?}", found.reason);
        found.reason
    }

    #[test]
    fn a_clear_run_has_a_plain_verdict() {
        check(&steady(0.05, 12, 0.0), Verdict::Difference, Some(Direction::OtherSlower));
        check(&steady(-0.05, 12, 0.0), Verdict::Difference, Some(Direction::OtherFaster));
        check(&steady(0.005, 12, 0.0), Verdict::Negligible, Some(Direction::OtherSlower));
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

    /// Makes epochs in groups of four. Every second group is disturbed. θ is `quiet` in the quiet epochs and
    /// `disturbed` in the disturbed epochs.
    fn mixed(n_epochs: usize, quiet: f64, disturbed: f64) -> Vec<Epoch> {
        let epoch = |idx: usize| {
            let spread = 1e-4 * (f64::from(idx as u32 * 7 % 5) - 2.0);
            match idx / 4 % 2 {
                0 => epoch(quiet + spread, 0.0),
                _ => epoch(disturbed + spread, 5.0),
            }
        };
        (0..n_epochs).map(epoch).collect()
    }

    #[track_caller]
    fn check_mixed(epochs: &[Epoch], verdict: Verdict, who: Option<Direction>, cause: Option<SizeCause>) -> Primary {
        let found = judged(epochs, &[]);
        let size = found.uncertain_size.map(|it| it.cause);
        assert_eq!((found.verdict, found.direction, size), (verdict, who, cause), "{found:?}");
        found
    }

    #[test]
    fn a_result_that_the_disturbed_epochs_made_is_taken_back() {
        let found = check_mixed(&mixed(40, 0.0, 0.05), Verdict::Inconclusive, None, None);
        let Reason::PartsDiffer { parts, n_epochs, verdicts, verdict, .. } = found.reason else {
            panic!("{:?}", found.reason);
        };
        assert_eq!((parts, n_epochs), (Parts::Disturbed, [20, 20]));
        assert_eq!(verdict, Verdict::Difference);
        assert_eq!(verdicts[0], Verdict::Difference);
        // The same with the other sign, and a case in which the disturbance hides an effect.
        check_mixed(&mixed(40, 0.0, -0.05), Verdict::Inconclusive, None, None);
        check_mixed(&mixed(40, -0.05, 0.05), Verdict::Inconclusive, None, None);
    }

    #[test]
    fn noise_that_makes_no_other_effect_withholds_nothing() {
        let slower = Some(Direction::OtherSlower);
        let found = check_mixed(&mixed(40, 0.05, 0.055), Verdict::Difference, slower, None);
        let disturbance = found.disturbance.unwrap();
        assert_eq!((disturbance.n_disturbed, disturbance.n_undisturbed), (20, 20));
        assert!(!disturbance.is_throughout() && !found.is_unchecked());
        close(disturbance.shares.steal_pct, 5.0, 1e-9);
        check_mixed(&mixed(40, 0.0, 0.0), Verdict::Equivalent, None, None);
    }

    #[test]
    fn an_effect_that_is_everywhere_keeps_its_direction_where_its_size_differs() {
        let (slower, faster) = (Some(Direction::OtherSlower), Some(Direction::OtherFaster));
        let size = Some(SizeCause::Disturbed);
        let found = check_mixed(&mixed(40, 0.05, 0.15), Verdict::Difference, slower, size);
        let range = found.uncertain_size.unwrap();
        assert!((4.5..5.1).contains(&range.lo_pct), "{range:?}");
        assert!((13.9..14.5).contains(&range.hi_pct), "{range:?}");
        // The effect is too small to matter in the quiet epochs: the verdict is withheld, but the direction is known.
        check_mixed(&mixed(40, 0.002, 0.05), Verdict::Inconclusive, slower, size);
        check_mixed(&mixed(40, -0.006, -0.05), Verdict::Inconclusive, faster, size);
    }

    #[test]
    fn a_result_stands_where_nearly_all_epochs_are_disturbed() {
        let slower = Some(Direction::OtherSlower);
        let found = check_mixed(&steady(0.05, 40, 5.0), Verdict::Difference, slower, None);
        assert!(found.disturbance.unwrap().is_throughout() && !found.is_unchecked());
        // Four quiet epochs are too few for a comparison with the rest, but more epochs may make the comparison
        // possible.
        let epochs = [steady(0.0, 4, 0.0), steady(0.05, 36, 5.0)].concat();
        let found = check_mixed(&epochs, Verdict::Difference, slower, None);
        assert!(found.disturbance.unwrap().is_throughout() && found.is_unchecked());
    }

    #[test]
    fn two_arms_of_a_speed_each_have_no_two_speeds() {
        let epochs = steady(0.5, 12, 0.0);
        let cause = |epochs: &[Epoch]| {
            let found = primary(&Input { can_move: true, ..input(epochs, &[]) });
            found.uncertain_size.map(|it| it.cause)
        };
        assert_eq!(cause(&epochs), None);
        // In the second half of each epoch, the rate on both arms is three times as high.
        let mut moved = epochs;
        for slice in moved.iter_mut().flat_map(|epoch| &mut epoch.slices[4..]) {
            slice.completions *= 3;
        }
        assert_eq!(cause(&moved), Some(SizeCause::TwoSpeeds));
    }

    #[test]
    fn six_undisturbed_epochs_can_be_held_against_the_others() {
        let shares = noise_shares([&epoch(0.0, 5.0).noise.unwrap()]).unwrap();
        let with = |n_undisturbed| Disturbance { n_disturbed: 30, n_undisturbed, shares };
        assert!(with(5).is_throughout() && !with(6).is_throughout());
    }

    #[test]
    fn a_size_is_given_where_half_its_interval_is_within_five_points_or_a_third_of_it() {
        let slower = Some(Direction::OtherSlower);
        let check = |tax_pct: f64, spread: f64, cause| {
            let theta = -(1.0 - tax_pct / 100.0).ln();
            let epochs: Vec<Epoch> = (0..12).map(|idx| epoch(theta + [-spread, spread][idx % 2], 0.0)).collect();
            let found = check_mixed(&epochs, Verdict::Difference, slower, cause);
            found.theta.unwrap().map_monotone(super::tax_pct).half_width()
        };
        let wide = Some(SizeCause::Wide);
        // 4.8 points are more than a third of 12, but not above the limit in points; 7.7 points are above this limit,
        // but less than a third of 30.
        assert!((4.0..5.0).contains(&check(12.0, 0.055, None)));
        assert!((5.0..6.0).contains(&check(12.0, 0.065, wide)));
        assert!((7.0..10.0).contains(&check(30.0, 0.11, None)));
        assert!((10.0..13.0).contains(&check(30.0, 0.17, wide)));
    }

    #[test]
    fn a_result_of_one_half_of_the_run_is_taken_back() {
        let steps = |first: f64, second: f64| [steady(first, 12, 0.0), steady(second, 8, 0.0)].concat();
        let found = check_mixed(&steps(0.05, 0.0), Verdict::Inconclusive, None, None);
        assert!(matches!(found.reason, Reason::PartsDiffer { parts: Parts::Halves, .. }));
        let (slower, drifted) = (Some(Direction::OtherSlower), Some(SizeCause::Drifted));
        check_mixed(&steps(0.05, 0.12), Verdict::Difference, slower, drifted);
        check_mixed(&steps(0.05, 0.058), Verdict::Difference, slower, None);
    }

    /// Sets the share of the requests that are in the first 10 ms of the 50 ms.
    fn with_early(mut epochs: Vec<Epoch>, shares: [f64; 2]) -> Vec<Epoch> {
        for slice in epochs.iter_mut().flat_map(|epoch| &mut epoch.slices) {
            slice.early = (slice.completions as f64 * shares[slice.side.idx()]).round() as u64;
        }
        epochs
    }

    #[test]
    fn a_result_made_right_after_the_guard_is_taken_back() {
        // 18 % of the other arm's requests are in the first 10 ms, instead of 20 %: so ln(0.82/0.8) = 0.0247 is added
        // to θ, which is more than a quarter of 0.05 and less than a quarter of 0.15.
        let shares = [0.2, 0.18];
        let epochs = with_early(steady(0.05, 12, 0.0), shares);
        let slower = Some(Direction::OtherSlower);
        let found = check_mixed(&epochs, Verdict::Inconclusive, slower, Some(SizeCause::UnevenStart));
        let reason = found.reason;
        let range = found.uncertain_size.unwrap();
        close(range.lo_pct, tax_pct(0.05 - (0.82_f64 / 0.8).ln()), 1e-3);
        close(range.hi_pct, tax_pct(0.05), 1e-3);
        // The transient is as large as the whole effect, so it is not known which arm loses.
        let epochs = with_early(steady(0.02, 12, 0.0), shares);
        check(&epochs, Verdict::Inconclusive, None);
        let Reason::GuardTransient { ratios, verdict } = reason else {
            panic!("{reason:?}");
        };
        assert_eq!(verdict, Verdict::Difference);
        close(ratios[0], 1.0, 1e-5);
        close(ratios[1], 0.18 / 0.82 * 4.0, 1e-5);
        check(&with_early(steady(0.15, 12, 0.0), shares), Verdict::Difference, slower);
        check(&with_early(steady(0.05, 12, 0.0), [0.2, 0.2]), Verdict::Difference, slower);
        check(&with_early(steady(0.0, 12, 0.0), shares), Verdict::Equivalent, None);
    }
}
