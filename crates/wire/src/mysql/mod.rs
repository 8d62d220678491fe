//! The protocol of MySQL and MariaDB: login, queries, and prepared queries for the measured loop.
//!
//! [`Connection`] is the blocking part, [`PreparedQuery`] the codec for the measured loop. On MariaDB, replies have the
//! form that Debian's libmariadb 3.3 gets; on MySQL, the form that libmysqlclient gets (see `handshake.rs`). Never
//! negotiated: compression, `LOAD DATA LOCAL`, several statements or several results. `mysql_common` parses and writes
//! the login's packets; this folder contains framing, rows and the measured loop's code. Called by the load engine and
//! the servers' probes.

mod auth;
mod dump;
mod fault;
mod handshake;
mod packet;
mod prepare;
mod prepared;
mod replies;
mod rsa;
mod sha2;
mod statement;
mod text;

use std::sync::Arc;
use std::time::Duration;

pub use dump::TableDump;
pub use prepared::PreparedQuery;
pub use statement::AnyStatement;
pub use text::{Row, Rows};

use crate::mysql::handshake::Session;
use crate::mysql::packet::Packets;
use crate::mysql::statement::TextStatement;
use crate::transaction::{Running, Transaction};
use crate::{Channel, Login, Sent, StartTls, Stream, WireError};

/// The last message of a client that ends its session properly: `COM_QUIT` in a separate packet. The server then closes
/// the connection and does not count it as an aborted client.
pub const GOODBYE: [u8; 5] = [1, 0, 0, 0, 1];

/// `ER_UNSUPPORTED_PS`: this command is not supported in the prepared statement protocol yet.
const UNSUPPORTED_PREPARED: &str = "1295";

/// A logged-in connection to a MySQL or MariaDB server.
///
/// After any error except [`WireError::Server`] the two ends may disagree about whose turn it is, so drop the
/// connection.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    packets: Packets<S>,
    session: Session,
}

impl<S: Stream> Connection<S> {
    /// Reads the greeting and logs in, without TLS, with the character set utf8mb4. Over [`Channel::PlainTcp`], looptax
    /// does not send the password to a server that asks for it in clear text.
    ///
    /// # Units
    /// `timeout_hint` is the stream's own time limit; it only appears in [`WireError::Timeout`].
    ///
    /// # Errors
    /// [`WireError::Server`] if the server refuses (wrong password, too many connections, blocked host),
    /// [`WireError::Malformed`] or [`WireError::TooLong`] if the peer does not speak this protocol,
    /// [`WireError::Unsupported`] for a plugin that we do not have or that is unsafe on this channel,
    /// [`WireError::Closed`], [`WireError::Timeout`] and [`WireError::Io`] from the stream.
    pub fn login(stream: S, login: &Login, channel: Channel, timeout_hint: Duration) -> Result<Self, WireError> {
        let mut packets = Packets::new(stream, timeout_hint);
        let session = handshake::run(&mut packets, login, channel, None)?;
        Ok(Self { packets, session })
    }

    /// Logs in like [`Self::login`], but over TLS, which `start_tls` starts after the greeting.
    ///
    /// # Errors
    /// The errors of [`Self::login`]; [`WireError::NoTls`] if the server does not offer TLS, [`WireError::Io`] if TLS
    /// cannot be started.
    pub fn login_over_tls(
        stream: S,
        login: &Login,
        timeout_hint: Duration,
        start_tls: StartTls<'_, S>,
    ) -> Result<Self, WireError> {
        let mut packets = Packets::new(stream, timeout_hint);
        let session = handshake::run(&mut packets, login, Channel::Tls, Some(start_tls))?;
        Ok(Self { packets, session })
    }

    /// Returns the version from the greeting, without the `5.5.5-` that MariaDB puts before it; escaped and truncated.
    pub fn server_version(&self) -> &str {
        &self.session.server_version
    }

