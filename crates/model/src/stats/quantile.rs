//! Latency quantiles of one arm: the nearest-rank quantile, and (only for display) the quantile of all samples
//! together.
//!
//! To compare two arms, blocks of epochs are necessary: see `blocks`. Called by `judge`.

mod blocks;

pub use blocks::{Comparison, QuantileTax, blocks, compare, compare_whole};

use statrs::function::beta::beta_reg;

use crate::stats::epoch::{Epoch, Side};
use crate::stats::estimate::Estimate;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantile {
    P50,
    P90,
    /// The 95 % quantile; only for an application's pages.
    P95,
    P99,
    /// The 99.9 % quantile.
    P999,
}

impl Quantile {
    /// The quantiles of every comparison, in increasing order.
    pub const ALL: [Self; 4] = [Self::P50, Self::P90, Self::P99, Self::P999];

    /// Returns the quantile in thousandths, so that ranks can be computed with integers.
    pub fn permille(self) -> usize {
        match self {
            Self::P50 => 500,
            Self::P90 => 900,
            Self::P95 => 950,
            Self::P99 => 990,
            Self::P999 => 999,
        }
    }

    pub fn fraction(self) -> f64 {
        self.permille() as f64 / 1000.0
    }

    /// Returns the number of samples that an arm needs in a block: ten samples must be beyond the quantile, so
    /// ⌈10/(1−q)⌉.
    pub fn least_samples(self) -> usize {
        10_000_usize.div_ceil(1000 - self.permille())
    }

    /// Returns the 0-based index of the nearest rank among `n` sorted samples: ⌈q·n⌉ − 1.
    fn rank_idx(self, n: usize) -> Option<usize> {
        (self.permille() * n).div_ceil(1000).checked_sub(1)
    }
}

/// Returns the nearest-rank quantile, which is the sample of rank ⌈q·n⌉; `None` if there are no samples. Reorders
/// `samples`.
///
/// Example: the median of 4 samples is the second smallest.
///
/// # Cost
/// One selection, linear in the number of samples; no sort.
pub fn nearest_rank<T: Copy + Ord>(samples: &mut [T], quantile: Quantile) -> Option<T> {
    let idx = quantile.rank_idx(samples.len())?;
    Some(*samples.select_nth_unstable(idx).1)
}

/// Returns the quantile of all samples of one arm in µs, with the interval for independent samples. Only for display.
///
/// The interval is that of [`order_statistic_ranks`] at 95 %. Requests are not independent, so the interval is too
/// narrow. To compare two arms, use [`compare`], never these intervals. An end that would be beyond the samples is
/// infinite. Returns `None` if there are no samples.
pub fn pooled_us(epochs: &[Epoch], side: Side, quantile: Quantile) -> Option<Estimate> {
    let samples = samples(epochs, side);
    let n = samples.iter().map(|part| part.len()).sum();
    let value = quantile_of(&samples, quantile)?;
    let (lower, upper) = order_statistic_ranks(n as u64, quantile.fraction());
    let at = |rank: Option<u64>| {
        let idx = usize::try_from(rank?).ok()?.checked_sub(1)?;
        Some(us(nth_smallest(&samples, idx)))
    };
    Some(Estimate {
        value: us(value),
        lo: at(lower).unwrap_or(f64::NEG_INFINITY),
        hi: at(upper).unwrap_or(f64::INFINITY),
        n,
    })
}

/// Returns one arm's samples, as one slice for each epoch.
fn samples(epochs: &[Epoch], side: Side) -> Vec<&[u32]> {
    epochs.iter().map(|epoch| &epoch.latencies_ns[side.idx()][..]).collect()
}

/// Returns the nearest-rank quantile of several parts together, without reordering them; `None` if there are no
/// samples.
pub fn quantile_of(parts: &[&[u32]], quantile: Quantile) -> Option<u32> {
    let n = parts.iter().map(|part| part.len()).sum();
    Some(nth_smallest(parts, quantile.rank_idx(n)?))
}

/// Returns the sample of several parts together that has `idx` samples before it in sorted order; there must be more
/// than `idx` samples.
///
/// # Cost
/// All samples are read twice, with 256 KiB of memory instead of a copy. The first pass counts the samples by the upper
/// half of their bits, and so finds the upper half of the result. The second pass takes only the samples with this
/// upper half, and counts them by their lower half.
fn nth_smallest(parts: &[&[u32]], idx: usize) -> u32 {
    let samples = || parts.iter().copied().flatten().copied();
    let mut n_before = idx;
    let upper = halfword_at(samples().map(|sample| sample >> 16), &mut n_before);
    let sharing = samples().filter(|sample| sample >> 16 == upper);
    let lower = halfword_at(sharing.map(|sample| sample & 0xffff), &mut n_before);
    upper << 16 | lower
}

