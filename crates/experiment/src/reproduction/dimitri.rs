//! Dimitri Kravtchuk's comparison: point selects over more and more connections, and the functions of the server that
//! take the most time.

mod hottest;

use std::time::Duration;

use looptax_model::record::{
    Client, Comparison, Estimate, Figure, ReproductionFinding, ReproductionPart, ReproductionPoint, Verdict,
};

use super::publication::Publication;
use super::reading::Reading;
use super::{Amounts, Runner, Step};

/// Describes the work besides the sweep, and returns its length.
pub(crate) fn extra_work(publication: &Publication, amounts: &Amounts) -> (&'static str, Duration) {
    let [most, _] = most(publication, amounts);
    (hottest::WHAT, hottest::TAKES * n_points(most) as u32)
}

/// Returns the highest number of connections in this run's sweep and in the published sweep.
fn most(publication: &Publication, amounts: &Amounts) -> [u32; 2] {
    let ends = publication.steps[0].sweep_to.unwrap_or([1; 2]);
    [amounts.most(ends), ends[1]]
}

/// Adds the sweep's points, the findings from them, and the server's functions.
pub(crate) fn add(
    part: &mut ReproductionPart,
    publication: &Publication,
    (step, reading): (&Step, &Reading),
    amounts: &Amounts,
    runner: &Runner<'_>,
) {
    let sweep: Vec<&Comparison> =
        { reading.record.comparisons.iter() }.filter(|it| it.client == Client::Event).collect();
    part.points = sweep.iter().filter_map(|it| point(it)).collect();
    let proved: Vec<ReproductionPoint> = { sweep.iter() }
        .filter(|it| it.tax.iter().all(|tax| tax.verdict == Verdict::Difference))
        .filter_map(|it| point(it))
        .collect();
    part.findings.extend(most_served(&part.points));
    part.findings.extend(largest(&proved));
    let few = { part.points.iter() }.filter(|it| !has_interval(it));
    let few =
        few.map(|point| format!("the sweep at {} connections: too few epochs for an interval", point.connections));
    part.missing.extend(few);
    let [most, published] = most(publication, amounts);
    if most < published {
        part.smaller.push(format!("the sweep stops at {most} connections instead of {published}"));
    }
    if part.points.len() < n_points(most) {
        part.smaller.push(format!(
            "{} of {} points were measured before the time ran out",
            part.points.len(),
            n_points(most)
        ));
    }
    hottest::add(part, step, amounts, runner);
}

/// Returns the number of points: 1, 2, 4 … and the highest number of connections.
fn n_points(most: u32) -> usize {
    (u32::BITS - (most - 1).leading_zeros()) as usize + 1
}

fn point(comparison: &Comparison) -> Option<ReproductionPoint> {
    let [unix, tcp, ..] = &comparison.arms[..] else {
        return None;
    };
    Some(ReproductionPoint {
        connections: comparison.connections,
        per_s: [unix, tcp].map(|arm| arm.throughput_per_s.clone()),
        tax_pct: comparison.tax.first()?.throughput_pct.clone(),
        hottest: Vec::new(),
    })
}

/// Whether a point's tax has an interval; an upper end of 100 % means that there is no interval.
fn has_interval(point: &ReproductionPoint) -> bool {
    let tax = point.tax_pct.known();
    tax.is_some_and(|it| it.lo.is_some() && it.hi.is_some_and(|hi| hi < 100.0))
}

/// Returns the highest rate of each arm.
fn most_served(points: &[ReproductionPoint]) -> Option<ReproductionFinding> {
    let value = |figure: &Figure| figure.known().map(|it| it.value);
    let most = |side: usize| {
        let served = points.iter().filter_map(|it| Some((value(&it.per_s[side])?, it.connections)));
        served.max_by(|one, other| one.0.total_cmp(&other.0))
    };
    let (unix, tcp) = (most(0)?, most(1)?);
    Some(ReproductionFinding::MostServed { per_s: [unix.0, tcp.0], connections: [unix.1, tcp.1] })
}

/// Returns the largest difference between the arms, among the points at which a difference is proved.
fn largest(proved: &[ReproductionPoint]) -> Option<ReproductionFinding> {
    let bounded = |it: &&Estimate| it.lo.is_some() && it.hi.is_some();
    let shown = proved.iter().filter_map(|point| {
        let tax = point.tax_pct.known().filter(bounded)?;
        Some((*tax, point.connections))
    });
    let (tax_pct, connections) = shown.max_by(|one, other| one.0.value.total_cmp(&other.0.value))?;
    Some(ReproductionFinding::LargestTax { tax_pct, connections })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_has_its_ends_and_the_powers_between() {
        assert_eq!(n_points(256), 9);
        assert_eq!(n_points(1_024), 11);
        assert_eq!(n_points(4), 3);
        assert_eq!(n_points(5), 4);
    }

    #[test]
    fn findings_are_the_most_and_the_largest_difference() {
        let figure = |value: f64| Figure::new(value, value - 1.0, value + 1.0, 6);
        let point = |connections, unix, tcp, tax| ReproductionPoint {
            connections,
            per_s: [figure(unix), figure(tcp)],
            tax_pct: figure(tax),
            hottest: Vec::new(),
        };
        let points = [point(1, 50.0, 40.0, 20.0), point(2, 90.0, 81.0, 10.0)];
        let expected = ReproductionFinding::MostServed { per_s: [90.0, 81.0], connections: [2, 2] };
        assert_eq!(most_served(&points), Some(expected));
        let Some(ReproductionFinding::LargestTax { tax_pct, connections }) = largest(&points) else {
            panic!("there is one");
        };
        assert_eq!((tax_pct.lo, tax_pct.hi, connections), (Some(19.0), Some(21.0), 1));
        assert_eq!(largest(&[]), None);
    }
}
