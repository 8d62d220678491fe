//! Queries to a SQL server. Their answers must have the expected form: see `answers`.

use std::str::FromStr;

use looptax_wire::WireError;

use crate::path::answers::{number, only, table, unfit, value};
use crate::path::conversation::Names;
use crate::path::error::ASK;
use crate::path::{Conversation, PathError};

impl Conversation {
    /// Returns the rows of a query's answer; each row must have `N` columns. On PostgreSQL, names always mean the
    /// server's own objects, never objects of the same name that users have made. This is needed because looptax may be
    /// logged in as an administrator.
    ///
    /// # Errors
    /// The server's refusal; [`WireError::Malformed`] for any other answer; [`WireError::Unsupported`] if the protocol
    /// has no SQL.
    pub fn rows<const N: usize>(&mut self, sql: &str) -> Result<Vec<[Option<String>; N]>, WireError> {
        let rows = self.raw_rows(sql, Names::Servers)?;
        table(self.title(), rows)
    }

    /// Like [`Self::rows`], but names are resolved in the session's own search path. Meant for queries of the user's
    /// tables, and for a pooler's console, which has no search path.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn rows_of_users<const N: usize>(&mut self, sql: &str) -> Result<Vec<[Option<String>; N]>, WireError> {
        let rows = self.raw_rows(sql, Names::Sessions)?;
        table(self.title(), rows)
    }

    /// Returns the only row of a query's answer.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn row<const N: usize>(&mut self, sql: &str) -> Result<[Option<String>; N], WireError> {
        let rows = self.rows(sql)?;
        only(self.title(), rows)
    }

    /// Returns the only cell of a query's answer, which may be NULL.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn cell_or_null(&mut self, sql: &str) -> Result<Option<String>, WireError> {
        let [cell] = self.row(sql)?;
        Ok(cell)
    }

    /// Returns the only cell of a query's answer.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn cell(&mut self, sql: &str) -> Result<String, WireError> {
        let cell = self.cell_or_null(sql)?;
        value(self.title(), cell)
    }

    /// Returns the only cell of a query's answer, which is a value of this type.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn number<T: FromStr>(&mut self, sql: &str) -> Result<T, WireError> {
        let cell = self.cell_or_null(sql)?;
        number(self.title(), cell)
    }

    /// Returns the only column of a query's answer, without NULLs.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn column(&mut self, sql: &str) -> Result<Vec<String>, WireError> {
        let title = self.title();
        let rows = self.rows::<1>(sql)?;
        rows.into_iter().map(|[cell]| value(title, cell)).collect()
    }

    /// Makes the error for an answer that does not fit its query.
    pub fn unfit(&self, expected: &'static str, found: &str) -> WireError {
        unfit(self.title(), expected, found.as_bytes())
    }

    /// Makes the error for a failed query, with the endpoint of the server.
    pub fn failed(&self, source: WireError) -> PathError {
        PathError::Protocol { action: ASK, endpoint: self.endpoint().to_string(), source }
    }

    pub(crate) fn title(&self) -> &'static str {
        self.protocol().title()
    }
}
