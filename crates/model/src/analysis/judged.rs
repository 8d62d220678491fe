//! Judges one pair of arms: turns the pair's epochs into the pair's part of the record.
//!
//! This file only combines results: `figures` makes the figures, `words` makes the sentences, and the statistics
//! compute the metrics. The live run and `show` call [`judge`] with the same input and get the same digits.

use std::collections::BTreeMap;

use crate::record;
use crate::record::{Arm, Raw, Stall, Tax};
use crate::stats::{Diagnostics, Epoch, Input, Judgement, Side, Warning, totals_disagree};

use super::figures::{self, Pace, plain};
use super::proved_arm::ProvedArm;
use super::{client_limits, validity, words};

/// The input of [`judge`].
#[derive(Debug)]
pub struct Question<'a> {
    /// The comparison's raw data; only the epochs of `pair` are used.
    pub raw: &'a Raw,
    /// Arms' indexes, `[baseline, other]`.
    pub pair: [u32; 2],
    /// The epochs of `pair`, as [`Raw::counts`] returns them.
    pub epochs: &'a [Epoch],
    /// The two arms, `[baseline, other]`.
    pub arms: [ProvedArm; 2],
    /// Connections per arm.
    pub connections: u32,
    /// Two-sided level of every interval: the level of the interim analysis at which the run stopped.
    pub alpha: f64,
    /// The largest difference that does not matter, as a fraction: 0.01 means ±1 %.
    pub delta: f64,
    /// The reasons why the pair's result is invalid, in addition to the reasons that raw data and proofs show.
    pub invalid: Vec<String>,
    /// The interim analysis at which the run stopped, counted from 0; `None` if the run was interrupted.
    pub look: Option<u32>,
    pub stopped_early: bool,
}

/// The record's part about one pair of arms, with the figures of each arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The other arm compared with the baseline.
    pub tax: Tax,
    /// Each arm by itself, `[baseline, other]`.
    pub arms: [Arm; 2],
    /// Sentences for [`record::Comparison::warnings`].
    pub warnings: Vec<String>,
    /// For [`record::Comparison::stalls`]; epochs are numbered over all pairs.
    pub stalls: Vec<Stall>,
}

pub fn judge(question: &Question) -> Judged {
    let Question { raw, pair, epochs, arms, .. } = question;
    let mut invalid = question.invalid.clone();
    for reason in validity::invalid(raw, *pair, arms) {
        // If a record is judged again, `invalid` already has the reasons that the live run found.
        if !invalid.contains(&reason) {
            invalid.push(reason);
        }
    }
    let judgement = crate::stats::judge(&Input {
        epochs,
        connections: question.connections,
        alpha: question.alpha,
        delta: question.delta,
        invalid,
        stopped_early: question.stopped_early,
        can_move: raw.of_pair(*pair).any(|(_, epoch)| epoch.can_move()),
    });
    let pace = Pace::from_raw(raw, *pair);
    let names = arms.each_ref().map(|arm| arm.name.as_str());
    // If the verdict is decided, the width of the interval does not matter.
    let is_open = judgement.verdict == crate::stats::Verdict::Inconclusive;
    let warnings = judgement.warnings.iter();
    let warnings = warnings.filter(|it| is_open || !matches!(it, Warning::EnvironmentLimited { .. }));
    let warnings = warnings.filter_map(|warning| words::warning(warning, names));
    let judged_arms = Side::BOTH.map(|side| arm(&judgement, question, side, pace));
    let p99_us = judged_arms.each_ref().map(|arm| arm.latency_us.p99.known().map(|it| it.value));
    let mut tax = tax(&judgement, question, pace);
    tax.diagnostics.client_limits = client_limits::find_limits(raw, *pair, arms, p99_us);
    let wait = crate::analysis::waiting::warning(&tax, question.connections);
    Judged {
        tax,
        warnings: warnings.chain(validity::warnings(raw, *pair, arms)).chain(wait).collect(),
        arms: judged_arms,
        stalls: stalls(&judgement, question),
    }
}

/// Returns the arms of a comparison in the order of their indexes, each with the figures from its first pair.
///
/// The baseline is in every pair, so it gets the figures of the first pair.
pub fn arms(pairs: impl IntoIterator<Item = ([u32; 2], [Arm; 2])>) -> Vec<Arm> {
    let mut by_idx = BTreeMap::new();
    for (idxs, arms) in pairs {
        for (idx, arm) in idxs.into_iter().zip(arms) {
            by_idx.entry(idx).or_insert(arm);
        }
    }
    by_idx.into_values().collect()
}

