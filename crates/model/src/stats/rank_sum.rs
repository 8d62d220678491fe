//! Compares the values of two groups: Wilcoxon's rank-sum test, and the size of the shift between the groups.
//!
//! This is the counterpart of `signed_rank` and `hodges_lehmann` for two samples. Called to compare parts of the
//! epochs of a run: disturbed with undisturbed epochs, and the first half with the second half.

use crate::stats::distributions::normal_cdf;
use crate::stats::moments::{median, midranks};

/// If both groups together have at most this many values, the distribution is counted exactly; the table then has up
/// to 66,000 cells.
const EXACT_MAX: usize = 40;

/// Returns the two-sided p-value of "both groups come from the same distribution".
///
/// p = min(1, 2·min(P(R ≤ r), P(R ≥ r))), where R is the sum of the midranks of the smaller group among all values.
/// For up to 40 values in both groups together, all choices of the smaller group are counted, which is exact even with
/// ties; for more values, the normal approximation with a correction for ties is used. Assumes independent values.
/// Returns `None` if a group is empty or contains a NaN.
///
/// Example: if six values are all above six other values, 2 of the 924 choices are as extreme, so p = 0.00216.
///
/// # Source
/// Hollander and Wolfe, Nonparametric Statistical Methods, chapter 4.
pub fn p_value(left: &[f64], right: &[f64]) -> Option<f64> {
    let (few, many) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    let all: Vec<f64> = few.iter().chain(many).copied().collect();
    if few.is_empty() || all.iter().any(|value| value.is_nan()) {
        return None;
    }
    let ranks = midranks(&all);
    Some(if all.len() <= EXACT_MAX { counted(&ranks, few.len()) } else { approximated(&ranks, few.len()) })
}

/// Returns by how much `left` is higher than `right`: the median of all differences between a value of `left` and a
/// value of `right`.
///
/// Estimand: the shift between two distributions of the same shape; this is the Hodges-Lehmann estimate that belongs to
/// the test of [`p_value`]. Returns `None` if a group is empty.
///
/// Example: for the samples {5, 7} and {1, 2}, the differences are 4, 3, 6 and 5, and their median is 4.5.
pub fn shift(left: &[f64], right: &[f64]) -> Option<f64> {
    let differences = left.iter().flat_map(|l| right.iter().map(move |r| l - r));
    median(&mut differences.collect::<Vec<f64>>())
}

/// Computes the exact p-value: for each possible rank sum, counts the ways to choose `n_few` of the ranks. Sums are
/// doubled, because twice a midrank is always an integer.
fn counted(ranks: &[f64], n_few: usize) -> f64 {
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank) as usize).collect();
    let seen: usize = doubled[..n_few].iter().sum();
    let most: usize = doubled.iter().sum();
    // ways[k][s] is the number of ways to choose k of the ranks so far such that their doubled sum is s.
    let mut ways = vec![vec![0.0; most + 1]; n_few + 1];
    ways[0][0] = 1.0;
    for rank in doubled {
        for k in (1..=n_few).rev() {
            let (before, from) = ways.split_at_mut(k);
            for (sum, n) in before[k - 1][..=most - rank].iter().enumerate() {
                from[0][sum + rank] += n;
            }
        }
    }
    let ways = &ways[n_few];
    let all: f64 = ways.iter().sum();
    let below: f64 = ways[..=seen].iter().sum();
    let above: f64 = ways[seen..].iter().sum();
    (2.0 * below.min(above) / all).min(1.0)
}

fn approximated(ranks: &[f64], n_few: usize) -> f64 {
    let n = ranks.len() as f64;
    let (few, many) = (n_few as f64, n - n_few as f64);
    let centre = f64::midpoint(n, 1.0);
    let seen: f64 = ranks[..n_few].iter().map(|rank| rank - centre).sum();
    let squares: f64 = ranks.iter().map(|rank| (rank - centre).powi(2)).sum();
    let sd = (few * many * squares / (n * (n - 1.0))).sqrt();
    if sd == 0.0 {
        return 1.0;
    }
    let away = (seen.abs() - 0.5).max(0.0);
    (2.0 * normal_cdf(-away / sd)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    #[track_caller]
    fn check(left: &[f64], right: &[f64], expected: f64) {
        close(p_value(left, right).unwrap(), expected, 1e-6);
        close(p_value(right, left).unwrap(), expected, 1e-6);
    }

    /// The expected values were counted over all choices of the ranks (Python's itertools.combinations).
    #[test]
    fn small_groups_are_counted() {
        let six: Vec<f64> = (1..=6).map(f64::from).collect();
        let above: Vec<f64> = (7..=12).map(f64::from).collect();
        check(&six, &above, 2.0 / 924.0);
        check(&[1.0, 4.0, 6.0], &[2.0, 3.0, 5.0, 7.0], 30.0 / 35.0);
        check(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0, 7.0], 4.0 / 35.0);
        check(&[2.0], &[1.0, 1.0, 1.0], 0.5);
        check(&[1.0, 2.0, 2.0, 3.0], &[2.0, 3.0, 3.0, 4.0, 5.0], 20.0 / 126.0);
        check(&[3.0; 6], &[3.0; 9], 1.0);
    }

    #[test]
    fn the_approximation_meets_the_count() {
        let apart = |n: usize, shift: f64| -> f64 {
            let left: Vec<f64> = (0..n).map(|idx| idx as f64).collect();
            let right: Vec<f64> = (0..n).map(|idx| idx as f64 + 0.5 + shift).collect();
            let all: Vec<f64> = left.iter().chain(&right).copied().collect();
            let ranks = midranks(&all);
            (counted(&ranks, n) - approximated(&ranks, n)).abs()
        };
        for shift in [0.0, 1.0, 3.0, 6.0] {
            assert!(apart(18, shift) < 0.005, "{shift}");
        }
    }

    #[test]
    fn beyond_the_count_a_shift_is_seen_and_none_is_not() {
        let left: Vec<f64> = (0..60).map(f64::from).collect();
        let right: Vec<f64> = (0..60).map(|idx| f64::from(idx) + 0.5).collect();
        assert!(p_value(&left, &right).unwrap() > 0.8);
        let far: Vec<f64> = right.iter().map(|value| value + 30.0).collect();
        assert!(p_value(&left, &far).unwrap() < 1e-6);
        close(p_value(&[1.0; 40], &[1.0; 40]).unwrap(), 1.0, 0.0);
    }

    #[test]
    fn degenerate_groups_have_no_answer() {
        assert_eq!(p_value(&[], &[1.0]), None);
        assert_eq!(p_value(&[1.0, f64::NAN], &[1.0]), None);
        assert_eq!(shift(&[], &[1.0]), None);
        close(shift(&[5.0, 7.0], &[1.0, 2.0]).unwrap(), 4.5, 1e-12);
    }
}
