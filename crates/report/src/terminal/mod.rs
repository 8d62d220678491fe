//! The report for a terminal, from the whole record down to the line.
//!
//! Order: per server and workload a heading, per client model a table, then the words about it; then
//! what holds for the whole run. Called by the command line, which prints it.

mod columns;
mod command;
mod counts;
mod diff;
mod found;
mod group;
mod history;
mod lines;
mod look;
mod placement;
mod row;
mod sentence;
mod table;

use looptax_record::{Client, Placement, Record, Tax};

use crate::format::{Text, counted};
use crate::heading;
pub use diff::diff;
pub use found::{First, found};
use group::Group;
pub use history::history;
use lines::Lines;
pub use lines::fitted;

/// The least width that is laid out for; narrower terminals wrap by themselves.
const LEAST_WIDTH: usize = 60;

/// What the reader's terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns; below 60 the report is laid out for 60.
    pub width: usize,
    /// Whether to colour. Colour never carries a meaning of its own.
    pub color: bool,
    /// Whether it shows `µ` and `±`; otherwise everything is ASCII.
    pub unicode: bool,
}

/// A text of several lines from outside, line by line as harmless as a name in a report.
pub fn cleaned(text: &str, style: Style) -> String {
    let lines = text.lines().map(|line| style.text().clean(line) + "\n");
    lines.collect()
}

impl Style {
    fn text(self) -> Text {
        Text {
            is_unicode: self.unicode,
        }
    }
}

/// The report of `looptax compare`: tables, a sentence per verdict, warnings and what may help.
///
/// `record_path` is where the record was saved, if it was. Ends with a line break.
pub fn compare(record: &Record, record_path: Option<&str>, style: Style) -> String {
    let style = Style {
        width: style.width.max(LEAST_WIDTH),
        ..style
    };
    let mut lines = Lines::new(style);
    let groups = group::of(record);
    for (idx, group) in groups.iter().enumerate() {
        let is_new = idx == 0 || !groups[idx - 1].has_heading_of(group);
        if is_new {
            lines.heading(0, &heading::of(group.target, group.workload, style.text()));
            if let Some(line) = heading::own_processes(group.target, style.text()) {
                lines.wrapped(2, &line);
            }
            lines.blank();
        }
        let shows_counts = groups
            .iter()
            .any(|it| it.has_heading_of(group) && it.client != group.client);
        write_group(group, shows_counts, &mut lines);
        lines.blank();
    }
    write_run(record, record_path, &mut lines);
    lines.finish()
}

/// `shows_counts`: what each client does per request matters where several are compared.
fn write_group(group: &Group, shows_counts: bool, lines: &mut Lines) {
    if group.client == Client::Command {
        for comparison in &group.comparisons {
            if let Some(commands) = &comparison.commands {
                command::write(comparison, commands, lines);
            }
        }
    } else {
        lines.heading(2, &group.client_heading(lines.style.text()));
        table::write(&group.table(lines.style), lines);
        if let Some(line) = placement::line(group) {
            lines.wrapped(2, &line);
        }
    }
    lines.blank();
    for line in sentence::of(group, lines.style.text()) {
        lines.item(2, &line);
    }
    let text = lines.style.text();
    if let Some(line) = group.client_differs(text) {
        lines.item(2, &line);
    }
    for comparison in &group.comparisons {
        if shows_counts || comparison.client == Client::Block {
            for line in counts::of(comparison, text) {
                lines.item(2, &line);
            }
        }
        if let Some(line) = command::seen(comparison, text) {
            lines.item(2, &line);
        }
        for note in sentence::notes(comparison, text) {
            lines.item(2, &note);
        }
    }
}

/// What holds for the whole run.
fn write_run(record: &Record, record_path: Option<&str>, lines: &mut Lines) {
    let text = lines.style.text();
    let n_verdicts = taxes(record).count();
    match n_verdicts {
        0 => lines.wrapped(0, "no verdict in this run"),
        1 => lines.wrapped(0, "1 verdict, with a chance of 5 % for a false alarm"),
        _ => {
            let verdicts = counted(n_verdicts as u64, "verdict");
            let at_least_one = 100.0 * (1.0 - 0.95_f64.powf(n_verdicts as f64));
            lines.wrapped(
                0,
                &format!(
                    "{verdicts}, each with its own chance of 5 % for a false alarm; of at least one: up to \
                     {at_least_one:.0} %"
                ),
            );
        }
    }
    let n_early = taxes(record).filter(|tax| tax.stopped_early).count();
    if n_early > 0 {
        let verdicts = counted(n_early as u64, "verdict");
        lines.wrapped(
            0,
            &format!("{verdicts} came early, which makes an estimate lean to the large side; --fixed does not"),
        );
    }
    let has_judged = |placement| {
        record
            .comparisons
            .iter()
            .any(|it| it.placement.asked == placement)
    };
    if has_judged(Placement::Same) && !has_judged(Placement::Free) {
        lines.wrapped(
            0,
            "`same` pins both ends of a connection to one core: the transport's own cost. What an untuned machine \
             does is judged by --placement free, in minutes",
        );
    }
    for problem in &record.problems {
        lines.item(0, &format!("problem: {}", text.clean(problem)));
    }
    if record.interrupted {
        lines.wrapped(0, "interrupted: the last comparison shown may be incomplete, and nothing after it was measured");
    }
    if let Some(path) = record_path {
        lines.verbatim(&format!("record: {}", text.clean(path)));
    }
}

fn taxes(record: &Record) -> impl Iterator<Item = &Tax> {
    record
        .comparisons
        .iter()
        .flat_map(|comparison| &comparison.tax)
}