/// Returns the value that has `n_before` values before it in sorted order. Then sets `n_before` to the number of these
/// values that are equal to the returned value.
fn halfword_at(values: impl Iterator<Item = u32>, n_before: &mut usize) -> u32 {
    let mut counts = vec![0_u32; 1 << 16];
    for value in values {
        counts[value as usize] += 1;
    }
    let mut value = 0;
    while *n_before >= counts[value] as usize && value + 1 < counts.len() {
        *n_before -= counts[value] as usize;
        value += 1;
    }
    value as u32
}

/// Returns the 1-based ranks of the ends of a 95 % interval for one arm's quantile, as if samples were independent.
///
/// The lower rank is the largest l with B(l−1) ≤ 0.025, and the upper rank the smallest u with 1 − B(u−1) ≤ 0.025,
/// where B is the cumulative Binomial(n, q). A rank is `None` if it would be outside 1..=n. `q` must be in (0, 1).
///
/// Example: n = 200 and q = 0.5 give the ranks 86 and 115. Consecutive requests are *not* independent: use these ranks
/// only to display one arm.
pub fn order_statistic_ranks(n: u64, q: f64) -> (Option<u64>, Option<u64>) {
    const TAIL: f64 = 0.025;
    // Both conditions are monotone in the rank, so the boundary can be found by bisection.
    let n_lower = first_rank(n, |rank| binomial_cdf(rank - 1, n, q) > TAIL) - 1;
    let upper = first_rank(n, |rank| 1.0 - binomial_cdf(rank - 1, n, q) <= TAIL);
    ((n_lower >= 1).then_some(n_lower), (upper <= n).then_some(upper))
}

/// Returns the first rank in 1..=n for which `is_past` is true, or n + 1 if there is no such rank. `is_past` must be
/// true for all later ranks, too.
fn first_rank(n: u64, is_past: impl Fn(u64) -> bool) -> u64 {
    let (mut lo, mut hi) = (1, n + 1);
    while lo < hi {
        let middle = u64::midpoint(lo, hi);
        if is_past(middle) {
            hi = middle;
        } else {
            lo = middle + 1;
        }
    }
    lo
}

/// Returns P(X ≤ x) for X ~ Binomial(n, p).
pub(crate) fn binomial_cdf(x: u64, n: u64, p: f64) -> f64 {
    if x >= n {
        return 1.0;
    }
    beta_reg((n - x) as f64, x as f64 + 1.0, 1.0 - p)
}

fn us(ns: u32) -> f64 {
    f64::from(ns) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::{close, load};

    #[test]
    fn the_nth_smallest_of_several_parts_is_that_of_them_sorted() {
        let parts: [&[u32]; 3] = [&[5, 70_000, 65_535, u32::MAX], &[], &[65_536, 5, 0, 70_001, u32::MAX]];
        let mut sorted = parts.concat();
        sorted.sort_unstable();
        for (idx, expected) in sorted.iter().enumerate() {
            assert_eq!(nth_smallest(&parts, idx), *expected, "{idx}");
        }
    }

    #[test]
    fn order_statistic_ranks_agree_with_the_reference() {
        let vectors = load();
        let cases = &vectors["V6_single_arm_quantile_order_statistic_ranks"]["expected"];
        for case in cases.as_array().unwrap() {
            let (n, q) = (case["n"].as_u64().unwrap(), case["q"].as_f64().unwrap());
            let (lower, upper) = order_statistic_ranks(n, q);
            assert_eq!(lower, case["l_rank_1based"].as_u64(), "n {n} q {q}");
            assert_eq!(upper, case["u_rank_1based"].as_u64(), "n {n} q {q}");
            if let (Some(lower), Some(upper), Some(coverage)) = (lower, upper, case["coverage"].as_f64()) {
                let found = binomial_cdf(upper - 1, n, q) - binomial_cdf(lower - 1, n, q);
                close(found, coverage, 1e-5);
            }
        }
    }

    #[test]
    fn ranks_are_whole_number_arithmetic() {
        for (quantile, n, idx) in [
            (Quantile::P50, 4, Some(1)),
            (Quantile::P99, 100, Some(98)),
            (Quantile::P99, 101, Some(99)),
            (Quantile::P999, 1000, Some(998)),
            (Quantile::P999, 1, Some(0)),
            (Quantile::P90, 0, None),
        ] {
            assert_eq!(quantile.rank_idx(n), idx);
        }
        assert_eq!(nearest_rank(&mut [4, 3, 1, 2], Quantile::P50), Some(2));
        assert_eq!(Quantile::P999.least_samples(), 10_000);
    }
}
