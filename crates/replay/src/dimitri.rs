//! Dimitri Kravtchuk's comparison: point selects over more and more connections, and where the server spends its time.

mod profile;

use std::time::Duration;

use looptax_dsn::Kind;
use looptax_experiment::Experiment;
use looptax_path::Arm;
use looptax_record::{Client, Comparison, Figure, ReplayPart, ReplayPoint, ReplayUnit, Verdict};

use super::effect::Effect;
use super::programs::on_path;
use super::published::DIMITRI;
use super::reading::Reading;
use super::row::{Wanted, row};
use super::step::on_one_core;
use super::{Amounts, Runner, Step};

/// Connections that the published sweep ended with, and a quick one here.
const MOST: u32 = 1_024;
const MOST_QUICK: u32 = 256;
/// The published difference at one point of the sweep.
const AT: u32 = 32;
/// Claims about the most that each way served.
const AT_MOST: [(&str, &str); 3] = [
    ("broadwell_2s_max", "2S Broadwell"),
    ("skylake_2s_max", "2S Skylake"),
    ("broadwell_4s_max", "4S Broadwell"),
];

pub(crate) fn steps(amounts: &Amounts) -> Vec<Step> {
    let most = most(amounts);
    let rows = amounts.of(100_000, 100_000, 100);
    let step = Step::new(
        "sweep",
        format!("prepared point selects at 1, 2, 4 … {most} connections: socket, loopback"),
        (sweep_to(most, rows), &["point-select"]),
        amounts.either(140, 360),
    );
    vec![
        step.epochs(amounts, amounts.either(6, 8))
            .requests(amounts, None),
    ]
}

fn sweep_to(most: u32, rows: u64) -> Experiment {
    let powers = (0..32).map(|power| 1_u32 << power);
    let between: Vec<u32> = powers.filter(|n| *n < most).chain([most]).collect();
    Experiment {
        is_sweep: true,
        rows: rows as u32,
        ..on_one_core(Kind::Mariadb, &[Arm::Unix, Arm::Tcp], &between)
    }
}

/// What is done beside the sweep.
pub(crate) fn beside(amounts: &Amounts) -> Option<(&'static str, Duration)> {
    let n = n_points(most(amounts)) as u32;
    on_path("perf").then(|| {
        (
            "the server's hottest functions, by perf",
            profile::TAKES * n,
        )
    })
}

fn most(amounts: &Amounts) -> u32 {
    amounts
        .users
        .unwrap_or_else(|| amounts.either(MOST_QUICK, MOST))
}

pub(crate) fn run(mut part: ReplayPart, amounts: &Amounts, runner: &mut Runner<'_>) -> ReplayPart {
    let steps = steps(amounts);
    let Some(reading) = runner.measure(&mut part, &steps[0], 0) else {
        return part;
    };
    let sweep: Vec<&Comparison> = { reading.record.comparisons.iter() }
        .filter(|it| it.client == Client::Event)
        .collect();
    part.points = sweep.iter().filter_map(|it| point(it)).collect();
    add_rows(&mut part, &reading, &sweep);
    let proved: Vec<ReplayPoint> = { sweep.iter() }
        .filter(|it| it.tax.iter().all(|tax| tax.verdict == Verdict::Difference))
        .filter_map(|it| point(it))
        .collect();
    part.findings.extend(most_served(&part.points));
    part.findings.extend(largest(&proved));
    let few = { part.points.iter() }.filter(|it| !has_interval(it));
    let few = few.map(|it| {
        format!(
            "the sweep at {} connections: too few epochs for an interval",
            it.connections
        )
    });
    part.missing.extend(few);
    let most = most(amounts);
    if most < MOST {
        part.smaller.push(format!(
            "the sweep stops at {most} connections instead of {MOST}"
        ));
    }
    if part.points.len() < n_points(most) {
        part.smaller.push(format!(
            "{} of {} points were measured before the time was over",
            part.points.len(),
            n_points(most)
        ));
    }
    profile::add(&mut part, &steps[0], amounts, runner);
    part
}

/// 1, 2, 4 … and the last one.
fn n_points(most: u32) -> usize {
    (u32::BITS - (most - 1).leading_zeros()) as usize + 1
}

