//! The measured cases as Markdown: the requirements with the results, then the detailed figures.
//!
//! This file does no I/O.

use std::fmt::Write;

use looptax_model::dsn::Arm;

use super::case::Throughput;
use super::driver::{Measured, Round};
use super::figures::{Bound, Held, Row};
use super::spread::Spread;

/// Largest allowed difference between the taxes of looptax and the peer, in percentage points.
const MOST_APART_POINTS: f64 = 3.0;
const MIB: f64 = 1024.0 * 1024.0;

/// A case that could not be measured, with the reason.
pub(crate) struct Unmeasured<'a> {
    pub(crate) name: &'a str,
    pub(crate) reason: String,
}

pub(crate) fn render(head: &str, measured: &[Measured<'_>], unmeasured: &[Unmeasured<'_>]) -> String {
    let mut text = format!("{head}\n");
    if !measured.is_empty() {
        for part in [who(measured), wanted(measured), behind(measured), ranges(measured), taxes(measured)] {
            if !part.is_empty() {
                let _ = write!(text, "\n{part}");
            }
        }
    }
    for Unmeasured { name, reason } in unmeasured {
        let _ = write!(text, "\n`{name}` was not measured: {}\n", reason.trim_end());
    }
    text
}

fn who(measured: &[Measured<'_>]) -> String {
    let mut text = String::from(
        "| case | peer | work | connections | placement | server | looptax's options | rounds |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for it in measured {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | `{}` | {} |",
            it.case.name,
            it.tool,
            it.case.work.words(),
            it.case.connections,
            it.case.place.words(),
            it.server,
            it.case.looptax,
            it.rounds.len(),
        );
    }
    text
}

