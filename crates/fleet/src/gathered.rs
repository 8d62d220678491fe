//! Reads reports of many machines from collected lines; the lines of several reports may be mixed.
//!
//! The writer of the lines is not trusted: there are limits for a line, for a report, and for all incomplete reports
//! together. A line or report that exceeds a limit is dropped; the other reports are still read.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::path::PathBuf;

use crate::FleetError;
use crate::batch::Batch;
use crate::column::Row;
use crate::lines::{MOST_ROWS, id_of, row, whole};

/// Maximum size of a line in bytes; the longest row of this version has some 20,000.
const MOST_LINE_BYTES: u64 = 128 << 10;
/// Maximum size of the lines of all incomplete reports together, in bytes: some thousand large reports.
const MOST_PENDING_BYTES: usize = 64 << 20;

/// Reads the reports one after the other.
pub struct Gathered<R> {
    lines: R,
    source: PathBuf,
    line: usize,
    pending: HashMap<String, Pending>,
    n_pending_bytes: usize,
    is_over: bool,
}

/// A report whose last line has not been read yet.
#[derive(Default)]
struct Pending {
    rows: [Vec<Row>; 3],
    n_bytes: usize,
}

impl<R: BufRead> Gathered<R> {
    /// Makes a reader of the reports in `lines`; `source` is their file, for error messages.
    pub fn new(lines: R, source: PathBuf) -> Self {
        Self { lines, source, line: 0, pending: HashMap::new(), n_pending_bytes: 0, is_over: false }
    }

    /// Reads the next line, without its line end; `None` at the end of the input.
    fn next_line(&mut self) -> Result<Option<String>, FleetError> {
        let mut bytes = Vec::new();
        let limited = (&mut self.lines).take(MOST_LINE_BYTES);
        let read = { limited }.read_until(b'\n', &mut bytes);
        let n_read = read.map_err(|source| FleetError::Take { path: self.source.clone(), source })?;
        if n_read == 0 {
            return Ok(None);
        }
        self.line += 1;
        if bytes.pop_if(|it| *it == b'\n').is_none() && n_read as u64 == MOST_LINE_BYTES {
            self.skip_line()?;
            return Err(self.wrong(format!("the line has more than {MOST_LINE_BYTES} bytes")));
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Skips to the end of a line that is too long, without storing it.
    fn skip_line(&mut self) -> Result<(), FleetError> {
        loop {
            let buffer =
                self.lines.fill_buf().map_err(|source| FleetError::Take { path: self.source.clone(), source })?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let (n_used, is_last) = match end {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.lines.consume(n_used);
            if is_last {
                return Ok(());
            }
        }
    }

    /// Adds a line's row to its report; returns the report if this row completes it.
    fn take(&mut self, line: &str) -> Result<Option<Batch>, FleetError> {
        let (table_idx, row) = row(line).map_err(|what| self.wrong(what))?;
        let is_last = table_idx == 2;
        let id = id_of(&row).to_owned();
        let pending = self.pending.entry(id.clone()).or_default();
        pending.rows[table_idx].push(row);
        pending.n_bytes += line.len();
        self.n_pending_bytes += line.len();
        let n_rows: usize = pending.rows.iter().map(Vec::len).sum();
        if is_last || n_rows as u64 > MOST_ROWS {
            let rows = self.forget(&id);
            return whole(rows).map(Some).map_err(|what| self.wrong(what));
        }
        if self.n_pending_bytes > MOST_PENDING_BYTES {
            // Only the largest incomplete report is dropped, so that reports of other machines are not affected.
            let largest = self.pending.iter().max_by_key(|it| it.1.n_bytes);
            let id = largest.map(|(id, _)| id.clone()).unwrap_or_default();
            self.forget(&id);
            return Err(self.wrong(format!(
                "the incomplete reports together have more than {MOST_PENDING_BYTES} bytes; looptax leaves out the \
                 largest of them, {id}: its last row, the row for the table `reports`, is missing"
            )));
        }
        Ok(None)
    }

    /// Removes an incomplete report, and returns its rows so far.
    fn forget(&mut self, id: &str) -> [Vec<Row>; 3] {
        let pending = self.pending.remove(id).unwrap_or_default();
        self.n_pending_bytes -= pending.n_bytes;
        pending.rows
    }

    fn wrong(&self, what: String) -> FleetError {
        FleetError::NoReport { line: self.line, what }
    }
}

impl<R: BufRead> Iterator for Gathered<R> {
    type Item = Result<Batch, FleetError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            let taken = match self.next_line() {
                Ok(Some(line)) => self.take(&line).transpose(),
                Ok(None) => {
                    self.is_over = true;
                    let is_cut = !self.pending.is_empty();
                    is_cut.then(|| Err(self.wrong("the file ends before the last row of a report".to_owned())))
                }
                Err(error) => {
                    self.is_over = matches!(error, FleetError::Take { .. });
                    Some(Err(error))
                }
            };
            if taken.is_some() {
                return taken;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Result<Batch, FleetError>> {
        Gathered::new(text.as_bytes(), PathBuf::from("test")).collect()
    }

    #[test]
    fn a_line_that_is_too_long_costs_itself_alone() {
        let long = "x".repeat(3 * MOST_LINE_BYTES as usize);
        let found = read(&format!("{long}\nnonsense\n{long}"));
        let lines: Vec<usize> = { found.iter() }
            .map(|it| match it {
                Err(FleetError::NoReport { line, .. }) => *line,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(lines, [1, 2, 3]);
        assert!(read("").is_empty());
    }
}
