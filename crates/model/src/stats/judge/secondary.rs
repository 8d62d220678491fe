//! The secondary metrics: CPU time per request and latency quantiles; significant metrics get a star after Holm's
//! correction.
//!
//! The secondary metrics decide only one question: which arm needs more CPU time, if throughput does not show a
//! direction. Called by `judge`.

use super::parts::LEAST_EPOCHS;
use super::{Input, Primary};
use crate::stats::diagnostics::disturbed_epochs;
use crate::stats::epoch::{Epoch, Side, Slice, counted};
use crate::stats::estimate::Estimate;
use crate::stats::holm::holm;
use crate::stats::quantile::{Comparison, Quantile, compare, pooled_us};
use crate::stats::verdict::{Direction, Reason, Verdict};
use crate::stats::{hodges_lehmann, signed_rank};

/// CPU time is tested at α times this number. So if the arms do not differ, a run gets a wrong result for throughput or
/// for CPU time with a probability of at most 1.02 α, whatever the dependence between the two tests.
const CPU_PART: f64 = 0.02;

/// CPU tax in µs per request, estimated by Hodges-Lehmann over epochs; `None` if the CPU time could not be read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuTax {
    pub client: Option<Estimate>,
    pub server: Option<Estimate>,
    /// CPU tax of both ends together.
    pub both: Option<Estimate>,
}

/// One latency quantile of both arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Percentile {
    pub quantile: Quantile,
    /// The quantile of all samples of an arm together, in µs, `[baseline, other]`; `None` if there are no samples.
    /// Only for display: the interval treats requests as independent, and must not be used to compare the two arms.
    pub pooled_us: [Option<Estimate>; 2],
    pub comparison: Comparison,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// CPU time of the client's threads per request.
    ClientCpu,
    /// CPU time of the server per request.
    ServerCpu,
    /// CPU time of both ends per request.
    BothCpu,
    /// A latency quantile. The mean latency is not a secondary metric: it has the same information as the throughput.
    Latency(Quantile),
}

/// A secondary metric with its p-value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Secondary {
    pub metric: Metric,
    /// Two-sided p-value of the signed-rank test for "no difference".
    pub p_value: f64,
    /// The p-value after Holm's correction over all secondary metrics of this comparison.
    pub p_holm: f64,
    /// Whether `p_holm` is at most α.
    pub is_starred: bool,
}

/// The CPU tax and its p-values.
pub(super) struct Cpu {
    pub(super) tax: CpuTax,
    p_values: [(Metric, Option<f64>); 3],
}

/// Returns the CPU time per request in µs. All answered requests of the slice count, including those of its guard and
/// its drain.
pub(crate) fn cpu_us(slice: &Slice, metric: Metric) -> Option<f64> {
    let ns = match metric {
        Metric::ClientCpu => slice.client_cpu_ns?,
        Metric::ServerCpu => slice.server_cpu_ns?,
        Metric::BothCpu => slice.client_cpu_ns? + slice.server_cpu_ns?,
        Metric::Latency(_) => return None,
    };
    Some(ns as f64 / 1000.0 / counted(slice.requests))
}

fn cpu_effects(input: &Input, metric: Metric) -> Vec<f64> {
    let of_epoch = |epoch: &Epoch| epoch.contrast(|slice| cpu_us(slice, metric));
    input.epochs.iter().filter_map(of_epoch).collect()
}

/// Returns the arm whose requests need more CPU time at both ends together. This is tested only if throughput does not
/// show a direction, at a fraction of α (1 in 1,000 if α is 5 %).
///
/// Throughput is tested first, so that this test does not change the verdict on throughput. Returns `None` in each of
/// these cases:
/// - The verdict on throughput is not inconclusive, for example because the run is invalid.
/// - A result for throughput was withdrawn.
/// - At level α, two parts of the run do not both show the same arm as the whole run. The parts are the disturbed and
///   the undisturbed epochs, or the two halves of the run. They are compared only if each part has at least six epochs.
/// - The CPU time of one end is not known.
/// - There are fewer epochs than the test needs (11).
pub fn dearer_by_cpu(input: &Input, primary: &Primary) -> Option<Direction> {
    // If the disturbed epochs, one half of the run or the starts of slices change the throughput, they may also change
    // the CPU time.
    let is_taken_back = matches!(primary.reason, Reason::PartsDiffer { .. } | Reason::GuardTransient { .. });
    if primary.verdict != Verdict::Inconclusive || primary.direction.is_some() || is_taken_back {
        return None;
    }
    let epochs = input.epochs.iter().enumerate();
    let of_epoch = |epoch: &Epoch| epoch.contrast(|slice| cpu_us(slice, Metric::BothCpu));
    let effects: Vec<(usize, f64)> = epochs.filter_map(|(idx, epoch)| Some((idx, of_epoch(epoch)?))).collect();
    let disturbed = disturbed_epochs(input.epochs);
    let half = input.epochs.len() / 2;
    let Dearer::Known(found) = dearer_in(&effects, CPU_PART * input.alpha, |_| true) else { return None };
    let holds = |is_in: &dyn Fn(usize) -> bool| {
        let parts = [true, false].map(|part| dearer_in(&effects, input.alpha, |idx| is_in(idx) == part));
        // If a part has too few epochs, the parts are not compared.
        parts.contains(&Dearer::TooFew) || parts == [Dearer::Known(found); 2]
    };
    (holds(&|idx| disturbed.binary_search(&idx).is_ok()) && holds(&|idx| idx < half)).then_some(found)
}

