//! The rounds as Markdown, and whether the tools agree.
//!
//! Pure. A median over the rounds comes with its range: rounds are too few for more.

use std::fmt::Write;

use super::process::Used;
use super::round::{ARMS, Round};

/// How far the taxes of the two tools may lie apart, in points.
const MOST_APART_POINTS: f64 = 3.0;
/// How far looptax's throughput may lie above sysbench's, in percent: above by what its client saves,
/// and never below.
const MOST_ABOVE_PCT: f64 = 25.0;
const MIB: f64 = 1024.0 * 1024.0;

/// Everything, verdicts last.
pub(crate) fn of(rounds: &[Round]) -> String {
    format!(
        "{}\n{}\n{}",
        throughput(rounds),
        costs(rounds),
        verdicts(rounds)
    )
}

/// A median over the rounds, with the least and the largest.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn over(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> Self {
        Self::of(rounds.iter().map(figure).collect())
    }

    /// At least one value.
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        Self {
            median: f64::midpoint(values[(n - 1) / 2], values[n / 2]),
            least: values[0],
            most: values[n - 1],
        }
    }

    /// With so many decimals, as `1.0 (0.9 to 1.1)`.
    fn text(self, n_decimals: usize) -> String {
        let Self {
            median,
            least,
            most,
        } = self;
        format!("{median:.n_decimals$} ({least:.n_decimals$} to {most:.n_decimals$})")
    }
}

/// Queries per second and taxes, a line per round.
fn throughput(rounds: &[Round]) -> String {
    let mut text = String::from(
        "| round | sysbench unix /s | sysbench tcp /s | sysbench tax % | looptax unix /s | looptax tcp /s \
         | looptax tax % | difference, points | looptax above, unix % | looptax above, tcp % |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (idx, round) in rounds.iter().enumerate() {
        let tax = round.looptax.tax_pct;
        let end = |end: Option<f64>| end.map_or("open".to_owned(), |end| format!("{end:.1}"));
        let _ = writeln!(
            text,
            "| {} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} | {:.1} [{}, {}] | {:+.1} | {:+.1} | {:+.1} |",
            idx + 1,
            round.sysbench[0].rate_per_s,
            round.sysbench[1].rate_per_s,
            round.sysbench_tax_pct(),
            round.looptax.arms[0].rate_per_s,
            round.looptax.arms[1].rate_per_s,
            tax.value,
            end(tax.lo),
            end(tax.hi),
            round.difference_points(),
            round.above_pct(0),
            round.above_pct(1),
        );
    }
    let cells = [
        Spread::over(rounds, |it| it.sysbench[0].rate_per_s).text(0),
        Spread::over(rounds, |it| it.sysbench[1].rate_per_s).text(0),
        Spread::over(rounds, Round::sysbench_tax_pct).text(1),
        Spread::over(rounds, |it| it.looptax.arms[0].rate_per_s).text(0),
        Spread::over(rounds, |it| it.looptax.arms[1].rate_per_s).text(0),
        Spread::over(rounds, |it| it.looptax.tax_pct.value).text(1),
        Spread::over(rounds, Round::difference_points).text(1),
        Spread::over(rounds, |it| it.above_pct(0)).text(1),
        Spread::over(rounds, |it| it.above_pct(1)).text(1),
    ];
    let _ = writeln!(text, "| median (range) | {} |", cells.join(" | "));
    text
}

/// What a query costs the client, and what the processes took. Medians and ranges.
fn costs(rounds: &[Round]) -> String {
    let mut text = String::from(
        "| | sysbench unix | sysbench tcp | looptax unix | looptax tcp |\n|---|---|---|---|---|\n",
    );
    let row =
        |name: &str, sysbench: fn(&Round, usize) -> f64, looptax: fn(&Round, usize) -> f64| {
            let cells = [
                Spread::over(rounds, |it| sysbench(it, 0)).text(2),
                Spread::over(rounds, |it| sysbench(it, 1)).text(2),
                Spread::over(rounds, |it| looptax(it, 0)).text(2),
                Spread::over(rounds, |it| looptax(it, 1)).text(2),
            ];
            format!("| {name} | {} |\n", cells.join(" | "))
        };
    text += &row(
        "time per query, µs",
        |it, arm| 1e6 / it.sysbench[arm].rate_per_s,
        |it, arm| 1e6 / it.looptax.arms[arm].rate_per_s,
    );
    text += &row(
        "client user CPU per query, µs",
        |it, arm| it.sysbench[arm].user_us,
        |it, arm| it.looptax.arms[arm].user_us,
    );
    let whole = |name: &str, sysbench: fn(&Round, usize) -> f64, looptax: fn(&Round) -> f64| {
        format!(
            "| {name} | {} | {} | {} | in one process |\n",
            Spread::over(rounds, |it| sysbench(it, 0)).text(2),
            Spread::over(rounds, |it| sysbench(it, 1)).text(2),
            Spread::over(rounds, looptax).text(2),
        )
    };
    text += &whole(
        "user CPU of the whole process, s",
        |it, arm| it.sysbench[arm].used.user_s,
        |it| it.looptax.used.user_s,
    );
    text += &whole(
        "peak memory, MiB",
        |it, arm| mib(it.sysbench[arm].used),
        |it| mib(it.looptax.used),
    );
    text += "\nPer query, sysbench's figure is that of its whole process, and looptax's that of its client \
             threads; looptax's whole process holds warm-up and analysis too.\n";
    text
}

