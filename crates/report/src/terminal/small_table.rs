//! Writes a small table as columns; if they do not fit, writes one line for each figure.

use super::lines::{Lines, padded, width};
use crate::words::small_table::SmallTable;

const INDENT: usize = 4;
const GAP: usize = 3;

pub(super) fn write(table: &SmallTable, lines: &mut Lines) {
    lines.item(2, &table.title);
    let header = &table.header;
    let rows = || std::iter::once(header).chain(&table.rows);
    let widest = |column: usize| rows().map(|row| width(&row[column])).max().unwrap_or(0);
    let columns = [0, 1, 2, 3].map(widest);
    let is_wide = INDENT + columns.iter().sum::<usize>() + 3 * GAP <= lines.style.width;
    for row in rows() {
        if is_wide {
            let cells = row.iter().zip(columns);
            let cells: String = cells.map(|(cell, width)| padded(cell, width + GAP)).collect();
            lines.verbatim(&format!("{}{}", " ".repeat(INDENT), cells.trim_end()));
        } else if row != header {
            lines.verbatim(&format!("{}{}", " ".repeat(INDENT), row[0]));
            for (name, cell) in table.header.iter().zip(row).skip(1) {
                if !cell.is_empty() {
                    lines.verbatim(&format!("{}{name} {cell}", " ".repeat(2 * INDENT)));
                }
            }
        }
    }
    if let Some(closing) = &table.closing {
        lines.wrapped(INDENT, closing);
    }
}
