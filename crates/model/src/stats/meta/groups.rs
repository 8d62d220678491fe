//! Hosts that are grouped by a condition (kernel, CPU, server version): each group's mean, and whether the groups
//! differ.
//!
//! The groups are analysed twice: with a separate τ² for each group, and with a common τ², which is necessary for
//! groups of one or two hosts. Calls `pool` and `tau`.

use super::effect::Effect;
use super::pool::{Pooled, around, pool};
use super::shrink::Prior;
use super::sums::Sums;
use super::tau::{Spread, generalised_q, profile};
use crate::stats::Estimate;
use crate::stats::distributions::{f_tail, t_critical, t_two_sided_p};
use crate::stats::per_request::Difference;

/// From this number of hosts on, a group's own τ² is used: with fewer hosts, the estimate of τ² is mostly chance.
pub const LEAST_HOSTS_OF_OWN: usize = 10;

/// Groups of hosts, in the order in which they were given.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// The result of each group; `None` for a group without hosts.
    pub own: Vec<Option<Pooled>>,
    /// Whether the groups' means differ if each group has its own τ²: Welch's test of the means, over the groups with
    /// at least two hosts. `None` if fewer than two groups have at least two hosts.
    pub between: Option<Between>,
    pub common: Common,
    /// The result of all hosts as one group; its τ² includes the differences between the groups.
    pub all: Pooled,
}

/// The analysis with a separate mean for each group and a common τ² within the groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// τ² within the groups, with its Q-profile interval.
    pub tau_squared: Estimate,
    /// The squared standard error of τ²; +∞ if every group has only one host.
    pub tau_squared_variance: f64,
    /// Each group's mean; `None` for a group without hosts. The `n` of a mean is the number of the group's hosts. The
    /// means have no interval if every group has only one host.
    pub means: Vec<Option<Estimate>>,
    /// The squared standard error of each mean; +∞ if the mean is missing.
    pub variances: Vec<f64>,
    /// Degrees of freedom of the intervals: number of hosts − number of groups.
    pub freedom: f64,
    /// Whether the means differ; `None` if there is only one group, or if every group has only one host.
    pub between: Option<Between>,
}

/// A test of whether the means of groups differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between {
    /// `Q_b` = Σ (mean − mean of means)²/se², over the groups.
    pub q: f64,
    /// The F statistic computed from `q`.
    pub f: f64,
    /// The degrees of freedom of F: numerator and denominator.
    pub freedom: [f64; 2],
    /// Probability that F is at least as large by chance.
    pub p: f64,
}

/// Pools each group, and compares the groups. Intervals have the level 1 − `alpha`.
///
/// Estimand: the mean true effect of each group's hosts. Under `common`, a second estimand is the variance of the true
/// effects around these means, which is the same in all groups. Under `common`, a group's mean is μ = Σwθ/Σw over the
/// group, with w = 1/(v + τ²). The formulas are:
///
/// ```text
/// se²_g = max(1, Q/E Q)·Σ w·excess/(Σw)²       t and F at k − m, for k hosts in m groups
/// Q_b   = Σ_g (μ_g − μ)²/se²_g                 F = Q_b/(m − 1)
/// ```
///
/// This is a meta-regression on the groups with Knapp's and Hartung's test and the guard of [`pool`]. It has the
/// assumptions of [`pool`]. Under `common`, it also assumes that the true effects vary equally within all groups;
/// otherwise it misjudges small groups that vary more than large groups. Welch's test (`between`) does not need this
/// assumption. Neither test adjusts for other conditions that the groups share: a kernel that runs only on old CPUs
/// also shows the effect of the old CPUs. Returns `None` if there are no hosts, and for an `alpha` that is not between
/// 0 and 1.
///
/// Example: groups {−1, 1} and {9, 11} of known variances 0.5 have τ² = 1.5, means 0 and 10 with se² = 1,
/// `Q_b` = 5² + 5² = 50, F(1, 2) = 50.
///
/// # Cost
/// O(hosts) for each of a few hundred steps.
///
/// # Source
/// Borenstein, Hedges, Higgins and Rothstein, Introduction to Meta-Analysis (2009), chapter 19; Knapp and
/// Hartung, Improved tests for a random effects meta-regression, Statistics in Medicine 22 (2003) 2693-2710;
/// Welch, On the comparison of several mean values, Biometrika 38 (1951) 330-336.
pub fn groups(groups: &[&[Effect]], spread: Spread, alpha: f64) -> Option<Groups> {
    let everybody: Vec<Effect> = groups.iter().flat_map(|group| group.iter().copied()).collect();
    let all = pool(&everybody, spread, alpha)?;
    let own: Vec<_> = groups.iter().map(|group| pool(group, spread, alpha)).collect();
    Some(Groups { between: welch(&own), own, common: common(groups, spread, alpha), all })
}

