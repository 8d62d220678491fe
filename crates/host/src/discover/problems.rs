//! Finds the faults that a survey shows, and the parts of the machine that were not visible.

use std::path::{Path, PathBuf};

use crate::{FileId, kernel};

use crate::discover::Home;
use crate::discover::candidates::deserted;
use crate::discover::connections::{Client, OtherConnections};
use crate::discover::inferred::Listener;
use crate::discover::namespaces::Networks;
use crate::discover::owners::Owners;
use crate::discover::process::Process;
use crate::discover::servers::{Place, Server, SocketFile};

/// A fault, or a part of the machine that was not visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Processes of other users that looptax may not inspect. The owner of their sockets is inferred, or unknown.
    HiddenProcesses { n: usize },
    /// Processes of other users are not listed at all.
    UnlistedProcesses,
    /// No server is visible, and only processes of looptax's own container are listed.
    ContainedProcesses,
    /// Network namespaces that looptax could not enter.
    ClosedNamespaces {
        n: usize,
        /// The message of the first error.
        why: String,
    },
    /// Messages of the kernel that looptax could not read.
    UnreadSockets { n: usize },
    /// A server that listens only on TCP.
    NoSocket {
        /// The server's index in the list.
        server_idx: usize,
    },
    /// Clients over TCP whose connections are too short to be seen.
    ShortLived {
        /// The server's index in the list.
        server_idx: usize,
        /// The number of connections in the last minute.
        n: usize,
    },
    /// Clients over TCP whose connections are too short to be seen; the listening process is not visible either.
    ShortLivedUnseen {
        /// The listening socket's index in the list.
        listener_idx: usize,
        /// The number of connections in the last minute.
        n: usize,
    },
    /// A server's socket that is no longer at the path where the server created it.
    LostSocket {
        /// The server's index in the list.
        server_idx: usize,
        /// The path where the server created the socket.
        path: PathBuf,
        /// Whether another file is at this path now.
        is_replaced: bool,
    },
    /// A socket on which no process listens.
    DesertedSocket {
        path: PathBuf,
        /// Whether every process was visible. If not, a process in a container may listen on the socket.
        is_certain: bool,
    },
    /// A client over TCP that does not see its server's socket.
    HiddenSocket {
        /// The client's index in the list.
        client_idx: usize,
        /// The socket, as the server sees it.
        path: PathBuf,
        why: Hiding,
    },
}

/// The reason why a process does not see a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hiding {
    /// The process has another root folder (chroot).
    Chroot,
    /// The process has a private `/tmp` (systemd's `PrivateTmp`).
    PrivateTmp,
    /// The process and the server are in different containers, or only one of them is in a container.
    Container,
    /// The process has other mounts.
    Mounts,
    /// The path does not exist for the process. None of the other reasons explains this.
    Missing,
}

#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) networks: &'a Networks,
    pub(crate) owners: &'a Owners,
    pub(crate) servers: &'a [Server],
    pub(crate) clients: &'a [Client],
    pub(crate) others: &'a [OtherConnections],
    pub(crate) listeners: &'a [Listener],
}

/// Returns the problems of a survey, in the order in which they are printed.
pub(crate) fn problems(seen: &Seen<'_>) -> Vec<Problem> {
    let Seen { networks, owners, servers, clients, others, listeners } = *seen;
    let mut problems = Vec::new();
    if !owners.hidden.is_empty() {
        problems.push(Problem::HiddenProcesses { n: owners.hidden.len() });
    }
    // Every user may read the status of the first process, unless `/proc` is mounted with `hidepid`.
    let is_unlisted = kernel::read("/proc/1/status").is_err();
    if is_unlisted {
        problems.push(Problem::UnlistedProcesses);
    }
    if servers.is_empty() && kernel::is_contained() {
        problems.push(Problem::ContainedProcesses);
    }
    let is_closed = { networks.closed.iter() }.any(|(_, error)| !error.is_of_ended_process());
    let is_certain = owners.hidden.is_empty() && !is_unlisted && !is_closed;
    if let Some((_, error)) = networks.closed.first() {
        problems.push(Problem::ClosedNamespaces { n: networks.closed.len(), why: chain(error) });
    }
    let n_unread = networks.sockets.values().map(|it| it.n_unread).sum();
    if n_unread > 0 {
        problems.push(Problem::UnreadSockets { n: n_unread });
    }
    problems.extend(servers.iter().enumerate().flat_map(|(idx, it)| faults(idx, it)));
    problems.extend(short_lived(others));
    let many = { listeners.iter().enumerate() }.filter(|(_, it)| it.may_be_a_server() && it.n_closed >= MANY_CLOSED);
    problems.extend(many.map(|(listener_idx, it)| Problem::ShortLivedUnseen { listener_idx, n: it.n_closed }));
    problems.extend(hidden_sockets(servers, clients));
    problems.extend(deserted(networks).into_iter().map(|path| Problem::DesertedSocket { path, is_certain }));
    problems
}

