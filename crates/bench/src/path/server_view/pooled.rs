//! How a pooler in front of PostgreSQL treats its server connections: whether clients share them, and whether a
//! client's prepared statements then stay with that client.
//!
//! For a running pooler, `experiment` checks this before it prepares any statement, because no statement of ours may
//! stay on a server connection that another client gets next.

use looptax_model::dsn::Protocol;
use looptax_wire::WireError;

use crate::path::answers::{number, only, table};
use crate::path::conversation::ProtocolConnection;
use crate::path::error::ASK_CONNECTIONS;
use crate::path::{Conversation, PathError};

/// The name of a statement that is prepared for a moment, to see under which name the server lists it.
const LOOK: &str = "looptax_look";

impl Conversation {
    /// Returns whether the pooler gives its server connections to different clients. This is so if the server process
    /// of one of the two connections changes, or if one server process serves both connections. `other` must have
    /// logged in like this connection.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the server refuses the query or is not PostgreSQL.
    pub fn shares_backends_with(&mut self, other: &mut Self) -> Result<bool, PathError> {
        // Two queries in a row for each connection: if the pooler uses its server connections in turn, the two queries
        // use different server connections.
        let own = [self.backend()?.pid, self.backend()?.pid];
        let others = [other.backend()?.pid, other.backend()?.pid];
        let again = self.backend()?.pid;
        let is_own = own == [again; 2] && others[0] == others[1] && others[0] != again;
        Ok(!is_own)
    }

    /// Returns whether the pooler renames the statements that this connection prepares. A pooler that renames
    /// statements can keep each client's statements apart. `PgBouncer` does this since 1.21, if
    /// `max_prepared_statements` is not 0. The statement prepared for this check is removed afterwards.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the connection breaks or does not lead to PostgreSQL.
    pub fn keeps_prepared(&mut self) -> Result<bool, PathError> {
        let endpoint = self.endpoint().to_string();
        let kept = match &mut self.connection {
            ProtocolConnection::Postgres(it) => renames(it),
            _ => Err(WireError::Unsupported { what: "a pooler".to_owned() }),
        };
        match kept {
            // With statement pooling, the pooler ends a connection that begins a transaction.
            Err(WireError::Server { .. } | WireError::Closed { .. }) => Ok(false),
            kept => kept.map_err(|source| PathError::Protocol { action: ASK_CONNECTIONS, endpoint, source }),
        }
    }
}

/// Makes this check within one transaction, during which the pooler reserves one server connection for us.
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
