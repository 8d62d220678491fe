//! Ranks the remedies that one run measured: computes each remedy's gain, saving and verdict from the run's
//! comparisons.
//!
//! An arm is compared with today's arm in epochs that contain both arms. A change of the workload or the placement was
//! measured in a separate comparison. Called after the run and by `show`; METHOD.md, "Remedies", has the formulas.

use crate::dsn::Arm;
use crate::record::{self as record, Comparison, Estimate, Figure, GainRange, Remedies, Remedy, RemedyKind, Tax};
use crate::stats;
use crate::stats::Blocks;

use super::figures::{figure, plain};

/// Returns the gain of each remedy over the arm `today`, for each number of connections.
pub fn rank_remedies(comparisons: &[Comparison], today: &str) -> Vec<Remedies> {
    let mut all: Vec<Remedies> = Vec::new();
    for (idx, base) in comparisons.iter().enumerate() {
        let is_known = all.iter().any(|it| it.connections == base.connections);
        let is_today = base.arms.first().is_some_and(|arm| arm.name == today);
        if is_known || !is_today {
            continue;
        }
        let others = comparisons[idx + 1..].iter();
        let others = others.filter(|it| it.connections == base.connections);
        let arms = base.tax.iter().filter_map(|tax| arm_remedy(tax, today));
        let mut remedies: Vec<Remedy> = arms.chain(others.filter_map(|other| apart(base, other, today))).collect();
        remedies.sort_by(|one, other| {
            let [one, other] = [one, other].map(rank);
            let by_class = (other.0, other.1).cmp(&(one.0, one.1));
            by_class.then(other.2.total_cmp(&one.2))
        });
        all.push(Remedies {
            target: base.target.name.clone(),
            connections: base.connections,
            today: today.to_owned(),
            remedies,
        });
    }
    all
}

/// Returns the key by which remedies are sorted. Remedies that start from today's arm come first. Among them, the order
/// is: proved gains (the largest first), undecided remedies, remedies without an effect, and losses.
fn rank(remedy: &Remedy) -> (bool, u8, f64) {
    let gain = remedy.gain_pct.known().map_or(f64::NAN, |it| it.value);
    let class = match remedy.verdict {
        _ if gain.is_nan() => 0,
        record::Verdict::Difference if gain > 0.0 => 5,
        record::Verdict::Inconclusive => 4,
        record::Verdict::Negligible | record::Verdict::Equivalent => 3,
        record::Verdict::Difference => 2,
        record::Verdict::Invalid => 1,
    };
    (remedy.is_today, class, gain)
}

/// Returns the kind of change between today's arm and another arm, and whether today's arm is the better of the two.
fn kind(today: Arm, other: Arm) -> Option<(RemedyKind, bool)> {
    let is_forwarded = |arm: Arm| matches!(arm, Arm::Nat) || arm.is_relayed();
    Some(match (today, other) {
        (Arm::TlsUnix, Arm::Unix) | (Arm::Tls, Arm::Tcp) => (RemedyKind::TlsOff, false),
        // The second pattern is a move to the socket by a program that keeps TLS.
        (_, Arm::Unix) | (Arm::Tls, Arm::TlsUnix) => (RemedyKind::Unix, false),
        (_, Arm::Abstract) => (RemedyKind::Abstract, false),
        (_, Arm::Redirect) => (RemedyKind::Redirect, false),
        (Arm::Tcp, Arm::Tls) => (RemedyKind::TlsOff, true),
        (Arm::Tcp, Arm::Bridge | Arm::Nat | Arm::Proxy | Arm::Pasta) => (RemedyKind::HostNetwork, true),
        (Arm::Bridge | Arm::Nat | Arm::Proxy | Arm::Pasta, Arm::Tcp) => (RemedyKind::HostNetwork, false),
        (today, Arm::Bridge) if is_forwarded(today) => (RemedyKind::OwnAddress, false),
        (Arm::Bridge, other) if is_forwarded(other) => (RemedyKind::OwnAddress, true),
        _ => return None,
    })
}

