//! The report for a terminal, from the whole record down to the line.
//!
//! Order: per server and workload a heading, per client model a table, then the words about it; then
//! what holds for the whole run. Called by the command line, which prints it.

mod bars;
mod checked;
mod columns;
mod command;
mod diff;
mod found;
mod history;
mod lines;
mod minute;
mod replay;
mod selfcheck;
mod small_table;
mod spelled;
mod style;
mod table;

use looptax_record::{Comparison, Estimate, Record, Tax};

use crate::format::GLUE;
use crate::words::{self, Body, GroupStory, RunWords};
pub use checked::checked;
pub use diff::diff;
pub use found::{First, found};
pub use history::history;
use lines::Lines;
pub use lines::fitted;
pub use minute::{AtRate, Minute};
pub use replay::replay;
pub use selfcheck::selfcheck;
pub use spelled::{explained, spelled};
use style::LEAST_WIDTH;
pub use style::{Style, cleaned};

/// A percentage with its interval: `16.0 % [15.4, 16.4]`.
pub fn percent(pct: &Estimate, style: Style) -> String {
    style.text().percent(pct).replace(GLUE, " ")
}

/// Why there is no verdict to believe, in a sentence; `None` where there is one.
pub fn why_withheld(comparison: &Comparison, tax: &Tax, style: Style) -> Option<String> {
    let why = words::why_withheld(comparison, tax, style.text())?;
    Some(why.replace(GLUE, " "))
}

/// The report of `looptax compare`: tables, a sentence per verdict, warnings and what may help.
///
/// `record_path` is where the record was saved, if it was. Ends with a line break.
pub fn compare(record: &Record, record_path: Option<&str>, style: Style) -> String {
    let style = Style {
        width: style.width.max(LEAST_WIDTH),
        ..style
    };
    let text = style.text();
    let mut lines = Lines::new(style);
    let story = words::story_for(record, text);
    for server in &story.servers {
        lines.heading(0, &server.heading);
        if let Some(line) = &server.own_processes {
            lines.wrapped(2, line);
        }
        lines.blank();
        for group in &server.groups {
            write_group(group, &mut lines);
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
    write_run(&story.run, &mut lines);
    if let Some(path) = record_path {
        lines.verbatim(&format!("record: {}", text.clean(path)));
    }
    lines.finish()
}

fn write_group(group: &GroupStory, lines: &mut Lines) {
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
        Body::Requests {
            client,
            table,
            placement,
        } => {
            lines.heading(2, client);
            table::write(table, lines);
            if let Some(line) = placement {
                lines.wrapped(2, line);
            }
        }
    }
    lines.blank();
    for table in &group.bills {
        small_table::write(table, lines);
        lines.blank();
    }
    if let Some(sweep) = &group.sweep {
        bars::write(sweep, lines);
        lines.blank();
    }
    for line in group.sentences.iter().chain(&group.notes) {
        lines.item(2, line);
    }
}

/// What holds for the whole run.
fn write_run(run: &RunWords, lines: &mut Lines) {
    for line in &run.verdicts {
        lines.wrapped(0, line);
    }
    for line in &run.problems {
        lines.item(0, line);
    }
    if let Some(line) = run.interrupted {
        lines.wrapped(0, line);
    }
}
