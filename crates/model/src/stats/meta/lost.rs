//! CPU time that a host loses by using TCP: its number of requests, times the cost that TCP adds to a request.
//!
//! Only arithmetic on a host's effect. Called for the ranking of a fleet; the sum is in `total`.

use super::shrink::Posterior;
use crate::stats::Estimate;

/// Number of cores that one request per second occupies if it costs one microsecond of CPU time.
const CORES: f64 = 1e-6;

/// Returns the number of cores that a host loses, with an interval of level 1 − `alpha` from the host's effect.
///
/// Estimand: L = rate·c of this host; c is the CPU time that TCP adds to a request at both ends. The kernel's work for
/// a request over TCP does not depend on how long the server works on the request. Therefore c is also valid for other
/// requests of about the same size; a ratio of CPU times would not be valid for these requests. Assumes that the rate
/// is known. Returns `None` for a rate that is negative or not a number.
///
/// Example: 40,000 requests per second with c = 5 [0, 10] µs lose 0.2 [0, 0.4] cores.
///
/// # Units
/// The effect is in µs per request; the result in cores: seconds of CPU time per second.
pub fn cores_lost(requests_per_s: f64, effect: &Posterior, alpha: f64) -> Option<Estimate> {
    let estimate = effect.estimate(alpha);
    is_rate(requests_per_s).then(|| estimate.map_monotone(|us| cores(requests_per_s * us)))
}

/// Converts µs of CPU time per second to cores.
pub(super) fn cores(us_per_s: f64) -> f64 {
    us_per_s * CORES
}

/// Returns whether the number is a possible rate of requests.
pub(super) fn is_rate(requests_per_s: f64) -> bool {
    requests_per_s.is_finite() && requests_per_s >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

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
    fn the_example_comes_out() {
        let error: f64 = 5.0 / 1.959_964;
        let found = cores_lost(40_000.0, &effect(5.0, error.powi(2)), 0.05).unwrap();
        close(found.value, 0.2, 1e-12);
        close(found.lo, 0.0, 1e-6);
        close(found.hi, 0.4, 1e-6);
    }

    #[test]
    fn what_is_no_rate_loses_nothing_that_can_be_said() {
        for rate in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(cores_lost(rate, &effect(0.1, 0.01), 0.05), None);
        }
        let idle = cores_lost(0.0, &effect(0.1, 0.01), 0.05).unwrap();
        close(idle.value, 0.0, 0.0);
    }
}
