//! A server's view of itself and of its connections.

use std::net::SocketAddr;

/// The origin of a connection as the server sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenAs {
    Socket,
    /// A local socket on which the process with this pid listens. The pid was reported by the kernel or by this process
    /// itself.
    SocketOf(u32),
    Tcp(SocketAddr),
    /// The server does not report the origin (echo).
    Untold,
    Other(String),
}

/// The PostgreSQL process that serves one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    pub pid: u32,
    /// The address or socket of this process's client, as the server sees it. With a pooler, the pooler is the client.
    pub seen_as: SeenAs,
    /// Different for each server.
    pub identity: String,
}

/// One connection as the server sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSeen {
    pub connection_id: u64,
    /// Where the connection comes from.
    pub seen_as: SeenAs,
    /// Id of the kernel thread or process that serves the connection, if the server reports it.
    pub worker: Option<u32>,
    /// With a pooler: the origin of the pooler's connection as the server sees it. `None` without a pooler.
    pub behind: Option<SeenAs>,
}

/// The server's view of itself and of some of its connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerView {
    /// Different for each server instance; for memcached, equal for two processes with the same settings.
    pub identity: String,
    /// The server's process id, if it reports it.
    pub server_pid: Option<u32>,
    /// The requested connections, as far as the server lists them.
    pub clients: Vec<ClientSeen>,
}

impl ServerView {
    /// Returns whether the server listed this connection.
    pub fn lists(&self, connection_id: u64) -> bool {
        let mut clients = self.clients.iter();
        clients.any(|it| it.connection_id == connection_id)
    }

    pub(super) fn has_workers(&self) -> bool {
        self.clients.iter().all(|client| client.worker.is_some())
    }
}
