//! The view of a server that does not report its connections: the kernel shows which process has accepted each
//! connection.

use std::net::SocketAddr;

use looptax_host::kernel;
use looptax_host::processes::of_thread;

use super::seen::{ClientSeen, SeenAs, ServerView};
use crate::path::sighting::family_of;
use crate::path::{Conversation, Endpoint, relayed_by};

impl ServerView {
    /// Returns the view of the process that listens. The view contains the TCP connections whose other end is held by
    /// this process or by one of the processes that it has started. `None` if looptax may not inspect the process.
    ///
    /// The process that listens is the peer of one of the `conversations` over the socket. If there is no such peer, it
    /// is the process `listener`.
    pub fn by_kernel<'a>(
        conversations: impl Iterator<Item = &'a Conversation> + Clone,
        listener: Option<u32>,
    ) -> Option<Self> {
        let port = |it: &Conversation| match it.endpoint() {
            Endpoint::Tcp(address) => Some(address.port()),
            _ => None,
        };
        let of_socket = conversations.clone().find_map(|it| it.facts().peer_pid);
        let listener = of_socket.or(listener)?;
        drop(kernel::names(format!("/proc/{listener}/fd")).ok()?);
        let port = conversations.clone().find_map(port);
        let told = { conversations.clone() }.filter_map(Conversation::worker);
        let accepted = port.map_or_else(Vec::new, |port| accepted(listener, port, told));
        let clients = conversations.filter_map(|it| {
            let facts = it.facts();
            let (seen_as, holder) = match facts.local {
                None if facts.peer_pid == Some(listener) => (SeenAs::SocketOf(listener), listener),
                Some(local) => {
                    let far = it.told_peer().or_else(|| only_one(it.worker()?, &accepted));
                    let far = far.unwrap_or(local);
                    let held = accepted.iter().find(|held| held.0 == far)?;
                    (SeenAs::Tcp(far), held.1)
                }
                None => return None,
            };
            let told = it.worker().filter(|id| belongs_to(*id, listener));
            Some(ClientSeen { connection_id: it.connection_id(), seen_as, worker: told.or(Some(holder)), behind: None })
        });
        Some(Self { identity: format!("pid={listener}"), server_pid: Some(listener), clients: clients.collect() })
    }
}

/// Returns the far ends of the connections that the listener's processes have accepted on its port, each with the
/// process that holds it. If `told` names processes, only these are inspected, because a server may have started
/// hundreds.
fn accepted(listener: u32, port: u16, told: impl Iterator<Item = u32>) -> Vec<(SocketAddr, u32)> {
    let mut pids: Vec<u32> =
        told.filter(|id| belongs_to(*id, listener)).filter_map(|id| Some(of_thread(id)?.0)).collect();
    if pids.is_empty() {
        pids = family_of(listener);
    }
    pids.sort_unstable();
    pids.dedup();
    let of_process = |pid| {
        let accepted = relayed_by(pid, port).accepted.into_iter();
        accepted.map(move |far| (far, pid))
    };
    pids.into_iter().flat_map(of_process).collect()
}

/// Returns the far end of the connection that a process has accepted, if there is only one such connection. Behind a
/// port proxy, that far end is not our own end.
fn only_one(pid: u32, accepted: &[(SocketAddr, u32)]) -> Option<SocketAddr> {
    let mut held = accepted.iter().filter(|held| held.1 == pid);
    held.next().filter(|_| held.next().is_none()).map(|held| held.0)
}

/// Returns whether `id` is a thread of the listener, or of a process that the listener has started.
fn belongs_to(id: u32, listener: u32) -> bool {
    of_thread(id).is_some_and(|(process, parent)| [process, parent].contains(&listener))
}
