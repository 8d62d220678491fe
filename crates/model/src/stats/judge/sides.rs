//! The figures of each arm: throughput, latency, CPU time and context switches, with intervals.
//!
//! These absolute figures are valid only under the conditions of this run. The arms are compared elsewhere, within
//! epochs; that comparison is much more precise than the intervals of the two arms suggest. Called by `judge`.

use super::Input;
use super::secondary::{Metric, cpu_us};
use crate::stats::epoch::{Epoch, Side, Slice, counted, rate_per_s};
use crate::stats::estimate::Estimate;
use crate::stats::{hodges_lehmann, totals};

/// The figures of one arm of a run. Estimates are Hodges-Lehmann over the epochs' typical slices, except for the
/// total.
#[derive(Debug, Clone, PartialEq)]
pub struct SideSummary {
    pub side: Side,
    /// Number of requests that were answered in the active windows and drains of complete epochs.
    pub n_requests: u64,
    /// Typical throughput, requests per second.
    pub throughput_per_s: Option<Estimate>,
    /// Total throughput including drains and stalls, requests per second, with a t interval over epochs.
    pub total_per_s: Option<Estimate>,
    /// Mean latency in µs: in a closed loop C divided by the typical throughput, otherwise the typical response time.
    pub latency_us: Option<Estimate>,
    /// CPU time of the client's threads in µs per request.
    pub cpu_client_us: Option<Estimate>,
    /// CPU time of the server in µs per request.
    pub cpu_server_us: Option<Estimate>,
    /// Context switches of the client's threads per request.
    pub switches_per_request: Option<Estimate>,
}

impl SideSummary {
    pub(super) fn from_input(input: &Input, side: Side) -> Self {
        let typical = |metric: &dyn Fn(&Slice) -> Option<f64>| {
            let epochs = input.epochs.iter();
            let values: Vec<f64> = epochs.filter_map(|epoch| epoch.typical(side, metric)).collect();
            hodges_lehmann::estimate(&values, input.alpha)
        };
        let totals = input.totals_of(side);
        let throughput_per_s = typical(&|slice| Some(rate_per_s(slice)));
        Self {
            side,
            n_requests: totals.iter().map(|total| total.requests).sum::<f64>() as u64,
            throughput_per_s,
            total_per_s: totals::rate_per_s(&totals, input.alpha),
            latency_us: match &throughput_per_s {
                Some(per_s) if !input.epochs.iter().any(Epoch::is_by_response) => {
                    Some(per_request_us(per_s, input.connections))
                }
                _ => typical(&|slice| Some(mean_latency_us(slice, input.connections))),
            },
            cpu_client_us: typical(&|slice| cpu_us(slice, Metric::ClientCpu)),
            cpu_server_us: typical(&|slice| cpu_us(slice, Metric::ServerCpu)),
            switches_per_request: typical(&|slice| Some(switches_per_request(slice))),
        }
    }
}

/// Computes the mean latency from the throughput of a closed loop with `connections`, so that the two figures always
/// agree.
fn per_request_us(per_s: &Estimate, connections: u32) -> Estimate {
    let us = |per_s: f64| f64::from(connections) * 1e6 / per_s;
    if per_s.has_interval() && per_s.lo > 0.0 {
        return per_s.map_monotone(us);
    }
    Estimate { value: us(per_s.value), lo: f64::NEG_INFINITY, hi: f64::INFINITY, n: per_s.n }
}

/// Computes the mean latency: in a closed loop by Little's law as C·active time/completions, otherwise as the mean of
/// the response times.
pub(crate) fn mean_latency_us(slice: &Slice, connections: u32) -> f64 {
    if let Some(response) = slice.response {
        return response.sum_ns as f64 / 1000.0 / counted(slice.completions);
    }
    f64::from(connections) * slice.active_ns as f64 / 1000.0 / counted(slice.completions)
}

fn switches_per_request(slice: &Slice) -> f64 {
    slice.client_switches as f64 / counted(slice.requests)
}
