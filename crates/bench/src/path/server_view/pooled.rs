//! How a pooler before PostgreSQL treats the connections that it holds: whether clients share them, and whether a
//! client's prepared statements then stay its own.
//!
//! Asked before anything is prepared on a running one, by `experiment`: nothing of ours may stay with a connection
//! that somebody else gets next.

use looptax_model::dsn::Protocol;
use looptax_wire::WireError;

use crate::path::answers::{number, only, table};
use crate::path::conversation::ProtocolConnection;
use crate::path::error::ASK_CONNECTIONS;
use crate::path::{Conversation, PathError};

/// A statement that is there for a moment, to see under which name the server has it.
const LOOK: &str = "looptax_look";

impl Conversation {
    /// Whether the server's process behind this connection is not always the same, or is that of `other` as well,
    /// which logged in alike: then the pooler's connections go from client to client.
    ///
    /// # Errors
    /// [`PathError::Protocol`] when the server refuses the question, or is not a PostgreSQL.
    pub fn shares_backends_with(&mut self, other: &mut Self) -> Result<bool, PathError> {
        // Twice in a row each: if connections take turns, these are two of them.
        let own = [self.backend()?.pid, self.backend()?.pid];
        let others = [other.backend()?.pid, other.backend()?.pid];
        let again = self.backend()?.pid;
        let is_own = own == [again; 2] && others[0] == others[1] && others[0] != again;
        Ok(!is_own)
    }

    /// Whether the pooler renames the statements that this connection prepares, and so keeps them: `PgBouncer` does
    /// from 1.21 on, if `max_prepared_statements` is not 0. The statement that this prepares is gone afterwards.
    ///
    /// # Errors
    /// [`PathError::Protocol`] when the connection breaks, or is not one to PostgreSQL.
    pub fn keeps_prepared(&mut self) -> Result<bool, PathError> {
        let endpoint = self.endpoint().to_string();
        let kept = match &mut self.connection {
            ProtocolConnection::Postgres(it) => renames(it),
            _ => Err(WireError::Unsupported { what: "a pooler".to_owned() }),
        };
        match kept {
            // Statement pooling ends a connection that asks for a transaction.
            Err(WireError::Server { .. } | WireError::Closed { .. }) => Ok(false),
            kept => kept.map_err(|source| PathError::Protocol { action: ASK_CONNECTIONS, endpoint, source }),
        }
    }
}

/// Within one transaction, for which the pooler keeps one of its connections to us.
fn renames<S: looptax_wire::Stream>(connection: &mut looptax_wire::postgres::Connection<S>) -> Result<bool, WireError> {
    connection.execute("BEGIN")?;
    connection.prepare(LOOK, "SELECT 1")?;
    let sql = format!("SELECT count(*) FROM pg_prepared_statements WHERE name = '{LOOK}'");
    let title = Protocol::Postgres.title();
    let [n_alike] = only(title, table(title, connection.ask(&sql)?)?)?;
    let is_renamed = number::<u64>(title, n_alike)? == 0;
    if !is_renamed {
        connection.execute(&format!("DEALLOCATE {LOOK}"))?;
    }
    connection.execute("COMMIT")?;
    Ok(is_renamed)
}
