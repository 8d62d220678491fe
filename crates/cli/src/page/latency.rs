//! Turns the latencies of single requests into percentiles. Reads one block after the other, so that at most one block
//! is in memory.
//!
//! The latencies are counted in histograms with four digits, so the error of a percentile is at most one
//! ten-thousandth.

use std::fmt::Write;
use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use looptax_model::record::{Comparison, Record, Samples};
use looptax_model::stats::order_statistic_ranks;
use looptax_report::html::{Distribution, PercentileShown};
use looptax_store::{StoreError, unpack};

const DIGITS: u8 = 4;
/// The percentiles to show: close together in the tail, where arms differ.
const PERCENTILES: [f64; 38] = [
    1.0, 5.0, 10.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 92.0, 94.0, 95.0, 96.0, 97.0,
    98.0, 98.5, 99.0, 99.2, 99.4, 99.5, 99.6, 99.7, 99.8, 99.85, 99.9, 99.92, 99.94, 99.95, 99.96, 99.97, 99.98,
    99.985, 99.99,
];
/// A percentile is shown only if at least this many requests were slower.
const LEAST_BEYOND: f64 = 5.0;

/// The distributions of latencies for the comparisons in a record, and the log of their histograms.
pub(super) struct Latencies {
    log: String,
    has_samples: bool,
    n_comparisons: usize,
}

impl Latencies {
    pub(super) fn new(record: &Record) -> Self {
        let mut log = "#[Histogram log format version 1.3]\n".to_owned();
        let started = record.started_at.replace(char::is_control, " ");
        let _ = writeln!(log, "#[latencies in ns; run of {started}]");
        log.push_str("#[StartTime: 0.000 (seconds since the comparison began)]\n");
        log.push_str("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n");
        Self { log, has_samples: false, n_comparisons: 0 }
    }

    /// Returns the distribution of each arm; `None` for an arm without samples.
    pub(super) fn distributions(&mut self, comparison: &Comparison) -> Result<Vec<Option<Distribution>>, StoreError> {
        self.n_comparisons += 1;
        let mut distributions = Vec::new();
        for arm_idx in 0..comparison.arms.len() as u32 {
            let mut histogram =
                Histogram::<u64>::new_with_bounds(1, u64::from(u32::MAX), DIGITS).expect("the bounds are constants");
            for at in blocks(comparison, arm_idx) {
                for latency_ns in unpack(at)? {
                    histogram.saturating_record(u64::from(latency_ns));
                }
            }
            self.append(&histogram, comparison, arm_idx);
            distributions.push(distribution(&histogram));
        }
        Ok(distributions)
    }

    /// Returns the log of the histograms; empty if no arm had samples.
    pub(super) fn finish(self) -> String {
        if self.has_samples { self.log } else { String::new() }
    }

    /// Adds a line to the log; its tag names the comparison and the arm: `1-c16-same-unix`.
    fn append(&mut self, histogram: &Histogram<u64>, comparison: &Comparison, arm_idx: u32) {
        if histogram.is_empty() {
            return;
        }
        self.has_samples = true;
        let arm = &comparison.arms[arm_idx as usize].name;
        let tag = format!("{}-c{}-{}-{arm}", self.n_comparisons, comparison.connections, comparison.placement.asked);
        let tag = tag.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "_");
        let length = Duration::from_nanos(length_ns(comparison));
        let mut line = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let written = IntervalLogWriterBuilder::new()
            .with_max_value_divisor(1.0)
            .begin_log_with(&mut line, &mut serializer)
            .is_ok_and(|mut writer| {
                let tag = Tag::new(&tag);
                writer.write_histogram(histogram, Duration::ZERO, length, tag).is_ok()
            });
        if written {
            self.log.push_str(&String::from_utf8_lossy(&line));
        }
    }
}

/// Returns the samples of an arm. In an A/A run both sides have the same arm, so the result has the samples of both
/// sides.
fn blocks(comparison: &Comparison, arm_idx: u32) -> impl Iterator<Item = &Samples> {
    let epochs = comparison.raw.epochs.iter();
    epochs.flat_map(move |epoch| {
        let sides = epoch.pair.iter().zip(&epoch.samples);
        sides.filter_map(move |(arm, at)| at.as_ref().filter(|_| *arm == arm_idx))
    })
}

fn length_ns(comparison: &Comparison) -> u64 {
    let slices = comparison.raw.epochs.iter().flat_map(|epoch| &epoch.slices);
    let ends = slices.map(|slice| slice.start_ns.saturating_add(slice.active_ns));
    ends.max().unwrap_or(0)
}

fn distribution(histogram: &Histogram<u64>) -> Option<Distribution> {
    let n = histogram.len();
    let shown = PERCENTILES.iter().filter(|pct| (1.0 - **pct / 100.0) * n as f64 >= LEAST_BEYOND);
    let percentiles: Vec<PercentileShown> = shown.map(|pct| percentile(histogram, *pct)).collect();
    (!percentiles.is_empty()).then_some(Distribution { n, percentiles })
}

fn percentile(histogram: &Histogram<u64>, pct: f64) -> PercentileShown {
    let n = histogram.len();
    let us = |rank: u64| {
        // `rank - 0.5` keeps the quantile away from the boundary between two ranks, so that rounding cannot select the
        // next rank.
        let quantile = (rank as f64 - 0.5) / n as f64;
        histogram.value_at_quantile(quantile) as f64 / 1e3
    };
    let rank = ((pct / 100.0 * n as f64).ceil() as u64).clamp(1, n);
    let (lower, upper) = order_statistic_ranks(n, pct / 100.0);
    PercentileShown { pct, us: us(rank), lo_us: lower.map(us), hi_us: upper.map(us) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution_of(samples: impl IntoIterator<Item = u64>) -> Option<Distribution> {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, u64::from(u32::MAX), DIGITS).unwrap();
        for sample in samples {
            histogram.record(sample).unwrap();
        }
        distribution(&histogram)
    }

    #[test]
    fn a_percentile_is_the_sample_of_its_rank() {
        let found = distribution_of((1..=1_000).map(|us| us * 1_000)).unwrap();
        let at = |pct: f64| found.percentiles.iter().find(|it| it.pct.total_cmp(&pct).is_eq()).unwrap();
        assert_eq!(found.n, 1_000);
        for (pct, us) in [(50.0, 500.0), (99.0, 990.0), (99.5, 995.0)] {
            assert!((at(pct).us / us - 1.0).abs() < 1e-4, "{:?}", at(pct));
        }
        // Ranks 469 and 532 are the binomial interval of the median of 1,000 samples.
        let median = at(50.0);
        assert!((median.lo_us.unwrap() - 469.0).abs() < 2.0, "{median:?}");
        assert!((median.hi_us.unwrap() - 532.0).abs() < 2.0, "{median:?}");
    }

    #[test]
    fn a_tail_is_shown_as_far_as_requests_lie_beyond_it() {
        let last = |n: u64| distribution_of(1..=n).map(|it| it.percentiles.last().unwrap().pct);
        assert_eq!(last(100_000), Some(99.99));
        assert_eq!(last(1_000), Some(99.5));
        assert_eq!(last(0), None);
        assert_eq!(last(4), None);
    }
}
