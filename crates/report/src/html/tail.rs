//! Latency by percentile: the latency on each arm, and what each arm adds to the baseline at each percentile.
//!
//! If the record contains a percentile, the page shows the record's figure, not the figure made from the samples.

use looptax_model::record::{Arm, Comparison, Estimate, Figure, Tax};

use super::markup::TEXT;
use super::shown::{Detail, PercentileShown};
use crate::words::row::is_usable;

/// The percentiles in the table; the chart has more of them.
pub(super) const IN_TABLE: [f64; 8] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.99];

const RECORDED: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

#[derive(Debug)]
pub(super) struct ArmTail {
    pub(super) arm: String,
    /// Whether the percentiles are of all requests together, and not typical values of shorter parts of the run.
    pub(super) is_pooled: bool,
    pub(super) points: Vec<PercentileShown>,
}

/// The latency that one arm adds to the baseline's.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) arm: String,
    pub(super) baseline: String,
    /// Differences of all requests together: percentile, and µs.
    pub(super) pooled: Vec<(f64, f64)>,
    /// Differences that were judged epoch by epoch: percentile, and figure in µs.
    pub(super) judged: Vec<(f64, Estimate)>,
}

/// Returns the percentiles of every arm that has percentiles. If the percentiles of all requests together are known,
/// returns these percentiles; otherwise the typical values of shorter parts of the run, as in the record.
pub(super) fn arms(comparison: &Comparison, detail: &Detail) -> Vec<ArmTail> {
    let tails = comparison.arms.iter().enumerate().map(|(idx, arm)| {
        let found = detail.distributions.get(idx).and_then(Option::as_ref);
        let mut points = found.map_or_else(Vec::new, |it| it.percentiles.clone());
        let is_pooled = found.is_some() || arm.latency_pooled_us.is_some();
        for (pct, figure) in recorded(arm, is_pooled) {
            if let Some(known) = figure.known() {
                put(&mut points, pct, known);
            }
        }
        ArmTail { arm: TEXT.clean(&arm.name), is_pooled, points }
    });
    tails.filter(|it| !it.points.is_empty()).collect()
}

fn recorded(arm: &Arm, is_pooled: bool) -> Vec<(f64, &Figure)> {
    let typical = &arm.latency_us;
    let figures = match &arm.latency_pooled_us {
        Some(all) => [&all.p50, &all.p90, &all.p99, &all.p999],
        None if is_pooled => return Vec::new(),
        None => [&typical.p50, &typical.p90, &typical.p99, &typical.p999],
    };
    RECORDED.into_iter().zip(figures).collect()
}

/// Inserts a figure of the record, replacing the figure that was made from the samples.
fn put(points: &mut Vec<PercentileShown>, pct: f64, us: &Estimate) {
    let own = PercentileShown { pct, us: us.value, lo_us: us.lo, hi_us: us.hi };
    match points.iter().position(|it| it.pct >= pct - 1e-6) {
        Some(at) if is_same(points[at].pct, pct) => points[at] = own,
        Some(at) => points.insert(at, own),
        None => points.push(own),
    }
}

/// Returns what every arm adds to the baseline; nothing for a verdict that cannot be used.
pub(super) fn added(comparison: &Comparison, tails: &[ArmTail]) -> Vec<Added> {
    let taxes = comparison.tax.iter().filter(|tax| is_usable(tax));
    let added = taxes.map(|tax| {
        let [arm, baseline] = [&tax.arm, &tax.baseline].map(|it| TEXT.clean(it));
        Added { pooled: pooled(tails, &arm, &baseline), judged: judged(tax), arm, baseline }
    });
    added.filter(|it| !it.pooled.is_empty() || !it.judged.is_empty()).collect()
}

fn pooled(tails: &[ArmTail], arm: &str, baseline: &str) -> Vec<(f64, f64)> {
    let find = |name: &str| tails.iter().find(|it| it.arm == name && it.is_pooled);
    let (Some(other), Some(base)) = (find(arm), find(baseline)) else {
        return Vec::new();
    };
    let differences = other.points.iter().filter_map(|point| {
        let base = at(&base.points, point.pct)?;
        Some((point.pct, point.us - base.us))
    });
    differences.collect()
}

fn judged(tax: &Tax) -> Vec<(f64, Estimate)> {
    let figures = &tax.latency_us;
    let all = [&figures.p50, &figures.p90, &figures.p99, &figures.p999];
    let known = RECORDED.into_iter().zip(all).filter_map(|(pct, figure)| Some((pct, *figure.known()?)));
    known.collect()
}

pub(super) fn at(points: &[PercentileShown], pct: f64) -> Option<&PercentileShown> {
    points.iter().find(|it| is_same(it.pct, pct))
}

/// Whether two percentiles are the same. Percentiles come from a list, so two different percentiles differ by far more
/// than rounding errors.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6
}
