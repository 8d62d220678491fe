//! Finds the faults in a survey, and the parts that could not be seen.

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

/// Something that is in the way, or that we could not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Processes of other users that we may not look into: whose their sockets are is inferred, or open.
    HiddenProcesses { n: usize },
    /// Processes of other users are not shown to us at all.
    UnlistedProcesses,
    /// No server is seen, and only processes of the container that we are in are listed.
    ContainedProcesses,
    /// Network namespaces that we could not enter.
    ClosedNamespaces {
        n: usize,
        /// The first one's message.
        why: String,
    },
    /// Messages of the kernel that could not be read.
    UnreadSockets { n: usize },
    /// A server that listens only on TCP.
    NoSocket {
        /// Its place in the list.
        server_idx: usize,
    },
    /// Clients over TCP that come and go faster than they can be seen.
    ShortLived {
        /// The server's place in the list.
        server_idx: usize,
        /// Connections of the last minute.
        n: usize,
    },
    /// The same, where the process that listens is not seen.
    ShortLivedUnseen {
        /// The listening socket's place in the list.
        listener_idx: usize,
        /// Connections of the last minute.
        n: usize,
    },
    /// A server's socket that is no longer where the server made it.
    LostSocket {
        /// The server's place in the list.
        server_idx: usize,
        /// Where it was.
        path: PathBuf,
        /// Whether another file is there now.
        is_replaced: bool,
    },
    /// A socket that no process listens on.
    DesertedSocket {
        /// Its path.
        path: PathBuf,
        /// Whether every process was seen: else somebody may listen in a container.
        is_certain: bool,
    },
    /// A client over TCP that does not see its server's socket.
    HiddenSocket {
        /// The client's place in the list.
        client_idx: usize,
        /// The socket, as the server sees it.
        path: PathBuf,
        why: Hiding,
    },
}

/// The reason why a process does not see a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hiding {
    /// It lives in a folder tree of its own (chroot).
    Chroot,
    /// It has a `/tmp` of its own (systemd's `PrivateTmp`).
    PrivateTmp,
    /// It is in another container than the server, or one of the two is.
    Container,
    /// Its file systems are mounted otherwise.
    Mounts,
    /// It is simply not there.
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

/// The problems of a survey, in the order in which they are printed.
pub(crate) fn problems(seen: &Seen<'_>) -> Vec<Problem> {
    let Seen { networks, owners, servers, clients, others, listeners } = *seen;
    let mut problems = Vec::new();
    if !owners.hidden.is_empty() {
        problems.push(Problem::HiddenProcesses { n: owners.hidden.len() });
    }
    // Everybody may read the status of the first process, unless `/proc` is mounted with `hidepid`.
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

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// The faults of a server's sockets.
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
    // Without a look into the process there is no knowing what it listens on.
    if server.paths().next().is_none() && !server.endpoints.is_empty() && server.lacks_socket() {
        found.push(Problem::NoSocket { server_idx });
    }
    found
}

/// More closed connections than these in a minute are not an accident: some program connects for each page.
const MANY_CLOSED: usize = 30;

fn short_lived(others: &[OtherConnections]) -> impl Iterator<Item = Problem> {
    let many = others.iter().enumerate();
    many.filter(|(_, it)| it.closed.len() >= MANY_CLOSED)
        .map(|(server_idx, it)| Problem::ShortLived { server_idx, n: it.closed.len() })
}

/// Clients over TCP from which every socket of their server is hidden; one finding per client.
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

/// The reason why `client` does not see the server's `path`; `None` when it sees the same file, or when we may not
/// look.
fn hiding(client: &Process, server: &Process, path: &Path) -> Option<Hiding> {
    let theirs = server.view().ok()?.look(path).ok()??;
    let seen = client.view().ok()?.look(path).ok()?;
    let is_same = seen.is_some_and(|it| FileId::from(&it) == FileId::from(&theirs));
    if is_same {
        return None;
    }
    Some(what_hides(client, server, path))
}

/// Containers first, since their folders are other mounts and other roots as well; then what the process
/// itself was given.
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
