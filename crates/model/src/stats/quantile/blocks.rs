//! Compares the latency quantiles of two arms, over blocks of epochs.
//!
//! The tail of a distribution needs many samples, so consecutive epochs are merged into blocks. The unit of inference
//! is the block, never the request. Called by `judge`.

use std::ops::Range;

use super::{Quantile, pooled_us, quantile_of, samples, us};
use crate::stats::epoch::{Epoch, Side};
use crate::stats::estimate::Estimate;
use crate::stats::{hodges_lehmann, signed_rank};

/// With fewer blocks than this, no quantiles are compared, at any level.
const LEAST_BLOCKS: usize = 6;
/// A slice must last at least this many times the 99 % latency; a shorter slice cuts off the tail.
const LEAST_SLICE_P99S: f64 = 10.0;

/// How much a latency quantile of the other arm exceeds the baseline's quantile.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantileTax {
    /// ln(other / baseline), estimated by Hodges-Lehmann over blocks; positive if the other arm is slower.
    pub ln_ratio: Estimate,
    /// Other − baseline in µs, estimated by Hodges-Lehmann over blocks.
    pub difference_us: Estimate,
    /// The quantile of each side in µs, estimated by Hodges-Lehmann over blocks.
    pub sides_us: [Estimate; 2],
    /// Two-sided p-value of the signed-rank test for the log ratios.
    pub p_value: f64,
}

/// The comparison of a quantile between two arms, or the reason why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    Known(QuantileTax),
    /// There are too few blocks with enough samples.
    NotEnough {
        have: usize,
        /// Number of blocks that an interval at this level needs.
        need: usize,
        /// Number of epochs that would be enough for `need` blocks, if the later epochs have as many samples as the
        /// epochs so far; `None` if there are no samples.
        n_epochs_needed: Option<usize>,
    },
    /// The slices are shorter than ten times the 99 % latency, and cut off the tail.
    SliceTooShort {
        slice_us: f64,
        /// The larger of the two arms' 99 % latencies, each over all samples.
        p99_us: f64,
    },
}

/// Merges consecutive epochs until both arms have `least` samples; epochs that are left over are added to the last
/// block.
///
/// `counts` has `[baseline, other]` for each epoch. The result is empty if all epochs together have too few samples.
///
/// Example: counts of (60, 70) in four epochs, with a `least` of 100, give the blocks 0..2 and 2..4.
pub fn blocks(counts: &[[usize; 2]], least: usize) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let (mut start, mut sums) = (0, [0, 0]);
    for (epoch_idx, count) in counts.iter().enumerate() {
        sums = [sums[0] + count[0], sums[1] + count[1]];
        if sums[0].min(sums[1]) >= least.max(1) {
            blocks.push(start..epoch_idx + 1);
            (start, sums) = (epoch_idx + 1, [0, 0]);
        }
    }
    if let Some(last) = blocks.last_mut() {
        last.end = counts.len();
    }
    blocks
}

/// Compares one quantile of the two arms over blocks of epochs.
///
/// Estimand: the typical ratio (and difference) of the arms' quantiles under the same conditions. Formula: nearest rank
/// per block and arm, then [`hodges_lehmann::estimate`] over the blocks. Assumes that blocks are independent, not that
/// requests are independent: intervals from all requests together are wrong by a large factor. Needs at least six
/// blocks (more if the level requires it). For p99 and p99.9, the slices must also be at least ten times as long as the
/// 99 % latency.
///
/// Example: six blocks with a p50 of 100 µs and 110 µs give ln 1.1 [ln 1.1, ln 1.1] and 10 µs [10, 10].
pub fn compare(epochs: &[Epoch], quantile: Quantile, alpha: f64) -> Comparison {
    too_short_for_tail(epochs, quantile).unwrap_or_else(|| compare_whole(epochs, quantile, alpha))
}

