//! Assigns listening sockets to servers that cannot be inspected, from facts that every user may see.
//!
//! The kernel lists every socket with its user, and `/proc` shows every process with its user and command line. A
//! socket is assigned to the server that fits it best, with the reason; the other sockets are in a separate list. None
//! of this is a proof: a caller that needs certainty accepts only [`HowKnown::Seen`].

use looptax_model::dsn::Kind;
use looptax_model::record::HowKnown;

use crate::discover::ends::{Ends, Peer};
use crate::discover::home::Home;
use crate::discover::owners::Owners;
use crate::discover::process::{Process, process, processes as list_processes};
use crate::discover::servers::{Endpoint, Place, Server, listening};
use crate::discover::usual::{is_usual, usually};
use crate::discover::web::{is_proxy, is_web_server};
use crate::discover::words::Words;

/// A listening socket whose process is not visible, and that cannot be assigned to a single server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    pub endpoint: Endpoint,
    /// The user who owns the socket, if the kernel reports it.
    pub uid: Option<u32>,
    pub likely: Option<&'static str>,
    /// Servers that run as the socket's user and may own it, by their indexes in the survey's list.
    pub servers: Vec<usize>,
    /// Web servers and proxies of the same user, which may also own the socket. Empty if no server may own the socket.
    pub web_servers: Vec<Process>,
    pub clients: Vec<Peer>,
    /// TCP connections within this machine that were closed in the last minute.
    pub n_closed: usize,
}

impl Listener {
    /// Whether facts other than the socket's clients suggest that the socket belongs to a database server.
    pub fn may_be_a_server(&self) -> bool {
        self.likely.is_some() || !self.servers.is_empty()
    }
}

/// Assigns sockets to servers that cannot be inspected, if a socket fits only one of them. Returns the other sockets
/// that may belong to a server.
pub(crate) fn attribute(
    servers: &mut [Server],
    processes: &[Process],
    ends: &Ends<'_>,
    owners: &Owners,
) -> Vec<Listener> {
    let hidden = hidden_servers(servers, processes, owners);
    let web = hidden_web_servers(processes, owners);
    let is_nobodys = |inode| owners.of_socket(inode).is_empty();
    let mut open = Vec::new();
    for (endpoint, uid) in listening(ends.networks, None, is_nobodys) {
        let fits = || {
            let of_user = hidden.iter().filter(|it| uid == Some(it.uid));
            of_user.map(|it| (it.idx, it.fit(&endpoint.place)))
        };
        let best = fits().map(|(_, fit)| fit).max().flatten();
        let fitting: Vec<usize> = { fits() }.filter(|(_, fit)| *fit == best).map(|(idx, _)| idx).collect();
        match (best, &*fitting) {
            (Some(known), [idx]) => servers[*idx].endpoints.push(Endpoint { known, ..endpoint }),
            _ => open.push((endpoint, uid, best, fitting)),
        }
    }
    { open.into_iter() }
        .map(|(endpoint, uid, best, mut fitting)| {
            // If only the user fits, servers that already have a port and a socket are left out: they are no more
            // likely to own the socket than any other program of the user.
            fitting.retain(|idx| best.is_some() || !has_both(&servers[*idx]));
            let is_open = best.is_none() && !fitting.is_empty();
            let own_web = { web.iter() }.filter(|it| is_open && uid == Some(it.uid));
            let own = std::slice::from_ref(&endpoint);
            let (clients, _) = ends.peers_of(own);
            Listener {
                likely: usually(&endpoint.place),
                uid,
                web_servers: own_web.map(|it| (*it).clone()).collect(),
                servers: fitting,
                clients,
                n_closed: ends.closed(own).len(),
                endpoint,
            }
        })
        .filter(is_telling)
        .collect()
}

