//! False discoveries among many tests: one list of hosts, instead of one alarm for each host.
//!
//! Only arithmetic on p-values. For the few metrics of one report, `holm` is used instead.

/// Adjusts p-values. If a list has all hosts whose adjusted value is at most q, at most the share q of these hosts is
/// expected to be in the list only by chance.
///
/// With the m p-values sorted, p₍ᵢ₎ becomes min over j ≥ i of min(1, m·p₍ⱼ₎/j). Assumes that the tests are independent
/// or positively dependent, for example because a kernel made a part of the fleet slower. The result has the order of
/// the input. A value that is not a probability (NaN, negative, above 1) is not counted as a test and becomes NaN.
///
/// Example: 0.01, 0.04, 0.03 become 0.03, 0.04, 0.04.
///
/// # Cost
/// O(m ln m).
///
/// # Source
/// Benjamini and Hochberg, Controlling the false discovery rate, JRSS B 57 (1995) 289-300.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    step_up(p_values, |_| 1.0)
}

/// The same as [`benjamini_hochberg`], but valid for tests with any dependence: every value is (1 + 1/2 + … + 1/m)
/// times as large.
///
/// Example: 0.01, 0.04, 0.03 become 0.055, 0.0733, 0.0733.
///
/// # Source
/// Benjamini and Yekutieli, The control of the false discovery rate in multiple testing under dependency, Annals
/// of Statistics 29 (2001) 1165-1188.
pub fn benjamini_yekutieli(p_values: &[f64]) -> Vec<f64> {
    step_up(p_values, |n_tests| (1..=n_tests).map(|it| 1.0 / it as f64).sum())
}

fn step_up(p_values: &[f64], price: impl Fn(usize) -> f64) -> Vec<f64> {
    let is_test = |idx: &usize| (0.0..=1.0).contains(&p_values[*idx]);
    let mut order: Vec<usize> = (0..p_values.len()).filter(is_test).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let factor = order.len() as f64 * price(order.len());
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut smallest = 1.0_f64;
    for (n_before, idx) in order.into_iter().enumerate().rev() {
        smallest = smallest.min(factor * p_values[idx] / (n_before + 1) as f64);
        adjusted[idx] = smallest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    #[track_caller]
    fn check(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            close(*found, *expected, 1e-12);
        }
    }

    // Expected values: R, p.adjust(p, "BH") and p.adjust(p, "BY"); a published example is in `published`.
    #[test]
    fn adjusts_in_the_order_of_the_input() {
        check(&benjamini_hochberg(&[0.01, 0.04, 0.03]), &[0.03, 0.04, 0.04]);
        let price = 11.0 / 6.0;
        let dependent = [0.03 * price, 0.04 * price, 0.04 * price];
        check(&benjamini_yekutieli(&[0.01, 0.04, 0.03]), &dependent);
        check(&benjamini_hochberg(&[0.9, 1.0, 0.0]), &[1.0, 1.0, 0.0]);
        check(&benjamini_hochberg(&[]), &[]);
    }

    #[test]
    fn what_was_no_test_is_not_counted() {
        let found = benjamini_hochberg(&[f64::NAN, 0.02, -0.1, 1.5, f64::INFINITY, 0.03]);
        check(&[found[1], found[5]], &[0.03, 0.03]);
        assert!([0, 2, 3, 4].iter().all(|idx| found[*idx].is_nan()));
    }
}