/// The same as [`compare`], for slices that do not cut off requests: a slice ends when all requests that began in it
/// are answered.
pub fn compare_whole(epochs: &[Epoch], quantile: Quantile, alpha: f64) -> Comparison {
    let counts: Vec<[usize; 2]> = epochs.iter().map(sample_counts).collect();
    let blocks = blocks(&counts, quantile.least_samples());
    let need = LEAST_BLOCKS.max(signed_rank::least_n(alpha));
    let not_enough = || Comparison::NotEnough {
        have: blocks.len(),
        need,
        n_epochs_needed: epochs_needed(&counts, quantile.least_samples(), need),
    };
    if blocks.len() < need {
        return not_enough();
    }
    let sides_us = Side::BOTH.map(|side| block_quantiles_us(epochs, &blocks, side, quantile));
    tax(&sides_us, alpha).map_or_else(not_enough, Comparison::Known)
}

/// Returns [`Comparison::SliceTooShort`] for a tail quantile if slices are shorter than ten times the 99 % latency:
/// such slices end before slow answers arrive.
fn too_short_for_tail(epochs: &[Epoch], quantile: Quantile) -> Option<Comparison> {
    // If the verdict is computed from response times, requests count even if their answers arrive late.
    if quantile < Quantile::P99 || epochs.iter().any(Epoch::is_by_response) {
        return None;
    }
    let slices = epochs.iter().flat_map(|epoch| &epoch.slices);
    let slice_us = slices.map(|slice| slice.active_ns).min()? as f64 / 1000.0;
    let p99s_us = Side::BOTH.map(|side| pooled_us(epochs, side, Quantile::P99));
    let p99_us = p99s_us.into_iter().flatten().fold(0.0, |max: f64, p99| max.max(p99.value));
    (slice_us < LEAST_SLICE_P99S * p99_us).then_some(Comparison::SliceTooShort { slice_us, p99_us })
}

fn sample_counts(epoch: &Epoch) -> [usize; 2] {
    [epoch.latencies_ns[0].len(), epoch.latencies_ns[1].len()]
}

/// Returns the number of epochs for `need` blocks, if future epochs have as many samples as the arm with fewer samples
/// had so far.
fn epochs_needed(counts: &[[usize; 2]], least: usize, need: usize) -> Option<usize> {
    let sum = |side: usize| counts.iter().map(|count| count[side]).sum::<usize>();
    let poorer = sum(0).min(sum(1));
    // A block consists of whole epochs, so a block needs at least one epoch.
    let per_block = (least * counts.len()).checked_div(poorer)?;
    let is_exact = per_block * poorer == least * counts.len();
    Some(need * (per_block + usize::from(!is_exact)))
}

fn block_quantiles_us(epochs: &[Epoch], blocks: &[Range<usize>], side: Side, quantile: Quantile) -> Vec<f64> {
    let of_block = |block: &Range<usize>| {
        let samples = samples(&epochs[block.clone()], side);
        quantile_of(&samples, quantile).map_or(f64::NAN, us)
    };
    blocks.iter().map(of_block).collect()
}

fn tax(sides_us: &[Vec<f64>; 2], alpha: f64) -> Option<QuantileTax> {
    let [baseline, other] = sides_us;
    let pairs = || other.iter().zip(baseline);
    let ln_ratios: Vec<f64> = pairs().map(|(other, base)| ln_ratio(*other, *base)).collect();
    let differences: Vec<f64> = pairs().map(|(other, base)| other - base).collect();
    Some(QuantileTax {
        ln_ratio: hodges_lehmann::estimate(&ln_ratios, alpha)?,
        difference_us: hodges_lehmann::estimate(&differences, alpha)?,
        sides_us: [hodges_lehmann::estimate(baseline, alpha)?, hodges_lehmann::estimate(other, alpha)?],
        p_value: signed_rank::p_value(&ln_ratios)?,
    })
}

