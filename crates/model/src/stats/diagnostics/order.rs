//! Checks whether θ depends on which arm ran first in an epoch.
//!
//! A coin decides the order, so such an effect does not bias θ; it only makes the interval wider. A clear effect shows
//! that the guard between slices is too short. Called for the whole run.

use crate::stats::distributions::{t_critical, t_two_sided_p};
use crate::stats::epoch::Epoch;
use crate::stats::estimate::Estimate;
use crate::stats::moments::{mean, variance};

/// If the p-value of an order effect is below this, a warning is given: the guard should be longer.
const WARN_P: f64 = 0.001;

/// Half the difference between θ of the two orders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrderEffect {
    /// (mean θ of other-first epochs − mean θ of baseline-first epochs)/2, with Welch's interval at
    /// 95 %.
    pub effect: Estimate,
    pub p_value: f64,
}

impl OrderEffect {
    /// Returns whether p < 0.001.
    pub fn is_clear(&self) -> bool {
        self.p_value < WARN_P
    }
}

/// Estimates the order effect from the epochs that have a θ.
///
/// Welch's t test of two independent groups of roughly normal θ with unequal variances. Returns `None` if one of the
/// orders has fewer than two epochs, or if all θ within each order are equal.
///
/// Example: θ is 1 and 3 in other-first epochs, and 0 and 0 in baseline-first epochs. The means differ by 2, and
/// the effect is half of that, 1. The standard error of the difference is 1, so t = 2 with 1 degree of freedom, and
/// p = 0.2952.
pub fn order_effect(epochs: &[Epoch]) -> Option<OrderEffect> {
    let thetas = |is_other_first: bool| -> Vec<f64> {
        let epochs = epochs.iter().filter(|epoch| epoch.is_other_first() == is_other_first);
        epochs.filter_map(Epoch::theta).collect()
    };
    welch_half(&thetas(true), &thetas(false))
}

fn welch_half(first: &[f64], second: &[f64]) -> Option<OrderEffect> {
    let part = |group: &[f64]| Some(variance(group)? / group.len() as f64);
    let (first_part, second_part) = (part(first)?, part(second)?);
    let squared_se = first_part + second_part;
    let freedom = squared_se.powi(2)
        / (first_part.powi(2) / (first.len() - 1) as f64 + second_part.powi(2) / (second.len() - 1) as f64);
    let difference = mean(first) - mean(second);
    let effect = difference / 2.0;
    let half_width = t_critical(0.05, freedom)? * squared_se.sqrt() / 2.0;
    Some(OrderEffect {
        effect: Estimate {
            value: effect,
            lo: effect - half_width,
            hi: effect + half_width,
            n: first.len() + second.len(),
        },
        p_value: t_two_sided_p(difference / squared_se.sqrt(), freedom)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::{close, load, v1_epochs};

    #[test]
    fn the_effect_agrees_with_the_reference() {
        let expected = &load()["V7_selfcheck_and_diagnostics"]["order_effect"]["expected"];
        let found = order_effect(&v1_epochs()).unwrap();
        close(found.effect.value, expected["c_hat"].as_f64().unwrap(), 1e-5);
        close(found.p_value, expected["welch_p"].as_f64().unwrap(), 1e-5);
        assert!(found.effect.covers(0.0) && !found.is_clear());
    }

    #[test]
    fn two_epochs_of_each_order_are_the_least() {
        let found = welch_half(&[1.0, 3.0], &[0.0, 0.0]).unwrap();
        close(found.effect.value, 1.0, 1e-12);
        close(found.p_value, 0.295_167, 1e-5);
        assert_eq!(welch_half(&[1.0], &[0.0, 0.0]), None);
        assert_eq!(welch_half(&[1.0, 1.0], &[0.0, 0.0]), None);
    }
}
