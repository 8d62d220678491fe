//! Converts estimates to the form of the record, and adds the reasons for missing estimates.
//!
//! No number is changed. Called by [`super::judged`].

use crate::record::{Cpu, CpuTax, Figure, Latency, Pooled, Raw, Syscalls};
use crate::stats::{Estimate, Judgement, Quantile, QuantileComparison, QuantileTax, Side};

const NO_EPOCH: &str = "no whole epoch was measured";
const NO_CLIENT_CPU: &str = "the client's CPU time could not be read";
const NO_SERVER_CPU: &str = "the server's CPU time could not be read";

/// Returns the estimate as a figure, or a missing figure with `reason` if there is no estimate.
pub(crate) fn figure(estimate: Option<Estimate>, reason: &str) -> Figure {
    match estimate {
        Some(it) => Figure::new(it.value, it.lo, it.hi, it.n as u64),
        None => Figure::missing(reason),
    }
}

/// Calls [`figure`] for a quantity that every complete epoch has.
pub(crate) fn plain(estimate: Option<Estimate>) -> Figure {
    figure(estimate, NO_EPOCH)
}

/// The number and duration of a pair's epochs, for the text about the additional time that a percentile needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub n_epochs: usize,
    /// Duration of an epoch, in seconds.
    pub epoch_s: f64,
}

impl Pace {
    /// Returns the mean time of the epochs of `pair`. An epoch's time includes the time to connect, and the time of the
    /// first requests, which do not count.
    pub(crate) fn from_raw(raw: &Raw, pair: [u32; 2]) -> Self {
        let (mut n_epochs, mut ns) = (0, 0);
        for (_, epoch) in raw.of_pair(pair) {
            n_epochs += 1;
            ns += 1000 * (epoch.reconnect_us + epoch.prime_us);
            let slices = epoch.slices.iter();
            ns += slices.map(|slice| slice.guard_ns + slice.active_ns + slice.drain_ns).sum::<u64>();
        }
        Self { n_epochs, epoch_s: ns as f64 / 1e9 / n_epochs.max(1) as f64 }
    }
}

/// Returns how much the other arm adds to each latency statistic, µs.
pub(crate) fn latency_tax(judgement: &Judgement, pace: Pace) -> Latency {
    let quantile = |quantile| of_quantile(judgement, quantile, pace, |tax| tax.difference_us);
    Latency {
        mean: plain(judgement.latency_us),
        p50: quantile(Quantile::P50),
        p90: quantile(Quantile::P90),
        p99: quantile(Quantile::P99),
        p999: quantile(Quantile::P999),
    }
}

/// Returns one arm's latency statistics, µs. The quantiles are computed over blocks, which makes their intervals
/// reliable.
pub(crate) fn latency(judgement: &Judgement, side: Side, pace: Pace) -> Latency {
    let quantile = |quantile| of_quantile(judgement, quantile, pace, |tax| tax.sides_us[side.idx()]);
    Latency {
        mean: plain(judgement.sides[side.idx()].latency_us),
        p50: quantile(Quantile::P50),
        p90: quantile(Quantile::P90),
        p99: quantile(Quantile::P99),
        p999: quantile(Quantile::P999),
    }
}

/// Returns one arm's percentiles over all its requests, µs.
pub(crate) fn pooled(judgement: &Judgement, side: Side) -> Option<Pooled> {
    let quantile = |quantile| {
        let mut percentiles = judgement.percentiles.iter();
        let found = percentiles.find(|percentile| percentile.quantile == quantile)?;
        found.pooled_us[side.idx()].map(|estimate| plain(Some(estimate)))
    };
    let or_missing =
        |figure: Option<Figure>| figure.unwrap_or_else(|| Figure::missing("too few requests for this percentile"));
    Some(Pooled {
        p50: quantile(Quantile::P50)?,
        p90: or_missing(quantile(Quantile::P90)),
        p99: or_missing(quantile(Quantile::P99)),
        p999: or_missing(quantile(Quantile::P999)),
    })
}

/// Returns how much CPU time the other arm adds to a request, µs.
pub(crate) fn cpu_tax(judgement: &Judgement) -> CpuTax {
    let cpu = judgement.cpu_us;
    let reason = |reason| judgement.theta.map_or(NO_EPOCH, |_| reason);
    let neither = if cpu.client.is_none() { NO_CLIENT_CPU } else { NO_SERVER_CPU };
    CpuTax {
        client: figure(cpu.client, reason(NO_CLIENT_CPU)),
        server: figure(cpu.server, reason(NO_SERVER_CPU)),
        both: figure(cpu.both, reason(neither)),
    }
}

