//! The text protocol: one statement and its rows, all in memory, within a limit.
//!
//! Used for queries about the server and for making the scratch schema, never in the measured loop. Called by
//! `Connection::query` and `execute`; `prepare` and the codec also use the packet readers of this file.

use crate::mysql::fault;
use crate::mysql::handshake::Dialect;
use crate::mysql::packet::{Packets, length_encoded, too_long};
use crate::{Stream, WireError};

/// One row: a cell per column, `None` for NULL.
pub type Row = Vec<Option<Vec<u8>>>;

pub type Rows = Vec<Row>;

/// Highest number of bytes in the rows of a query. Our own queries return a few hundred.
const MAX_ROWS_BYTES: usize = 16 << 20;

/// Number of bytes that a cell, and a row, take in memory in addition to their content. They count towards the limit,
/// because otherwise a peer could turn 16 MiB of NULLs into half a gigabyte.
const OVERHEAD_BYTES: usize = size_of::<Option<Vec<u8>>>();

/// Highest number of columns of a result: the servers' own limit.
const MAX_COLUMNS: u64 = 4096;

const COM_QUERY: u8 = 0x03;
const OK: u8 = 0x00;
const NULL: u8 = 0xfb;
const LOCAL_INFILE: u8 = 0xfb;
pub(super) const EOF: u8 = 0xfe;

#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) affected: u64,
    /// `None` for a statement without a result.
    pub(super) rows: Option<Rows>,
}

/// The content of the packet before a result's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ColumnCount {
    /// Number of columns, 1 to 4096.
    pub(super) n_columns: u16,
    pub(super) has_definitions: bool,
}

/// Runs `sql` and collects its answer.
pub(super) fn query<S: Stream>(packets: &mut Packets<S>, dialect: Dialect, sql: &str) -> Result<Answer, WireError> {
    packets.command("run a query", COM_QUERY, sql.as_bytes())?;
    let action = packets.action();
    let payload = packets.read()?;
    match payload.first() {
        Some(&OK) => {
            let (affected, _) = length_encoded(&payload[1..])
                .ok_or_else(|| fault::malformed(action, "a count of affected rows", &payload))?;
            Ok(Answer { affected, rows: None })
        }
        Some(&fault::ERR) => Err(fault::server_error(action, &payload)),
        Some(&LOCAL_INFILE) => Err(refuse_local_file(packets)),
        _ => {
            let count = column_count(action, dialect, &payload)?;
            skip_definitions(packets, dialect, count)?;
            let rows = read_rows(packets, dialect, count.n_columns)?;
            Ok(Answer { affected: 0, rows: Some(rows) })
        }
    }
}

/// Reads the column count packet.
///
/// # Source
/// mariadb.com/docs: "Result Set Packets", column count packet; checked against MariaDB 10.11.
pub(super) fn column_count(action: &'static str, dialect: Dialect, payload: &[u8]) -> Result<ColumnCount, WireError> {
    let wrong = || fault::malformed(action, "a count of 1 to 4096 columns", payload);
    let (n_columns, n_bytes) = length_encoded(payload).ok_or_else(wrong)?;
    if !(1..=MAX_COLUMNS).contains(&n_columns) {
        return Err(wrong());
    }
    let has_definitions = match (dialect.has_cached_metadata, &payload[n_bytes..]) {
        (false, []) | (true, [1]) => true,
        (true, [0]) => false,
        _ => return Err(wrong()),
    };
    Ok(ColumnCount { n_columns: n_columns as u16, has_definitions })
}

/// Checks whether a packet ends a list of rows (or, without `CLIENT_DEPRECATE_EOF`, of definitions). A row can begin
/// with the same byte only if its first cell is longer than 16 MiB; in the binary protocol no row begins with this
/// byte.
pub(super) fn is_end(dialect: Dialect, payload: &[u8]) -> bool {
    payload.first() == Some(&EOF) && (dialect.is_eof_deprecated || payload.len() < 9)
}

/// Reads the EOF packet after the column definitions, if there is one.
pub(super) fn end_definitions<S: Stream>(packets: &mut Packets<S>, dialect: Dialect) -> Result<(), WireError> {
    if dialect.is_eof_deprecated {
        return Ok(());
    }
    let payload = packets.read()?;
    if is_end(dialect, &payload) {
        return Ok(());
    }
    let expected = "an end of the column definitions";
    Err(fault::malformed(packets.action(), expected, &payload))
}

