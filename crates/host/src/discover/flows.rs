//! Assigns the counts of `eyes` to services: which client sends requests to which server over which transport.
//!
//! The requests of a worker count for its leader. The requests of a process that has ended count for its parent, if the
//! two have the same name; otherwise the process is listed under the name that the kernel noted.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use looptax_model::record::Way;
use looptax_model::stats::Times;

use crate::discover::family::{Families, places};
use crate::discover::home::Home;
use crate::discover::kind::of_process;
use crate::discover::namespace_id::NamespaceId;
use crate::discover::process::{Process, processes};
use crate::discover::servers::{Endpoint, Place, Server, name_of};
use crate::discover::sock_diag::UnixName;
use crate::discover::web::known_as;
use crate::eyes::{Asked, Counted, Counts, End, Look, Name};

/// Processes that work as one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// The name that people use for the service, such as `php-fpm8.2 (pool www)`.
    pub name: String,
    /// The process that represents the service; `None` if all its processes that looptax saw have ended.
    pub process: Option<Process>,
    /// The container or unit of the process; if the process has ended, the container or unit of its parent.
    pub home: Home,
}

/// The requests that one process sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asks {
    pub n_turns: u64,
    /// Connections that the process opened.
    pub n_opened: u64,
    /// How long the requests took.
    pub times: Times,
}

impl Asks {
    pub fn add(&mut self, other: &Self) {
        self.n_turns += other.n_turns;
        self.n_opened += other.n_opened;
        self.times.add(&other.times);
    }
}

/// The requests of one service to another at one address.
#[derive(Debug, Clone)]
pub struct Flow {
    /// The client; `None` for clients on other machines.
    pub client: Option<Party>,
    /// The client's processes that sent requests.
    pub processes: BTreeMap<u32, Asks>,
    /// The server that answers; `None` if no process of this machine was seen to answer.
    pub server: Option<Party>,
    /// The server's index in the list of known servers.
    pub server_idx: Option<usize>,
    pub way: Way,
    pub asked: Asked,
    /// The server's address, such as `127.0.0.1:3306`, `/run/mysqld/mysqld.sock` or `@mariadb`.
    pub address: String,
    pub counts: Counts,
}

/// The maximum number of clients that are remembered. Other clients that have ended are shown by the kernel's name for
/// the process.
const MOST_KNOWN: usize = 20_000;

/// Clients as they were before their processes ended, by each process's pid and name in the kernel.
#[derive(Debug, Default)]
pub struct KnownClients(HashMap<(u32, String), Party>);

impl KnownClients {
    /// Returns the client of an ended process as it was seen before; `now` if the process runs, or was never seen.
    fn recall(&mut self, end: &End, now: Party) -> Party {
        let key = (end.pid, end.comm.clone());
        if now.process.is_none() {
            return self.0.get(&key).cloned().unwrap_or(now);
        }
        if self.0.len() >= MOST_KNOWN {
            self.0.clear();
        }
        self.0.insert(key, now.clone());
        now
    }
}

/// Returns the flows of one interval of counting, the busiest flow first.
///
/// # Cost
/// Some ten system calls per process.
pub fn flows(look: &Look, servers: &[Server]) -> Vec<Flow> {
    flows_of_known(look, servers, &mut KnownClients::default())
}

