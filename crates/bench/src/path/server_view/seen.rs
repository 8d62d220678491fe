//! A server's view of itself and of its connections.

use std::net::SocketAddr;

/// How the server sees where a connection comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenAs {
    Socket,
    /// A local socket, whose far end is this process, says that process.
    SocketOf(u32),
    Tcp(SocketAddr),
    /// The server does not tell (echo).
    Untold,
    Other(String),
}

/// The process of PostgreSQL behind one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    pub pid: u32,
    /// The address or socket from which the server sees its client come, or the pooler if there is one.
    pub seen_as: SeenAs,
    /// Distinguishes its server from any other.
    pub identity: String,
}

/// One connection as the server sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSeen {
    pub connection_id: u64,
    /// Where it comes from.
    pub seen_as: SeenAs,
    /// Kernel thread (or process) id that serves it, where the server tells.
    pub worker: Option<u32>,
    /// Behind a pooler: where the server sees the pooler come from. `None` without a pooler.
    pub behind: Option<SeenAs>,
}

/// The server's view of itself and of some of its connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerView {
    /// Distinguishes this server instance from any other; memcached: equal for two processes with the same settings.
    pub identity: String,
    /// Its process id, where it tells.
    pub server_pid: Option<u32>,
    /// The connections that were asked for, as far as the server lists them.
    pub clients: Vec<ClientSeen>,
}

impl ServerView {
    /// Whether the server told of this connection.
    pub fn lists(&self, connection_id: u64) -> bool {
        let mut clients = self.clients.iter();
        clients.any(|it| it.connection_id == connection_id)
    }

    pub(super) fn has_workers(&self) -> bool {
        self.clients.iter().all(|client| client.worker.is_some())
    }
}
