//! Rows in columns where they fit, else as sentences.

use super::lines::{Lines, Paint, padded, width};

const GAP: usize = 2;

/// Cells with a heading each. A row whose first cell is empty belongs to the one above it.
pub(super) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Without the columns in which nothing is known of anybody.
    pub(super) fn new(header: &[impl AsRef<str>], mut rows: Vec<Vec<String>>) -> Self {
        let is_empty = |column: usize| rows.iter().all(|row| row[column] == "-" || row[column].is_empty());
        let kept: Vec<bool> = (0..header.len()).map(|column| !is_empty(column)).collect();
        for row in &mut rows {
            let mut keeps = kept.iter();
            row.retain(|_| keeps.next().is_some_and(|it| *it));
        }
        let header = header.iter().zip(&kept).filter(|(_, keep)| **keep);
        Self { header: header.map(|(word, _)| word.as_ref().to_owned()).collect(), rows }
    }

    pub(super) fn write(&self, lines: &mut Lines) {
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| width(&row[column]));
                cells.max().unwrap_or(0).max(width(&self.header[column])) + GAP
            })
            .collect();
        // Two columns before the first cell, none after the last one.
        if widths.iter().sum::<usize>() > lines.style.width {
            return self.write_sentences(lines);
        }
        let line = |cells: &mut dyn Iterator<Item = &str>| -> String {
            cells.zip(&widths).map(|(cell, columns)| padded(cell, *columns)).collect()
        };
        let head = line(&mut self.header.iter().map(String::as_str));
        let head = lines.paint(head.trim_end(), Paint::Strong);
        lines.verbatim(&format!("  {head}"));
        for row in &self.rows {
            lines.verbatim(&format!("  {}", line(&mut row.iter().map(String::as_str))));
        }
    }

    /// The first cell, and after it the others with their headings.
    fn write_sentences(&self, lines: &mut Lines) {
        for row in &self.rows {
            let named = self.header.iter().zip(row).skip(1);
            let words: Vec<String> = named
                .filter(|(_, cell)| !cell.is_empty() && *cell != "-")
                .map(|(word, cell)| format!("{word} {cell}"))
                .collect();
            if row[0].is_empty() {
                lines.item(4, &words.join(", "));
            } else {
                lines.item(2, &format!("{}: {}", row[0], words.join(", ")));
            }
        }
    }
}