/// Returns the remedy for an arm that was measured in turns with today's arm.
fn arm_remedy(tax: &Tax, today: &str) -> Option<Remedy> {
    let (kind, is_today_better) = kind(today.parse().ok()?, tax.arm.parse().ok()?)?;
    let (from, to, sign) =
        if is_today_better { (tax.arm.as_str(), today, 1.0) } else { (today, tax.arm.as_str(), -1.0) };
    // θ = ln(rate of today's arm / rate of the other arm).
    let gain = |theta: f64| 100.0 * (sign * theta).exp_m1();
    let saved = |cost: f64| sign * cost;
    Some(Remedy {
        kind,
        is_today: from == today,
        from: from.to_owned(),
        to: to.to_owned(),
        pipeline: None,
        gain_pct: mapped(&tax.theta, gain),
        gain_range_pct: tax.uncertain_size.map(|size| {
            let ends = [size.lo_pct, size.hi_pct].map(|pct| gain(-(-pct / 100.0).ln_1p()));
            GainRange { lo: ends[0].min(ends[1]), hi: ends[0].max(ends[1]) }
        }),
        saved_us: mapped(&tax.latency_us.mean, saved),
        saved_cpu_us: mapped(&tax.cpu_us.both, saved),
        verdict: tax.verdict,
        is_paired: true,
    })
}

/// Returns the remedy that `other` measured, a comparison that differs from `base` in one setting.
fn apart(base: &Comparison, other: &Comparison, today: &str) -> Option<Remedy> {
    let kind = other.remedy?;
    // For these kinds, `base` already has the remedy, and `other` was measured without it.
    let is_base_better = matches!(kind, RemedyKind::Persistent | RemedyKind::OneCore);
    let (before, after) = if is_base_better { (other, base) } else { (base, other) };
    let gained = Alone::from_comparison(before, Epochs::All).zip(Alone::from_comparison(after, Epochs::All));
    let gained = gained.map(|(before, after)| after.gained_over(&before));
    let saved = |of: fn(&Gained) -> Option<stats::Estimate>| gained.as_ref().and_then(of);
    Some(Remedy {
        kind,
        // Today's program does not open a connection for each request, so this remedy does not start from today's arm.
        is_today: kind != RemedyKind::Persistent,
        from: today.to_owned(),
        to: today.to_owned(),
        pipeline: (kind == RemedyKind::Pipelining).then_some(other.workload.pipeline),
        gain_pct: plain(saved(|costs| Some(costs.theta.map_monotone(|it| 100.0 * it.exp_m1())))),
        gain_range_pct: None,
        saved_us: plain(saved(|it| it.time_us)),
        saved_cpu_us: figure(saved(|it| it.cpu_us), "CPU time could not be read"),
        verdict: verdict(before, after, gained.as_ref()),
        is_paired: false,
    })
}

/// Returns the verdict by the same rules as for a pair: a verdict that depends on disturbed epochs is inconclusive. The
/// two comparisons did not run in turns, so disturbances do not cancel.
fn verdict(before: &Comparison, after: &Comparison, gained: Option<&Gained>) -> record::Verdict {
    let mut taxes = [before, after].into_iter().flat_map(|it| &it.tax);
    if taxes.any(|tax| tax.verdict == record::Verdict::Invalid) {
        return record::Verdict::Invalid;
    }
    let quiet = Alone::from_comparison(before, Epochs::Quiet).zip(Alone::from_comparison(after, Epochs::Quiet));
    let quiet = quiet.map(|(before, after)| after.gained_over(&before).theta);
    let delta = before.schedule.delta_pct / 100.0;
    let judged = |theta: stats::Estimate| {
        let verdict = stats::classify(&theta, delta);
        (verdict, stats::direction(&theta, verdict))
    };
    match (gained.map(|it| judged(it.theta)), quiet.map(judged)) {
        (Some(all), Some(quiet)) if all == quiet => all.0,
        _ => record::Verdict::Inconclusive,
    }
}

#[derive(Clone, Copy)]
enum Epochs {
    All,
    /// Only epochs in which other processes did not take much of the machine.
    Quiet,
}

/// The cost per request (not per batch) in the baseline of one comparison.
struct Alone {
    time_us: stats::Estimate,
    cpu_us: Option<stats::Estimate>,
}

/// How much faster requests are in one comparison than in another, each over its baseline arm.
struct Gained {
    /// ln(rate after / rate before).
    theta: stats::Estimate,
    time_us: Option<stats::Estimate>,
    cpu_us: Option<stats::Estimate>,
}