/// Prints as `NaN` where nothing is known.
fn mib(used: Used) -> f64 {
    used.peak_bytes.map_or(f64::NAN, |bytes| bytes as f64 / MIB)
}

fn verdicts(rounds: &[Round]) -> String {
    let mut text = String::new();
    for (idx, arm) in ARMS.iter().enumerate() {
        let time =
            |it: &Round| 1e6 / it.sysbench[idx].rate_per_s - 1e6 / it.looptax.arms[idx].rate_per_s;
        let user = |it: &Round| it.sysbench[idx].user_us - it.looptax.arms[idx].user_us;
        let _ = writeln!(
            text,
            "{}: looptax needs {} µs less per query; its client saves {} µs of user CPU",
            arm.name(),
            Spread::over(rounds, time).text(2),
            Spread::over(rounds, user).text(2),
        );
    }
    let apart = Spread::over(rounds, Round::difference_points);
    let _ = writeln!(
        text,
        "agree within {MOST_APART_POINTS} points: {} ({} points)",
        yes(apart.median.abs() <= MOST_APART_POINTS),
        apart.text(1)
    );
    let above = [0, 1].map(|idx| Spread::over(rounds, |it| it.above_pct(idx)));
    let is_within = |it: &Spread| (0.0..=MOST_ABOVE_PCT).contains(&it.median);
    let _ = writeln!(
        text,
        "looptax 0 to {MOST_ABOVE_PCT} % above: {} (unix {} %, tcp {} %)",
        yes(above.iter().all(is_within)),
        above[0].text(1),
        above[1].text(1)
    );
    text
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use looptax_record::Estimate;

    use super::*;
    use crate::peers::looptax::{LooptaxArm, LooptaxRun};
    use crate::peers::sysbench::SysbenchRun;

    /// Rates per second by arm; looptax saves 1 µs of user CPU.
    fn round(sysbench: [f64; 2], looptax: [f64; 2]) -> Round {
        let used = Used {
            user_s: 0.5,
            peak_bytes: Some(3 << 20),
        };
        let value = 100.0 * (1.0 - looptax[1] / looptax[0]);
        Round {
            sysbench: sysbench.map(|rate_per_s| SysbenchRun {
                rate_per_s,
                user_us: 3.0,
                used,
            }),
            looptax: LooptaxRun {
                version: "0".to_owned(),
                arms: looptax.map(|rate_per_s| LooptaxArm {
                    rate_per_s,
                    user_us: 2.0,
                }),
                tax_pct: Estimate {
                    value,
                    lo: Some(value - 1.0),
                    hi: None,
                    n: 6,
                },
                used,
            },
        }
    }

    #[track_caller]
    fn check_verdicts(rounds: &[Round], agree: &str, above: &str) {
        let text = verdicts(rounds);
        assert!(
            text.contains(&format!("agree within 3 points: {agree} ")),
            "{text}"
        );
        assert!(
            text.contains(&format!("0 to 25 % above: {above} ")),
            "{text}"
        );
    }

    #[test]
    fn says_whether_the_medians_agree() {
        let fine = round([100_000.0, 80_000.0], [110_000.0, 90_000.0]);
        check_verdicts(std::slice::from_ref(&fine), "yes", "yes");
        let far = round([100_000.0, 80_000.0], [110_000.0, 99_000.0]);
        check_verdicts(std::slice::from_ref(&far), "no", "yes");
        let below = round([100_000.0, 80_000.0], [99_000.0, 79_200.0]);
        check_verdicts(std::slice::from_ref(&below), "yes", "no");
        let high = round([100_000.0, 80_000.0], [126_000.0, 100_800.0]);
        check_verdicts(std::slice::from_ref(&high), "yes", "no");
        check_verdicts(&[far, fine.clone(), fine], "yes", "yes");
    }

    #[test]
    fn a_median_comes_with_its_range() {
        let spread = |values: &[f64]| Spread::of(values.to_vec()).text(1);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), "2.0 (1.0 to 3.0)");
        assert_eq!(spread(&[4.0, 1.0]), "2.5 (1.0 to 4.0)");
    }

    #[test]
    fn every_line_of_a_table_has_the_cells_of_its_head() {
        let text = of(&[round([100_000.0, 80_000.0], [110_000.0, 90_000.0])]);
        for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
            let n_cells: Vec<usize> = table
                .lines()
                .filter(|line| line.starts_with('|'))
                .map(|line| line.matches('|').count())
                .collect();
            assert!(n_cells.iter().all(|n| *n == n_cells[0]), "{table}");
        }
        assert!(
            text.contains("18.2 [17.2, open] | -1.8 | +10.0 | +12.5 |"),
            "{text}"
        );
        assert!(text.contains(
            "unix: looptax needs 0.91 (0.91 to 0.91) µs less per query; its client saves 1.00"
        ));
    }
}
