//! CPU time that a host loses over TCP: what its requests cost now, times the share that is tax.
//!
//! Pure arithmetic on a host's effect. Called for the ranking of a fleet; the sum is in `total`.

use super::shrink::Posterior;
use crate::{Estimate, tax_pct};

/// Cores that a host loses, with the interval of its effect at level 1 − `alpha`.
///
/// Estimand: L = load·(1 − e^−θ) of this host, with θ = ln(CPU time per request over TCP / over the socket) and
/// load the cores that its requests over TCP take at both ends: rate × CPU time per request there. What one
/// knows instead may be the CPU time over the socket: then load = rate × that × e^θ, with the same value of θ.
/// Assumes that the rate is known. The value is the median: that of θ, transformed as its ends are. `None`
/// for a load that is negative or no number.
///
/// Example: 40,000 requests per second of 50 µs are 2 cores; at θ = ln 1.25 [ln 1, ln 2] it loses 0.4
/// [0, 1].
///
/// # Units
/// `load_cores` and the result are cores: seconds of CPU time per second.
pub fn cores_lost(load_cores: f64, effect: &Posterior, alpha: f64) -> Option<Estimate> {
    let share = effect
        .estimate(alpha)
        .map_monotone(|it| tax_pct(it) / 100.0);
    is_load(load_cores).then(|| share.map_monotone(|it| load_cores * it))
}

/// Cores that a host loses on average over what is not known of its effect: load·(1 − e^(−m + V/2)).
///
/// Estimand: the mean of L for a normal θ with mean m and variance V. This is what adds up over hosts and ranks them;
/// it lies below the median of [`cores_lost`], since a θ that is too small costs more than one that is as
/// much too large wins. `None` for a load that is no load, and where V is so large that nothing is known.
///
/// Example: 2 cores at m = ln 1.25, V = 0.02: 2·(1 − 0.8·e^0.01) = 0.38392.
///
/// # Units
/// As [`cores_lost`].
pub fn expected_cores_lost(load_cores: f64, effect: &Posterior) -> Option<f64> {
    let lost = -load_cores * (effect.variance() / 2.0 - effect.value).exp_m1();
    Some(lost).filter(|it| is_load(load_cores) && it.is_finite())
}

/// Whether it can be a number of cores.
pub(super) fn is_load(load_cores: f64) -> bool {
    load_cores.is_finite() && load_cores >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::close;

    fn effect(value: f64, variance: f64) -> Posterior {
        Posterior {
            value,
            own_variance: variance,
            own_freedom: f64::INFINITY,
            borrowed: 0.5,
            shared_variance: 0.0,
            shared_freedom: 99.0,
        }
    }

    #[test]
    fn the_examples_come_out() {
        let found = cores_lost(2.0, &effect(1.25_f64.ln(), 0.02), 0.05).unwrap();
        close(found.value, 0.4, 1e-12);
        let half_width = 1.959_964 * 0.02_f64.sqrt();
        close(found.hi, 2.0 * (1.0 - 0.8 * (-half_width).exp()), 1e-6);
        let mean = expected_cores_lost(2.0, &effect(1.25_f64.ln(), 0.02)).unwrap();
        close(mean, 2.0 * (1.0 - 0.8 * 0.01_f64.exp()), 1e-12);
    }

    #[test]
    fn what_is_no_load_loses_nothing_that_can_be_said() {
        for load in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(cores_lost(load, &effect(0.1, 0.01), 0.05), None);
            assert_eq!(expected_cores_lost(load, &effect(0.1, 0.01)), None);
        }
        close(
            expected_cores_lost(0.0, &effect(0.1, 0.01)).unwrap(),
            0.0,
            0.0,
        );
        assert_eq!(expected_cores_lost(1.0, &effect(0.1, 1e6)), None);
    }
}