/// Writes an error with its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Returns the faults of a server's sockets.
fn faults(server_idx: usize, server: &Server) -> Vec<Problem> {
    let mut found = Vec::new();
    for endpoint in &server.endpoints {
        let Place::Path { path, file } = &endpoint.place else {
            continue;
        };
        if matches!(file, SocketFile::Missing | SocketFile::Replaced) {
            found.push(Problem::LostSocket {
                server_idx,
                path: path.clone(),
                is_replaced: *file == SocketFile::Replaced,
            });
        }
    }
    // If looptax could not inspect the process, it does not know all addresses on which the process listens.
    if server.paths().next().is_none() && !server.endpoints.is_empty() && server.lacks_socket() {
        found.push(Problem::NoSocket { server_idx });
    }
    found
}

/// If at least this many connections were closed within a minute, that is not a coincidence: a program opens a
/// connection for each page.
const MANY_CLOSED: usize = 30;

fn short_lived(others: &[OtherConnections]) -> impl Iterator<Item = Problem> {
    let many = others.iter().enumerate();
    many.filter(|(_, it)| it.closed.len() >= MANY_CLOSED)
        .map(|(server_idx, it)| Problem::ShortLived { server_idx, n: it.closed.len() })
}

/// Returns the clients over TCP that do not see any socket of their server; one problem per client.
fn hidden_sockets(servers: &[Server], clients: &[Client]) -> Vec<Problem> {
    clients
        .iter()
        .enumerate()
        .filter(|(_, client)| client.peer.way.is_tcp())
        .filter_map(|(client_idx, client)| {
            let server = &servers[client.server_idx];
            let process = client.peer.process.as_ref()?;
            let mut first = None;
            for path in server.paths() {
                let why = hiding(process, &server.process, path)?;
                first.get_or_insert((path, why));
            }
            let (path, why) = first?;
            Some(Problem::HiddenSocket { client_idx, path: path.to_owned(), why })
        })
        .collect()
}

/// Returns the reason why `client` does not see the server's `path`; `None` if it sees the same file, or if looptax may
/// not inspect the processes.
fn hiding(client: &Process, server: &Process, path: &Path) -> Option<Hiding> {
    let theirs = server.view().ok()?.look(path).ok()??;
    let seen = client.view().ok()?.look(path).ok()?;
    let is_same = seen.is_some_and(|it| FileId::from(&it) == FileId::from(&theirs));
    if is_same {
        return None;
    }
    Some(what_hides(client, server, path))
}

/// Returns what hides the path. Containers are checked first, because a process in a container also has other mounts
/// and another root folder than a process outside. Settings of the process itself are checked next.
fn what_hides(client: &Process, server: &Process, path: &Path) -> Hiding {
    let is_contained = |home: &Home| matches!(home, Home::Container { .. });
    let is_temporary = ["/tmp", "/var/tmp"].iter().any(|it| path.starts_with(it));
    if client.home != server.home && (is_contained(&client.home) || is_contained(&server.home)) {
        Hiding::Container
    } else if client.is_in_chroot {
        Hiding::Chroot
    } else if client.mounts == server.mounts {
        Hiding::Missing
    } else if is_temporary {
        Hiding::PrivateTmp
    } else {
        Hiding::Mounts
    }
}