    /// Returns whether this is MariaDB, according to its version text or its greeting's capabilities.
    pub fn is_mariadb(&self) -> bool {
        self.session.is_mariadb
    }

    /// Returns whether the server offers TLS, according to its greeting.
    pub fn offers_tls(&self) -> bool {
        self.session.offers_tls
    }

    /// Returns the authentication plugin that was finally used.
    pub fn auth_plugin(&self) -> &'static str {
        self.session.auth_plugin
    }

    /// Returns the server's number for this connection: the 32 bits in the greeting. If the server's numbers are
    /// longer, `CONNECTION_ID()` returns the whole number.
    pub fn connection_id(&self) -> u64 {
        self.session.connection_id
    }

    /// Runs `sql`, which must have a result, in the text protocol and returns its rows.
    ///
    /// # Units
    /// A cell is the value's text as the server writes it, `None` for NULL.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server refuses the statement, [`WireError::Malformed`] if it answers without a
    /// result, [`WireError::TooLong`] for more than 16 MiB of rows (their size in memory), [`WireError::Unsupported`]
    /// if the server asks for a local file (which it does not get), and the stream's errors as in [`Self::login`].
    pub fn query(&mut self, sql: &str) -> Result<Rows, WireError> {
        let answer = text::query(&mut self.packets, self.session.dialect, sql)?;
        let action = self.packets.action();
        answer.rows.ok_or_else(|| fault::malformed(action, "rows", b"no result"))
    }

    /// Runs `sql` in the text protocol and returns how many rows it affected. For a SELECT it returns 0, because the
    /// rows are read and dropped.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn execute(&mut self, sql: &str) -> Result<u64, WireError> {
        text::query(&mut self.packets, self.session.dialect, sql).map(|answer| answer.affected)
    }

    /// Prepares `sql`, which has at most one parameter: the key, bound as a BIGINT. Keys above 2^63 - 1 reach the
    /// server as negative numbers.
    ///
    /// The query belongs to this connection; it stays valid for the stream after [`Self::into_stream`].
    ///
    /// # Errors
    /// [`WireError::Server`] if the server refuses the statement, [`WireError::Unsupported`] for two or more
    /// parameters, and the stream's errors as in [`Self::login`].
    pub fn prepare(&mut self, sql: &str) -> Result<PreparedQuery, WireError> {
        prepare::prepare(&mut self.packets, self.session.dialect, sql)
    }

    /// Prepares a transaction's statements on this connection. Statements that the server cannot prepare (`BEGIN` on
    /// some servers) are sent as text; users of the C libraries do the same.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn prepare_transaction(
        &mut self,
        transaction: &Arc<Transaction>,
        sent: Sent,
    ) -> Result<Running<AnyStatement>, WireError> {
        Running::prepare(Arc::clone(transaction), |sql| self.statement(sql, sent))
    }

    /// Prepares one statement, with `?` for each of its values. A statement that the server cannot prepare is sent as
    /// text.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn statement(&mut self, sql: &str, sent: Sent) -> Result<AnyStatement, WireError> {
        let dialect = self.session.dialect;
        if sent == Sent::Text {
            return Ok(AnyStatement::Text(TextStatement::new(dialect, sql)));
        }
        match prepare::prepare_statement(&mut self.packets, dialect, sql) {
            Ok(prepared) => Ok(AnyStatement::Prepared(prepared)),
            Err(WireError::Server { code, .. }) if code == UNSUPPORTED_PREPARED => {
                Ok(AnyStatement::Text(TextStatement::new(dialect, sql)))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns a codec for dumps of all columns and rows of `table`, which has `n_rows` rows.
    pub fn dump(&self, table: &str, n_rows: u64) -> TableDump {
        TableDump::new(self.session.dialect, table, n_rows)
    }

    /// Returns the stream for the measured loop. Nothing is lost, because no bytes after a packet were read.
    pub fn into_stream(self) -> S {
        self.packets.into_stream()
    }
}
