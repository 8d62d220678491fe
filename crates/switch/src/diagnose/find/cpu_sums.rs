//! Computes the CPU time per request of the watched services: the CPU time that a service's processes used, divided by
//! the requests that they answered or sent.
//!
//! A service has one figure for all its clients and servers, because the kernel reports the CPU time of a process, not
//! of the client for which the process worked. There is no figure if uncounted requests used a part of that CPU time.
//! Called by `watched`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use looptax_host::cpu::CpuTimes;
use looptax_host::discover::{Endpoint, Flow, Listed, Party, Place, Server, server_at};
use looptax_host::eyes::Look;
use looptax_model::record::WatchedCpu;

/// If more than this percentage of a service's requests overlap, looptax cannot tell its requests apart.
const MOST_OVERLAPPING_PCT: u64 = 1;

/// The machine's state at the start and at the end of a survey: the CPU times of all processes, and the servers'
/// sockets.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub cpu: [&'a CpuTimes; 2],
    pub listed: [&'a [Listed]; 2],
}

/// The CPU time and the requests of each service, by the pid of its process.
#[derive(Debug, Default)]
pub(super) struct CpuSums {
    servers: HashMap<u32, Sum>,
    clients: HashMap<u32, Sum>,
}

/// The requests of a service in one snapshot.
#[derive(Debug, Clone, Copy, Default)]
struct Requests {
    n: u64,
    n_overlapping: u64,
}

#[derive(Debug, Default)]
struct Sum {
    cpu: Duration,
    n_requests: u64,
    /// The reason why the service has no figure, from the last snapshot in which its CPU time did not count.
    na: Option<String>,
}

impl CpuSums {
    pub(super) fn add(&mut self, seen: &Seen<'_>) {
        let (answered, asked) = seen.requests();
        let known: HashSet<u32> = seen.servers.iter().map(|it| it.process.pid).collect();
        let others: HashSet<u32> = known.iter().chain(answered.keys()).chain(asked.keys()).copied().collect();
        let [earlier, now] = seen.around.cpu;
        let spent = |pid| now.spent_since(earlier, pid, &others).map_err(|error| error.to_string());
        for server in seen.servers {
            let pid = server.process.pid;
            let requests = answered.get(&pid).copied().unwrap_or_default();
            let na = seen.why_not(server).or_else(|| requests.why_not());
            self.servers.entry(pid).or_default().add(requests, na, || spent(pid));
        }
        // A client that sent no request during this snapshot still used CPU time.
        let pids: HashSet<u32> = asked.keys().chain(self.clients.keys()).copied().collect();
        for pid in pids {
            let requests = asked.get(&pid).copied().unwrap_or_default();
            let is_server = known.contains(&pid) || answered.contains_key(&pid);
            let is_server =
                is_server.then_some("the client is also a server, and used CPU time for the requests that it answers");
            let na = seen.lost().or(is_server).or_else(|| requests.why_not());
            self.clients.entry(pid).or_default().add(requests, na, || spent(pid));
        }
    }

    /// Returns how much CPU time the server `pid` used per request.
    pub(super) fn of_server(&self, pid: Option<u32>) -> WatchedCpu {
        figure(pid.and_then(|it| self.servers.get(&it)), "looptax does not know this server")
    }

    /// Returns how much CPU time the client `pid` used per request.
    pub(super) fn of_client(&self, pid: Option<u32>) -> WatchedCpu {
        figure(
            pid.and_then(|it| self.clients.get(&it)),
            "the client's processes have ended, or are not on this machine",
        )
    }
}

/// A snapshot, and the machine's state before and after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) look: &'a Look,
    /// All flows, including the flows that are not shown.
    pub(super) flows: &'a [Flow],
    pub(super) servers: &'a [Server],
    pub(super) around: Around<'a>,
    /// Whether looptax counts the clients on other machines.
    pub(super) counts_elsewhere: bool,
}

impl Seen<'_> {
    /// Returns the number of requests that each process answered, and the number that each process sent.
    fn requests(&self) -> (HashMap<u32, Requests>, HashMap<u32, Requests>) {
        let (mut answered, mut asked) = (HashMap::new(), HashMap::new());
        for flow in self.flows {
            add(&mut answered, flow.server.as_ref(), flow);
            add(&mut asked, flow.client.as_ref(), flow);
        }
        (answered, asked)
    }

    fn lost(&self) -> Option<&'static str> {
        (self.look.n_lost > 0)
            .then_some("looptax's table of processes and addresses was full, so some requests were not counted")
    }

    /// Returns the reason why some requests of a server are not known; `None` if all are known.
    fn why_not(&self, server: &Server) -> Option<&'static str> {
        let pid = server.process.pid;
        let mut listed = self.around.listed.iter().copied().flatten();
        let mut opened = self.look.opened_elsewhere.iter();
        let is_elsewhere = listed.any(|it| it.pid == pid && it.n_remote > 0)
            || opened.any(|it| server_at(it, self.servers).is_some_and(|it| it.process.pid == pid));
        let elsewhere = (is_elsewhere && !self.counts_elsewhere)
            .then_some("the server has clients elsewhere, whose requests are counted only with --elsewhere");
        let is_at =
            |it: &Endpoint| matches!(it.place, Place::Tcp(_)) && server.endpoints.iter().any(|own| same(own, it));
        let mut others = self.servers.iter().filter(|it| it.process.pid != pid);
        let shared = others
            .any(|it| it.endpoints.iter().any(is_at))
            .then_some("several servers share the address: their requests are counted together");
        self.lost().or(elsewhere).or(shared)
    }
}

fn same(one: &Endpoint, other: &Endpoint) -> bool {
    one.network == other.network && one.place == other.place
}

fn add(requests: &mut HashMap<u32, Requests>, party: Option<&Party>, flow: &Flow) {
    if let Some(process) = party.and_then(|it| it.process.as_ref()) {
        let sum = requests.entry(process.pid).or_default();
        sum.n += flow.counts.n_turns();
        sum.n_overlapping += flow.counts.n_overlapping;
    }
}

impl Requests {
    fn why_not(self) -> Option<&'static str> {
        (self.n_overlapping * 100 > self.n * MOST_OVERLAPPING_PCT)
            .then_some("requests overlap, and looptax cannot tell one from another")
    }
}

impl Sum {
    fn add(&mut self, requests: Requests, na: Option<&str>, spent: impl FnOnce() -> Result<Duration, String>) {
        match na.map_or_else(spent, |na| Err(na.to_owned())) {
            Ok(spent) => {
                self.cpu += spent;
                self.n_requests += requests.n;
            }
            Err(na) => self.na = Some(na),
        }
    }
}

fn figure(sum: Option<&Sum>, unknown: &str) -> WatchedCpu {
    let Some(sum) = sum else {
        return WatchedCpu { us_per_request: None, cpu_s: 0.0, n_requests: 0, na: Some(unknown.to_owned()) };
    };
    let cpu_s = sum.cpu.as_secs_f64();
    let us_per_request = (sum.n_requests > 0).then(|| cpu_s * 1e6 / sum.n_requests as f64);
    let why = || sum.na.clone().unwrap_or_else(|| "no request".to_owned());
    WatchedCpu { us_per_request, cpu_s, n_requests: sum.n_requests, na: us_per_request.is_none().then(why) }
}
