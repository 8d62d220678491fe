//! The tables below the charts, which show the same figures as the charts, for reading, copying and screen readers.

use looptax_model::record::{Comparison, Estimate, Figure, Tax};

use super::bill::{Bills, PARTS};
use super::markup::{Markup, TEXT};
use super::series::{Point, Series};
use super::shown::{Detail, EpochShown, PercentileShown};
use super::tail::{self, Added, ArmTail, IN_TABLE};
use super::unit::Unit;
use crate::words::row::{is_usable, versus};

/// Writes the figures of one series, with a row for each place on the axis.
pub(super) fn series(title: &str, axis: &'static str, series: &Series, out: &mut Markup) {
    let mut arms: Vec<&str> = Vec::new();
    let mut axis_points: Vec<f64> = Vec::new();
    for point in &series.points {
        if !arms.contains(&point.arm.as_str()) {
            arms.push(&point.arm);
        }
        if !axis_points.contains(&point.at) {
            axis_points.push(point.at);
        }
    }
    axis_points.sort_by(f64::total_cmp);
    let find = |at: f64, arm: &str| {
        let is_it = |it: &&Point| it.at.total_cmp(&at).is_eq() && it.arm == arm;
        series.points.iter().find(is_it)
    };
    out.folded("Table", |out| {
        out.table(title, |out| {
            let mut head = vec![axis];
            head.extend(&arms);
            out.head(&head).open("tbody", &[]);
            for at in axis_points {
                let mut cells = vec![at.to_string()];
                cells.extend(
                    arms.iter().map(|arm| find(at, arm).map_or_else(|| "n/a".to_owned(), |it| it.text.clone())),
                );
                out.row(true, &cells);
            }
            out.close("tbody");
        });
    });
}

pub(super) fn tails(tails: &[ArmTail], detail: &Detail, out: &mut Markup) {
    out.folded("Table", |out| {
        out.table("Latency by percentile", |out| {
            let mut head = vec!["percentile"];
            head.extend(tails.iter().map(|it| it.arm.as_str()));
            out.head(&head).open("tbody", &[]);
            for pct in IN_TABLE {
                let points = tails.iter().map(|it| tail::at(&it.points, pct));
                let points: Vec<_> = points.collect();
                if points.iter().any(Option::is_some) {
                    let shown = points.into_iter();
                    let mut cells = vec![format!("p{pct}")];
                    cells.extend(shown.map(|it| it.map_or_else(|| "n/a".to_owned(), micros_interval)));
                    out.row(true, &cells);
                }
            }
            out.close("tbody");
        });
        let n = detail.distributions.iter().flatten();
        let n: Vec<String> = n.map(|it| it.n.to_string()).collect();
        let words = if !n.is_empty() {
            format!("Percentiles of {} requests; the intervals treat requests as independent.", n.join(" and "))
        } else if tails.iter().all(|it| it.is_pooled) {
            "Percentiles of all requests; the intervals treat requests as independent.".to_owned()
        } else {
            "Typical percentiles of a short part of the run, not percentiles of all requests together.".to_owned()
        };
        out.element("p", &[("class", "note")], &words);
    });
}

fn micros_interval(point: &PercentileShown) -> String {
    TEXT.micros_interval(&Estimate { value: point.us, lo: point.lo_us, hi: point.hi_us, n: 0 })
}

/// Writes how much each arm except the baseline adds at each percentile.
pub(super) fn added(added: &[Added], out: &mut Markup) {
    out.folded("Table", |out| {
        for it in added {
            let title = format!("Time that {} adds, compared with {}", it.arm, it.baseline);
            out.table(&title, |out| {
                out.head(&["percentile", "all requests together", "judged epoch by epoch"]).open("tbody", &[]);
                for pct in IN_TABLE {
                    let pooled = it.pooled.iter().find(|(found, _)| found.total_cmp(&pct).is_eq());
                    let judged = it.judged.iter().find(|(found, _)| found.total_cmp(&pct).is_eq());
                    if pooled.is_none() && judged.is_none() {
                        continue;
                    }
                    let pooled = pooled.map_or_else(|| "n/a".to_owned(), |(_, us)| TEXT.signed_micros(*us));
                    let judged = judged.map_or_else(String::new, |(_, us)| TEXT.signed_micros_interval(us));
                    out.row(true, &[format!("p{pct}"), pooled, judged]);
                }
                out.close("tbody");
            });
        }
    });
}

/// Writes the parts of a request's time on each arm, and the differences between the arms.
pub(super) fn bill(title: &str, bills: &Bills, comparison: &Comparison, out: &mut Markup) {
    let taxes = || comparison.tax.iter();
    out.folded("Table", |out| {
        out.table(title, |out| {
            let names = bills.arms.iter().map(|it| TEXT.clean(&comparison.arms[it.arm_idx].name));
            let mut head = vec!["per request".to_owned()];
            head.extend(names.chain(taxes().map(|tax| versus(&tax.arm, &tax.baseline, TEXT))));
            out.head(&head).open("tbody", &[]);
            for (part_idx, part) in PARTS.iter().enumerate() {
                let mut cells = vec![(*part).to_owned()];
                cells.extend(bills.arms.iter().map(|it| bills.shown(it.parts[part_idx])));
                cells.extend(taxes().map(|tax| part_of_tax(tax, part_idx)));
                out.row(true, &cells);
            }
            let mut cells = vec!["mean latency".to_owned()];
            cells.extend(bills.arms.iter().map(|it| bills.shown(it.total)));
            cells.extend(taxes().map(|tax| known(tax, &tax.latency_us.mean)));
            out.row(true, &cells).close("tbody");
        });
        let words = "looptax estimates differences epoch by epoch, so a difference need not equal the difference \
            between the columns.";
        out.element("p", &[("class", "note")], words);
    });
}

fn part_of_tax(tax: &Tax, part_idx: usize) -> String {
    match part_idx {
        0 => known(tax, &tax.cpu_us.client),
        1 => known(tax, &tax.cpu_us.server),
        _ => String::new(),
    }
}

/// Returns a figure of a verdict; `n/a` if the verdict cannot be used.
fn known(tax: &Tax, figure: &Figure) -> String {
    let known = figure.known().filter(|_| is_usable(tax));
    known.map_or_else(|| "n/a".to_owned(), |us| TEXT.signed_micros_interval(us))
}

/// Writes every epoch, with the disturbances during it.
pub(super) fn epochs(epochs: &[&EpochShown], comparison: &Comparison, tax: &Tax, out: &mut Markup) {
    let unit = Unit::for_comparison(comparison);
    let [arm, baseline] = [&tax.arm, &tax.baseline].map(|name| TEXT.clean(name));
    let head = ["epoch", &baseline, &arm, "tax", "stolen CPU", "foreign CPU", ""];
    out.head(&head).open("tbody", &[]);
    let share = |pct: Option<f64>| pct.map_or_else(|| "not read".to_owned(), |pct| format!("{pct:.1}\u{a0}%"));
    for it in epochs {
        let [base, other] = it.cost_ns.map(|ns| ns.map_or_else(|| "n/a".to_owned(), |ns| unit.shown(ns)));
        let effect = it.effect_pct.map_or_else(|| "n/a".to_owned(), |pct| format!("{pct:.1}\u{a0}%"));
        let noisy = if it.is_noisy { "disturbed" } else { "" };
        let number = (it.epoch_idx + 1).to_string();
        let (steal, foreign) = (share(it.steal_pct), share(it.foreign_pct));
        out.row(true, &[number.as_str(), &base, &other, &effect, &steal, &foreign, noisy]);
    }
    out.close("tbody");
}
