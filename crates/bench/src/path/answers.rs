//! Compares answers with their queries: the number of columns, the number of rows, the form of the cells.
//!
//! An answer that does not fit is an error. It is never used as a value, because a server that accepts every client may
//! send any answer.
//!
//! Called by `questions`, and by `server_view` for its lower-level queries.

use std::str::FromStr;

use looptax_wire::WireError;

use crate::path::error::ASK;

/// A row as the server writes it.
pub(crate) type Row = Vec<Option<Vec<u8>>>;

/// Returns the rows; each of them must have `N` columns.
pub(crate) fn table<const N: usize>(
    protocol: &'static str,
    rows: Vec<Row>,
) -> Result<Vec<[Option<String>; N]>, WireError> {
    let text = |cell: Option<Vec<u8>>| match cell.map(String::from_utf8) {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(text)),
        Some(Err(error)) => Err(unfit(protocol, "text in UTF-8", error.as_bytes())),
    };
    let row = |row: Row| {
        let n_columns = row.len();
        let cells: Vec<Option<String>> = row.into_iter().map(text).collect::<Result<_, _>>()?;
        <[Option<String>; N]>::try_from(cells)
            .map_err(|_| unfit(protocol, "the requested number of columns", n_columns.to_string().as_bytes()))
    };
    rows.into_iter().map(row).collect()
}

/// Returns the row, if there is exactly one.
pub(crate) fn only<T>(protocol: &'static str, rows: Vec<T>) -> Result<T, WireError> {
    let n_rows = rows.len();
    let [row] =
        <[T; 1]>::try_from(rows).map_err(|_| unfit(protocol, "one row", format!("{n_rows} rows").as_bytes()))?;
    Ok(row)
}

/// Returns the value of a cell that must not be NULL.
pub(crate) fn value(protocol: &'static str, cell: Option<String>) -> Result<String, WireError> {
    cell.ok_or_else(|| unfit(protocol, "a value", b"NULL"))
}

/// Returns the value of a cell, parsed as this type.
pub(crate) fn number<T: FromStr>(protocol: &'static str, cell: Option<String>) -> Result<T, WireError> {
    let text = value(protocol, cell)?;
    parsed(protocol, &text)
}

/// Returns the value of a text, parsed as this type.
pub(crate) fn parsed<T: FromStr>(protocol: &'static str, text: &str) -> Result<T, WireError> {
    let told = text.trim().parse();
    told.map_err(|_| unfit(protocol, "a valid number", text.as_bytes()))
}

/// Makes the error for an answer that does not fit its query.
pub(crate) fn unfit(protocol: &'static str, expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed(protocol, ASK, expected, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: &str = "MySQL";

    fn row(cells: &[Option<&[u8]>]) -> Row {
        cells.iter().map(|it| it.map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn r44_only_what_was_asked_for_is_an_answer() {
        let two = vec![row(&[Some(b"a"), None])];
        assert_eq!(table::<2>(TITLE, two.clone()).unwrap(), [[Some("a".to_owned()), None]]);
        assert!(table::<1>(TITLE, two.clone()).is_err());
        assert!(table::<3>(TITLE, two).is_err());
        assert!(table::<1>(TITLE, vec![row(&[Some(b"\xff")])]).is_err());
        assert_eq!(only(TITLE, vec![1]).unwrap(), 1);
        assert!(only::<u8>(TITLE, vec![]).is_err());
        assert!(only(TITLE, vec![1, 2]).is_err());
        let cell = |text: &str| Some(text.to_owned());
        assert_eq!(number::<u64>(TITLE, cell("7")).unwrap(), 7);
        for text in ["abc", "-1", "18446744073709551616", ""] {
            assert!(number::<u64>(TITLE, cell(text)).is_err(), "{text}");
        }
        assert!(number::<u64>(TITLE, None).is_err());
    }
}