/// Returns web servers and proxies that cannot be inspected. Leaves out the processes that were started by a process of
/// the same program.
fn hidden_web_servers<'a>(processes: &'a [Process], owners: &Owners) -> Vec<&'a Process> {
    let is_one = |it: &Process| {
        let program = it.program_name();
        is_web_server(&program) || is_proxy(&program)
    };
    let is_worker = |it: &Process| {
        let mut parents = processes.iter().filter(|other| other.pid == it.parent);
        parents.any(|parent| parent.program_name() == it.program_name())
    };
    let hidden = processes.iter().filter(|it| owners.hidden.contains(&it.pid));
    hidden.filter(|it| is_one(it) && !is_worker(it)).collect()
}

/// Whether the socket may be a database's socket. This filter is needed because the kernel also lists the sockets of
/// all other programs.
fn is_telling(listener: &Listener) -> bool {
    let is_tcp = matches!(listener.endpoint.place, Place::Tcp(_));
    let has_known_client = { listener.clients.iter() }.any(|it| it.process.is_some());
    listener.may_be_a_server() || is_tcp && has_known_client
}

fn has_both(server: &Server) -> bool {
    let is_tcp = |it: &Endpoint| matches!(it.place, Place::Tcp(_));
    let mut endpoints = server.endpoints.iter();
    endpoints.any(is_tcp) && server.endpoints.iter().any(|it| !is_tcp(it))
}

/// The facts that every user may see about a server whose process cannot be inspected.
struct Hidden {
    idx: usize,
    uid: u32,
    kind: Kind,
    words: Words,
    /// Whether this is the only program of its user whose sockets looptax may not see.
    is_alone: bool,
}

/// Returns the hidden servers that may own the sockets to assign. A server in another container is left out: it has a
/// separate network, whose sockets are not listed.
fn hidden_servers(servers: &[Server], processes: &[Process], owners: &Owners) -> Vec<Hidden> {
    if !servers.iter().any(|it| it.is_hidden) {
        return Vec::new();
    }
    // A process that started after the first list was read may already have sockets in the kernel's list.
    let later = list_processes();
    let is_new = |it: &&Process| !processes.iter().any(|other| other.pid == it.pid);
    let new: Vec<&Process> = later.iter().filter(is_new).collect();
    let own_home = process(std::process::id()).map(|own| own.home);
    let is_near = |home: &Home| !matches!(home, Home::Container { .. }) || own_home.as_ref() == Some(home);
    let hidden = servers.iter().enumerate();
    let hidden = hidden.filter(|(_, it)| it.is_hidden && is_near(&it.process.home));
    hidden
        .map(|(idx, server)| {
            let own = &server.process;
            let is_another = |it: &&Process| {
                it.uid == own.uid && owners.hidden.contains(&it.pid) && !is_below(it, own.pid, processes)
            };
            let is_another_new = |it: &Process| it.uid == own.uid && !is_below(it, own.pid, &later);
            Hidden {
                idx,
                uid: own.uid,
                kind: server.kind,
                words: Words::new(&own.arguments()),
                is_alone: !processes.iter().any(|it| is_another(&it)) && !new.iter().any(|it| is_another_new(it)),
            }
        })
        .collect()
}

/// Whether the process `one` is the process `pid` or one of its descendants.
fn is_below(one: &Process, pid: u32, processes: &[Process]) -> bool {
    let mut now = Some(one);
    // A parent starts before its children, but pids are reused, so the number of steps is limited.
    for _ in 0..processes.len() {
        match now {
            Some(it) if it.pid == pid => return true,
            Some(it) => now = processes.iter().find(|other| other.pid == it.parent),
            None => return false,
        }
    }
    false
}

impl Hidden {
    /// Returns the reason, other than the user, why the socket may be this server's; `None` if there is none.
    fn fit(&self, place: &Place) -> Option<HowKnown> {
        let is_named = match place {
            Place::Tcp(address) => self.words.name_port(address.port()),
            Place::Path { path, .. } | Place::Abstract(path) => self.words.name_path(path),
        };
        if is_named {
            return Some(HowKnown::CommandLine);
        }
        // If a server's command line contains another port, the server does not listen on the usual port.
        let is_elsewhere = matches!(place, Place::Tcp(_)) && self.words.name_ports();
        if is_usual(self.kind, place) && !is_elsewhere {
            return Some(HowKnown::UsualPlace);
        }
        self.is_alone.then_some(HowKnown::User)
    }
}
