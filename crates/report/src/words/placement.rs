//! Checks whether the choice of cores changes the rate more than the choice of transport.
//!
//! Compares the baseline's rates under different placements at the same number of connections. These rates were not
//! measured in one interleaved run, so the factor between them has no interval. The factor is the smallest that fits
//! both ranges of rates, and it is reported only if it is large.

use looptax_model::record::{Comparison, LookArm, Placement, Tax, Verdict};

use super::group::Group;
use crate::format::{counted, times};

/// Minimum factor that is reported; a smaller factor between separate runs may be due only to drift.
const WORTH_NAMING: f64 = 1.5;

/// A rate of the baseline arm under one placement.
struct Rate {
    connections: u32,
    placement: Placement,
    /// The lowest and the highest value that the rate may have, in requests per second.
    per_s: [f64; 2],
    is_judged: bool,
}

/// Returns the sentence, if the placement matters more than the transport.
pub(crate) fn line(group: &Group) -> Option<String> {
    let rates = rates(group);
    let mut best: Option<(f64, &Rate, &Rate)> = None;
    for fast in &rates {
        let slower = |slow: &&Rate| slow.connections == fast.connections && slow.per_s[1] < fast.per_s[0];
        for slow in rates.iter().filter(slower) {
            let factor = fast.per_s[0] / slow.per_s[1];
            if best.as_ref().is_none_or(|(known, ..)| factor > *known) {
                best = Some((factor, fast, slow));
            }
        }
    }
    let (factor, fast, slow) = best?;
    let of_transport = transport_factor(group, fast.connections);
    (factor >= WORTH_NAMING && factor > of_transport).then(|| {
        let (fast_name, slow_name) = (fast.placement, slow.placement);
        let connections = counted(u64::from(fast.connections), "connection");
        let factor = times(factor);
        let seen = if fast.is_judged && slow.is_judged { "" } else { " (seen, not judged)" };
        format!(
            "placement matters more than transport here: {fast_name} has {factor} the rate of {slow_name} at \
                {connections}{seen}"
        )
    })
}

fn rates(group: &Group) -> Vec<Rate> {
    let judged = group.comparisons.iter().filter(|it| is_usable(it)).filter_map(|comparison| {
        let baseline = &comparison.tax.first()?.baseline;
        let arm = comparison.arms.iter().find(|arm| &arm.name == baseline)?;
        let per_s = [arm.throughput_per_s.known()?.value; 2];
        Some(Rate {
            connections: comparison.connections,
            placement: comparison.placement.asked,
            per_s,
            is_judged: true,
        })
    });
    let mut taxes = group.comparisons.iter().flat_map(|it| &it.tax);
    let baseline = taxes.next().map(|tax| tax.baseline.as_str());
    let seen = group.looks.iter().filter_map(|look| {
        let is_baseline = |arm: &&LookArm| Some(arm.name.as_str()) == baseline;
        let arm = look.arms.iter().find(is_baseline).or(look.arms.first())?;
        // If no reply arrived for a while, the pause explains the range, not the placement.
        if arm.rate_100ms_per_s.min <= 0.0 {
            return None;
        }
        let range = arm.rate_100ms_per_s;
        Some(Rate {
            connections: look.connections,
            placement: look.placement.asked,
            per_s: [range.min, range.max],
            is_judged: false,
        })
    });
    judged.chain(seen).filter(|rate| rate.per_s[0] > 0.0).collect()
}

/// Returns the largest factor between two arms at this number of connections, no matter which arm is faster.
fn transport_factor(group: &Group, connections: u32) -> f64 {
    let usable = group.comparisons.iter().filter(|it| is_usable(it) && it.connections == connections);
    let thetas = usable.flat_map(|it| &it.tax).filter_map(|tax| tax.theta.known());
    thetas.map(|theta| theta.value.abs().exp()).fold(1.0, f64::max)
}

/// Whether all verdicts are usable: the factor needs rates of comparisons with usable verdicts.
fn is_usable(comparison: &Comparison) -> bool {
    let is_told =
        |tax: &Tax| !matches!(tax.verdict, Verdict::Invalid | Verdict::Inconclusive) && tax.uncertain_size.is_none();
    comparison.tax.iter().all(is_told)
}
