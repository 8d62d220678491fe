//! The runs of the history, one line per verdict.

use looptax_model::record::{Direction, Estimate, PastRun, PastVerdict, Verdict};

use super::columns::Table;
use super::lines::Lines;
use super::style::{LEAST_WIDTH, Style};
use crate::format::Text;
use crate::heading::version;

const HEADER: [&str; 8] = ["run", "server", "workload", "connections", "placement", "arm", "tax", "verdict"];

/// Returns the list of `looptax show`, in the given order. Ends with a line break.
pub fn history(runs: &[PastRun], style: Style) -> String {
    let style = Style { width: style.width.max(LEAST_WIDTH), ..style };
    let mut lines = Lines::new(style);
    let text = style.text();
    if runs.is_empty() {
        lines.wrapped(0, "the history has no run yet");
    } else {
        let rows = runs.iter().flat_map(|run| rows(run, text));
        Table::new(&HEADER, rows.collect()).write(&mut lines);
    }
    lines.finish()
}

/// Returns `20261123-081500-12 (before-kernel)`.
pub(super) fn run_name(id: &str, label: Option<&str>, text: Text) -> String {
    let label = label.map(|it| format!(" ({})", text.clean(it)));
    format!("{}{}", text.clean(id), label.unwrap_or_default())
}

fn rows(run: &PastRun, text: Text) -> Vec<Vec<String>> {
    let name = run_name(&run.id, run.label.as_deref(), text);
    if run.verdicts.is_empty() {
        let mut row = vec![name, "no verdict".to_owned()];
        row.resize(HEADER.len(), "-".to_owned());
        return vec![row];
    }
    let verdicts = run.verdicts.iter().enumerate();
    verdicts
        .map(|(idx, verdict)| {
            let first = if idx == 0 { name.clone() } else { String::new() };
            let mut row = vec![first];
            row.extend(cells(verdict, text));
            row
        })
        .collect()
}

fn cells(verdict: &PastVerdict, text: Text) -> [String; 7] {
    let server = format!("{} {}", verdict.kind, version(&verdict.version));
    let tax = verdict.throughput_pct.as_ref();
    [
        text.clean(server.trim_end()),
        text.clean(&verdict.workload),
        verdict.connections.to_string(),
        verdict.placement.to_string(),
        text.clean(&verdict.arm),
        match (tax, verdict.range_pct, verdict.failed_pct) {
            (Some(it), ..) => shown_tax(it, text),
            (None, Some([lo, hi]), _) => format!("{lo:.1} to {hi:.1} %"),
            (None, None, Some([value, lo, hi])) => format!("{value:.1} % [{lo:.1}, {hi:.1}]"),
            (None, None, None) => "-".to_owned(),
        },
        words(verdict).to_owned(),
    ]
}

/// Formats a tax, with its interval if there were enough epochs for an interval.
fn shown_tax(tax: &Estimate, text: Text) -> String {
    let percent = text.percent(tax);
    match (tax.lo, tax.hi, percent.split_once('[')) {
        (None, None, Some((value, _))) => {
            format!("{value}(too few epochs for an interval)")
        }
        _ => percent,
    }
}

fn words(past: &PastVerdict) -> &'static str {
    match (past.verdict, past.direction) {
        (Verdict::Difference, _) if past.failed_pct.is_some() => "fail to connect",
        _ if past.failed_pct.is_some() => "none fails",
        (Verdict::Difference, Some(Direction::OtherSlower)) if past.throughput_pct.is_none() => {
            "slower, size uncertain"
        }
        (Verdict::Difference, Some(Direction::OtherFaster)) if past.throughput_pct.is_none() => {
            "faster, size uncertain"
        }
        (Verdict::Difference, Some(Direction::OtherSlower)) => "slower",
        (Verdict::Difference, Some(Direction::OtherFaster)) => "faster",
        (Verdict::Difference, None) => "difference",
        (Verdict::Negligible, _) => "negligible",
        (Verdict::Equivalent, _) => "equivalent",
        (Verdict::Inconclusive, Some(Direction::OtherSlower)) => "slower, size uncertain",
        (Verdict::Inconclusive, Some(Direction::OtherFaster)) => "faster, size uncertain",
        (Verdict::Inconclusive, None) => "inconclusive",
        (Verdict::Invalid, _) => "invalid",
    }
}