fn tax(judgement: &Judgement, question: &Question, pace: Pace) -> Tax {
    let [baseline, other] = question.arms.each_ref().map(|arm| arm.name.clone());
    let starred = judgement.secondary.iter().filter(|it| it.is_starred);
    Tax {
        arm: other,
        baseline,
        throughput_pct: plain(judgement.tax_pct),
        theta: plain(judgement.theta),
        total_throughput_pct: plain(judgement.totals_tax_pct),
        latency_us: figures::latency_tax(judgement, pace),
        cpu_us: figures::cpu_tax(judgement),
        verdict: judgement.verdict,
        direction: judgement.direction,
        dearer_by_cpu: judgement.dearer_by_cpu,
        reason: judgement.reason.clone(),
        uncertain_size: judgement.uncertain_size,
        disturbance: judgement.disturbance.as_ref().map(disturbance),
        starred: starred.map(|it| words::field(it.metric).to_owned()).collect(),
        n_epochs: judgement.theta.map_or(0, |theta| theta.n as u32),
        look: question.look,
        alpha: question.alpha,
        stopped_early: question.stopped_early,
        diagnostics: diagnostics(judgement, question),
    }
}

fn arm(judgement: &Judgement, question: &Question, side: Side, pace: Pace) -> Arm {
    let ProvedArm { name, endpoint, verified, proof } = question.arms[side.idx()].clone();
    let summary = &judgement.sides[side.idx()];
    Arm {
        name,
        endpoint,
        verified,
        proof,
        throughput_per_s: plain(summary.throughput_per_s),
        latency_us: figures::latency(judgement, side, pace),
        latency_pooled_us: figures::pooled(judgement, side),
        cpu_us_per_query: figures::cpu(judgement, side),
        context_switches_per_query: plain(summary.switches_per_request),
        syscalls_per_query: figures::syscalls(question.raw, question.pair, side),
    }
}

fn disturbance(found: &crate::stats::Disturbance) -> record::Disturbance {
    record::Disturbance {
        n_epochs: found.n_disturbed as u32,
        is_throughout: found.is_throughout(),
        steal_pct: found.shares.steal_pct,
        foreign_pct: found.shares.foreign_pct.unwrap_or(0.0),
    }
}

fn diagnostics(judgement: &Judgement, question: &Question) -> record::Diagnostics {
    let found: &Diagnostics = &judgement.diagnostics;
    let tested = |value: f64, p_value: f64| {
        let is_finite = value.is_finite() && p_value.is_finite();
        is_finite.then_some(record::Tested { value, p_value })
    };
    let finite = |value: f64| value.is_finite().then_some(value);
    let floor = found.sampling_floor;
    let totals = judgement.theta.zip(judgement.totals);
    let modes = Side::BOTH.into_iter().filter_map(|side| {
        let modes = found.rate_modes[side.idx()]?;
        Some(record::RateModes {
            arm: question.arms[side.idx()].name.clone(),
            low_per_s: modes.low_per_s,
            high_per_s: modes.high_per_s,
        })
    });
    record::Diagnostics {
        order_effect: found.order_effect.and_then(|order| tested(order.effect.value, order.p_value)),
        trend: found.trend.and_then(|trend| tested(trend.rho, trend.p_value)),
        lag1_autocorrelation: found.lag1_autocorrelation.and_then(finite),
        theta_sd: found.theta_sd.and_then(finite),
        dispersion: floor.and_then(|floor| finite(floor.phi)),
        sampling_floor_pct: floor.and_then(|floor| finite(100.0 * floor.half_width)),
        n_epochs_left_out: judgement.warnings.iter().find_map(left_out).unwrap_or(0),
        totals_disagree: totals.map(|(theta, totals)| totals_disagree(&theta, &totals)),
        steal_pct: found.noise.map(|noise| noise.steal_pct),
        foreign_pct: found.noise.and_then(|noise| noise.foreign_pct),
        littles_law_ratio: match found.littles_law {
            [Some(baseline), Some(other)] => Some([baseline, other]),
            _ => None,
        },
        guard_transient_ratio: found.guard_transient.map(|transient| transient.ratios),
        modes: modes.collect(),
        slice_invariance_pct: None,
        client_limits: Vec::new(),
    }
}