/// Returns the flows of one interval, if several intervals are counted one after the other. A process that has ended
/// since an earlier interval counts for the client to which it belonged in that interval.
///
/// # Cost
/// As [`flows`].
pub fn flows_of_known(look: &Look, servers: &[Server], known: &mut KnownClients) -> Vec<Flow> {
    let processes = processes();
    let (families, by_pid) = (Families::new(&processes), places(servers));
    let parties = Parties { families: &families, by_pid: &by_pid, servers };
    let mut flows: BTreeMap<(String, u32, String, Option<usize>, u32), Flow> = BTreeMap::new();
    for counted in &look.counted {
        let client = counted.client.as_ref().map(|it| known.recall(it, parties.of(it)));
        let (server_idx, server) = parties.server(counted);
        let key = (
            client.as_ref().map(|it| it.name.clone()).unwrap_or_default(),
            client.as_ref().and_then(|it| it.process.as_ref()).map_or(0, |it| it.pid),
            address(&counted.asked),
            server_idx,
            server.as_ref().and_then(|it| it.process.as_ref()).map_or(0, |it| it.pid),
        );
        let flow = flows.entry(key).or_insert_with(|| Flow {
            way: way(&counted.asked, client.as_ref(), server.as_ref()),
            client,
            processes: BTreeMap::new(),
            server,
            server_idx,
            asked: counted.asked.clone(),
            address: address(&counted.asked),
            counts: Counts::default(),
        });
        if let Some(client) = &counted.client {
            let Counts { n_opened, times, .. } = counted.counts.clone();
            let asks = Asks { n_turns: counted.counts.n_turns(), n_opened, times };
            flow.processes.entry(client.pid).or_default().add(&asks);
        }
        flow.counts.add(&counted.counts);
    }
    let mut flows: Vec<Flow> = flows.into_values().collect();
    flows.sort_by_key(|it| std::cmp::Reverse((it.counts.n_turns(), it.counts.n_opened)));
    flows
}

/// Returns the server that listens at an address.
pub fn server_at<'a>(asked: &Asked, servers: &'a [Server]) -> Option<&'a Server> {
    servers.iter().find(|it| it.endpoints.iter().any(|endpoint| is_at(asked, endpoint)))
}

/// Returns the server that listens on the socket with this file, given by inode and device as the kernel reports them.
pub fn server_with_file((inode, device): (u64, u32), servers: &[Server]) -> Option<&Server> {
    let file = Some((inode as u32, device));
    servers.iter().find(|it| it.endpoints.iter().any(|endpoint| endpoint.file == file))
}

/// Determines to which service a process belongs.
pub(crate) struct Parties<'a> {
    pub(crate) families: &'a Families<'a>,
    /// The indexes of the servers, by the pids of their processes.
    pub(crate) by_pid: &'a HashMap<u32, usize>,
    pub(crate) servers: &'a [Server],
}

impl Parties<'_> {
    pub(crate) fn of(&self, end: &End) -> Party {
        let Some(process) = self.families.process(end.pid).filter(|_| !end.has_ended) else {
            return self.of_ended(end);
        };
        if let Some(idx) = self.families.server_of(end.pid, self.by_pid) {
            let server = &self.servers[idx];
            let name = with_pool(&server.name, process);
            return Party { name, process: Some(server.process.clone()), home: server.process.home.clone() };
        }
        let leader = self.families.process(self.families.leader(end.pid)).unwrap_or(process);
        Party { name: called(leader), process: Some(leader.clone()), home: leader.home.clone() }
    }

    /// Assigns an ended worker to its leader. If another program started the worker, it counts as a separate service.
    fn of_ended(&self, end: &End) -> Party {
        let parent = self.families.process(end.parent);
        match parent.filter(|it| it.name == end.comm) {
            Some(parent) => self.of(&End { pid: parent.pid, has_ended: false, ..end.clone() }),
            None => Party {
                name: end.comm.clone(),
                process: None,
                home: parent.map_or(Home::Elsewhere, |it| it.home.clone()),
            },
        }
    }

    /// Returns the server whose process answered; if no such server is known, the server that listens at the address.
    pub(crate) fn server(&self, counted: &Counted) -> (Option<usize>, Option<Party>) {
        let listens = |it: &Server| it.endpoints.iter().any(|endpoint| is_at(&counted.asked, endpoint));
        let known = counted.server.as_ref().and_then(|it| {
            let line = [(!it.has_ended).then_some(it.pid), Some(it.parent)];
            line.into_iter().flatten().find_map(|pid| self.families.server_of(pid, self.by_pid))
        });
        let idx = known.or_else(|| self.servers.iter().position(listens));
        let party = idx.map_or_else(
            || counted.server.as_ref().map(|it| self.of(it)),
            |idx| {
                let process = &self.servers[idx].process;
                let name = self.servers[idx].name.clone();
                Some(Party { name, process: Some(process.clone()), home: process.home.clone() })
            },
        );
        (idx, party)
    }
}

