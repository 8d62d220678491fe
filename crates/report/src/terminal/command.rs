//! The table of whole commands: run time, and CPU time of the command and of its server, by arm.
//!
//! The table is transposed compared with the table for requests, because there is only one comparison, with several
//! figures.

use super::lines::{Lines, padded, width};
use crate::words::command::{CommandRow, CommandTable};

const INDENT: usize = 2;
const GAP: usize = 3;

/// Writes a table in columns or, if they do not fit, in blocks.
pub(super) fn write(table: &CommandTable, lines: &mut Lines) {
    let CommandTable { arms: names, tax_header: header, rows } = table;
    let widest = |cells: &mut dyn Iterator<Item = &str>| cells.map(width).max().unwrap_or(0) + GAP;
    let label = widest(&mut rows.iter().map(|row| row.label));
    let columns: Vec<usize> = (0..names.len())
        .map(|idx| {
            let cells = rows.iter().map(|row| row.arms[idx].as_str());
            widest(&mut cells.chain([names[idx].as_str()]))
        })
        .collect();
    let tax = widest(&mut rows.iter().map(|row| row.tax.as_str()));
    let difference = widest(&mut rows.iter().map(|row| row.difference.as_str()));
    let verdict = rows.iter().filter_map(|row| row.verdict.as_ref());
    let verdict = verdict.map(|(words, _)| width(words)).max().unwrap_or(0);
    let tail = (tax + difference).max(width(header) + GAP);
    if INDENT + label + columns.iter().sum::<usize>() + tail + verdict > lines.style.width {
        return write_stacked(names, header, rows, lines);
    }
    let indent = " ".repeat(INDENT);
    let cells = |cells: &[String]| -> String {
        let padded = cells.iter().zip(&columns).map(|(cell, columns)| padded(cell, *columns));
        padded.collect()
    };
    lines.verbatim(&format!("{indent}{}{}{}verdict", padded("", label), cells(names), padded(header, tail)));
    for row in rows {
        let figures = format!("{}{}", padded(&row.tax, tax), row.difference);
        let verdict = row.verdict.as_ref();
        let verdict = verdict.map_or_else(String::new, |(words, tone)| lines.paint(words, (*tone).into()));
        lines.verbatim(&format!(
            "{indent}{}{}{}{verdict}",
            padded(row.label, label),
            cells(&row.arms),
            padded(&figures, tail)
        ));
    }
}

/// Writes one block per figure, for narrow terminals.
fn write_stacked(names: &[String], header: &str, rows: &[CommandRow], lines: &mut Lines) {
    // If the header names two arms, the figure is the tax; otherwise the header names the figure.
    let tax = if header.contains(" vs ") { "tax" } else { header };
    let label = names.iter().map(|name| width(name)).max().unwrap_or(0).max(width(tax)) + 2;
    for row in rows {
        lines.wrapped(2, row.label);
        for (name, cell) in names.iter().zip(&row.arms) {
            lines.wrapped(4, &format!("{}{cell}", padded(name, label)));
        }
        let figures = [row.tax.as_str(), row.difference.as_str()];
        let figures: Vec<&str> = figures.into_iter().filter(|it| !it.is_empty()).collect();
        lines.wrapped(4, &format!("{}{}", padded(tax, label), figures.join("  ")));
        if let Some((words, tone)) = &row.verdict {
            let words = lines.paint(words, (*tone).into());
            lines.verbatim(&format!("    {words}"));
        }
    }
}
