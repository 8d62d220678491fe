//! The figures beside the throughput: CPU per request and latency quantiles, starred after Holm.
//!
//! Decides nothing. Called by `judge`.

use super::Input;
use crate::stats::epoch::{Epoch, Side, Slice, counted};
use crate::stats::estimate::Estimate;
use crate::stats::holm::holm;
use crate::stats::quantile::{Comparison, Quantile, compare, pooled_us};
use crate::stats::{hodges_lehmann, signed_rank};

/// CPU tax in µs per request, Hodges-Lehmann over epochs; `None` where it could not be read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuTax {
    pub client: Option<Estimate>,
    pub server: Option<Estimate>,
    /// Both together.
    pub both: Option<Estimate>,
}

/// One latency quantile of both arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Percentile {
    pub quantile: Quantile,
    /// All samples of an arm pooled, in µs, `[baseline, other]`; `None` without samples. For display:
    /// the interval takes requests as independent, and the two must not be compared by it.
    pub pooled_us: [Option<Estimate>; 2],
    pub comparison: Comparison,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// CPU of the client's threads per request.
    ClientCpu,
    /// CPU of the server per request.
    ServerCpu,
    /// CPU of both per request.
    BothCpu,
    /// A latency quantile. The mean latency is not among them: it is the throughput once more.
    Latency(Quantile),
}

/// A secondary metric with its p-value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Secondary {
    pub metric: Metric,
    /// Two-sided signed-rank p-value of "no difference".
    pub p_value: f64,
    /// The same after Holm's adjustment over all secondary metrics of this comparison.
    pub p_holm: f64,
    /// Whether `p_holm` is at most α.
    pub is_starred: bool,
}

/// The CPU tax and the p-values that belong to it.
pub(super) struct Cpu {
    pub(super) tax: CpuTax,
    p_values: [(Metric, Option<f64>); 3],
}

/// CPU per request in µs over all answered requests, guard and drain included.
pub(crate) fn cpu_us(slice: &Slice, metric: Metric) -> Option<f64> {
    let ns = match metric {
        Metric::ClientCpu => slice.client_cpu_ns?,
        Metric::ServerCpu => slice.server_cpu_ns?,
        Metric::BothCpu => slice.client_cpu_ns? + slice.server_cpu_ns?,
        Metric::Latency(_) => return None,
    };
    Some(ns as f64 / 1000.0 / counted(slice.requests))
}

pub(super) fn cpu(input: &Input) -> Cpu {
    let effects = |metric| -> Vec<f64> {
        let of_epoch = |epoch: &Epoch| epoch.contrast(|slice| cpu_us(slice, metric));
        input.epochs.iter().filter_map(of_epoch).collect()
    };
    let metrics = [Metric::ClientCpu, Metric::ServerCpu, Metric::BothCpu];
    let series = metrics.map(effects);
    let [client, server, both] = [0, 1, 2].map(|idx: usize| hodges_lehmann::estimate(&series[idx], input.alpha));
    Cpu {
        tax: CpuTax { client, server, both },
        p_values: [0, 1, 2].map(|idx| (metrics[idx], signed_rank::p_value(&series[idx]))),
    }
}

pub(super) fn percentiles(input: &Input) -> Vec<Percentile> {
    let percentile = |quantile| Percentile {
        quantile,
        pooled_us: Side::BOTH.map(|side| pooled_us(input.epochs, side, quantile)),
        comparison: compare(input.epochs, quantile, input.alpha),
    };
    Quantile::ALL.into_iter().map(percentile).collect()
}

/// All secondary metrics that have a p-value, with Holm's adjustment over them.
pub(super) fn adjusted(cpu: &Cpu, percentiles: &[Percentile], alpha: f64) -> Vec<Secondary> {
    let latencies = percentiles.iter().map(|percentile| {
        let p_value = match &percentile.comparison {
            Comparison::Known(tax) => Some(tax.p_value),
            _ => None,
        };
        (Metric::Latency(percentile.quantile), p_value)
    });
    let all = cpu.p_values.iter().copied().chain(latencies);
    let known: Vec<(Metric, f64)> = all.filter_map(|(metric, p)| Some((metric, p?))).collect();
    let p_values: Vec<f64> = known.iter().map(|(_, p_value)| *p_value).collect();
    let adjusted = known.iter().zip(holm(&p_values));
    let secondary =
        adjusted.map(|(&(metric, p_value), p_holm)| Secondary { metric, p_value, p_holm, is_starred: p_holm <= alpha });
    secondary.collect()
}
