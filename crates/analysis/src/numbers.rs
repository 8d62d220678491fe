//! The epochs of one pair of arms as the statistics take them, from the record alone.
//!
//! The record may come from anybody: what does not fit together gives an epoch without an effect,
//! never a panic. Called by the live run and by `analyze`.

use looptax_record as record;
use looptax_record::{CpuTicks, Raw, SamplesAt};
use looptax_stats::{Epoch, Noise, Response, Side, Slice};

use super::raw::letter;

/// The epochs of `pair` (arms' indexes, `[baseline, other]`) in the order of time.
///
/// `samples` reads a block of the companion file: latencies in nanoseconds. An epoch whose latencies
/// were not kept has none.
pub fn epochs(
    raw: &Raw,
    pair: [u32; 2],
    mut samples: impl FnMut(&SamplesAt) -> Vec<u32>,
) -> Vec<Epoch> {
    of_pair(raw, pair)
        .map(|(_, epoch)| Epoch {
            slices: slices(epoch),
            latencies_ns: epoch
                .samples
                .each_ref()
                .map(|at| at.as_ref().map_or_else(Vec::new, &mut samples)),
            noise: epoch.cpu_ticks.map(|ticks| noise(ticks, epoch)),
        })
        .collect()
}

/// The epochs of `pair` with their positions among all epochs of the comparison.
pub fn of_pair(raw: &Raw, pair: [u32; 2]) -> impl Iterator<Item = (usize, &record::Epoch)> + Clone {
    let epochs = raw.epochs.iter().enumerate();
    epochs.filter(move |(_, epoch)| epoch.pair == pair)
}

/// The slices of an epoch with their sides.
///
/// The order says which side ran: in an A/A run both sides are the same arm. A slice without a known
/// letter is left out, which leaves the epoch unbalanced and so without an effect.
pub fn sided(epoch: &record::Epoch) -> impl Iterator<Item = (Side, &record::Slice)> {
    let slices = epoch.order.chars().zip(&epoch.slices);
    slices.filter_map(|(order, slice)| {
        let side = Side::BOTH.into_iter().find(|side| letter(*side) == order)?;
        Some((side, slice))
    })
}

fn slices(epoch: &record::Epoch) -> Vec<Slice> {
    let of_side = |(side, slice): (Side, &record::Slice)| Slice {
        side,
        completions: slice.completions,
        early: slice.early,
        active_ns: slice.active_ns,
        drained: slice.drained,
        drain_ns: slice.drain_ns,
        requests: slice.requests,
        client_cpu_ns: slice.client_cpu_ns,
        server_cpu_ns: slice.server_cpu_ns,
        client_switches: slice.client_voluntary_switches.unwrap_or(0)
            + slice.client_involuntary_switches.unwrap_or(0),
        response: slice.median_ns.map(|median_ns| Response {
            median_ns,
            sum_ns: slice.latency_sum_ns,
        }),
    };
    sided(epoch).map(of_side).collect()
}

fn noise(ticks: CpuTicks, epoch: &record::Epoch) -> Noise {
    let busy = ticks.user + ticks.nice + ticks.system;
    let total = busy + ticks.idle + ticks.iowait + ticks.irq + ticks.softirq + ticks.steal;
    Noise {
        total_ticks: total as f64,
        steal_ticks: ticks.steal as f64,
        softirq_ticks: ticks.softirq as f64,
        busy_ticks: busy as f64,
        own_ticks: epoch.own_ticks.unwrap_or(0.0),
        server_ticks: epoch.server_ticks.unwrap_or(0.0),
    }
}

#[cfg(test)]
mod tests {
    use looptax_bench::EpochData;
    use looptax_record::Hex64;

    use super::*;
    use crate::{made_up, raw};

    /// Sends `data` through the record and its JSON and compares with the direct way.
    #[track_caller]
    fn check(data: &[EpochData]) {
        let pair = [0, 1];
        let mut blocks: Vec<Vec<u32>> = Vec::new();
        let mut keep = |samples: &Vec<u32>| {
            blocks.push(samples.clone());
            (!samples.is_empty()).then(|| SamplesAt {
                offset_bytes: blocks.len() as u64 - 1,
                count: samples.len() as u64,
                checksum: Hex64(0),
            })
        };
        let epochs = data
            .iter()
            .map(|data| raw::epoch(data, pair, data.samples.each_ref().map(&mut keep)));
        let raw = Raw {
            epochs: epochs.collect(),
        };
        let text = serde_json::to_string(&raw).unwrap();
        let raw: Raw = serde_json::from_str(&text).unwrap();
        let found = super::epochs(&raw, pair, |at| blocks[at.offset_bytes as usize].clone());
        let expected: Vec<Epoch> = data.iter().map(EpochData::numbers).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_way_over_the_record_keeps_every_number() {
        let data: Vec<EpochData> = (0..5)
            .map(|idx| made_up::data(idx, [110_000 + idx, 100_003]))
            .collect();
        check(&data);
    }

    #[test]
    fn absent_evidence_stays_absent() {
        let mut data = made_up::data(1, [5, 7]);
        data.slices[3].server_cpu_ns = None;
        data.own_cpu_ns = None;
        data.samples = [Vec::new(), Vec::new()];
        check(&[data.clone()]);
        data.machine.ticks = None;
        check(&[data]);
    }

    #[test]
    fn only_the_epochs_of_the_pair_are_taken() {
        let data = made_up::data(0, [5, 7]);
        let epochs = [[0, 1], [0, 2], [0, 1]].map(|pair| raw::epoch(&data, pair, [None, None]));
        let raw = Raw {
            epochs: epochs.to_vec(),
        };
        assert_eq!(epochs_of(&raw, [0, 1]).len(), 2);
        assert_eq!(epochs_of(&raw, [0, 2]).len(), 1);
        assert_eq!(epochs_of(&raw, [1, 0]), []);
    }

    #[test]
    fn an_arm_held_against_itself_has_two_sides() {
        let data = made_up::data(0, [50_000, 40_000]);
        let raw = Raw {
            epochs: vec![raw::epoch(&data, [1, 1], [None, None])],
        };
        assert_eq!(
            epochs_of(&raw, [1, 1])[0].theta(),
            Some(data.numbers().theta().unwrap())
        );
    }

    #[test]
    fn an_order_that_does_not_fit_gives_no_effect() {
        let mut epoch = raw::epoch(&made_up::data(0, [5, 7]), [0, 1], [None, None]);
        epoch.order = "obbobo?b".to_owned();
        let raw = Raw {
            epochs: vec![epoch],
        };
        assert_eq!(epochs_of(&raw, [0, 1])[0].theta(), None);
    }

    fn epochs_of(raw: &Raw, pair: [u32; 2]) -> Vec<Epoch> {
        super::epochs(raw, pair, |_| Vec::new())
    }
}