/// Returns the table of the ratios and their requirements.
fn wanted(measured: &[Measured<'_>]) -> String {
    let mut text = String::from(
        "looptax over the peer: median of the rounds, 95 % interval, and in brackets what is wanted.\n\n\
         | case | arm | throughput | client user CPU per request | peak memory | median latency | |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut notes = String::new();
    for (it, arm_idx, arm) in arms(measured) {
        let row = Row::from_measured(it, arm_idx);
        let cells = row.held.map(held).join(" | ");
        let _ = writeln!(text, "| {} | {arm} | {cells} | {} |", it.case.name, verdict(&row));
        for miscount in &row.miscounts {
            let _ = writeln!(notes, "\n{}, {arm}: {miscount}.", it.case.name);
        }
    }
    text + &notes
}

fn verdict(row: &Row) -> String {
    let missed = row.missed();
    if !row.miscounts.is_empty() {
        "invalid: counts differ".to_owned()
    } else if row.held.iter().all(|held| held.bound.is_none()) {
        "nothing wanted".to_owned()
    } else if missed.is_empty() {
        "met".to_owned()
    } else {
        format!("not met: {}", missed.join(", "))
    }
}

fn held(held: Held) -> String {
    let bound = match held.bound {
        Some(Bound::AtLeast(least)) => format!(" (≥ {least})"),
        Some(Bound::AtMost(most)) => format!(" (≤ {most})"),
        None => String::new(),
    };
    match held.ratio {
        Some(ratio) if ratio.hi.is_finite() => {
            format!("{:.2} [{:.2}, {:.2}]{bound}", ratio.median, ratio.lo, ratio.hi)
        }
        Some(ratio) => format!("{:.2}{bound}", ratio.median),
        None if held.bound.is_some() => format!("not known{bound}"),
        None => String::new(),
    }
}

/// Returns the table of the figures of both sides.
fn behind(measured: &[Measured<'_>]) -> String {
    let mut text = String::from(
        "Medians over the rounds; CPU time per request in µs, memory of the whole process in MiB.\n\n\
         | case | arm | rate of | peer /s | looptax /s | user: peer | looptax | looptax's whole process \
         | system: peer | looptax | memory: peer | looptax | counts over the server's: peer | looptax |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (it, arm_idx, arm) in arms(measured) {
        let figure = |digits, of: &dyn Fn(&Round) -> Option<f64>| cell(&it.rounds, digits, of);
        let cells = [
            figure(0, &|it| Some(it.peer[arm_idx].report.rate_per_s)),
            figure(0, &|it| Some(it.looptax.arms[arm_idx].rate_per_s)),
            figure(2, &|it| Some(it.peer[arm_idx].user_us())),
            figure(2, &|it| Some(it.looptax.arms[arm_idx].user_us)),
            figure(2, &Round::looptax_whole_user_us),
            figure(2, &|it| Some(it.peer[arm_idx].system_us())),
            figure(2, &|it| Some(it.looptax.arms[arm_idx].system_us)),
            figure(1, &|it| it.peer[arm_idx].used.peak_bytes.map(mib)),
            figure(1, &|it| it.looptax.used.peak_bytes.map(mib)),
            figure(4, &|it| it.peer[arm_idx].count_ratio()),
            figure(4, &|it| it.looptax.count_ratio),
        ];
        let name = &it.case.name;
        let unit = it.case.work.unit();
        let _ = writeln!(text, "| {name} | {arm} | {unit} | {} |", cells.join(" | "));
    }
    text
}

/// Returns the rates over a second for the cases that have no ratio.
fn ranges(measured: &[Measured<'_>]) -> String {
    let mut text = String::new();
    let free = arms(measured).filter(|(it, ..)| it.case.wanted.throughput == Throughput::Ranges);
    for (it, arm_idx, arm) in free {
        let pooled = |of: &dyn Fn(&Round) -> &[f64]| {
            let rates = it.rounds.iter().flat_map(of).copied().collect();
            Spread::from_values(rates).map_or(String::new(), |spread| spread.text(0))
        };
        let peer = pooled(&|round| &round.peer[arm_idx].report.rates_1s);
        let looptax = pooled(&|round| &round.looptax.arms[arm_idx].rates_1s);
        let _ = writeln!(text, "| {} | {arm} | {peer} | {looptax} |", it.case.name);
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "Rates over 1 s, as they were seen: median (least to most).\n\n\
         | case | arm | peer /s | looptax /s |\n|---|---|---|---|\n{text}"
    )
}

/// Returns a table that shows whether both measure the same tax, for cases on pinned cores with both arms.
fn taxes(measured: &[Measured<'_>]) -> String {
    let mut text = String::new();
    for it in measured {
        if *it.case.arms() != [Arm::Unix, Arm::Tcp] || it.case.wanted.throughput == Throughput::Ranges {
            continue;
        }
        let spread =
            |of: &dyn Fn(&Round) -> Option<f64>| Spread::from_values(it.rounds.iter().filter_map(of).collect());
        let looptax = |round: &Round| round.looptax.tax_pct.map(|tax| tax.value);
        let apart = spread(&|round| Some(looptax(round)? - peer_tax_pct(round)));
        let (Some(peer), Some(looptax), Some(apart)) =
            (spread(&|round| Some(peer_tax_pct(round))), spread(&looptax), apart)
        else {
            continue;
        };
        let is_near = apart.median.abs() <= MOST_APART_POINTS;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            it.case.name,
            peer.text(1),
            looptax.text(1),
            apart.text(1),
            if is_near { "yes" } else { "no" },
        );
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "Tax of tcp over unix in percent of throughput: median (least to most) of the rounds.\n\n\
         | case | peer | looptax | apart, points | within {MOST_APART_POINTS} |\n|---|---|---|---|---|\n{text}"
    )
}

fn peer_tax_pct(round: &Round) -> f64 {
    100.0 * (1.0 - round.peer[1].report.rate_per_s / round.peer[0].report.rate_per_s)
}

fn arms<'a, 'b>(measured: &'a [Measured<'b>]) -> impl Iterator<Item = (&'a Measured<'b>, usize, &'static str)> {
    measured.iter().flat_map(|one_case| {
        let arms = one_case.case.arms().iter().enumerate();
        arms.map(move |(idx, arm)| (one_case, idx, arm.name()))
    })
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}

/// Returns the median; empty if a round does not have the value.
fn cell(rounds: &[Round], n_decimals: usize, of: &dyn Fn(&Round) -> Option<f64>) -> String {
    let values: Option<Vec<f64>> = rounds.iter().map(of).collect();
    let spread = values.and_then(Spread::from_values);
    spread.map_or(String::new(), |it| format!("{:.n_decimals$}", it.median))
}

#[cfg(test)]
mod tests {
    use looptax_model::record::Estimate;

    use super::*;
    use crate::peers::figures::tests::{measured, round};

    fn with_tax(mut round: Round, value: f64) -> Round {
        round.looptax.tax_pct = Some(Estimate { value, lo: None, hi: None, n: 6 });
        round
    }

    #[track_caller]
    fn check(rounds: Vec<Round>, words: &[&str]) {
        let text = render("head", &[measured(rounds)], &[]);
        for word in words {
            assert!(text.contains(word), "no `{word}` in:\n{text}");
        }
        for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
            let n_cells = |line: &str| line.matches('|').count();
            let head = n_cells(table.lines().next().unwrap_or_default());
            assert!(table.lines().all(|line| n_cells(line) == head), "{table}");
        }
    }

    #[test]
    fn says_what_is_met_and_what_is_not() {
        let fine = with_tax(round([100.0, 80.0], [103.0, 81.0]), 21.0);
        check(
            vec![fine; 7],
            &[
                "| sysbench-1 | unix | 1.03 [1.03, 1.03] (≥ 1.02) | 0.20 [0.20, 0.20] (≤ 0.35) | 0.25",
                "|  | met |",
                "| sysbench-1 | tcp | 1.01 [",
                "| not met: throughput |",
                "| sysbench-1 | 20.0 (20.0 to 20.0) | 21.0 (21.0 to 21.0) | 1.0 (1.0 to 1.0) | yes |",
            ],
        );
    }

    #[test]
    fn taxes_far_apart_and_wrong_counts_are_told() {
        let mut far = with_tax(round([100.0, 80.0], [103.0, 83.0]), 24.0);
        far.peer[0].counted = Some(50_000);
        check(vec![far], &["| no |", "| invalid: counts differ |", "counted 200.0 %"]);
    }

    #[test]
    fn a_case_that_was_not_measured_says_why() {
        let unmeasured = Unmeasured { name: "iperf3", reason: "no iperf3".to_owned() };
        let text = render("head", &[], &[unmeasured]);
        assert_eq!(text, "head\n\n`iperf3` was not measured: no iperf3\n");
    }
}
