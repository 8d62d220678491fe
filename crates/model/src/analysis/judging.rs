//! Judges a comparison of a record from its raw numbers.
//!
//! `compare` and `show` both call [`judge`], which reads only the record. So the verdicts of a live run and of its
//! later analysis are the same, bit for bit.

use crate::record;
use crate::stats::{Estimate, selfcheck};
use record::{Comparison, Samples};

use crate::analysis::judged::{self, Question};
use crate::analysis::proved_arm::ProvedArm;
use crate::analysis::{bill, trial, validity, why};

/// How the measurement of one pair of arms ended: facts that its raw numbers do not contain.
pub struct Ending {
    /// The reasons why the pair's result is invalid, in addition to the reasons that raw data and proofs show.
    pub invalid: Vec<String>,
    /// The interim analysis at which the measurement stopped, counted from 0; `None` if the measurement was
    /// interrupted.
    pub look: Option<u32>,
    pub alpha: f64,
    /// Whether more interim analyses were planned.
    pub stopped_early: bool,
}

impl Ending {
    /// Returns the ending that a judged record contains. A reason that made the run invalid is a fact, so it is kept.
    fn of_record(tax: &record::Tax) -> Self {
        Self {
            invalid: match &tax.reason {
                record::Reason::Invalid { reasons } => reasons.clone(),
                _ => Vec::new(),
            },
            look: tax.look,
            alpha: tax.alpha,
            stopped_early: tax.stopped_early,
        }
    }
}

/// Judges a comparison of a record again; `unpack` turns its packed latencies into nanoseconds.
pub fn judge_again(comparison: &mut Comparison, unpack: &mut dyn FnMut(&Samples) -> Vec<u32>) {
    let arms: Vec<ProvedArm> = comparison.arms.iter().map(ProvedArm::from).collect();
    let endings: Vec<Ending> = comparison.tax.iter().map(Ending::of_record).collect();
    judge(comparison, &arms, &endings, unpack);
}

/// Judges a comparison from its raw epochs. `arms` has the baseline first; `endings` has one entry for each other arm.
pub fn judge(
    comparison: &mut Comparison,
    arms: &[ProvedArm],
    endings: &[Ending],
    unpack: &mut dyn FnMut(&Samples) -> Vec<u32>,
) {
    let mut judged_arms = Vec::new();
    comparison.tax.clear();
    comparison.warnings.clear();
    comparison.stalls.clear();
    for (idx, (arm, ending)) in arms.iter().skip(1).zip(endings).enumerate() {
        let pair = [0, idx as u32 + 1];
        let epochs = comparison.raw.counts(pair, &mut *unpack);
        let judged = judged::judge(&Question {
            raw: &comparison.raw,
            pair,
            epochs: &epochs,
            arms: [arms[0].clone(), arm.clone()],
            connections: comparison.connections,
            alpha: ending.alpha,
            delta: comparison.schedule.delta_pct / 100.0,
            invalid: ending.invalid.clone(),
            look: ending.look,
            stopped_early: ending.stopped_early,
        });
        let mut tax = judged.tax;
        if comparison.is_of_program() {
            // A program gets to the socket through a mechanism that uses CPU time; this time does not belong to the
            // transport.
            tax.dearer_by_cpu = None;
        }
        comparison.tax.push(tax);
        comparison.warnings.extend(judged.warnings);
        comparison.stalls.extend(judged.stalls);
        judged_arms.push((pair, judged.arms));
    }
    let miscounted = comparison.server_count.as_ref().and_then(validity::miscounted);
    comparison.warnings.extend(miscounted);
    comparison.arms = judged::arms(judged_arms);
    comparison.bill = bill_of(comparison);
    if comparison.trial.is_some() {
        let epochs = comparison.raw.counts([0, 1], unpack);
        trial::complete(comparison, &epochs);
    }
    why::complete(comparison);
}

/// Returns how much the arms add to each other. The intervals have the smallest of the levels at which the pairs
/// stopped.
fn bill_of(comparison: &Comparison) -> Option<record::Bill> {
    let names: Vec<String> = { comparison.arms.iter() }.map(|arm| arm.name.clone()).collect();
    let alphas = comparison.tax.iter().map(|tax| tax.alpha);
    let alpha = alphas.fold(f64::INFINITY, f64::min);
    let is_of_requests = !comparison.is_of_program();
    let is_valid = |tax: &record::Tax| tax.verdict != record::Verdict::Invalid;
    let can_be = is_of_requests && comparison.tax.iter().all(is_valid);
    let bill = || bill::bill_for(&comparison.raw, &names, comparison.connections, alpha);
    can_be.then(bill).flatten()
}

/// Saves the difference of two comparisons' taxes in the later comparison. The two comparisons differ only in the
/// length of their slices; the earlier comparison has the shorter slices.
pub fn compare_slice_lengths(comparisons: &mut [Comparison]) {
    for later in 1..comparisons.len() {
        let (before, rest) = comparisons.split_at_mut(later);
        let second = &mut rest[0];
        let Some(first) = before.iter().find(|first| differ_in_slices_alone(first, second)) else {
            continue;
        };
        for (one, two) in first.tax.iter().zip(&mut second.tax) {
            let (Some(a), Some(b)) = (estimate(&one.throughput_pct), estimate(&two.throughput_pct)) else {
                continue;
            };
            let found = selfcheck::slice_length(&a, &b, one.alpha).difference;
            two.diagnostics.slice_invariance_pct =
                Some(record::Figure::new(found.value, found.lo, found.hi, found.n as u64));
        }
    }
}

fn differ_in_slices_alone(one: &Comparison, two: &Comparison) -> bool {
    one.target == two.target
        && one.workload == two.workload
        && one.load == two.load
        && one.connections == two.connections
        && one.placement == two.placement
        && one.client == two.client
        && one.schedule.slice_ms < two.schedule.slice_ms
}

fn estimate(figure: &record::Figure) -> Option<Estimate> {
    let known = figure.known()?;
    Some(Estimate { value: known.value, lo: known.lo?, hi: known.hi?, n: known.n as usize })
}