impl Groups {
    /// Returns the distribution that is assumed for a host of group `group_idx` before the host is measured:
    /// - If the group has at least [`LEAST_HOSTS_OF_OWN`] hosts: the group's own mean and τ².
    /// - If the group has fewer hosts: the group's mean and the common τ².
    /// - If the group has no hosts, or if there is no such group: the mean and τ² of the whole fleet; `None` if these
    ///   are not known either (a fleet of one host).
    pub fn prior(&self, group_idx: usize) -> Option<Prior> {
        let own = self.own.get(group_idx).copied().flatten();
        let many = own.filter(|it| it.n_hosts >= LEAST_HOSTS_OF_OWN);
        let few = || self.common.prior(group_idx);
        many.and_then(|it| it.prior()).or_else(few).or_else(|| self.all.prior())
    }
}

impl Common {
    /// Computes the mean of group `after` minus the mean of group `before`, with the difference's p-value and its
    /// interval of level 1 − `alpha`.
    ///
    /// The formula is d ± t(k−m)·√(se² + se²). There is no interval and no p if every group has only one host. Returns
    /// `None` if one of the two groups has no hosts. If τ² differs between the two groups, use
    /// [`tested_difference`](crate::stats::tested_difference) of their own means.
    pub fn difference(&self, before: usize, after: usize, alpha: f64) -> Option<Difference> {
        let mean = |idx: usize| self.means.get(idx).copied().flatten();
        let (one, other) = (mean(before)?, mean(after)?);
        let variance = self.variances[before] + self.variances[after];
        let value = other.value - one.value;
        let n = one.n.min(other.n);
        let p = t_two_sided_p(value / variance.sqrt(), self.freedom);
        Some(Difference {
            estimate: around(value, variance, t_critical(alpha, self.freedom), n),
            p: p.filter(|_| before != after),
        })
    }

    fn prior(&self, group_idx: usize) -> Option<Prior> {
        let mean = self.means.get(group_idx).copied().flatten()?;
        (self.freedom > 0.0).then(|| Prior {
            mean: mean.value,
            mean_variance: self.variances[group_idx],
            tau_squared: self.tau_squared.value,
            tau_squared_variance: self.tau_squared_variance,
            freedom: self.freedom,
        })
    }
}

fn common(groups: &[&[Effect]], spread: Spread, alpha: f64) -> Common {
    let value = spread.estimate(groups);
    let sums: Vec<Sums> = groups.iter().map(|group| Sums::over(group, value)).collect();
    let n_hosts: usize = sums.iter().map(Sums::n_hosts).sum();
    let n_groups = sums.iter().filter(|it| it.n_hosts() > 0).count();
    let freedom = (n_hosts - n_groups) as f64;
    let (q, expected, variance_of_q) = generalised_q(groups, value);
    let weight: f64 = sums.iter().filter(|it| it.n_hosts() > 1).map(Sums::weight).sum();
    let scale = if freedom > 0.0 { (q / expected).max(1.0) } else { f64::INFINITY };
    let variance = |sums: &Sums| match sums.n_hosts() {
        0 => f64::INFINITY,
        _ => scale * sums.variance_of_mean(),
    };
    let variances: Vec<f64> = sums.iter().map(variance).collect();
    let critical = t_critical(alpha, freedom);
    let mean = |(sums, variance): (&Sums, &f64)| Some(around(sums.mean()?, *variance, critical, sums.n_hosts()));
    let means: Vec<_> = sums.iter().zip(&variances).map(mean).collect();
    let (lo, hi) = profile(groups, alpha);
    let points = means.iter().flatten().map(|it| it.value).zip(variances.iter().copied().filter(|it| it.is_finite()));
    Common {
        tau_squared: Estimate { value, lo: lo.min(value), hi: hi.max(value), n: n_hosts },
        tau_squared_variance: if freedom > 0.0 { variance_of_q / (weight * weight) } else { f64::INFINITY },
        between: pooled_test(&points.collect::<Vec<_>>(), freedom),
        means,
        variances,
        freedom,
    }
}

/// Computes the F test of means whose variances share one scale; each point is a mean and its variance.
fn pooled_test(points: &[(f64, f64)], freedom: f64) -> Option<Between> {
    let above = points.len() as f64 - 1.0;
    let (q, _) = spread_of_means(points);
    let f = q / above;
    Some(Between { q, f, freedom: [above, freedom], p: f_tail(f, above, freedom)? })
}