/// The arm that needs more CPU time in a part of the epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dearer {
    TooFew,
    Open,
    Known(Direction),
}

/// Returns the arm that needs more CPU time in these epochs, at this level.
fn dearer_in(effects: &[(usize, f64)], alpha: f64, is_in: impl Fn(usize) -> bool) -> Dearer {
    let own: Vec<f64> = effects.iter().filter(|(idx, _)| is_in(*idx)).map(|(_, effect)| *effect).collect();
    if own.len() < LEAST_EPOCHS {
        return Dearer::TooFew;
    }
    let is_clear = signed_rank::p_value(&own).is_some_and(|p_value| p_value <= alpha);
    match hodges_lehmann::estimate(&own, alpha).filter(|_| is_clear) {
        Some(added) if added.value > 0.0 => Dearer::Known(Direction::OtherSlower),
        Some(_) => Dearer::Known(Direction::OtherFaster),
        None => Dearer::Open,
    }
}

pub(super) fn cpu(input: &Input) -> Cpu {
    let metrics = [Metric::ClientCpu, Metric::ServerCpu, Metric::BothCpu];
    let series = metrics.map(|metric| cpu_effects(input, metric));
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

/// Returns all secondary metrics that have a p-value, with Holm's correction.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::judge::primary;
    use crate::stats::vectors::plain_slice;

    /// Makes epochs with noise but without a difference in throughput; a request over the other arm needs `added_ns`
    /// more CPU time.
    fn epochs(n_epochs: usize, added_ns: u64) -> Vec<Epoch> {
        let epoch = |idx: usize| {
            let slices = [1, 0, 0, 1, 0, 1, 1, 0].map(|arm: usize| {
                let completions = 10_000 + 800 * (idx as u64 % 2) * arm as u64 - 400 * arm as u64;
                let each_ns = 10_000 + idx as u64 + added_ns * arm as u64;
                let slice = plain_slice(Side::BOTH[arm], completions, 50_000_000);
                Slice { client_cpu_ns: Some(completions * each_ns), server_cpu_ns: Some(0), ..slice }
            });
            Epoch { slices: slices.to_vec(), latencies_ns: [vec![], vec![]], noise: None }
        };
        (0..n_epochs).map(epoch).collect()
    }

    fn found(epochs: &[Epoch]) -> Option<Direction> {
        let input = Input {
            epochs,
            connections: 1,
            alpha: 0.05,
            delta: 0.01,
            invalid: Vec::new(),
            stopped_early: false,
            can_move: false,
        };
        dearer_by_cpu(&input, &primary(&input))
    }

    #[test]
    fn cpu_time_tells_who_loses_where_throughput_tells_nothing() {
        assert_eq!(found(&epochs(12, 500)), Some(Direction::OtherSlower));
        assert_eq!(found(&epochs(12, 0)), None);
        assert_eq!(found(&epochs(10, 500)), None, "ten epochs are too few for its level");
        let mut unread = epochs(12, 500);
        unread.iter_mut().flat_map(|it| &mut it.slices).for_each(|it| it.server_cpu_ns = None);
        assert_eq!(found(&unread), None);
        let late = [epochs(12, 0), epochs(12, 500)].concat();
        assert_eq!(found(&late), None, "one half alone says it");
        let slower = epochs(12, 500).into_iter().map(|mut epoch| {
            let others = epoch.slices.iter_mut().filter(|it| it.side == Side::Other);
            others.for_each(|it| it.completions /= 2);
            epoch
        });
        assert_eq!(found(&slower.collect::<Vec<_>>()), None, "throughput has told it");
    }
}
