//! How the kernel sees connections to a server that may not be asked: whose process has accepted each.

use super::seen::{ClientSeen, SeenAs, ServerView};
use crate::{Conversation, Endpoint, relayed_by};

impl ServerView {
    /// The view of the process behind the socket among `conversations`: the connections over TCP that it holds the
    /// other end of are listed. For servers that are one process; `None` where that may not be looked into.
    pub fn by_kernel<'a>(
        conversations: impl Iterator<Item = &'a Conversation> + Clone,
    ) -> Option<Self> {
        let port = |it: &Conversation| match it.endpoint() {
            Endpoint::Tcp(address) => Some(address.port()),
            _ => None,
        };
        let pid = conversations.clone().find_map(|it| it.facts().peer_pid)?;
        let port = conversations.clone().find_map(port)?;
        let accepted = relayed_by(pid, port).accepted;
        let clients = conversations.filter_map(|it| {
            let facts = it.facts();
            let seen_as = match facts.local {
                None if facts.peer_pid == Some(pid) => SeenAs::SocketOf(pid),
                Some(local) if accepted.contains(&local) => SeenAs::Tcp(local),
                _ => return None,
            };
            Some(ClientSeen {
                connection_id: it.connection_id(),
                seen_as,
                worker: Some(pid),
            })
        });
        Some(Self {
            identity: format!("pid={pid}"),
            server_pid: Some(pid),
            clients: clients.collect(),
        })
    }
}