fn left_out(warning: &Warning) -> Option<u32> {
    match warning {
        Warning::IncompleteEpochs { n_epochs, .. } => Some(*n_epochs as u32),
        _ => None,
    }
}

fn stalls(judgement: &Judgement, question: &Question) -> Vec<Stall> {
    let positions: Vec<usize> = question.raw.of_pair(question.pair).map(|(idx, _)| idx).collect();
    let stall = |stall: &crate::stats::Stall| Stall {
        arm: question.arms[stall.side.idx()].name.clone(),
        epoch_idx: positions[stall.epoch_idx] as u32,
        slice_idx: stall.slice_idx as u32,
        drain_ms: stall.drain_ms,
    };
    judgement.diagnostics.stalls.iter().map(stall).collect()
}

#[cfg(test)]
mod tests {
    use crate::record::{Direction, Figure, Reason, Verdict};

    use super::*;
    use crate::analysis::made_up;

    const PAIR: [u32; 2] = [0, 1];

    /// Makes epochs of `PAIR` after an epoch of another pair; θ is about ln 1.1.
    fn raw_of(n_epochs: u64) -> Raw {
        let epoch = |idx: u64| {
            let mut epoch = made_up::epoch(idx, PAIR, [5_500 + idx % 3, 5_000]);
            epoch.samples = [0, 1].map(|side| Some(made_up::samples(side, 200)));
            epoch
        };
        let stranger = made_up::epoch(0, [0, 2], [1, 1]);
        Raw { epochs: std::iter::once(stranger).chain((0..n_epochs).map(epoch)).collect() }
    }

    fn judged(raw: &Raw, change: impl Fn(&mut Question)) -> Judged {
        let epochs = raw.counts(PAIR, made_up::unpacked);
        let mut question = Question {
            raw,
            pair: PAIR,
            epochs: &epochs,
            arms: [made_up::arm("unix"), made_up::arm("tcp")],
            connections: 1,
            alpha: 0.05,
            delta: 0.01,
            invalid: Vec::new(),
            look: Some(0),
            stopped_early: true,
        };
        change(&mut question);
        judge(&question)
    }

    #[track_caller]
    fn check(figure: &Figure, expected: f64, tolerance: f64) {
        let found = figure.known().expect("a figure");
        assert!((found.value - expected).abs() <= tolerance, "{found:?}, expected {expected}");
        assert!(found.lo.is_some() && found.hi.is_some());
    }

    #[track_caller]
    fn check_missing(figure: &Figure, expected: &str) {
        let Figure::Missing(missing) = figure else {
            panic!("{figure:?} is there");
        };
        assert!(missing.na.contains(expected), "{missing:?} has no {expected:?}");
    }

    #[test]
    fn a_clear_run_is_a_difference_with_figures() {
        let found = judged(&raw_of(12), |_| {});
        let tax = &found.tax;
        assert_eq!((tax.arm.as_str(), tax.baseline.as_str()), ("tcp", "unix"));
        assert_eq!(tax.verdict, Verdict::Difference);
        assert_eq!(tax.direction, Some(Direction::OtherSlower));
        assert_eq!((tax.n_epochs, tax.look, tax.stopped_early), (12, Some(0), true));
        check(&tax.throughput_pct, 100.0 / 11.0, 0.05);
        check(&tax.theta, 1.1_f64.ln(), 1e-3);
        check(&tax.latency_us.mean, 10.0 - 50_000.0 / 5_500.0, 0.01);
        check(&tax.latency_us.p50, 1.0, 1e-9);
        check_missing(&tax.latency_us.p999, "needs about");
        assert!(tax.starred.contains(&"latency_us.p50".to_owned()), "{:?}", tax.starred);
        assert_eq!(tax.diagnostics.totals_disagree, Some(false));
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    }

    /// Makes epochs in groups of four. Every second group is disturbed, and its epochs have another effect.
    fn disturbed_raw() -> Raw {
        let epoch = |idx: u64| {
            let is_disturbed = idx / 4 % 2 == 1;
            let baseline = if is_disturbed { 6_000 } else { 5_300 };
            let mut epoch = made_up::epoch(idx, PAIR, [baseline + idx % 3, 5_000]);
            if let Some(ticks) = epoch.cpu_ticks.as_mut().filter(|_| is_disturbed) {
                ticks.steal += 30;
            }
            epoch
        };
        Raw { epochs: (0..16).map(epoch).collect() }
    }

