//! Mean, spread, median and ranks of a slice of numbers.
//!
//! Sums are computed in the order of the input. Used by every estimator of the statistics, and by code that shows plain
//! figures.

use std::cmp::Ordering;

/// Returns the arithmetic mean; NaN if there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sample variance (divisor n − 1); `None` for fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values);
    let sum: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some(sum / (values.len() - 1) as f64)
}

/// Returns the sample standard deviation (divisor n − 1), in the unit of the values; `None` for fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    Some(variance(values)?.sqrt())
}

/// Returns the sample covariance (divisor n − 1) of two series; `None` for fewer than two values or for unequal
/// lengths.
pub(crate) fn covariance(left: &[f64], right: &[f64]) -> Option<f64> {
    if left.len() < 2 || left.len() != right.len() {
        return None;
    }
    let (left_mean, right_mean) = (mean(left), mean(right));
    let pairs = left.iter().zip(right);
    let sum: f64 = pairs.map(|(a, b)| (a - left_mean) * (b - right_mean)).sum();
    Some(sum / (left.len() - 1) as f64)
}

/// Returns the median (the mean of the two middle values if n is even), in the unit of the values; `None` if there are
/// no values. Sorts the values in place.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    median_of_sorted(values)
}

/// Returns the [`median`] of values that are already sorted.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(sorted[sorted.len() / 2 - 1], upper))
}

/// Returns the ranks, counted from 1; equal values all get the mean of their ranks.
pub(crate) fn midranks(series: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by(|a, b| series[*a].total_cmp(&series[*b]));
    let mut ranks = vec![0.0; series.len()];
    let mut n_before = 0;
    let is_tie = |a: &usize, b: &usize| series[*a].partial_cmp(&series[*b]) == Some(Ordering::Equal);
    for tied in order.chunk_by(is_tie) {
        let rank = n_before as f64 + f64::midpoint(1.0, tied.len() as f64);
        for idx in tied {
            ranks[*idx] = rank;
        }
        n_before += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    #[test]
    fn the_middle_of_an_even_count_is_between_the_two() {
        assert_eq!(median(&mut [9.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&mut [9.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn spread_divides_by_one_less() {
        close(variance(&[1.0, 2.0, 3.0]).unwrap(), 1.0, 1e-12);
        close(covariance(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]).unwrap(), 2.0, 1e-12);
        assert_eq!(variance(&[1.0]), None);
        assert_eq!(deviation(&[1.0, 3.0, 5.0]), Some(2.0));
        assert_eq!(deviation(&[7.0]), None);
    }

    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(midranks(&[5.0, 1.0, 5.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
    }
}
