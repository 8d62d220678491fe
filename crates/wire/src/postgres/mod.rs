//! PostgreSQL's protocol 3.0: log in, ask in the simple protocol, prepare the measured query.
//!
//! Messages and password exchanges come from `postgres-protocol`; framing with limits, and the
//! codec of the measured loop, are ours. No TLS here: `Connection` speaks over any [`Stream`] and
//! never asks for it. Called by bench (codec), servers (filling) and path (proof of an arm).

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

/// The last message of a client that ends its session as it should: `Terminate`. The server closes then,
/// and logs nothing.
pub const GOODBYE: [u8; 5] = [b'X', 0, 0, 0, 4];

/// The search path of our questions: the server's own objects, and last our own temporary tables, from which PostgreSQL
/// never takes functions and operators. Neither holds names that other users have made as a trap.
pub const OWN_NAMES: &str = "pg_catalog, pg_temp";

/// A logged-in session over `S`.
///
/// Notices, notifications and changed parameters may come at any time and are skipped. A statement
/// that the server refuses leaves the session usable; every other error ends it.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    frames: Frames<S>,
    server_version: String,
    backend_pid: u32,
    method: &'static str,
    /// Statements prepared under names of ours so far.
    n_named: u32,
}

impl<S: Stream> Connection<S> {
    /// The server's name for its version, as in `15.14 (Debian 15.14-0+deb12u1)`; empty when it did not send one.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// How the server asked who we are, in the words of libpq's `require_auth`: `none`, `password`, `md5` or
    /// `scram-sha-256`.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Process id of the server's process for this session, in the server's pid namespace; 0 when
    /// it did not say.
    pub fn connection_id(&self) -> u64 {
        u64::from(self.backend_pid)
    }

    /// Runs `sql` in the simple protocol: the rows of all its statements, as text, `None` for NULL.
    ///
    /// # Errors
    /// [`WireError::Server`] when a statement fails (the session stays usable),
    /// [`WireError::TooLong`] over 16 MiB in one message or 64 MiB in all,
    /// [`WireError::Unsupported`] for `COPY` (ends the session); `Malformed`, `Timeout`, `Closed`,
    /// `Io`.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>, WireError> {
        query::run(&mut self.frames, sql)?.into_rows()
    }

    /// Runs `sql`, a query, as [`Self::query`] does, but names mean the objects of the server's own catalog, and no
    /// table, function or operator that a user made: our account may have rights that their makers lack. It holds only
    /// for this query, also if a pooler hands its connection on.
    ///
    /// # Errors
    /// As [`Self::query`].
    ///
    /// # Source
    /// postgresql.org, "Writing SECURITY DEFINER Functions Safely"; "Multiple Statements in a Simple Query": they are one
    /// transaction.
    pub fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>, WireError> {
        self.query(&format!("SET LOCAL search_path = {OWN_NAMES}; {sql}"))
    }

    /// Runs `sql` in the simple protocol: the number of rows that its statements changed or found,
    /// by their command tags; 0 for statements that state none.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn execute(&mut self, sql: &str) -> Result<u64, WireError> {
        query::run(&mut self.frames, sql).map(|answer| answer.n_affected)
    }

    /// Prepares `sql` on the server under `name` (empty for the unnamed statement). It has no
    /// parameter, or one that the server takes for `int4` or `int8`: the key.
    ///
    /// # Errors
    /// [`WireError::Server`] when the server refuses the statement (the session stays usable),
    /// [`WireError::Unsupported`] for other parameters; else as [`Self::query`].
    pub fn prepare(&mut self, name: &str, sql: &str) -> Result<PreparedQuery, WireError> {
        prepared::prepare(&mut self.frames, name, sql)
    }

    /// Makes a transaction's statements ready on this connection, under the names `looptax0`,
    /// `looptax1` …
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

    /// Makes one statement ready: prepared, with `$1`, `$2` … for its values, under the next name, or as
    /// text with `?`.
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

    /// Dumps of all columns and rows of `table`, which holds `n_rows` rows.
    pub fn copy_out(&self, table: &str, n_rows: u64) -> TableCopy {
        TableCopy::new(table, n_rows)
    }

    /// Runs `sql`, which is a `COPY … FROM STDIN`, with these bytes as what is copied: the number of rows that the server
    /// took.
    ///
    /// # Errors
    /// [`WireError::Server`] when the server refuses the statement or a row (the session stays usable, and no row of it
    /// stays); `Malformed`, `TooLong`, `Timeout`, `Closed`, `Io`.
    pub fn copy_in(&mut self, sql: &str, rows: &[u8]) -> Result<u64, WireError> {
        copy_in::run(&mut self.frames, sql, rows)
    }

    /// The stream, for the load engine. Nothing of the session has been read ahead.
    pub fn into_stream(self) -> S {
        self.frames.into_stream()
    }
}
