//! Measurements along the number of connections or along a rate: the series for the charts of a sweep.
//!
//! A series consists of the comparisons of a group that differ only in this number or rate.

use looptax_model::record::{Arm, Comparison, Estimate, Figure, Tax};

use super::markup::TEXT;
use crate::words::row::tax_words;
use crate::words::sweep::LEAST_POINTS;

#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) axis: &'static str,
    /// The cleaned names of the arms, in their order.
    pub(super) arms: Vec<String>,
    pub(super) series: Vec<Series>,
}

/// One figure of all arms along the axis.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// Whether the values of the figure differ by orders of magnitude.
    pub(super) is_log: bool,
    pub(super) points: Vec<Point>,
}

/// An arm's figure at one place on the axis.
#[derive(Debug)]
pub(super) struct Point {
    pub(super) at: f64,
    pub(super) arm: String,
    /// The figure in the unit of the series.
    pub(super) figure: Estimate,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Axis {
    Connections,
    Share,
    Rate,
}

/// Returns the sweep of these comparisons; `None` if they are not a sweep.
pub(super) fn sweep_for(comparisons: &[&Comparison]) -> Option<Sweep> {
    let placement = comparisons.first()?.placement.asked;
    let alike = comparisons.iter().filter(|it| it.placement.asked == placement && !it.is_of_program());
    let alike: Vec<&Comparison> = alike.copied().collect();
    let axis = [Axis::Connections, Axis::Share, Axis::Rate]
        .into_iter()
        .find(|axis| n_distinct(&alike, *axis) >= LEAST_POINTS)?;
    let mut arms: Vec<String> = Vec::new();
    for arm in alike.iter().flat_map(|it| &it.arms) {
        let name = TEXT.clean(&arm.name);
        if !arms.contains(&name) {
            arms.push(name);
        }
    }
    let is_flat_out = alike.iter().all(|it| it.load.is_flat_out());
    let mut series = if is_flat_out {
        vec![throughput(&alike, axis), mean_latency(&alike, axis)]
    } else {
        vec![median(&alike, axis), p99(&alike, axis)]
    };
    series.push(taxes(&alike, axis));
    series.retain(|it| !it.points.is_empty());
    Some(Sweep { axis: axis.name(), arms, series })
}

impl Axis {
    fn name(self) -> &'static str {
        match self {
            Self::Connections => "number of connections",
            Self::Share => "load, % of what the slower arm can serve",
            Self::Rate => "load, requests per second",
        }
    }

    fn at(self, comparison: &Comparison) -> Option<f64> {
        match self {
            Self::Connections => (comparison.load.rate_per_s.is_none()).then(|| f64::from(comparison.connections)),
            Self::Share => comparison.load.share_pct,
            Self::Rate => comparison.load.rate_per_s,
        }
    }
}

fn n_distinct(comparisons: &[&Comparison], axis: Axis) -> usize {
    let mut found: Vec<f64> = comparisons.iter().filter_map(|it| axis.at(it)).collect();
    found.sort_by(f64::total_cmp);
    found.dedup();
    found.len()
}

fn throughput(comparisons: &[&Comparison], axis: Axis) -> Series {
    let bytes = |it: &Comparison| it.workload.stream.as_ref().map(|stream| stream.bytes);
    let is_stream = comparisons.iter().any(|it| bytes(it).is_some());
    let shown = |comparison: &Comparison, arm: &Arm| {
        let per_s = arm.throughput_per_s.known()?;
        Some(match bytes(comparison) {
            Some(bytes) => (scaled(per_s, bytes as f64), TEXT.byte_rate_interval(per_s, bytes)),
            None => (*per_s, TEXT.rate_interval(per_s)),
        })
    };
    let unit = if is_stream { "bytes per second" } else { "requests per second" };
    of_arms(["Throughput", unit], false, comparisons, axis, shown)
}

fn mean_latency(comparisons: &[&Comparison], axis: Axis) -> Series {
    let shown = |_: &Comparison, arm: &Arm| micros(&arm.latency_us.mean);
    of_arms(["Mean latency", "µs"], true, comparisons, axis, shown)
}

fn median(comparisons: &[&Comparison], axis: Axis) -> Series {
    let shown = |_: &Comparison, arm: &Arm| micros(&arm.latency_us.p50);
    of_arms(["Median response time", "µs"], true, comparisons, axis, shown)
}

fn p99(comparisons: &[&Comparison], axis: Axis) -> Series {
    let shown = |_: &Comparison, arm: &Arm| {
        let pooled = arm.latency_pooled_us.as_ref().map(|it| &it.p99);
        micros(pooled.unwrap_or(&arm.latency_us.p99))
    };
    let title = ["p99 of the response time", "µs"];
    of_arms(title, true, comparisons, axis, shown)
}

fn micros(figure: &Figure) -> Option<(Estimate, String)> {
    let us = figure.known()?;
    Some((*us, TEXT.micros_interval(us)))
}

fn of_arms(
    [name, unit]: [&'static str; 2],
    is_log: bool,
    comparisons: &[&Comparison],
    axis: Axis,
    shown: impl Fn(&Comparison, &Arm) -> Option<(Estimate, String)>,
) -> Series {
    let of_comparison = |comparison: &&Comparison| {
        let at = axis.at(comparison);
        let points = comparison.arms.iter().filter_map(|arm| {
            let (figure, text) = shown(comparison, arm)?;
            let arm = TEXT.clean(&arm.name);
            Some(Point { at: at?, arm, figure, text })
        });
        points.collect::<Vec<_>>()
    };
    Series { name, unit, is_log, points: comparisons.iter().flat_map(of_comparison).collect() }
}

fn taxes(comparisons: &[&Comparison], axis: Axis) -> Series {
    let of_comparison = |comparison: &&Comparison| {
        let at = axis.at(comparison);
        let taxes = comparison.tax.iter().filter(|tax| tax.has_size());
        let points = taxes.filter_map(|tax: &Tax| {
            let pct = tax.throughput_pct.known()?;
            Some(Point {
                at: at?,
                arm: TEXT.clean(&tax.arm),
                figure: *pct,
                text: tax_words(tax, TEXT).unwrap_or_default(),
            })
        });
        points.collect::<Vec<_>>()
    };
    Series { name: "Tax", unit: "tax, %", is_log: false, points: comparisons.iter().flat_map(of_comparison).collect() }
}

fn scaled(estimate: &Estimate, by: f64) -> Estimate {
    Estimate {
        value: estimate.value * by,
        lo: estimate.lo.map(|lo| lo * by),
        hi: estimate.hi.map(|hi| hi * by),
        n: estimate.n,
    }
}
