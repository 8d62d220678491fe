//! Writes the table of a group: as columns if they fit, otherwise one block per row.
//!
//! The cells are already finished; this module computes only their widths.

use super::lines::{Lines, Paint, padded, width, wrap};
use crate::format::counted;
use crate::words::table::{Row, Table, Tail};

const INDENT: usize = 2;
const GAP: usize = 2;
/// Width of the gap between the arms and the tax; it is wide because these cells contain spaces themselves.
const WIDE_GAP: usize = 3;
/// Minimum width in columns at which a text across all columns is still readable.
const LEAST_OPEN: usize = 30;
/// Minimum width in columns for a verdict; a longer verdict is broken into lines.
const LEAST_VERDICT: usize = 20;

/// Writes the table as columns or as blocks, depending on the terminal's width.
pub(super) fn write(table: &Table, lines: &mut Lines) {
    let columns = Columns::for_table(table);
    if columns.width(table) <= lines.style.width {
        columns.write(table, lines);
    } else {
        write_stacked(table, lines);
    }
}

/// The widths of the columns, including the gaps.
struct Columns {
    connections: usize,
    placement: usize,
    arms: Vec<usize>,
    tax: usize,
    micros: usize,
}

impl Columns {
    fn for_table(table: &Table) -> Self {
        let rows = || table.rows.iter();
        let widest = |cells: &mut dyn Iterator<Item = &str>| cells.map(width).max().unwrap_or(0);
        let arm = |(idx, name): (usize, &String)| {
            widest(&mut rows().map(|row| row.arms[idx].as_str())).max(width(name)) + WIDE_GAP
        };
        let judged = || {
            rows().filter_map(|row| match &row.tail {
                Tail::Judged { tax, micros, .. } => Some((tax.as_str(), micros.as_str())),
                Tail::Open(_) => None,
            })
        };
        let micros = match widest(&mut judged().map(|(_, micros)| micros)) {
            0 => 0,
            found => found + WIDE_GAP,
        };
        let header = width(&table.tax_header) + GAP;
        let tax = widest(&mut judged().map(|(tax, _)| tax)) + WIDE_GAP;
        Self {
            connections: widest(&mut rows().map(|row| row.connections.as_str())).max(width("connections")) + GAP,
            placement: widest(&mut rows().map(|row| row.placement.as_str())).max(width("placement")) + GAP,
            arms: table.arms.iter().enumerate().map(arm).collect(),
            tax: tax.max(header.saturating_sub(micros)),
            micros,
        }
    }

    /// Returns the number of columns before the tax.
    fn tail_start(&self) -> usize {
        INDENT + self.connections + self.placement + self.arms.iter().sum::<usize>()
    }

    fn width(&self, table: &Table) -> usize {
        let tail = |row: &Row| match &row.tail {
            Tail::Judged { verdict, .. } => self.tax + self.micros + width(verdict).min(LEAST_VERDICT),
            Tail::Open(_) => LEAST_OPEN,
        };
        self.tail_start() + table.rows.iter().map(tail).max().unwrap_or(0)
    }

    fn write(&self, table: &Table, lines: &mut Lines) {
        let header = self.head("connections", "placement", &table.arms);
        let tax = padded(&table.tax_header, self.tax + self.micros);
        lines.verbatim(&if table.has_verdict() { format!("{header}{tax}verdict") } else { header });
        for row in &table.rows {
            let head = self.head(&row.connections, &row.placement, &row.arms);
            match &row.tail {
                Tail::Judged { tax, micros, verdict, tone } => {
                    let (tax, micros) = (padded(tax, self.tax), padded(micros, self.micros));
                    write_broken(format!("{head}{tax}{micros}"), verdict, (*tone).into(), lines);
                }
                Tail::Open(words) => write_broken(head, words, Paint::Plain, lines),
            }
            write_below(row, INDENT + self.connections + self.placement, lines);
        }
    }

    fn head(&self, connections: &str, placement: &str, arms: &[String]) -> String {
        let cells = arms.iter().zip(&self.arms).map(|(cell, &columns)| padded(cell, columns));
        let connections = padded(connections, self.connections);
        let placement = padded(placement, self.placement);
        let arms: String = cells.collect();
        format!("{}{connections}{placement}{arms}", " ".repeat(INDENT))
    }
}

/// Writes the last cell of a row, broken into lines of the remaining width.
fn write_broken(mut head: String, words: &str, paint: Paint, lines: &mut Lines) {
    let start = width(&head);
    let room = lines.style.width - start;
    for piece in wrap(words, room, room) {
        let piece = lines.paint(&piece, paint);
        lines.verbatim(&format!("{head}{piece}"));
        head = " ".repeat(start);
    }
}

/// Writes text below the arms, across all columns.
fn write_below(row: &Row, indent: usize, lines: &mut Lines) {
    for line in row.below.iter().filter(|it| !it.is_empty()) {
        lines.wrapped(indent, line);
    }
}

/// Writes one block per row, for narrow terminals.
fn write_stacked(table: &Table, lines: &mut Lines) {
    let label = table.arms.iter().map(|name| width(name)).max().unwrap_or(0).max(width("tax")) + GAP;
    for row in &table.rows {
        if !row.connections.is_empty() {
            let n: u64 = row.connections.parse().expect("this text was made from a number");
            lines.wrapped(2, &format!("{}, {}", counted(n, "connection"), row.placement));
        }
        for (name, cell) in table.arms.iter().zip(&row.arms).filter(|(_, cell)| !cell.is_empty()) {
            lines.wrapped(4, &format!("{}{cell}", padded(name, label)));
        }
        write_below(row, 4, lines);
        match &row.tail {
            Tail::Judged { tax, micros, verdict, tone } => {
                lines.wrapped(4, &format!("{}{tax}  {micros}", padded("tax", label)));
                let verdict = lines.paint(verdict, (*tone).into());
                lines.verbatim(&format!("    {verdict}"));
            }
            Tail::Open(words) => lines.wrapped(4, words),
        }
    }
}
