//! Answers held against what was asked: so many columns, so many rows, cells of one form.
//!
//! What does not fit is an error, and never a value that somebody could take for an answer: whoever lets anybody in may
//! answer anything. Every question of looptax to a SQL server goes through here.

use std::str::FromStr;

use looptax_wire::WireError;

use crate::Conversation;
use crate::error::ASK;

/// A row as a server writes it.
pub(crate) type Row = Vec<Option<Vec<u8>>>;

/// The rows, each of which has to have `N` columns.
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
        <[Option<String>; N]>::try_from(cells).map_err(|_| {
            unfit(
                protocol,
                "as many columns as were asked for",
                n_columns.to_string().as_bytes(),
            )
        })
    };
    rows.into_iter().map(row).collect()
}

/// The only row of these.
pub(crate) fn only<T>(protocol: &'static str, rows: Vec<T>) -> Result<T, WireError> {
    let n_rows = rows.len();
    let [row] = <[T; 1]>::try_from(rows)
        .map_err(|_| unfit(protocol, "one row", format!("{n_rows} rows").as_bytes()))?;
    Ok(row)
}

/// A cell that may not be NULL.
pub(crate) fn value(protocol: &'static str, cell: Option<String>) -> Result<String, WireError> {
    cell.ok_or_else(|| unfit(protocol, "a value", b"NULL"))
}

/// A cell that holds a value of this type.
pub(crate) fn number<T: FromStr>(
    protocol: &'static str,
    cell: Option<String>,
) -> Result<T, WireError> {
    let text = value(protocol, cell)?;
    parsed(protocol, &text)
}

/// A text that is a value of this type.
pub(crate) fn parsed<T: FromStr>(protocol: &'static str, text: &str) -> Result<T, WireError> {
    let told = text.trim().parse();
    told.map_err(|_| unfit(protocol, "a number that can be", text.as_bytes()))
}

/// An answer that is none.
pub(crate) fn unfit(protocol: &'static str, expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed(protocol, ASK, expected, found)
}

impl Conversation {
    /// The rows of a query's answer, each of which has to have `N` columns. On PostgreSQL names mean what the server itself
    /// brings, whatever others have made: looptax may ask as an administrator.
    ///
    /// # Errors
    /// The server's refusal; [`WireError::Malformed`] for any other answer; [`WireError::Unsupported`] where there is no
    /// SQL.
    pub fn rows<const N: usize>(
        &mut self,
        sql: &str,
    ) -> Result<Vec<[Option<String>; N]>, WireError> {
        let rows = self.raw_rows(sql)?;
        table(self.title(), rows)
    }

    /// The only row of a query's answer.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn row<const N: usize>(&mut self, sql: &str) -> Result<[Option<String>; N], WireError> {
        let rows = self.rows(sql)?;
        only(self.title(), rows)
    }

    /// The only cell of a query's answer, which may be NULL.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn cell_or_null(&mut self, sql: &str) -> Result<Option<String>, WireError> {
        let [cell] = self.row(sql)?;
        Ok(cell)
    }

    /// The only cell of a query's answer.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn cell(&mut self, sql: &str) -> Result<String, WireError> {
        let cell = self.cell_or_null(sql)?;
        value(self.title(), cell)
    }

    /// The only cell of a query's answer, which is a value of this type.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn number<T: FromStr>(&mut self, sql: &str) -> Result<T, WireError> {
        let cell = self.cell_or_null(sql)?;
        number(self.title(), cell)
    }

    /// The only column of a query's answer, without NULLs.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn column(&mut self, sql: &str) -> Result<Vec<String>, WireError> {
        let title = self.title();
        let rows = self.rows::<1>(sql)?;
        rows.into_iter().map(|[cell]| value(title, cell)).collect()
    }

    /// That an answer of this server is not one to what was asked.
    pub fn unfit(&self, expected: &'static str, found: &str) -> WireError {
        unfit(self.title(), expected, found.as_bytes())
    }

    pub(crate) fn title(&self) -> &'static str {
        self.protocol().title()
    }
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
        assert_eq!(
            table::<2>(TITLE, two.clone()).unwrap(),
            [[Some("a".to_owned()), None]]
        );
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
