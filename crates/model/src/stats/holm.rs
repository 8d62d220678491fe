//! Holm's correction for several secondary metrics in one report.
//!
//! Only arithmetic on p-values. Called by `judge`.

/// Adjusts p-values so that the probability of at least one false star (a metric that is marked as significant by
/// mistake) stays at the level of a single test.
///
/// With the p-values sorted, p₍ᵢ₎ becomes max over j ≤ i of min(1, (m − j + 1)·p₍ⱼ₎), with i and j counted from 1. No
/// assumption is made about the dependence between the p-values. The result has the order of the input, and is empty
/// for an empty input. A NaN is sorted last and stays NaN.
///
/// Example: 0.01, 0.04, 0.03 become 0.03, 0.06, 0.06.
///
/// # Source
/// Holm, 1979, "A simple sequentially rejective multiple test procedure".
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut largest = 0.0_f64;
    for (n_before, idx) in order.into_iter().enumerate() {
        if p_values[idx].is_nan() {
            continue;
        }
        let factor = (p_values.len() - n_before) as f64;
        largest = largest.max((factor * p_values[idx]).min(1.0));
        adjusted[idx] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    // Expected values: R, p.adjust(p, "holm").
    #[track_caller]
    fn check(p_values: &[f64], expected: &[f64]) {
        let found = holm(p_values);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            close(*found, *expected, 1e-12);
        }
    }

    #[test]
    fn adjusts_in_the_order_of_the_input() {
        check(&[0.01, 0.04, 0.03], &[0.03, 0.06, 0.06]);
        check(&[0.5, 0.6], &[1.0, 1.0]);
        check(&[0.02], &[0.02]);
        check(&[], &[]);
    }

    #[test]
    fn a_missing_p_value_stays_missing() {
        let found = holm(&[f64::NAN, 0.01]);
        assert!(found[0].is_nan());
        close(found[1], 0.02, 1e-12);
    }
}
