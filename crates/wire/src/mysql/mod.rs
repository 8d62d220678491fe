//! MySQL and MariaDB: log in, ask, prepare one query, and then run it as fast as can be.
//!
//! [`Connection`] is the blocking half, [`PreparedQuery`] the codec for the measured loop. On MariaDB
//! replies come as Debian's libmariadb 3.3 gets them, on MySQL as libmysqlclient does (see
//! `handshake.rs`). Never negotiated: compression, `LOAD DATA LOCAL`, several statements or
//! several results. `mysql_common` parses and writes the login's packets; framing, rows and the hot path are here.
//! The load engine and the servers' probes call this.

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

/// The last message of a client that ends its session as it should: `COM_QUIT` in a separate packet. The server closes
/// then, and counts no aborted client.
pub const GOODBYE: [u8; 5] = [1, 0, 0, 0, 1];

/// `ER_UNSUPPORTED_PS`: this command is not supported in the prepared statement protocol yet.
const UNSUPPORTED_PREPARED: &str = "1295";

/// A logged-in conversation with a MySQL or MariaDB server.
///
/// After any error but [`WireError::Server`] the two ends may disagree about whose turn it is: drop
/// the connection then.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    packets: Packets<S>,
    session: Session,
}

impl<S: Stream> Connection<S> {
    /// Reads the greeting and logs in, without TLS, as utf8mb4. Only as `login` allows: a server that asks for the
    /// password in clear does not get it over [`Channel::PlainTcp`].
    ///
    /// # Units
    /// `timeout_hint` is the time limit that `stream` itself has; it is only repeated in
    /// [`WireError::Timeout`].
    ///
    /// # Errors
    /// [`WireError::Server`] when the server refuses (wrong password, too many connections, blocked
    /// host), [`WireError::Malformed`] or [`WireError::TooLong`] when the peer does not speak this
    /// protocol, [`WireError::Unsupported`] for a plugin that we lack or that is unsafe here,
    /// [`WireError::Closed`], [`WireError::Timeout`] and [`WireError::Io`] from the stream.
    pub fn login(stream: S, login: &Login, channel: Channel, timeout_hint: Duration) -> Result<Self, WireError> {
        let mut packets = Packets::new(stream, timeout_hint);
        let session = handshake::run(&mut packets, login, channel, None)?;
        Ok(Self { packets, session })
    }

    /// The same over TLS, which `start_tls` starts after the greeting.
    ///
    /// # Errors
    /// Those of [`Self::login`]; [`WireError::NoTls`] when the server offers none,
    /// [`WireError::Io`] when it cannot be started.
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

    /// The version from the greeting, without the `5.5.5-` that MariaDB puts before its own; escaped
    /// and cut short.
    pub fn server_version(&self) -> &str {
        &self.session.server_version
    }

    /// Whether this is MariaDB, by its version text or its greeting's capabilities.
    pub fn is_mariadb(&self) -> bool {
        self.session.is_mariadb
    }

    /// Whether the server would speak TLS, by its greeting.
    pub fn offers_tls(&self) -> bool {
        self.session.offers_tls
    }

    /// The authentication plugin that was finally used.
    pub fn auth_plugin(&self) -> &'static str {
        self.session.auth_plugin
    }

    /// The server's number for this connection: the greeting's 32 bits (a server that counts further
    /// knows the rest as `CONNECTION_ID()`).
    pub fn connection_id(&self) -> u64 {
        self.session.connection_id
    }

    /// Runs `sql`, which asks for something, in the text protocol and returns its rows.
    ///
    /// # Units
    /// A cell is the value's text as the server writes it, `None` for NULL.
    ///
    /// # Errors
    /// [`WireError::Server`] when the server refuses the statement, [`WireError::Malformed`] when it answers as to
    /// one without a result, [`WireError::TooLong`] over 16 MiB of rows (counted as they are in memory), [`WireError::Unsupported`] when the server
    /// asks for a local file (it gets none), and what [`Self::login`] names for the stream.
    pub fn query(&mut self, sql: &str) -> Result<Rows, WireError> {
        let answer = text::query(&mut self.packets, self.session.dialect, sql)?;
        let action = self.packets.action();
        answer.rows.ok_or_else(|| fault::malformed(action, "rows", b"no result"))
    }

    /// Runs `sql` in the text protocol and returns how many rows it affected; 0 for a SELECT, whose
    /// rows are read and dropped.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn execute(&mut self, sql: &str) -> Result<u64, WireError> {
        text::query(&mut self.packets, self.session.dialect, sql).map(|answer| answer.affected)
    }

    /// Prepares `sql` with no parameter, or with one: the key, bound as a BIGINT (keys above
    /// 2^63 - 1 reach the server as negative numbers).
    ///
    /// The query belongs to this connection; take it along when [`Self::into_stream`] ends it.
    ///
    /// # Errors
    /// [`WireError::Server`] when the server refuses the statement, [`WireError::Unsupported`] for
    /// two parameters and more, and what [`Self::login`] names for the stream.
    pub fn prepare(&mut self, sql: &str) -> Result<PreparedQuery, WireError> {
        prepare::prepare(&mut self.packets, self.session.dialect, sql)
    }

    /// Makes a transaction's statements ready on this connection; those that the server cannot prepare
    /// (`BEGIN` on some) go out as text, as the C libraries' users do it.
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

    /// Makes one statement ready, with `?` for each of its values; one that the server cannot prepare
    /// goes out as text.
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

    /// Dumps of all columns and rows of `table`, which holds `n_rows` rows.
    pub fn dump(&self, table: &str, n_rows: u64) -> TableDump {
        TableDump::new(self.session.dialect, table, n_rows)
    }

    /// Gives the stream back for the measured loop. Nothing is lost: we never read beyond a packet.
    pub fn into_stream(self) -> S {
        self.packets.into_stream()
    }
}
