//! Attempts to find a message that takes 1,133 µs over TCP: different patterns of writes, Nagle's algorithm, two cores.
//!
//! The attempts are not comparisons: they are short, not pinned, and without a verdict. Their aim is to find a cause,
//! not a size.

use looptax_bench::{Pattern, run_pattern};
use looptax_model::analysis::claim::Says;
use looptax_model::analysis::effect::{Effect, map};
use looptax_model::record::{Figure, ReproductionFinding, ReproductionPart, ReproductionTrial};
use looptax_model::stats::hodges_lehmann;

use super::super::publication::Publication;
use super::super::reading::Reading;
use super::super::{Amounts, Runner};

/// A time counts as close to the published time if the two differ by at most this factor.
const NEAR: f64 = 2.0;
const ALPHA: f64 = 0.05;

/// Number of writes that share one delayed acknowledgement, which comes after 40 ms: about a millisecond for each
/// write.
const BURST: usize = 36;

const PATTERNS: [(&str, Pattern); 5] = [
    ("one write, one answer, TCP_NODELAY", pattern(1, true)),
    ("one write, one answer, without TCP_NODELAY (Nagle)", pattern(1, false)),
    ("two writes, one answer, TCP_NODELAY", pattern(2, true)),
    ("two writes, one answer, without TCP_NODELAY: the second waits for a delayed acknowledgement", pattern(2, false)),
    (
        "36 writes, one answer, without TCP_NODELAY: 37 messages share the same wait, and the number 37 was chosen to \
         fit",
        pattern(BURST, false),
    ),
];

const fn pattern(writes: usize, is_nodelay: bool) -> Pattern {
    Pattern { writes, is_nodelay }
}

/// Tries all patterns. The result with the two ends on two cores is taken from the comparisons.
pub(super) fn add(
    part: &mut ReproductionPart,
    publication: &Publication,
    split: Option<&Reading>,
    amounts: &Amounts,
    runner: &Runner<'_>,
) {
    let published_us = published_us(publication);
    let n_blocks = if amounts.epochs.is_some() { 6 } else { 10 };
    for (what, pattern) in PATTERNS {
        if runner.is_interrupted() {
            return;
        }
        match run_pattern(pattern, n_blocks) {
            Ok(run) => {
                let mean_us = run.ns_per_message.map(|ns| mean_us(&ns));
                part.trials.push(trial(what, mean_us, run.n_messages, published_us));
            }
            Err(error) => part.missing.push(format!("{what}: {error}")),
        }
    }
    let two_cores = split.and_then(|it| two_cores(it, published_us));
    part.trials.extend(two_cores);
    let near = part.trials.iter().filter(|trial| trial.is_near);
    part.findings
        .push(ReproductionFinding::Near { published_us, trials: near.map(|trial| trial.what.clone()).collect() });
}

/// Returns the published time of a message over TCP, in µs.
fn published_us(publication: &Publication) -> f64 {
    let of_message = publication.rows.iter().find(|row| row.effect == Effect::Mean);
    match of_message.and_then(|row| row.claim.as_ref()).map(|it| it.says) {
        Some(Says::Times { tcp, .. }) => tcp,
        _ => f64::NAN,
    }
}

/// Returns the result with the two ends on two cores. A round trip has two messages, and the published figure is for
/// one message, so the time is halved.
fn two_cores(reading: &Reading, published_us: f64) -> Option<ReproductionTrial> {
    let comparison = reading.record.comparisons.first()?;
    let slices = comparison.raw.epochs.iter().flat_map(|epoch| &epoch.slices);
    let n_requests: u64 = slices.map(|slice| slice.requests).sum();
    let [unix, tcp, ..] = &comparison.arms[..] else {
        return None;
    };
    let per_message = |figure: &Figure| map(figure, |us| us / 2.0);
    let means = [unix, tcp].map(|arm| per_message(&arm.latency_us.mean));
    Some(trial("one write, one answer, TCP_NODELAY, the ends pinned to two cores", means, 2 * n_requests, published_us))
}

fn trial(what: &str, mean_us: [Figure; 2], n_messages: u64, published_us: f64) -> ReproductionTrial {
    let is_near = |us: f64| us > published_us / NEAR && us < published_us * NEAR;
    ReproductionTrial {
        what: what.to_owned(),
        is_near: mean_us[1].known().is_some_and(|it| is_near(it.value)),
        mean_us,
        n_messages,
    }
}

fn mean_us(blocks_ns: &[u64]) -> Figure {
    let us: Vec<f64> = blocks_ns.iter().map(|ns| *ns as f64 / 1e3).collect();
    match hodges_lehmann::estimate(&us, ALPHA) {
        Some(it) => Figure::new(it.value, it.lo, it.hi, it.n as u64),
        None => Figure::missing("nothing was sent"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduction::Part;

    #[test]
    fn what_is_within_a_factor_of_two_is_near() {
        let publication = Publication::for_part(Part::named("moonen").unwrap());
        let published_us = published_us(publication);
        let is_near = |us: f64| {
            let means = [Figure::new(1.0, 1.0, 1.0, 6), Figure::new(us, us, us, 6)];
            trial("an attempt", means, 10, published_us).is_near
        };
        assert!(!is_near(7.0) && is_near(1_100.0) && !is_near(2_300.0));
    }
}
