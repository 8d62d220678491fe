//! PostgreSQL's protocol 3.0: login, queries in the simple protocol, and the prepared query for the measured loop.
//!
//! `postgres-protocol` provides messages and password exchanges; looptax adds framing with limits and the codec of the
//! measured loop. `Connection` does not start TLS: it works over any [`Stream`]. Called by `bench` (codec), `servers`
//! (filling) and `path` (proof of an arm).

mod copy;
mod copy_in;
mod frames;
mod login;
mod prepared;
mod query;
mod replies;
mod statement;

use std::sync::Arc;

pub use copy::TableCopy;
pub use login::{Clear, ask_for_tls};
pub use prepared::PreparedQuery;
pub use statement::AnyStatement;

use crate::transaction::{Pieces, Running, Transaction};
use crate::{Sent, Stream, WireError};
use frames::Frames;
use statement::{PreparedStatement, numbered};

/// The last message of a client that ends its session properly: `Terminate`. The server then closes the connection and
/// logs no error.
pub const GOODBYE: [u8; 5] = [b'X', 0, 0, 0, 4];

/// The search path for looptax's queries: first the server's own objects, then looptax's own temporary tables, in which
/// PostgreSQL never looks up functions and operators. Other users cannot create objects in these two schemas as a trap.
pub const OWN_NAMES: &str = "pg_catalog, pg_temp";

/// A logged-in session over `S`.
///
/// Notices, notifications and changed parameters may arrive at any time and are skipped. If the server refuses a
/// statement, the session stays usable. Every other error ends the session.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    frames: Frames<S>,
    server_version: String,
    backend_pid: u32,
    method: &'static str,
    /// Number of statements prepared so far under looptax's names.
    n_named: u32,
}

impl<S: Stream> Connection<S> {
    /// Returns the server's name for its version, such as `15.14 (Debian 15.14-0+deb12u1)`; empty if the server did not
    /// send a version.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// Returns the method by which the server authenticated us, under its name in libpq's `require_auth`: `none`,
    /// `password`, `md5` or `scram-sha-256`.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Returns the id of the server's process for this session, in the server's pid namespace; 0 if the server did not
    /// send the id.
    pub fn connection_id(&self) -> u64 {
        u64::from(self.backend_pid)
    }

    /// Runs `sql` in the simple protocol and returns the rows of all its statements; a value is text, or `None` for
    /// NULL.
    ///
    /// # Errors
    /// [`WireError::Server`] if a statement fails (the session stays usable), [`WireError::TooLong`] for more than 16
    /// MiB in one message or 64 MiB in total, [`WireError::Unsupported`] for `COPY` (which ends the session);
    /// `Malformed`, `Timeout`, `Closed`, `Io`.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>, WireError> {
        query::run(&mut self.frames, sql)?.into_rows()
    }

    /// Runs the query `sql` like [`Self::query`], but names refer only to objects of the server's own catalog, and not
    /// to a table, function or operator that a user made. This matters because our account may have rights that this
    /// user does not have. The restriction applies only to this query, even if a pooler gives the connection to another
    /// client afterwards.
    ///
    /// # Errors
    /// As [`Self::query`].
    ///
    /// # Source
    /// postgresql.org, "Writing SECURITY DEFINER Functions Safely"; "Multiple Statements in a Simple Query": the
    /// statements are one transaction.
    pub fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>, WireError> {
        self.query(&format!("SET LOCAL search_path = {OWN_NAMES}; {sql}"))
    }

    /// Runs `sql` in the simple protocol and returns how many rows its statements changed or found, according to their
    /// command tags. A statement whose tag has no number counts as 0.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn execute(&mut self, sql: &str) -> Result<u64, WireError> {
        query::run(&mut self.frames, sql).map(|answer| answer.n_affected)
    }

    /// Prepares `sql` on the server under `name` (empty for the unnamed statement). `sql` has no parameter, or one that
    /// the server treats as `int4` or `int8`: the key.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server refuses the statement (the session stays usable), [`WireError::Unsupported`]
    /// for other parameters; otherwise as [`Self::query`].
    pub fn prepare(&mut self, name: &str, sql: &str) -> Result<PreparedQuery, WireError> {
        prepared::prepare(&mut self.frames, name, sql)
    }

    /// Prepares a transaction's statements on this connection, under the names `looptax0`, `looptax1` …
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn prepare_transaction(
        &mut self,
        transaction: &Arc<Transaction>,
        sent: Sent,
    ) -> Result<Running<AnyStatement>, WireError> {
        Running::prepare(Arc::clone(transaction), |sql| match sent {
            Sent::Text => Ok(AnyStatement::Text(Pieces::split(sql))),
            Sent::Prepared => self.statement(&numbered(sql), sent),
        })
    }

    /// Makes one statement: prepared under the next name, with `$1`, `$2` … for its values, or sent as text with `?`.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn statement(&mut self, sql: &str, sent: Sent) -> Result<AnyStatement, WireError> {
        if sent == Sent::Text {
            return Ok(AnyStatement::Text(Pieces::split(sql)));
        }
        let name = format!("looptax{}", self.n_named);
        self.n_named += 1;
        let parameters = prepared::parse(&mut self.frames, &name, sql)?;
        Ok(AnyStatement::Prepared(PreparedStatement::new(&name, parameters)))
    }

    /// Returns a codec for dumps of all columns and rows of `table`, which has `n_rows` rows.
    pub fn copy_out(&self, table: &str, n_rows: u64) -> TableCopy {
        TableCopy::new(table, n_rows)
    }

    /// Runs `sql`, which is a `COPY … FROM STDIN`, with `rows` as its data. Returns the number of rows that the server
    /// stored.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server refuses the statement or a row (the session stays usable, and none of the
    /// rows is stored); `Malformed`, `TooLong`, `Timeout`, `Closed`, `Io`.
    pub fn copy_in(&mut self, sql: &str, rows: &[u8]) -> Result<u64, WireError> {
        copy_in::run(&mut self.frames, sql, rows)
    }

    /// Returns the stream, for the load engine. No bytes after the last reply have been read from it.
    pub fn into_stream(self) -> S {
        self.frames.into_stream()
    }
}
