//! The share of events in groups whose members are not independent: connections of one storm often fail together.
//!
//! Called for the experiment's storms.

use crate::stats::distributions::t_critical;
use crate::stats::estimate::Estimate;
use crate::stats::variance;

/// Computes the share of events, with Wilson's interval at 95 %, as if the groups were a smaller number of independent
/// cases.
///
/// Each group is (events, cases); the groups have about the same number of cases. p is all events divided by all cases.
/// The design effect is the variance of the groups' shares divided by p(1−p)/m, where m is the mean number of cases.
/// The design effect is at least 1, so the interval does not become narrower if the groups are more similar than chance
/// explains. n is all cases divided by the design effect. There is no interval for fewer than two groups.
///
/// The formula is (p + t²/2n ± t √(p(1−p)/n + t²/4n²)) / (1 + t²/n). Instead of Wilson's z it contains t, Student's
/// critical value with one degree of freedom less than the number of groups.
///
/// Example: two groups, each with 59 events in 140 cases, give p = 0.4214 without variation, n = 280, t = 12.706, and
/// the interval [0.15, 0.75]. Ten such groups give n = 1400, t = 2.262, and [0.392, 0.451].
///
/// # Source
/// Wilson 1927; the design effect after Kish, Survey Sampling (1965), 5.4.
pub fn share_of_groups(groups: &[(u64, u64)]) -> Option<Estimate> {
    let sum = |pick: fn(&(u64, u64)) -> u64| groups.iter().map(pick).sum::<u64>() as f64;
    let (n_events, n_cases) = (sum(|it| it.0), sum(|it| it.1));
    if n_cases == 0.0 {
        return None;
    }
    let p = n_events / n_cases;
    let n_groups = groups.len();
    let Some(t) = t_critical(0.05, n_groups as f64 - 1.0) else {
        return Some(Estimate::without_interval(p, n_groups));
    };
    let shares: Vec<f64> =
        groups.iter().filter(|it| it.1 > 0).map(|(events, cases)| *events as f64 / *cases as f64).collect();
    let by_chance = p * (1.0 - p) * n_groups as f64 / n_cases;
    let effect = if by_chance > 0.0 { variance(&shares).map_or(1.0, |it| (it / by_chance).max(1.0)) } else { 1.0 };
    let n = n_cases / effect;
    let (middle, square) = (p + t * t / (2.0 * n), t * t / n);
    let half = t * (p * (1.0 - p) / n + t * t / (4.0 * n * n)).sqrt();
    let at = |end: f64| (end / (1.0 + square)).clamp(0.0, 1.0);
    Some(Estimate { value: p, lo: at(middle - half), hi: at(middle + half), n: n_groups })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(groups: &[(u64, u64)], expected: [f64; 3]) {
        let found = share_of_groups(groups).unwrap();
        for (found, expected) in [found.value, found.lo, found.hi].into_iter().zip(expected) {
            assert!((found - expected).abs() < 5e-4, "{found} is not {expected}");
        }
    }

    /// The expected values were computed by hand with the formula above and scipy's t.ppf(0.975, 9) = 2.2622.
    #[test]
    fn wilson_with_the_spread_of_the_groups() {
        check(&[(59, 140); 10], [0.4214, 0.3920, 0.4515]);
        check(&[(0, 140); 10], [0.0, 0.0, 0.0036]);
        // In half of the storms all connections fail: this is like ten cases, not like a thousand.
        let halves: Vec<_> = (0..10).map(|idx| (if idx % 2 == 0 { 100 } else { 0 }, 100)).collect();
        check(&halves, [0.5, 0.1990, 0.8010]);
        assert!(share_of_groups(&[]).is_none());
        assert!(!share_of_groups(&[(1, 2)]).unwrap().has_interval());
    }
}