fn point(comparison: &Comparison) -> Option<ReplayPoint> {
    let [unix, tcp, ..] = &comparison.arms[..] else {
        return None;
    };
    Some(ReplayPoint {
        connections: comparison.connections,
        per_s: [unix, tcp].map(|arm| arm.throughput_per_s.clone()),
        tax_pct: comparison.tax.first()?.throughput_pct.clone(),
        hottest: Vec::new(),
    })
}

fn add_rows(part: &mut ReplayPart, reading: &Reading, sweep: &[&Comparison]) {
    let served = |it: &&&Comparison| {
        let unix = it.arms.first().and_then(|arm| arm.throughput_per_s.known());
        unix.map_or(0.0, |it| it.value)
    };
    let most = sweep
        .iter()
        .max_by(|one, other| served(one).total_cmp(&served(other)));
    for (claim, system) in AT_MOST {
        let Some(comparison) = most else { break };
        let what = format!("at the socket's maximum ({system})");
        add(part, reading, comparison, claim, what);
    }
    if let Some(comparison) = sweep.iter().find(|it| it.connections == AT) {
        let what = format!("at {AT} connections (4S Broadwell)");
        add(part, reading, comparison, "broadwell_4s_32_users", what);
    }
}

fn add(
    part: &mut ReplayPart,
    reading: &Reading,
    comparison: &Comparison,
    claim: &str,
    what: String,
) {
    let s = if comparison.connections == 1 { "" } else { "s" };
    let reasons = vec![
        format!(
            "here that is at {} connection{s}, with both ends of each on one of few cores; there client and server had \
             44 to 96 cores to themselves, and the server's own locks decide at the top",
            comparison.connections
        ),
        "the client here is an epoll loop for each core; sysbench has a thread for each connection"
            .to_owned(),
    ];
    let wanted = Wanted {
        claim: Some(DIMITRI.claim(claim)),
        what,
        arm: "tcp",
        unit: ReplayUnit::TaxPct,
        effect: Effect::Rate,
        reasons,
    };
    part.rows.extend(row(reading, comparison, wanted));
}

/// Without an interval, a tax reaches to 100 %.
fn has_interval(point: &ReplayPoint) -> bool {
    let tax = point.tax_pct.known();
    tax.is_some_and(|it| it.lo.is_some() && it.hi.is_some_and(|hi| hi < 100.0))
}

/// The most that each way served.
fn most_served(points: &[ReplayPoint]) -> Option<String> {
    let value = |figure: &Figure| figure.known().map(|it| it.value);
    let most = |side: usize| {
        let served = points
            .iter()
            .filter_map(|it| Some((value(&it.per_s[side])?, it.connections)));
        served.max_by(|one, other| one.0.total_cmp(&other.0))
    };
    let ((unix, at_unix), (tcp, at_tcp)) = (most(0)?, most(1)?);
    Some(format!(
        "the most: {unix:.0}/s on the socket at {at_unix} connections, {tcp:.0}/s over TCP at {at_tcp}"
    ))
}

/// Where the ways differ most, of the points at which they do.
fn largest(proved: &[ReplayPoint]) -> Option<String> {
    let shown = proved.iter().filter_map(|it| {
        let tax = it.tax_pct.known()?;
        Some((tax.value, tax.lo?, tax.hi?, it.connections))
    });
    let (tax, lo, hi, at) = shown.max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(format!(
        "the largest difference: TCP loses {tax:.1} % [{lo:.1}, {hi:.1}] at {at} connection{}; the largest of several \
         is in part the luck of that point",
        if at == 1 { "" } else { "s" }
    ))
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
    fn findings_name_the_most_and_the_largest_difference() {
        let figure = |value: f64| Figure::new(value, value - 1.0, value + 1.0, 6);
        let point = |connections, unix, tcp, tax| ReplayPoint {
            connections,
            per_s: [figure(unix), figure(tcp)],
            tax_pct: figure(tax),
            hottest: Vec::new(),
        };
        let points = [point(1, 50.0, 40.0, 20.0), point(2, 90.0, 81.0, 10.0)];
        let found = most_served(&points).unwrap();
        assert!(found.contains("90/s on the socket at 2"), "{found}");
        let found = largest(&points).unwrap();
        assert!(found.contains("20.0 % [19.0, 21.0] at 1"), "{found}");
        assert_eq!(largest(&[]), None);
    }
}
