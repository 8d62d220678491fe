//! Computes how long requests took, in each look (a part of a snapshot's time) and in total.

use crate::record::WatchedHop;
use crate::stats::{Estimate, Times, serial_mean};

/// Level of the intervals.
pub(super) const ALPHA: f64 = 0.05;

/// The logarithms of the times, in µs, with intervals.
#[derive(Default)]
pub(super) struct Series {
    pub(super) mean: Option<Estimate>,
    pub(super) p50: Option<Estimate>,
    pub(super) p99: Option<Estimate>,
}

/// Computes the mean and the quantiles of all requests, as `watch` reports them. The intervals come from the variation
/// between looks.
pub(super) fn series(group: &[&WatchedHop]) -> Series {
    let n_looks = group.iter().map(|it| it.looks.len()).max().unwrap_or(0);
    let looks = (0..n_looks).map(|idx| {
        let mut times = Times::default();
        group.iter().filter_map(|it| it.looks.get(idx)).for_each(|it| times.add(&it.times));
        times
    });
    let looks: Vec<Times> = looks.filter(|it| it.n() > 0).collect();
    let mut all = Times::default();
    for look in &looks {
        all.add(look);
    }
    let Some(mean_ns) = all.mean_ns().filter(|it| *it > 0.0) else {
        return Series::default();
    };
    // The contribution of each look to the mean. The mean is a ratio of two sums; the contribution is its linear
    // approximation.
    let per_look = all.n() as f64 / looks.len() as f64;
    let shares = looks.iter().map(|it| (it.sum_ns() as f64 / mean_ns - it.n() as f64) / per_look);
    let quantile = |quantile: f64| {
        let logs = looks.iter().filter_map(|it| it.quantile_ns(quantile)).map(f64::ln);
        around(all.quantile_ns(quantile)?, &logs.collect::<Vec<_>>())
    };
    Series { mean: around(mean_ns, &shares.collect::<Vec<_>>()), p50: quantile(0.5), p99: quantile(0.99) }
}

/// Returns the logarithm of the time `ns`, which is first converted to µs. The interval is as wide as the interval of
/// the mean of `values`; the values are on the same scale as the logarithm.
fn around(ns: f64, values: &[f64]) -> Option<Estimate> {
    let (found, ln_us) = (serial_mean(values, ALPHA)?, (ns / 1e3).ln());
    let half = found.half_width();
    Some(Estimate { value: ln_us, lo: ln_us - half, hi: ln_us + half, n: found.n })
}
