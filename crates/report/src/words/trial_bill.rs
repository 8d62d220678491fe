//! The bill of an application's page: how much TCP adds for each server, and whether these parts add up.

use looptax_model::record::{Comparison, Estimate, Figure, Trial, TrialPart};

use super::small_table::SmallTable;
use super::trial::signed_time;
use crate::format::Text;

/// Returns the bill of a trial in which each server was also tried by itself.
pub(crate) fn table(comparison: &Comparison, text: Text) -> Option<SmallTable> {
    let trial = comparison.trial.as_ref()?;
    let bill = trial.bill.as_ref()?;
    let time = |figure: &Figure| shown(figure, comparison, text);
    let row = |part: &TrialPart| {
        [format!("+ {}", name(trial, part.server, text)), time(&part.time_us), time(&part.cpu_us), String::new()]
    };
    let without = if bill.without_supervisor { ", without looptax's own part" } else { "" };
    let in_all = ["all together, measured".to_owned(), time(&bill.in_all_us), time(&bill.in_all_cpu_us), String::new()];
    Some(SmallTable {
        title: format!("the bill: what TCP adds to a page, by server{without}"),
        header: ["", "time", "CPU", ""].map(str::to_owned),
        rows: bill.parts.iter().map(row).chain([in_all]).collect(),
        closing: bill.left_over_us.known().map(|left| closing(left, comparison, text)),
    })
}

/// Returns "php-fpm8.2 at 127.0.0.1:9000".
fn name(trial: &Trial, server: u32, text: Text) -> String {
    let Some(server) = trial.servers.get(server as usize) else {
        return "n/a".to_owned();
    };
    let from: Vec<String> = server.from.iter().map(|it| text.clean(it)).collect();
    format!("{} at {}", text.clean(&server.kind), from.join(" and "))
}

fn shown(figure: &Figure, comparison: &Comparison, text: Text) -> String {
    let known = figure.known();
    known.map_or_else(|| "n/a".to_owned(), |us| signed_time(comparison, us, text))
}

/// Returns whether the parts add up: they do if zero is within the interval of the remainder. Nothing stronger can be
/// shown.
fn closing(left: &Estimate, comparison: &Comparison, text: Text) -> String {
    let ends = left.lo.zip(left.hi);
    let shown = signed_time(comparison, left, text);
    match ends {
        Some((lo, hi)) if lo <= 0.0 && 0.0 <= hi => {
            format!("the parts add up to the measured total: the rest is {shown}")
        }
        Some(_) => format!("the parts do not add up to the measured total: the rest is {shown}"),
        None => "too few epochs to tell whether the parts add up".to_owned(),
    }
}
