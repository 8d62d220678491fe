//! Computes the cost of the other arm divided by the cost of the baseline: by rate, by response times, or by the
//! spread of response times.
//!
//! The statistics are the same as in every comparison: one figure per epoch, Hodges and Lehmann's estimate over the
//! epochs, and the level of the interim analysis at which the run stopped. This file does not use published numbers.

use crate::record::{Arm, Comparison, Figure, ReproductionSide, Samples, SideUnit, Tax};
use crate::stats::{Epoch, Quantile, QuantileComparison as Compared, Side, Slice, compare, deviation, hodges_lehmann};
use serde::Deserialize;

use super::figures::plain;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The amount of work per unit of time, or the time for a fixed amount of work.
    #[default]
    Rate,
    /// The mean time of a request.
    Mean,
    /// The median time of a request.
    P50,
    /// The 99th percentile of the times.
    P99,
    /// The 99.9th percentile of the times.
    P999,
    /// The standard deviation of the times.
    Spread,
}

#[derive(Debug)]
pub struct Found {
    /// Cost of the other arm divided by the cost of the baseline.
    pub ratio: Figure,
    pub sides: [ReproductionSide; 2],
}

/// Computes the effect for the tax with this index in the comparison.
///
/// `unpack` turns the packed latencies of the record into nanoseconds.
pub fn estimate_effect(
    comparison: &Comparison,
    tax_idx: usize,
    effect: Effect,
    unpack: impl FnMut(&Samples) -> Vec<u32>,
) -> Found {
    let tax = &comparison.tax[tax_idx];
    let arm_idx = tax_idx + 1;
    if effect == Effect::Rate {
        return Found {
            ratio: map(&tax.theta, f64::exp),
            sides: [0, arm_idx].map(|idx| side_of(comparison, &comparison.arms[idx])),
        };
    }
    let epochs = comparison.raw.counts([0, arm_idx as u32], unpack);
    let (ratio, sides) = match effect {
        Effect::P50 => by_quantile(&epochs, Quantile::P50, tax),
        Effect::P99 => by_quantile(&epochs, Quantile::P99, tax),
        Effect::P999 => by_quantile(&epochs, Quantile::P999, tax),
        Effect::Spread => by_epoch(tax, Side::BOTH.map(|side| spreads_us(&epochs, side))),
        Effect::Mean | Effect::Rate => {
            let connections = comparison.connections;
            let means = Side::BOTH.map(|side| means_us(&epochs, side, connections));
            by_epoch(tax, means)
        }
    };
    Found { ratio, sides: sides.map(|figure| ReproductionSide { figure, unit: SideUnit::Us }) }
}

/// Returns the arm's own rate or, for a command that is measured as a whole, the time that the command takes over this
/// arm.
fn side_of(comparison: &Comparison, arm: &Arm) -> ReproductionSide {
    let per_s = |times: f64| map(&arm.throughput_per_s, |rate| rate * times);
    let stream = comparison.workload.stream.as_ref();
    let (figure, unit) = if comparison.is_of_program() {
        (arm.latency_us.mean.clone(), SideUnit::Us)
    } else if let Some(stream) = stream {
        (per_s(stream.bytes as f64), SideUnit::BytesPerS)
    } else {
        let per_request = comparison.workload.pipeline;
        (per_s(f64::from(per_request)), SideUnit::PerS)
    };
    ReproductionSide { figure, unit }
}

/// Computes the ratio of two arms' figures, and each arm's own figure, from one figure per arm and epoch.
fn by_epoch(tax: &Tax, sides: [Vec<Option<f64>>; 2]) -> (Figure, [Figure; 2]) {
    let [baseline, other] = &sides;
    let logs = baseline.iter().zip(other);
    let logs: Vec<f64> = logs
        .filter_map(|(baseline, other)| Some((other.as_ref()? / baseline.as_ref()?).ln()))
        .filter(|log| log.is_finite())
        .collect();
    let ratio = map(&typical(&logs, tax.alpha), f64::exp);
    let sides = sides.map(|side| {
        let known: Vec<f64> = side.into_iter().flatten().collect();
        typical(&known, tax.alpha)
    });
    (ratio, sides)
}

fn by_quantile(epochs: &[Epoch], quantile: Quantile, tax: &Tax) -> (Figure, [Figure; 2]) {
    match compare(epochs, quantile, tax.alpha) {
        Compared::Known(found) => {
            (map(&plain(Some(found.ln_ratio)), f64::exp), found.sides_us.map(|it| plain(Some(it))))
        }
        Compared::NotEnough { .. } => missing("too few requests for this percentile"),
        Compared::SliceTooShort { .. } => missing("slices too short for the slowest requests"),
    }
}

fn missing(why: &str) -> (Figure, [Figure; 2]) {
    let none = || Figure::missing(why);
    (none(), [none(), none()])
}

/// Returns one arm's mean response time in each epoch, µs; for a closed loop it is computed from the rate and the
/// number of connections.
fn means_us(epochs: &[Epoch], side: Side, connections: u32) -> Vec<Option<f64>> {
    let of_slice = |slice: &Slice| {
        let n = slice.completions.max(1) as f64;
        let ns = match slice.response {
            Some(response) => response.sum_ns as f64,
            None => slice.active_ns as f64 * f64::from(connections),
        };
        Some(ns / n / 1e3)
    };
    let of_epoch = |epoch: &Epoch| epoch.typical(side, of_slice);
    epochs.iter().map(of_epoch).collect()
}

/// Returns the standard deviation of one arm's response times in each epoch, µs.
fn spreads_us(epochs: &[Epoch], side: Side) -> Vec<Option<f64>> {
    let of_epoch = |epoch: &Epoch| {
        let samples = epoch.latencies_ns[side.idx()].iter();
        let samples_ns: Vec<f64> = samples.map(|ns| f64::from(*ns)).collect();
        Some(deviation(&samples_ns)? / 1e3)
    };
    epochs.iter().map(of_epoch).collect()
}

fn typical(values: &[f64], alpha: f64) -> Figure {
    plain(hodges_lehmann::estimate(values, alpha))
}

/// Applies an increasing function `f` to a figure and to the ends of its interval.
pub fn map(of: &Figure, f: impl Fn(f64) -> f64) -> Figure {
    match of {
        Figure::Known(it) => {
            Figure::new(f(it.value), it.lo.map_or(f64::NEG_INFINITY, &f), it.hi.map_or(f64::INFINITY, &f), it.n)
        }
        Figure::Missing(_) => of.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_that_of_single_latencies() {
        let epoch = Epoch { slices: Vec::new(), latencies_ns: [vec![1_000, 3_000, 5_000], vec![7]], noise: None };
        let epochs = [epoch];
        assert_eq!(spreads_us(&epochs, Side::Baseline), [Some(2.0)]);
        assert_eq!(spreads_us(&epochs, Side::Other), [None]);
    }

    #[test]
    fn an_open_end_stays_open() {
        let open = Figure::new(0.0, f64::NEG_INFINITY, 1.0, 3);
        let found = map(&open, |it| it + 1.0);
        assert_eq!(found, Figure::new(1.0, f64::NEG_INFINITY, 2.0, 3));
    }
}