    #[test]
    fn a_disturbed_run_says_who_loses_and_not_how_much() {
        let tax = judged(&disturbed_raw(), |_| {}).tax;
        assert_eq!(tax.verdict, Verdict::Difference);
        assert_eq!(tax.direction, Some(Direction::OtherSlower));
        let size = tax.uncertain_size.expect("an uncertain size");
        assert_eq!(size.cause, record::SizeCause::Disturbed);
        assert!((5.0..7.0).contains(&size.lo_pct), "{size:?}");
        assert!((16.0..17.0).contains(&size.hi_pct), "{size:?}");
        let disturbance = tax.disturbance.expect("a disturbance");
        assert_eq!((disturbance.n_epochs, disturbance.is_throughout), (8, false));
        assert!(disturbance.steal_pct > 10.0, "{disturbance:?}");
    }

    #[test]
    fn each_arm_has_its_own_figures() {
        let [unix, tcp] = judged(&raw_of(12), |_| {}).arms;
        assert_eq!((unix.name.as_str(), tcp.name.as_str()), ("unix", "tcp"));
        check(&unix.throughput_per_s, 110_020.0, 20.0);
        check(&tcp.throughput_per_s, 100_000.0, 1e-6);
        check(&tcp.latency_us.p50, 10.0, 1e-9);
        check(&tcp.cpu_us_per_query.server, 25_000.0 / 6_001.0, 0.01);
        let calls = tcp.syscalls_per_query.expect("calls were counted");
        assert!((calls.send - 1.0).abs() < 1e-12 && (calls.receive - 2.0).abs() < 1e-12);
        assert!((calls.wait - 5_000.0 / 6_001.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_trusted_is_invalid_and_says_so_once() {
        let mut raw = raw_of(12);
        raw.epochs[3].answers_agree = false;
        let first = judged(&raw, |question| {
            question.invalid = vec!["killed".to_owned()];
        });
        let Reason::Invalid { reasons } = first.tax.reason.clone() else {
            panic!("{:?}", first.tax.reason);
        };
        assert_eq!(first.tax.verdict, Verdict::Invalid);
        assert_eq!((reasons.len(), reasons[0].as_str()), (2, "killed"));
        let again = judged(&raw, |question| question.invalid.clone_from(&reasons));
        assert_eq!(again, first);
    }

    #[test]
    fn a_stall_is_counted_over_all_pairs() {
        let mut raw = raw_of(12);
        raw.epochs[2].slices[1].drain_ns = 40_000_000;
        let expected = Stall { arm: "unix".to_owned(), epoch_idx: 2, slice_idx: 1, drain_ms: 40.0 };
        assert_eq!(judged(&raw, |_| {}).stalls, [expected]);
    }

    #[test]
    fn what_could_not_be_read_says_why() {
        let mut raw = raw_of(12);
        for slice in raw.epochs.iter_mut().flat_map(|epoch| &mut epoch.slices) {
            slice.server_cpu_ns = None;
        }
        let found = judged(&raw, |_| {});
        check_missing(&found.tax.cpu_us.server, "server's CPU time could not be read");
        check_missing(&found.tax.cpu_us.both, "server's CPU time could not be read");
        check_missing(&found.arms[0].cpu_us_per_query.server, "could not be read");
        let nothing = judged(&Raw::default(), |_| {});
        assert_eq!(nothing.tax.verdict, Verdict::Inconclusive);
        check_missing(&nothing.tax.cpu_us.client, "no whole epoch");
        check_missing(&nothing.tax.latency_us.p99, "no whole epoch");
        assert_eq!(nothing.arms[0].syscalls_per_query, None);
    }

    #[test]
    fn the_baseline_has_the_figures_of_its_first_pair() {
        let first = judged(&raw_of(12), |_| {}).arms;
        let second = judged(&raw_of(8), |question| {
            question.arms[1].name = "tls".to_owned();
        })
        .arms;
        let found = arms([(PAIR, first.clone()), ([0, 2], second.clone())]);
        assert_eq!(found, [first[0].clone(), first[1].clone(), second[1].clone()]);
    }
}