fn skip_definitions<S: Stream>(
    packets: &mut Packets<S>,
    dialect: Dialect,
    count: ColumnCount,
) -> Result<(), WireError> {
    if count.has_definitions {
        for _ in 0..count.n_columns {
            packets.read()?;
        }
    }
    end_definitions(packets, dialect)
}

fn read_rows<S: Stream>(packets: &mut Packets<S>, dialect: Dialect, n_columns: u16) -> Result<Rows, WireError> {
    let action = packets.action();
    let mut rows = Rows::new();
    let mut total_bytes = 0;
    loop {
        let payload = packets.read()?;
        if payload.first() == Some(&fault::ERR) {
            return Err(fault::server_error(action, &payload));
        }
        if is_end(dialect, &payload) {
            return Ok(rows);
        }
        total_bytes += payload.len() + (usize::from(n_columns) + 1) * OVERHEAD_BYTES;
        if total_bytes > MAX_ROWS_BYTES {
            return Err(too_long(action, total_bytes, MAX_ROWS_BYTES));
        }
        let row = split_row(&payload, n_columns).ok_or_else(|| fault::malformed(action, "a row", &payload))?;
        rows.push(row);
    }
}

/// Splits a row into its cells; `None` unless they fill the payload exactly.
fn split_row(payload: &[u8], n_columns: u16) -> Option<Row> {
    let mut rest = payload;
    let mut row = Row::with_capacity(usize::from(n_columns));
    for _ in 0..n_columns {
        if let [NULL, after @ ..] = rest {
            row.push(None);
            rest = after;
            continue;
        }
        let (n_bytes, header_bytes) = length_encoded(rest)?;
        let n_bytes = usize::try_from(n_bytes).ok()?;
        let (cell, after) = rest[header_bytes..].split_at_checked(n_bytes)?;
        row.push(Some(cell.to_vec()));
        rest = after;
    }
    rest.is_empty().then_some(row)
}

/// Sends the empty packet that means "no file", so that the server continues, and returns the error for the refusal.
#[cold]
fn refuse_local_file<S: Stream>(packets: &mut Packets<S>) -> WireError {
    let ended = packets.write(&[]).and_then(|()| packets.read());
    ended
        .err()
        .unwrap_or_else(|| WireError::Unsupported { what: "a file of this machine (LOAD DATA LOCAL)".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_row(payload: &[u8], n_columns: u16, wanted: Option<&[Option<&str>]>) {
        let found = split_row(payload, n_columns);
        let cells = wanted.map(<[_]>::iter).into_iter().flatten();
        let row: Row = cells.map(|cell| cell.map(|text| text.as_bytes().to_vec())).collect();
        let wanted = wanted.map(|_| row);
        assert_eq!(found, wanted);
    }

    #[test]
    fn splits_rows_only_where_the_cells_fill_them() {
        check_row(b"\x01a\xfb\x00", 3, Some(&[Some("a"), None, Some("")]));
        check_row(b"\x01a", 2, None);
        check_row(b"\x01a\x01", 2, None);
        check_row(b"\x01ab", 1, None);
        check_row(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff", 1, None);
        check_row(b"\xff", 1, None);
    }

    #[track_caller]
    fn check_count(has_cached_metadata: bool, payload: &[u8], wanted: Option<(u16, bool)>) {
        let dialect = Dialect { has_cached_metadata, ..Dialect::default() };
        let found = column_count("test", dialect, payload).ok();
        let found = found.map(|count| (count.n_columns, count.has_definitions));
        assert_eq!(found, wanted, "{payload:?}");
    }

    #[test]
    fn counts_columns_with_and_without_the_metadata_byte() {
        check_count(false, &[1], Some((1, true)));
        check_count(false, &[0xfc, 0x00, 0x10], Some((4096, true)));
        check_count(false, &[0xfc, 0x01, 0x10], None);
        check_count(false, &[1, 1], None);
        check_count(false, &[], None);
        check_count(false, &[0], None);
        check_count(true, &[1, 1], Some((1, true)));
        check_count(true, &[2, 0], Some((2, false)));
        check_count(true, &[1, 2], None);
        check_count(true, &[1], None);
    }
}
