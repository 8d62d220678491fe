//! Writes rows as columns if they fit the terminal, otherwise as sentences.

use super::lines::{Lines, Paint, padded, width};

const GAP: usize = 2;

/// A way to make a table narrower.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Leaves out the column with this heading.
    LeaveOut(&'static str),
    /// Shortens names in this column to this many characters. The middle of a name is removed, because the process
    /// number is at its end.
    Cut(&'static str, usize),
}

/// Rows of cells, with a heading for each column. A row whose first cell is empty continues the row above it.
#[derive(Debug, Clone)]
pub(super) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The steps that make the table narrower, applied one after the other until the table fits.
    steps: &'static [Step],
}

impl Table {
    /// Makes a table; a column without a known value in any row is left out.
    pub(super) fn new(header: &[impl AsRef<str>], mut rows: Vec<Vec<String>>) -> Self {
        let is_empty = |column: usize| rows.iter().all(|row| row[column] == "-" || row[column].is_empty());
        let kept: Vec<bool> = (0..header.len()).map(|column| !is_empty(column)).collect();
        for row in &mut rows {
            let mut keeps = kept.iter();
            row.retain(|_| keeps.next().is_some_and(|it| *it));
        }
        let header = header.iter().zip(&kept).filter(|(_, keep)| **keep);
        let header = header.map(|(word, _)| word.as_ref().to_owned()).collect();
        Self { header, rows, steps: &[] }
    }

    /// Sets the steps that make the table narrower. The steps are applied one after the other until the table fits. If
    /// the table does not fit after the last step, the rows are written as sentences.
    pub(super) fn narrowed_by(self, steps: &'static [Step]) -> Self {
        Self { steps, ..self }
    }

    pub(super) fn write(&self, lines: &mut Lines) {
        let mut narrow = self.clone();
        let mut left_out = Vec::new();
        for step in self.steps {
            if narrow.width() <= lines.style.width {
                break;
            }
            left_out.extend(narrow.take(*step));
        }
        if narrow.width() > lines.style.width {
            return self.write_sentences(lines);
        }
        lines.left_out(&left_out);
        narrow.write_columns(lines);
    }

    /// Returns the widths of the columns, each with the gap after the column.
    fn widths(&self) -> Vec<usize> {
        let widths = (0..self.header.len()).map(|column| {
            let cells = self.rows.iter().map(|row| width(&row[column]));
            cells.max().unwrap_or(0).max(width(&self.header[column])) + GAP
        });
        widths.collect()
    }

    /// Returns the width of the table. It includes two columns before the first cell, and no gap after the last cell.
    fn width(&self) -> usize {
        self.widths().iter().sum()
    }

    /// Applies a step. If the step has left out a column, returns the heading of this column.
    fn take(&mut self, step: Step) -> Option<&'static str> {
        let (Step::LeaveOut(heading) | Step::Cut(heading, _)) = step;
        let column = self.header.iter().position(|it| it == heading)?;
        if let Step::Cut(_, most) = step {
            self.rows.iter_mut().for_each(|row| row[column] = cut(&row[column], most));
            return None;
        }
        self.header.remove(column);
        self.rows.iter_mut().for_each(|row| drop(row.remove(column)));
        Some(heading)
    }

    fn write_columns(&self, lines: &mut Lines) {
        let widths = self.widths();
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

    /// Writes each row as its first cell, followed by the other cells with their headings.
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

/// Returns the name with dots instead of its middle.
fn cut(name: &str, most: usize) -> String {
    const DOTS: &str = "...";
    let n = name.chars().count();
    if n <= most {
        return name.to_owned();
    }
    let kept = most.saturating_sub(DOTS.len());
    let (head, tail) = (kept / 2, kept - kept / 2);
    name.chars().take(head).chain(DOTS.chars()).chain(name.chars().skip(n - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::style::Style;
    use super::*;

    const STEPS: [Step; 3] = [Step::LeaveOut("where"), Step::Cut("client", 12), Step::LeaveOut("user")];

    #[track_caller]
    fn check(width: usize, expected: &str) {
        let header = ["client", "user", "where", "rate"];
        let row = ["a-long-name-of-a-program 4711", "www-data", "some.service", "12.0"].map(str::to_owned);
        let mut lines = Lines::new(Style { width, color: false, unicode: true });
        Table::new(&header, vec![row.to_vec()]).narrowed_by(&STEPS).write(&mut lines);
        lines.tell_left_out();
        assert_eq!(lines.finish(), expected, "{width}");
    }

    #[test]
    fn a_table_takes_only_the_steps_that_it_needs_and_names_what_is_left_out() {
        check(
            61,
            "  client                         user      where         rate\n  a-long-name-of-a-program 4711  www-data  some.service  12.0\n",
        );
        check(
            60,
            "  client                         user      rate\n  a-long-name-of-a-program 4711  www-data  12.0\nleft out at this width: where; --json has it\n",
        );
        check(
            40,
            "  client        user      rate\n  a-lo... 4711  www-data  12.0\nleft out at this width: where; --json\n  has it\n",
        );
        check(
            29,
            "  client        rate\n  a-lo... 4711  12.0\nleft out at this width:\n  where, user; --json has\n  them\n",
        );
        check(
            19,
            "  a-long-name-of-a-program\n    4711: user\n    www-data, where\n    some.service,\n    rate 12.0\n",
        );
    }
}