impl Alone {
    fn from_comparison(comparison: &Comparison, which: Epochs) -> Option<Self> {
        let per_batch = f64::from(comparison.workload.pipeline);
        let alpha = comparison.tax.first()?.alpha;
        let mut epochs = comparison.raw.counts([0, 1], |_| Vec::new());
        if let Epochs::Quiet = which {
            for idx in stats::noisy_epochs(&epochs).into_iter().rev() {
                epochs.remove(idx);
            }
        }
        let cost = Blocks::from_pairs(&[epochs], comparison.connections)?.alone(0, alpha);
        let of_request = |us: stats::Estimate| us.map_monotone(|us| us / per_batch);
        Some(Self { time_us: of_request(cost.time_us?), cpu_us: cost.cpu_us.map(of_request) })
    }

    fn gained_over(&self, before: &Self) -> Gained {
        let ln = |alone: &Self| alone.time_us.map_monotone(|us| us.max(f64::MIN_POSITIVE).ln());
        let cpu = before.cpu_us.zip(self.cpu_us);
        Gained {
            theta: stats::difference(ln(self), ln(before)),
            time_us: Some(stats::difference(self.time_us, before.time_us)),
            cpu_us: cpu.map(|(before, after)| stats::difference(after, before)),
        }
    }
}

fn estimate(saved: &Estimate) -> stats::Estimate {
    stats::Estimate {
        value: saved.value,
        lo: saved.lo.unwrap_or(f64::NEG_INFINITY),
        hi: saved.hi.unwrap_or(f64::INFINITY),
        n: saved.n as usize,
    }
}

