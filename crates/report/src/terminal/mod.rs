//! The report for a terminal, from the whole record down to single lines.
//!
//! The order is: for each server and workload a heading; for each client model a table and the text about it; at the
//! end the text about the whole run. Called by the command line, which prints the report.

mod bars;
mod checked;
mod columns;
mod command;
mod diff;
mod doctor;
mod fleet;
mod found;
mod history;
mod lines;
mod minute;
mod reproduction;
mod small_table;
mod spelled;
mod storms;
mod style;
mod switched;
mod table;
mod watched;
mod watched_diff;

use looptax_model::record::{Comparison, Estimate, Record, Tax};

use crate::format::{GLUE, counted};
use columns::Table;

use crate::words::{self, Body, GroupStory, RunWords};
pub use checked::checked;
pub use diff::diff;
pub use doctor::doctor;
pub use fleet::{collector_tables, fleet, fleet_hosts, fleet_machines, fleet_movers, fleet_pairs, reported};
pub use found::found;
pub use history::history;
use lines::Lines;
pub use lines::fitted;
pub use minute::{AtRate, Minute, kinds_in_use};
pub use reproduction::reproduction;
pub use spelled::{explained, spelled};
use style::LEAST_WIDTH;
pub use style::{Style, cleaned};
pub use switched::{is_failure, lines_back, switch_end, switch_plan, switch_step, switches};
pub use watched::watched;
pub use watched_diff::{before_and_after, watched_diff};

/// Formats a percentage with its interval: `16.0 % [15.4, 16.4]`.
pub fn percent(pct: &Estimate, style: Style) -> String {
    style.text().percent(pct).replace(GLUE, " ")
}

/// Returns a sentence that explains why there is no reliable verdict; `None` if the verdict is reliable.
pub fn why_withheld(comparison: &Comparison, tax: &Tax, style: Style) -> Option<String> {
    let why = words::why_withheld(comparison, tax, style.text())?;
    Some(why.replace(GLUE, " "))
}

/// Options for the report of `looptax compare`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// The name of the record, if it was saved.
    pub record: Option<&'a str>,
    /// If set, the cost of TCP is reported at this many requests per second.
    pub at_per_s: Option<f64>,
    /// Whether everything that is known about each comparison is printed, instead of each kind of warning only once.
    pub is_verbose: bool,
}

/// Returns the report of `looptax compare`: tables, a sentence per verdict, warnings and possible remedies. Ends with a
/// line break.
pub fn compare(record: &Record, beside: Beside<'_>, style: Style) -> String {
    let style = Style { width: style.width.max(LEAST_WIDTH), ..style };
    let text = style.text();
    let mut lines = Lines::new(style);
    let story = words::story_for(record, text);
    if let Some(found) = &record.storms {
        storms::write(found, &mut lines);
    }
    for server in &story.servers {
        lines.heading(0, &server.heading);
        if let Some(line) = &server.ways {
            lines.wrapped(2, line);
        }
        lines.blank();
        for group in &server.groups {
            write_group(group, beside.is_verbose, &mut lines);
            lines.blank();
        }
    }
    for remedies in &story.remedies {
        small_table::write(&remedies.table, &mut lines);
        lines.blank();
        for line in &remedies.sentences {
            lines.item(2, line);
        }
        lines.blank();
    }
    if let Some(rate) = beside.at_per_s.map(AtRate::asked).or_else(|| AtRate::say(record)) {
        minute::write_at_rates(&[rate], record, &mut lines);
        lines.blank();
    }
    if !beside.is_verbose {
        write_in_short(record, &story, &mut lines);
    }
    write_run(&story.run, beside.is_verbose, &mut lines);
    if let Some(name) = beside.record {
        lines.verbatim(&format!("record: {}", text.clean(name)));
    }
    lines.finish()
}

/// Writes each kind of warning only once, and how the user can see the rest.
fn write_in_short(record: &Record, story: &words::Story, lines: &mut Lines) {
    let text = lines.style.text();
    let warnings = words::warnings::warnings_once(record, text);
    for line in &warnings {
        lines.item(0, line);
    }
    let groups = story.servers.iter().flat_map(|server| &server.groups);
    let n_notes: usize = groups.map(|group| group.notes.len()).sum();
    let n_more = n_notes.saturating_sub(warnings.len()) as u64;
    if n_more > 0 {
        lines.item(0, &format!("--verbose shows {} on single comparisons", counted(n_more, "note")));
    }
    if n_notes > 0 {
        lines.blank();
    }
}

fn write_group(group: &GroupStory, is_verbose: bool, lines: &mut Lines) {
    match &group.body {
        Body::Commands(commands) => {
            for it in commands {
                for line in &it.lines {
                    lines.item(2, line);
                }
                for table in &it.tables {
                    command::write(table, lines);
                }
            }
        }
        Body::Requests { client, table, placement } => {
            lines.heading(2, client);
            table::write(table, lines);
            if let Some(line) = placement {
                lines.wrapped(2, line);
            }
        }
    }
    lines.blank();
    for table in group.bills.iter().chain(&group.layers) {
        small_table::write(table, lines);
        lines.blank();
    }
    for table in &group.hot {
        lines.item(2, &table.title);
        Table::new(&table.header, table.rows.clone()).write(lines);
        lines.wrapped(4, table.closing);
        lines.blank();
    }
    if let Some(sweep) = &group.sweep {
        bars::write(sweep, lines);
        lines.blank();
    }
    let notes: &[String] = if is_verbose { &group.notes } else { &[] };
    for line in group.sentences.iter().chain(&group.facts).chain(notes) {
        lines.item(2, line);
    }
}

fn write_run(run: &RunWords, is_verbose: bool, lines: &mut Lines) {
    for line in &run.verdicts {
        lines.wrapped(0, line);
    }
    for line in run.explained.iter().filter(|_| is_verbose) {
        lines.wrapped(0, line);
    }
    for line in &run.problems {
        lines.item(0, line);
    }
    if let Some(line) = run.interrupted {
        lines.wrapped(0, line);
    }
}
