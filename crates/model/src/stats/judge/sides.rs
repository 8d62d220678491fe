//! Each arm by itself: throughput, latency, CPU and context switches, with intervals.
//!
//! These absolute figures hold for the surroundings of this run. The comparison is made elsewhere, within epochs; it is
//! much more precise than the intervals of two such figures suggest. Called by `judge`.

use super::Input;
use super::secondary::{Metric, cpu_us};
use crate::stats::epoch::{Epoch, Side, Slice, counted, rate_per_s};
use crate::stats::estimate::Estimate;
use crate::stats::{hodges_lehmann, totals};

/// One arm of a run. Except for the total, estimates are Hodges-Lehmann over the epochs' typical slices.
#[derive(Debug, Clone, PartialEq)]
pub struct SideSummary {
    pub side: Side,
    /// Requests answered in the active windows and drains of whole epochs.
    pub n_requests: u64,
    /// Typical throughput, requests per second.
    pub throughput_per_s: Option<Estimate>,
    /// Total throughput with drains and stalls, requests per second; t interval over epochs.
    pub total_per_s: Option<Estimate>,
    /// Mean latency in µs: in a closed loop C over the typical throughput, otherwise the typical response time.
    pub latency_us: Option<Estimate>,
    /// CPU of the client's threads in µs per request.
    pub cpu_client_us: Option<Estimate>,
    /// CPU of the server in µs per request.
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

/// The mean latency that a closed loop of `connections` has at a throughput; it always fits that throughput.
fn per_request_us(per_s: &Estimate, connections: u32) -> Estimate {
    let us = |per_s: f64| f64::from(connections) * 1e6 / per_s;
    if per_s.has_interval() && per_s.lo > 0.0 {
        return per_s.map_monotone(us);
    }
    Estimate { value: us(per_s.value), lo: f64::NEG_INFINITY, hi: f64::INFINITY, n: per_s.n }
}

/// Mean latency: in a closed loop by Little's law C·active time/completions, otherwise the mean of the response times.
pub(crate) fn mean_latency_us(slice: &Slice, connections: u32) -> f64 {
    if let Some(response) = slice.response {
        return response.sum_ns as f64 / 1000.0 / counted(slice.completions);
    }
    f64::from(connections) * slice.active_ns as f64 / 1000.0 / counted(slice.completions)
}

fn switches_per_request(slice: &Slice) -> f64 {
    slice.client_switches as f64 / counted(slice.requests)
}