/// Computes Welch's test of means with separate variances.
fn welch(own: &[Option<Pooled>]) -> Option<Between> {
    let usable: Vec<&Pooled> = own.iter().flatten().filter(|it| it.n_hosts > 1).collect();
    let points: Vec<_> = usable.iter().map(|it| (it.mean.value, it.mean_variance)).collect();
    let (q, weight) = spread_of_means(&points);
    let m = points.len() as f64;
    let lost = |(_, variance): &(f64, f64)| 1.0 - 1.0 / (variance * weight);
    let losses = points.iter().map(lost).zip(&usable);
    let loss: f64 = losses.map(|(lost, it)| lost * lost / (it.n_hosts as f64 - 1.0)).sum();
    let f = q / (m - 1.0) / (1.0 + 2.0 * (m - 2.0) / (m * m - 1.0) * loss);
    let freedom = [m - 1.0, (m * m - 1.0) / (3.0 * loss)];
    Some(Between { q, f, freedom, p: f_tail(f, freedom[0], freedom[1])? })
}

/// Returns Σ (mean − weighted mean)²/variance, and Σ 1/variance.
fn spread_of_means(points: &[(f64, f64)]) -> (f64, f64) {
    let weight: f64 = points.iter().map(|(_, variance)| 1.0 / variance).sum();
    let middle = points.iter().map(|(mean, variance)| mean / variance).sum::<f64>() / weight;
    let squares = points.iter().map(|(mean, variance)| (mean - middle).powi(2) / variance);
    (squares.sum(), weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    fn known(values: &[f64]) -> Vec<Effect> {
        let effect = |value: &f64| Effect::new(*value, 0.5, f64::INFINITY).unwrap();
        values.iter().map(effect).collect()
    }

    #[test]
    fn the_example_comes_out() {
        let (low, high) = (known(&[-1.0, 1.0]), known(&[9.0, 11.0]));
        let found = groups(&[&low, &high, &[]], Spread::PauleMandel, 0.05).unwrap();
        let common = &found.common;
        close(common.tau_squared.value, 1.5, 1e-9);
        let between = common.between.unwrap();
        close(between.q, 50.0, 1e-6);
        close(between.freedom[1], 2.0, 0.0);
        // Computed with scipy: scipy.stats.f.sf(50, 1, 2).
        close(between.p, 0.019_419_324, 1e-8);
        let difference = common.difference(0, 1, 0.05).unwrap();
        close(difference.estimate.value, 10.0, 1e-9);
        close(difference.estimate.half_width(), 4.302_653 * 2.0_f64.sqrt(), 1e-5);
        close(difference.p.unwrap(), between.p, 1e-9);
        assert_eq!(common.means[2], None);
        assert_eq!(common.difference(0, 2, 0.05), None);
        assert_eq!(found.own[2], None);
    }

    // Two groups: Welch's F is the square of Welch's t, with its degrees of freedom.
    #[test]
    fn of_two_groups_it_is_the_test_of_two_means() {
        let (low, high) = (known(&[-1.0, 1.0, 0.5, 2.0]), known(&[3.0, 9.0, -4.0]));
        let found = groups(&[&low, &high], Spread::PauleMandel, 0.05).unwrap();
        let [one, other] = [found.own[0].unwrap(), found.own[1].unwrap()];
        let pair = crate::stats::tested_difference(one.mean, other.mean, 0.05);
        close(found.between.unwrap().p, pair.p.unwrap(), 1e-9);
    }

    #[test]
    fn a_group_of_one_host_borrows_the_spread_of_the_others() {
        let (many, single) = (known(&[-1.0, 1.0, 0.0, 2.0]), known(&[5.0]));
        let found = groups(&[&many, &single], Spread::PauleMandel, 0.05).unwrap();
        assert!(!found.own[1].unwrap().mean.has_interval());
        assert!(found.common.means[1].unwrap().has_interval());
        let prior = found.prior(1).unwrap();
        close(prior.mean, 5.0, 1e-12);
        close(prior.tau_squared, found.common.tau_squared.value, 0.0);
        let nobody = found.prior(7).unwrap();
        close(nobody.mean, found.all.mean.value, 0.0);
    }

    #[test]
    fn single_hosts_everywhere_are_compared_by_nothing() {
        let (one, other) = (known(&[1.0]), known(&[5.0]));
        let found = groups(&[&one, &other], Spread::PauleMandel, 0.05).unwrap();
        assert_eq!((found.between, found.common.between), (None, None));
        let difference = found.common.difference(0, 1, 0.05).unwrap();
        assert!(!difference.estimate.has_interval() && difference.p.is_none());
        assert_eq!(groups(&[], Spread::PauleMandel, 0.05), None);
        let alone = groups(&[&one], Spread::PauleMandel, 0.05).unwrap();
        assert_eq!(alone.prior(0), None);
        assert_eq!((alone.between, alone.common.between), (None, None));
    }
}