/// Returns one arm's CPU time per request, µs.
pub(crate) fn cpu(judgement: &Judgement, side: Side) -> Cpu {
    let summary = &judgement.sides[side.idx()];
    let reason = |reason| summary.throughput_per_s.map_or(NO_EPOCH, |_| reason);
    Cpu {
        client: figure(summary.cpu_client_us, reason(NO_CLIENT_CPU)),
        server: figure(summary.cpu_server_us, reason(NO_SERVER_CPU)),
    }
}

/// Returns the system calls per request over all slices of a side, including guards and drains; `None` if there are no
/// requests or no calls were counted.
pub(crate) fn syscalls(raw: &Raw, pair: [u32; 2], side: Side) -> Option<Syscalls> {
    let epochs = raw.of_pair(pair);
    let (mut requests, mut calls) = (0, [0, 0, 0]);
    for slice in epochs.flat_map(|(_, epoch)| epoch.slices_of(side)) {
        requests += slice.requests;
        calls[0] += slice.sends;
        calls[1] += slice.receives;
        calls[2] += slice.waits;
    }
    let [send, receive, wait] = calls.map(|n| n as f64 / requests as f64);
    let is_counted = requests > 0 && send + receive + wait > 0.0;
    is_counted.then_some(Syscalls { send, receive, wait })
}

fn of_quantile(
    judgement: &Judgement,
    quantile: Quantile,
    pace: Pace,
    pick: impl Fn(&QuantileTax) -> Estimate,
) -> Figure {
    let mut percentiles = judgement.percentiles.iter();
    let comparison =
        percentiles.find(|percentile| percentile.quantile == quantile).map(|percentile| &percentile.comparison);
    match comparison {
        Some(QuantileComparison::Known(tax)) => plain(Some(pick(tax))),
        Some(QuantileComparison::NotEnough { have, need, n_epochs_needed: Some(n_epochs) }) => {
            Figure::missing(needs_time(*have, *need, *n_epochs, quantile, pace))
        }
        Some(QuantileComparison::NotEnough { .. }) if pace.n_epochs > 0 => {
            Figure::missing("the run did not keep the latencies of the requests")
        }
        Some(QuantileComparison::SliceTooShort { slice_us, p99_us }) => {
            Figure::missing(needs_longer_slices(*slice_us, *p99_us))
        }
        Some(QuantileComparison::NotEnough { .. }) | None => Figure::missing(NO_EPOCH),
    }
}

fn needs_time(have: usize, need: usize, n_epochs: usize, quantile: Quantile, pace: Pace) -> String {
    let more = n_epochs.saturating_sub(pace.n_epochs).max(1);
    format!(
        "needs about {} more: the run has {have} of {need} blocks of {} requests per arm",
        time(more as f64 * pace.epoch_s),
        quantile.least_samples()
    )
}

fn needs_longer_slices(slice_us: f64, p99_us: f64) -> String {
    format!(
        "needs slices of at least {:.0} ms: slices of {:.0} ms are too short for a p99 of {:.1} ms",
        (p99_us / 100.0).ceil(),
        slice_us / 1e3,
        p99_us / 1e3
    )
}

fn time(seconds: f64) -> String {
    if seconds < 120.0 { format!("{:.0} s", seconds.ceil()) } else { format!("{:.0} minutes", (seconds / 60.0).ceil()) }
}

/// Returns the estimate in the form of the statistics, in which a missing end of the interval is infinite.
pub(crate) fn with_ends(it: &crate::record::Estimate) -> Estimate {
    Estimate {
        value: it.value,
        lo: it.lo.unwrap_or(f64::NEG_INFINITY),
        hi: it.hi.unwrap_or(f64::INFINITY),
        n: it.n as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(n_epochs_needed: usize, expected: &str) {
        let pace = Pace { n_epochs: 10, epoch_s: 0.5 };
        let found = needs_time(1, 9, n_epochs_needed, Quantile::P999, pace);
        let blocks = "the run has 1 of 9 blocks of 10000 requests per arm";
        assert_eq!(found, format!("needs about {expected} more: {blocks}"));
    }

    #[test]
    fn an_absent_percentile_says_how_long_it_takes() {
        check(90, "40 s");
        check(490, "4 minutes");
        check(3, "1 s");
    }

    #[test]
    fn a_tail_longer_than_the_slices_asks_for_longer_ones() {
        assert_eq!(
            needs_longer_slices(50_000.0, 12_340.0),
            "needs slices of at least 124 ms: slices of 50 ms are too short for a p99 of 12.3 ms"
        );
    }
}
