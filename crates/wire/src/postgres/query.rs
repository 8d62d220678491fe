//! The simple protocol: statements as text, rows as text.
//!
//! Used for set-up and queries about the server, not for measuring, because every row is copied. Called by
//! `Connection::query` and `Connection::execute`.

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{DataRowBody, Message};
use postgres_protocol::message::frontend;

use super::frames::{Allowance, Frames, malformed, out_of_place};
use crate::{Stream, WireError};

const RUN: &str = "run a statement";

/// A column's text, `None` for NULL.
type Cell = Option<Vec<u8>>;

/// The results of all statements in one text of SQL.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Rows of all statements, in order.
    pub(super) rows: Vec<Vec<Cell>>,
    /// Sum of the numbers of rows in the command tags.
    pub(super) n_affected: u64,
    /// Whether at least one statement has a result.
    has_result: bool,
}

impl Answer {
    /// Returns the rows; fails if no statement had a result.
    pub(super) fn into_rows(self) -> Result<Vec<Vec<Cell>>, WireError> {
        if self.has_result { Ok(self.rows) } else { Err(malformed(RUN, "rows", b"no result")) }
    }
}

/// Sends `sql` and reads the whole answer.
pub(super) fn run<S: Stream>(frames: &mut Frames<S>, sql: &str) -> Result<Answer, WireError> {
    frames.send(RUN, |out| frontend::query(sql, out))?;
    let mut answer = Answer::default();
    frames.receive_answer(RUN, |message, allowance| {
        match message {
            Message::DataRow(body) => answer.rows.push(cells(&body, allowance)?),
            Message::CommandComplete(body) => {
                let tag = body.tag().map_err(|_| malformed(RUN, "a command tag in UTF-8", b"other bytes"))?;
                answer.n_affected = answer.n_affected.saturating_add(n_rows_in_tag(tag));
            }
            Message::RowDescription(_) => answer.has_result = true,
            Message::EmptyQueryResponse => {}
            Message::CopyInResponse(_) | Message::CopyOutResponse(_) => {
                return Err(WireError::Unsupported { what: "COPY".to_owned() });
            }
            _ => return Err(out_of_place(RUN, "rows or a command tag")),
        }
        Ok(())
    })?;
    Ok(answer)
}

/// Copies a row. The memory that the copies need in addition to the message is subtracted from the allowance.
fn cells(body: &DataRowBody, allowance: &mut Allowance) -> Result<Vec<Cell>, WireError> {
    let mut row = Vec::new();
    let mut ranges = body.ranges();
    while let Some(range) =
        ranges.next().map_err(|_| malformed(RUN, "a row with columns of the stated lengths", body.buffer()))?
    {
        allowance.spend(size_of::<Cell>() as u64, RUN)?;
        row.push(range.map(|range| body.buffer()[range].to_vec()));
    }
    Ok(row)
}

/// Returns the number at the end of a command tag: `UPDATE 3`, `INSERT 0 3`, `CREATE TABLE`.
fn n_rows_in_tag(tag: &str) -> u64 {
    let last_word = tag.rsplit(' ').next().unwrap_or_default();
    last_word.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tag: &str, wanted: u64) {
        assert_eq!(n_rows_in_tag(tag), wanted, "{tag}");
    }

    #[test]
    fn reads_the_row_count_of_every_shape_of_tag() {
        check("INSERT 0 3", 3);
        check("UPDATE 12", 12);
        check("SELECT 1", 1);
        check("CREATE TABLE", 0);
        check("BEGIN", 0);
        check("", 0);
    }
}
