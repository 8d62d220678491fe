//! Computes the results that only the comparison of an application's pages has.
//!
//! A slice ends when its pages are answered, so slow pages are not cut off. The time that the supervisor, which moves
//! the application's connections, adds to a page is known for each slice. Called by [`super::judging`].

use crate::record::{self as record, Comparison, Figure, Raw, Trial};
use crate::stats::{
    self as stats, Epoch, Quantile, QuantileComparison, QuantileTax, Side, compare_whole, hodges_lehmann,
};

use crate::analysis::figures::plain;

/// Fills in the figures of a judged trial from its raw epochs; `epochs` are the same epochs with their latencies.
pub(crate) fn complete(comparison: &mut Comparison, epochs: &[Epoch]) {
    let Some(alpha) = comparison.tax.first().map(|tax| tax.alpha) else {
        return;
    };
    let p99 = compare_whole(epochs, Quantile::P99, alpha);
    for (side, arm) in Side::BOTH.into_iter().zip(&mut comparison.arms) {
        arm.latency_us.p99 = figure(&p99, |tax| tax.sides_us[side.idx()]);
    }
    for tax in &mut comparison.tax {
        tax.latency_us.p99 = figure(&p99, |tax| tax.difference_us);
    }
    let p95 = compare_whole(epochs, Quantile::P95, alpha);
    let by_configuration = without_supervisor(&comparison.raw, alpha);
    if let Some(trial) = &mut comparison.trial {
        let trial: &mut Trial = trial;
        trial.p95_us = Side::BOTH.map(|side| figure(&p95, |tax| tax.sides_us[side.idx()]));
        trial.p95_added_us = figure(&p95, |tax| tax.difference_us);
        trial.added_by_configuration_us = by_configuration;
    }
}

fn figure(found: &QuantileComparison, pick: impl Fn(&QuantileTax) -> stats::Estimate) -> Figure {
    match found {
        QuantileComparison::Known(tax) => plain(Some(pick(tax))),
        _ => Figure::missing("too few pages for this percentile"),
    }
}

/// Subtracts the supervisor's time from each slice, then computes how much the other arm adds to a page. The
/// supervisor's time is the time during which the supervisor held connections.
fn without_supervisor(raw: &Raw, alpha: f64) -> Figure {
    let epochs = raw.of_pair([0, 1]);
    let added = epochs.map(|(_, epoch)| bare(epoch)?.contrast(|slice| Some(us_per_page(slice))));
    let added: Option<Vec<f64>> = added.collect();
    match added {
        Some(added) => plain(hodges_lehmann::estimate(&added, alpha)),
        None => Figure::missing("looptax's own time was not measured in every slice"),
    }
}

/// Returns the epoch with the supervisor's time subtracted from its slices; `None` if this time is not known.
fn bare(epoch: &record::Epoch) -> Option<Epoch> {
    let mut bare = epoch.counts();
    for (slice, (_, raw)) in bare.slices.iter_mut().zip(epoch.sided()) {
        slice.active_ns = raw.latency_sum_ns.saturating_sub(raw.supervisor_ns?);
    }
    Some(bare)
}

pub(crate) fn us_per_page(slice: &stats::Slice) -> f64 {
    slice.active_ns as f64 / 1e3 / (slice.completions as f64).max(0.5)
}

#[cfg(test)]
mod tests {
    use crate::record::{Epoch, Slice};

    use super::*;

    /// Makes slices with pages of 2 ms; over the other arm a page takes 100 µs more. Of a page's time, the supervisor
    /// uses 150 µs over the baseline, and 50 µs over the other arm.
    fn epoch(order: &str, knows: bool) -> Epoch {
        let slice = |letter| {
            let (page_us, supervisor_us) = if letter == 'o' { (2_100, 50) } else { (2_000, 150) };
            Slice {
                active_ns: 9_000_000,
                completions: 3,
                latency_sum_ns: 3 * 1_000 * page_us,
                supervisor_ns: knows.then_some(3 * 1_000 * supervisor_us),
                ..Slice::default()
            }
        };
        Epoch { pair: [0, 1], order: order.to_owned(), slices: order.chars().map(slice).collect(), ..Epoch::default() }
    }

    #[test]
    fn what_the_supervisor_takes_is_taken_out_of_both_arms() {
        let orders = ["obboboob", "boobobbo", "obbo"];
        let epochs = |knows: bool| orders.iter().cycle().take(12).map(move |it| epoch(it, knows));
        let raw = Raw { epochs: epochs(true).collect() };
        let found = without_supervisor(&raw, 0.05);
        let found = found.known().unwrap();
        assert!((found.value - 200.0).abs() < 1e-9, "{found:?}");
        assert_eq!((found.lo, found.hi), (Some(200.0), Some(200.0)));
        let raw = Raw { epochs: epochs(true).chain([epoch("obbo", false)]).collect() };
        assert!(without_supervisor(&raw, 0.05).known().is_none());
    }
}