/// Returns the server's own name if the process is a server, else the name that people use for the program.
fn called(process: &Process) -> String {
    if of_process(process).is_some() { name_of(process) } else { known_as(process) }
}

/// Adds the pool to which a worker of PHP-FPM belongs; the worker's title contains the pool's name.
fn with_pool(name: &str, worker: &Process) -> String {
    let arguments = worker.arguments();
    let pool = arguments.first().and_then(|it| it.split_once(": pool "));
    pool.map_or_else(|| name.to_owned(), |(_, pool)| format!("{name} (pool {})", pool.trim_end()))
}

/// Whether the server's end of these connections was accepted at this endpoint. Right only for [`Reach::Here`], with
/// which `network` is the server's.
///
/// [`Reach::Here`]: crate::eyes::Reach::Here
pub fn is_accepted_at(asked: &Asked, endpoint: &Endpoint) -> bool {
    match asked {
        Asked::Tcp { to, network } => endpoint.accepts(NamespaceId(*network), *to),
        Asked::Unix { .. } => is_at(asked, endpoint),
    }
}

/// Whether this endpoint is the address to which clients connected.
pub(crate) fn is_at(asked: &Asked, endpoint: &Endpoint) -> bool {
    match asked {
        Asked::Tcp { to, network } if to.ip().is_loopback() => endpoint.accepts(NamespaceId(*network), *to),
        Asked::Tcp { to, .. } => matches!(endpoint.place, Place::Tcp(own) if own == *to),
        Asked::Unix { name, file, network } => {
            let file = file.map(|(inode, device)| (inode as u32, device));
            endpoint.is_named(NamespaceId(*network), &unix_name(name), file)
        }
    }
}

fn unix_name(name: &Name) -> UnixName {
    match name {
        Name::Path(path) => UnixName::Path(path.clone()),
        Name::Abstract(bytes) => UnixName::Abstract(bytes.clone()),
    }
}

fn address(asked: &Asked) -> String {
    match asked {
        Asked::Tcp { to, .. } => to.to_string(),
        Asked::Unix { name, .. } => {
            let shown: PathBuf = unix_name(name).shown();
            shown.to_string_lossy().into_owned()
        }
    }
}

pub(crate) fn way(asked: &Asked, client: Option<&Party>, server: Option<&Party>) -> Way {
    let Asked::Tcp { to, .. } = asked else {
        return Way::Unix;
    };
    let network = |it: Option<&Party>| it?.process.as_ref()?.network;
    match to {
        _ if to.ip().is_loopback() && to.is_ipv4() => Way::Loopback,
        _ if to.ip().is_loopback() => Way::Loopback6,
        _ if network(client).is_some() && network(client) == network(server) => Way::OwnAddress,
        _ => Way::Bridge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::process::process;

    #[test]
    fn an_ended_process_is_the_client_that_it_was_and_another_of_its_name_is_not() {
        let own = process(std::process::id()).unwrap();
        let alive = Party { name: "app (pool www)".to_owned(), home: own.home.clone(), process: Some(own) };
        let ended = Party { name: "app".to_owned(), process: None, home: Home::Elsewhere };
        let end = |pid, comm: &str| End { pid, parent: 1, comm: comm.to_owned(), has_ended: true };
        let mut known = KnownClients::default();
        assert_eq!(known.recall(&end(7, "app"), ended.clone()), ended);
        assert_eq!(known.recall(&end(7, "app"), alive.clone()), alive);
        for (pid, comm, expected) in [(7, "app", &alive), (8, "app", &ended), (7, "sh", &ended)] {
            assert_eq!(known.recall(&end(pid, comm), ended.clone()), *expected, "{pid} {comm}");
        }
    }
}