/// Returns ln(other / baseline); a sample of zero nanoseconds counts as half a nanosecond.
fn ln_ratio(other_us: f64, baseline_us: f64) -> f64 {
    (other_us.max(0.0005) / baseline_us.max(0.0005)).ln()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::stats::vectors::{close, counts, floats, load};

    /// Makes the epochs of vector V4; the vector's numbers are used as nanoseconds.
    fn v4_epochs() -> Vec<Epoch> {
        let samples = |values: &Value| counts(values).into_iter().map(|ns| ns as u32).collect();
        let vectors = load();
        let epochs = vectors["V4_quantile_blocks"]["input"]["epochs"].as_array().unwrap();
        let epoch = |epoch: &Value| Epoch {
            slices: vec![],
            latencies_ns: [samples(&epoch["U"]), samples(&epoch["T"])],
            noise: None,
        };
        epochs.iter().map(epoch).collect()
    }

    #[track_caller]
    fn check(quantile: Quantile, name: &str) {
        let expected = &load()["V4_quantile_blocks"]["expected"][name];
        let epochs = v4_epochs();
        let sizes: Vec<[usize; 2]> = epochs.iter().map(sample_counts).collect();
        assert_eq!(quantile.least_samples() as u64, expected["n_min_per_arm"].as_u64().unwrap());
        let blocks = blocks(&sizes, quantile.least_samples());
        let members: Vec<Vec<u64>> = blocks.iter().map(|block| block.clone().map(|idx| idx as u64).collect()).collect();
        let reference: Vec<Vec<u64>> = expected["blocks"].as_array().unwrap().iter().map(counts).collect();
        assert_eq!(members, reference);
        for (side, letter) in [(Side::Baseline, "U"), (Side::Other, "T")] {
            let found = block_quantiles_us(&epochs, &blocks, side, quantile);
            for (found, ns) in found.iter().zip(floats(&expected[format!("q_{letter}")])) {
                close(*found, ns / 1000.0, 1e-12);
            }
            let pooled = pooled_us(&epochs, side, quantile).unwrap().value;
            let ns = expected[format!("pooled_{letter}")].as_f64().unwrap();
            close(pooled, ns / 1000.0, 1e-12);
        }
        let sides = Side::BOTH.map(|side| block_quantiles_us(&epochs, &blocks, side, quantile));
        // The reference is ln(U/T), and ours is ln(other/baseline) = ln(T/U), so the signs differ.
        let found = tax(&sides, 0.05).unwrap().ln_ratio.map_monotone(|x| -x);
        close(found.value, expected["hl_log"].as_f64().unwrap(), 1e-5);
        assert_eq!(found.n as u64, expected["n_blocks"].as_u64().unwrap());
        let pct = found.map_monotone(|x| 100.0 * x.exp_m1());
        if expected["ci95_percent"].is_null() {
            assert!(!found.has_interval());
        } else {
            close(pct.lo, floats(&expected["ci95_percent"])[0], 1e-3);
            close(pct.hi, floats(&expected["ci95_percent"])[1], 1e-3);
        }
    }

    #[test]
    fn block_quantiles_agree_with_the_reference() {
        check(Quantile::P50, "p50");
        check(Quantile::P90, "p90");
    }

    #[test]
    fn the_log_ratios_agree_with_the_reference() {
        let expected = floats(&load()["V4_quantile_blocks"]["expected"]["p50"]["log_ratios"]);
        let epochs = v4_epochs();
        let blocks: Vec<Range<usize>> = (0..16).map(|idx| idx..idx + 1).collect();
        let [base, other] = Side::BOTH.map(|side| block_quantiles_us(&epochs, &blocks, side, Quantile::P50));
        for (idx, expected) in expected.into_iter().enumerate() {
            close(-ln_ratio(other[idx], base[idx]), expected, 1e-5);
        }
    }

    #[test]
    fn too_few_blocks_say_what_is_missing() {
        let epochs = v4_epochs();
        assert!(matches!(compare(&epochs, Quantile::P50, 0.05), Comparison::Known(_)));
        let Comparison::NotEnough { have, need, .. } = compare(&epochs, Quantile::P90, 0.05) else {
            panic!("five blocks were enough");
        };
        assert_eq!((have, need), (5, 6));
        let tail = compare(&epochs, Quantile::P999, 0.00417);
        let Comparison::NotEnough { have, need, n_epochs_needed } = tail else {
            panic!("no block was enough");
        };
        assert_eq!((have, need), (0, 9));
        // With about 46 samples per epoch, 10,000 samples need 220 epochs; nine blocks are needed.
        assert!((1900..2100).contains(&n_epochs_needed.unwrap()));
        assert_eq!(
            compare(&[], Quantile::P50, 0.05),
            Comparison::NotEnough { have: 0, need: 6, n_epochs_needed: None }
        );
    }
}