/// Converts a figure of the record to another scale.
fn mapped(of: &Figure, f: impl Fn(f64) -> f64) -> Figure {
    match of {
        Figure::Known(known) => plain(Some(estimate(known).map_monotone(f))),
        Figure::Missing(_) => of.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::record::{CpuTicks, Epoch, Raw, Verdict};

    use super::*;
    use crate::analysis::judged::{Question, judge};
    use crate::analysis::made_up;

    /// Makes a comparison with 12 epochs per pair; `counts` has the requests per slice of 50 ms, today's arm first.
    fn comparison(arms: &[&str], counts: &[u64]) -> Comparison {
        let epochs = (1..arms.len()).flat_map(|other| {
            (0..12).map(move |idx| -> Epoch {
                let spread = |count: u64| count + idx % 3;
                let counts = [spread(counts[0]), spread(counts[other])];
                let mut epoch = made_up::epoch(idx, [0, other as u32], counts);
                epoch.cpu_ticks = None;
                epoch
            })
        });
        let raw = Raw { epochs: epochs.collect() };
        let judged = (1..arms.len()).map(|other| {
            let pair = [0, other as u32];
            judge(&Question {
                raw: &raw,
                pair,
                epochs: &raw.counts(pair, |_| Vec::new()),
                arms: [made_up::arm(arms[0]), made_up::arm(arms[other])],
                connections: 1,
                alpha: 0.05,
                delta: 0.01,
                invalid: Vec::new(),
                look: Some(0),
                stopped_early: false,
            })
        });
        let judged: Vec<_> = judged.collect();
        let pairs = { judged.iter().enumerate() }.map(|(idx, it)| ([0, idx as u32 + 1], it.arms.clone()));
        Comparison {
            arms: crate::analysis::judged::arms(pairs),
            tax: judged.iter().map(|it| it.tax.clone()).collect(),
            raw: raw.clone(),
            ..made_up::comparison()
        }
    }

    fn found(comparisons: &[Comparison]) -> Vec<(RemedyKind, f64, Verdict)> {
        found_for("tcp", comparisons)
    }

    fn found_for(today: &str, comparisons: &[Comparison]) -> Vec<(RemedyKind, f64, Verdict)> {
        let all = rank_remedies(comparisons, today);
        let [remedies] = all.as_slice() else { panic!("{all:?}") };
        let gain = |it: &Remedy| it.gain_pct.known().map_or(f64::NAN, |it| it.value.round());
        { remedies.remedies.iter() }.map(|it| (it.kind, gain(it), it.verdict)).collect()
    }

    #[test]
    fn ways_are_ranked_by_what_leaving_today_s_or_keeping_it_brings() {
        let arms = comparison(&["tcp", "unix", "tls", "proxy", "tcp6"], &[4_000, 5_000, 3_200, 2_000, 4_000]);
        let expected = [
            (RemedyKind::Unix, 25.0, Verdict::Difference),
            (RemedyKind::HostNetwork, 100.0, Verdict::Difference),
            (RemedyKind::TlsOff, 25.0, Verdict::Difference),
        ];
        assert_eq!(found(std::slice::from_ref(&arms)), expected);
        let remedies = &rank_remedies(&[arms], "tcp")[0].remedies;
        assert_eq!((remedies[1].from.as_str(), remedies[1].to.as_str()), ("proxy", "tcp"));
        // 50 ms / 4,000 = 12.5 µs, and 50 ms / 5,000 = 10 µs.
        let saved = remedies[0].saved_us.known().unwrap();
        assert!((saved.value - 2.5).abs() < 0.01, "{saved:?}");
        assert!(saved.lo.unwrap() > 2.4 && saved.hi.unwrap() < 2.6, "{saved:?}");
    }

    #[test]
    fn a_program_with_tls_on_the_socket_gains_by_ending_it_there() {
        let on_socket = comparison(&["tls-unix", "unix", "tls"], &[3_200, 4_000, 3_000]);
        assert_eq!(found_for("tls-unix", &[on_socket]), [(RemedyKind::TlsOff, 25.0, Verdict::Difference)]);
        let over_tcp = comparison(&["tls", "unix", "tls-unix"], &[3_200, 4_000, 3_600]);
        let expected = [(RemedyKind::Unix, 25.0, Verdict::Difference), (RemedyKind::Unix, 12.0, Verdict::Difference)];
        assert_eq!(found_for("tls", &[over_tcp]), expected);
    }

    #[test]
    fn what_has_a_comparison_of_its_own_is_held_against_the_first() {
        let arms = comparison(&["tcp", "unix"], &[4_000, 4_000]);
        let changed = |counts: &[u64], change: fn(&mut Comparison)| {
            let mut other = comparison(&["tcp", "unix"], counts);
            change(&mut other);
            other
        };
        let batches = changed(&[1_000, 1_000], |comparison| {
            comparison.workload.pipeline = 16;
            comparison.remedy = Some(RemedyKind::Pipelining);
        });
        let fresh = changed(&[500, 800], |it| it.remedy = Some(RemedyKind::Persistent));
        let free = changed(&[8_000, 9_000], |it| it.remedy = Some(RemedyKind::OneCore));
        let split = changed(&[1_000, 1_000], |it| it.remedy = Some(RemedyKind::TwoCores));
        let other = changed(&[1_000, 1_000], |it| it.connections = 2);
        assert_eq!(
            found(&[arms.clone(), batches, fresh, free, split]),
            [
                (RemedyKind::Pipelining, 300.0, Verdict::Difference),
                (RemedyKind::Unix, 0.0, Verdict::Equivalent),
                (RemedyKind::OneCore, -50.0, Verdict::Difference),
                (RemedyKind::TwoCores, -75.0, Verdict::Difference),
                (RemedyKind::Persistent, 699.0, Verdict::Difference),
            ]
        );
        assert_eq!(rank_remedies(&[arms, other], "tcp").len(), 2, "one for each number of connections");
    }

    #[test]
    fn what_is_measured_apart_is_not_decided_where_others_took_the_machine() {
        let arms = comparison(&["tcp", "unix"], &[4_000, 4_000]);
        let mut batches = comparison(&["tcp", "unix"], &[1_000, 1_000]);
        batches.workload.pipeline = 16;
        batches.remedy = Some(RemedyKind::Pipelining);
        for epoch in &mut batches.raw.epochs {
            epoch.cpu_ticks = Some(CpuTicks { steal: 40, idle: 100, ..CpuTicks::default() });
        }
        let found = found(&[arms, batches]);
        assert_eq!(found[0], (RemedyKind::Pipelining, 300.0, Verdict::Inconclusive));
    }

    #[test]
    fn without_the_way_of_today_there_is_nothing_to_say() {
        let arms = comparison(&["unix", "tcp"], &[4_000, 4_000]);
        assert_eq!(rank_remedies(&[arms], "tcp"), []);
    }
}
