//! Finds hosts whose measurement differs from the measurements of other hosts of their kind.

use super::effect::Effect;
use super::pool::pool;
use super::shrink::Prior;
use super::tau::Spread;

/// Minimum number of other hosts from which the usual effect is computed.
const LEAST_OTHERS: usize = 3;
/// Up to this number of hosts, each host is compared only with the other hosts. In a larger group, one host changes τ²
/// so little that it cannot hide its own deviation.
const MOST_ALONE: usize = 300;
/// The level of the intervals that [`pool`] computes; the intervals are not used in this file.
const ALPHA: f64 = 0.05;

/// Computes, for each of these hosts, the distribution of effects that the other hosts suggest for it. If the host
/// itself were included, its large deviation would increase τ², which would hide the deviation.
///
/// Returns `None` for every host if there are too few other hosts, or so many that one host does not matter; the mean
/// of all hosts is then good enough.
///
/// # Cost
/// O(k²) steps of [`pool`] for k hosts; k is at most 300.
///
/// # Source
/// Externally studentized residuals: Viechtbauer and Cheung, Outlier and influence diagnostics for meta-analysis,
/// Research Synthesis Methods 1 (2010) 112-125.
pub fn without_each(effects: &[Effect], spread: Spread) -> Vec<Option<Prior>> {
    let is_judged = (LEAST_OTHERS + 1..=MOST_ALONE).contains(&effects.len());
    let usual = |host_idx: usize| {
        let mut others = effects.to_vec();
        others.swap_remove(host_idx);
        pool(&others, spread, ALPHA)?.prior()
    };
    (0..effects.len()).map(|host_idx| is_judged.then(|| usual(host_idx)).flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(values: &[f64]) -> Vec<Effect> {
        let known = |value: &f64| Effect::new(*value, 0.01, f64::INFINITY).unwrap();
        values.iter().map(known).collect()
    }

    #[test]
    fn one_that_is_far_off_does_not_hide_behind_itself() {
        let effects = effects(&[5.0, 5.1, 4.9, 5.05, 4.95, 9.0]);
        let with_all = pool(&effects, Spread::PauleMandel, ALPHA).unwrap();
        let among_all = with_all.prior().unwrap().p_of(&effects[5]).unwrap();
        let usual = without_each(&effects, Spread::PauleMandel);
        let alone = usual[5].unwrap().p_of(&effects[5]).unwrap();
        assert!(among_all > 0.05, "{among_all}");
        assert!(alone < 1e-4, "{alone}");
        // The host that deviates does not affect the result for the other hosts.
        let other = usual[0].unwrap().p_of(&effects[0]).unwrap();
        assert!(other > 0.5, "{other}");
    }

    #[test]
    fn of_few_others_nothing_is_said() {
        assert!(without_each(&effects(&[5.0, 5.1, 9.0]), Spread::PauleMandel).iter().all(Option::is_none));
        assert!(without_each(&[], Spread::PauleMandel).is_empty());
    }
}
