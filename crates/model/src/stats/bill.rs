//! The bill: how much time one arm adds, compared with another arm, if both were compared with the same baseline.
//!
//! A block has the n-th epoch of every pair; these epochs ran one after the other, in random order. Within an epoch,
//! the difference between an arm and the baseline does not contain the machine's drift. The time that arm x adds to arm
//! y is (x − baseline) − (y − baseline), computed block by block. So the steps add up exactly within each block, and
//! approximately in the estimates.

use crate::stats::epoch::{Epoch, Side, Slice};
use crate::stats::estimate::Estimate;
use crate::stats::hodges_lehmann;
use crate::stats::judge::{Metric, cpu_us, mean_latency_us};

/// The epochs of several pairs of arms; all pairs have the same baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    /// For each pair and block, `[time, CPU time]` of a request, µs: other arm minus baseline.
    differences: Vec<Vec<[f64; 2]>>,
    /// For each pair and block, `[time, CPU time]` of a request over the baseline and over the other arm, µs.
    sides: Vec<Vec<[[f64; 2]; 2]>>,
}

/// The cost of an arm, or the cost that it adds to another arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Time per request and connection, µs.
    pub time_us: Option<Estimate>,
    /// CPU time of both ends together per request, µs; `None` if the CPU time could not be read.
    pub cpu_us: Option<Estimate>,
}

impl Blocks {
    /// Makes blocks from the complete epochs. The pair with the fewest complete epochs decides the number of blocks.
    /// Returns `None` if there are no blocks.
    ///
    /// `pairs` has the epochs of arm 0 (the baseline) with arm 1, then the epochs of arm 0 with arm 2, and so on.
    pub fn from_pairs(pairs: &[Vec<Epoch>], connections: u32) -> Option<Self> {
        let time = |slice: &Slice| Some(mean_latency_us(slice, connections));
        let cpu = |slice: &Slice| cpu_us(slice, Metric::BothCpu);
        // NaN marks a missing value; one missing value makes the CPU time of all blocks unknown.
        let or_nan = |it: Option<f64>| it.unwrap_or(f64::NAN);
        let difference = |epoch: &Epoch| Some([epoch.contrast(time)?, or_nan(epoch.contrast(cpu))]);
        let side = |epoch: &Epoch, side| Some([epoch.typical(side, time)?, or_nan(epoch.typical(side, cpu))]);
        let sides = |epoch: &Epoch| Some([side(epoch, Side::Baseline)?, side(epoch, Side::Other)?]);
        let mut differences: Vec<Vec<_>> =
            { pairs.iter() }.map(|epochs| epochs.iter().filter_map(difference).collect()).collect();
        let mut sides: Vec<Vec<_>> = { pairs.iter() }.map(|epochs| epochs.iter().filter_map(sides).collect()).collect();
        let n = differences.iter().map(Vec::len).min()?;
        for pair in &mut differences {
            pair.truncate(n);
        }
        for pair in &mut sides {
            pair.truncate(n);
        }
        (n > 0).then_some(Self { differences, sides })
    }

    /// Returns the cost that `arm` adds to `over`; index 0 is the baseline. For an unknown arm there is no estimate.
    pub fn added(&self, arm: usize, over: usize, alpha: f64) -> Cost {
        let n = self.differences.first().map_or(0, Vec::len);
        let to_baseline = |arm: usize, block: usize| match arm.checked_sub(1) {
            None => [0.0; 2],
            Some(pair) => { self.differences.get(pair) }.map_or([f64::NAN; 2], |it| it[block]),
        };
        cost(
            alpha,
            (0..n).map(|block| {
                let [own, base] = [arm, over].map(|arm| to_baseline(arm, block));
                [own[0] - base[0], own[1] - base[1]]
            }),
        )
    }

    /// Returns the cost of one arm, from the first pair that contains the arm.
    pub fn alone(&self, arm: usize, alpha: f64) -> Cost {
        let blocks = self.sides.get(arm.saturating_sub(1)).into_iter().flatten();
        cost(alpha, blocks.map(|sides| sides[arm.min(1)]))
    }
}

fn cost(alpha: f64, values: impl Iterator<Item = [f64; 2]>) -> Cost {
    let (times, cpus): (Vec<f64>, Vec<f64>) = values.map(|[time, cpu]| (time, cpu)).unzip();
    Cost { time_us: hodges_lehmann::estimate(&times, alpha), cpu_us: hodges_lehmann::estimate(&cpus, alpha) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::plain_slice;

    /// Makes blocks on a machine that gets faster; the numbers are requests per slice of 50 ms, for the baseline and
    /// for each other arm.
    fn blocks(baseline: u64, others: &[u64]) -> Blocks {
        let epoch = |block: u64, other: u64| Epoch {
            slices: { "bobooboboboboobo"[..8].chars() }
                .map(|letter| {
                    let (side, n) = match letter {
                        'o' => (Side::Other, other),
                        _ => (Side::Baseline, baseline),
                    };
                    plain_slice(side, n * (100 + block) / 100, 50_000_000)
                })
                .collect(),
            latencies_ns: [vec![], vec![]],
            noise: None,
        };
        let pair = |other: &u64| (0..12).map(|block| epoch(block, *other)).collect();
        Blocks::from_pairs(&others.iter().map(pair).collect::<Vec<_>>(), 1).unwrap()
    }

    #[track_caller]
    fn check(blocks: &Blocks, arm: usize, over: usize, us: f64) {
        let found = blocks.added(arm, over, 0.05).time_us.unwrap();
        assert!((found.value - us).abs() < 0.08 * us.abs(), "{found:?}");
    }

    #[test]
    fn arms_add_to_one_another_whichever_is_the_baseline() {
        // 10 µs per request over the baseline; 12.5, 20 and 25 µs over the other arms.
        let from_unix = blocks(5_000, &[4_000, 2_500, 2_000]);
        check(&from_unix, 1, 0, 2.5);
        check(&from_unix, 2, 1, 7.5);
        check(&from_unix, 3, 2, 5.0);
        let from_tcp = blocks(4_000, &[5_000, 2_000]);
        check(&from_tcp, 0, 1, 2.5);
        check(&from_tcp, 2, 0, 12.5);
        let root = from_tcp.alone(1, 0.05).time_us.unwrap();
        assert!((root.value - 9.5).abs() < 0.5, "{root:?}");
    }

    #[test]
    fn steps_add_up_within_each_block() {
        let blocks = blocks(5_000, &[4_000, 2_500]);
        let value = |arm, over| blocks.added(arm, over, 0.05).time_us.unwrap().value;
        let left = value(2, 0) - value(1, 0) - value(2, 1);
        assert!(left.abs() < 0.05, "{left}");
    }

    #[test]
    fn without_cpu_time_there_is_none() {
        assert_eq!(blocks(5_000, &[4_000]).added(1, 0, 0.05).cpu_us, None);
        assert_eq!(Blocks::from_pairs(&[vec![]], 1), None);
    }
}
