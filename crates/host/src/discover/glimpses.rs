//! Inspects the machine briefly and often between two surveys, to see short connections: by default a web server opens
//! a connection for each request.
//!
//! An inspection finds the connections that are open at that moment, over TCP and over Unix sockets, with the process
//! that holds each connection. Connections that open and close between two inspections are not seen. Only web servers,
//! proxies, poolers and the programs behind them are inspected.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use looptax_model::dsn::Kind;

use crate::discover::ends::{Accepted, Arrival, Ends};
use crate::discover::family::{Families, places};
use crate::discover::monotonic::monotonic_ns;
use crate::discover::namespaces::networks;
use crate::discover::owners::Owners;
use crate::discover::process::{Process, process, processes};
use crate::discover::servers::Server;
use crate::discover::web::{is_proxy, is_web_server};

const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
/// The pause after an inspection is this many times as long as the inspection, so inspections use at most a quarter of
/// one core.
const PAUSE_PER_LOOK: u32 = 3;
/// The maximum number of connections that are remembered.
const MOST_GLIMPSES: usize = 20_000;

/// A connection that was open during an inspection, and the process that held its client's end.
#[derive(Debug, Clone)]
pub(crate) struct Glimpse {
    pub(crate) pid: u32,
    pub(crate) arrival: Arrival,
}

/// The connections that were seen since a survey.
#[derive(Debug)]
pub struct Glimpses {
    members: Vec<Process>,
    since_ns: u64,
    last_look: Duration,
    seen: HashSet<u64>,
    pub(crate) all: Vec<Glimpse>,
}

impl Glimpses {
    /// Returns glimpses that do not contain any connection yet. They start after the survey that found these servers;
    /// `at_ns` is the survey's time on the monotonic clock. If neither a web server nor a program behind a web server
    /// runs, nothing will be inspected.
    pub fn since(servers: &[Server], at_ns: u64) -> Self {
        Self {
            members: members(servers),
            since_ns: at_ns,
            last_look: Duration::ZERO,
            seen: HashSet::new(),
            all: Vec::new(),
        }
    }

    /// Returns how long to wait before the next inspection, at most until the time `end` after the survey; `None` if
    /// that time is over.
    pub fn pause(&self, end: Duration) -> Option<Duration> {
        let elapsed = monotonic_ns().saturating_sub(self.since_ns);
        let rest = end.checked_sub(Duration::from_nanos(elapsed))?;
        if self.members.is_empty() {
            return Some(rest);
        }
        let pause = (self.last_look * PAUSE_PER_LOOK).max(SHORTEST_PAUSE);
        Some(pause.min(rest))
    }

    /// Inspects the connections once.
    ///
    /// # Cost
    /// A netlink dump per address family and network namespace of the inspected processes, and a `readlink` per open
    /// file of these processes.
    pub fn look(&mut self) {
        if self.members.is_empty() || self.all.len() >= MOST_GLIMPSES {
            return;
        }
        let began = monotonic_ns();
        let own = process(std::process::id()).and_then(|own| own.network);
        let networks = networks(&self.members, own);
        let owners = Owners::from_processes(&self.members);
        let arrivals = Ends::new(&networks, &owners, &[]).arrivals();
        for arrival in arrivals {
            let holder = owners.of_socket(arrival.inode).first();
            if let Some(pid) = holder.filter(|_| self.seen.insert(arrival.inode)) {
                self.all.push(Glimpse { pid: *pid, arrival });
            }
        }
        self.last_look = Duration::from_nanos(monotonic_ns().saturating_sub(began));
    }

    /// Returns, for each leading process, the addresses at which the connections of its processes were accepted.
    pub(crate) fn accepted_from(&self, leader: impl Fn(u32) -> Option<u32>) -> BTreeMap<u32, Accepted> {
        let mut found: BTreeMap<u32, Accepted> = BTreeMap::new();
        for glimpse in &self.all {
            if let Some(leader) = leader(glimpse.pid) {
                let accepted = found.entry(leader).or_default();
                accepted.add(&glimpse.arrival);
            }
        }
        found
    }
}

/// Returns the processes whose connections are inspected: those that send requests on behalf of a page.
fn members(servers: &[Server]) -> Vec<Process> {
    let processes = processes();
    let families = Families::new(&processes);
    let asks = |kind: Kind| matches!(kind, Kind::PhpFpm | Kind::Uwsgi | Kind::Http) || kind.is_pooler();
    let by_pid = places(servers);
    let is_member = |it: &&Process| {
        let program = it.program_name();
        let server = || families.server_of(it.pid, &by_pid);
        is_web_server(&program) || is_proxy(&program) || server().is_some_and(|idx| asks(servers[idx].kind))
    };
    processes.iter().filter(is_member).cloned().collect()
}
