//! What `looptax report-to` and `looptax fleet init` did.

use looptax_record::{CollectorTables, Reported};

use super::lines::Lines;
use super::style::Style;
use crate::format::counted;

/// The text of `looptax report-to`. Ends with a line break.
pub fn reported(reported: &Reported, style: Style) -> String {
    let mut lines = Lines::new(style);
    let text = style.text();
    match &reported.stopped_by {
        Some(file) => lines.wrapped(
            0,
            &format!(
                "nothing is looked at or sent while `{}` is there",
                text.clean(file)
            ),
        ),
        None => lines.wrapped(
            0,
            &format!(
                "sent to {}: {} with {} and {}",
                text.clean(&reported.collector),
                counted(reported.reports, "report"),
                counted(reported.findings, "finding"),
                counted(reported.verdicts, "verdict"),
            ),
        ),
    }
    for note in &reported.notes {
        lines.item(0, &text.clean(note));
    }
    lines.finish()
}

/// The text of `looptax fleet init`. Ends with a line break.
pub fn collector_tables(tables: &CollectorTables, style: Style) -> String {
    let mut lines = Lines::new(style);
    let text = style.text();
    let engine = text.clean(&tables.engine);
    let heading = match (tables.from_version, tables.done.is_empty()) {
        (_, true) => format!(
            "{engine}: tables and views are there, version {}; nothing to do",
            tables.version
        ),
        (0, false) => format!(
            "{engine}: tables and views made, version {}",
            tables.version
        ),
        (from, false) => format!("{engine}: version {from} before, {} now", tables.version),
    };
    lines.heading(0, &heading);
    for done in &tables.done {
        lines.item(2, &text.clean(done));
    }
    if !tables.lacks.is_empty() {
        lines.wrapped(0, "what this one cannot do:");
    }
    for lack in &tables.lacks {
        lines.item(2, &text.clean(lack));
    }
    lines.finish()
}
