//! Turns the counts of `looptax watch` into the form in which they are shown and saved.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use looptax_host::discover::{Flow, KnownClients, Listed, Party, Place, Server, flows_of_known, process};
use looptax_host::eyes::{Asked, Counts, Look};
use looptax_model::record::{
    Note, NoteCode, WATCHED_SCHEMA_VERSION, Watched, WatchedEnd, WatchedHop, WatchedLook, WatchedQueue, WatchedTimes,
    Way,
};
use looptax_model::stats::Times;

use super::cpu_sums::{Around, CpuSums, Seen};
use super::names::{Names, home};

/// Which hops are included in addition to the hops to known servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beside {
    /// Whether to include hops to every process that answers on this machine.
    pub everything: bool,
    /// Whether to include hops to servers on other machines, or behind addresses that are rewritten.
    pub elsewhere: bool,
}

/// Successive snapshots, with their counts added up for each service.
#[derive(Debug, Default)]
pub struct Gathered {
    beside: Beside,
    /// Whether each snapshot is kept in addition to the sum.
    keeps_looks: bool,
    over: Vec<Duration>,
    n_lost: u64,
    hops: Vec<Hop>,
    cpu: CpuSums,
    accepted: HashMap<Asked, Times>,
    /// The queues, by the server's pid and address.
    queues: BTreeMap<(u32, String), WatchedQueue>,
    known: KnownClients,
}

/// The requests from one service to another at one address. Both services are determined at each snapshot, because a
/// process may end before the last snapshot.
#[derive(Debug)]
struct Hop {
    who: Who,
    asked: Asked,
    processes: BTreeSet<u32>,
    counts: Counts,
    looks: Vec<WatchedLook>,
}

#[derive(Debug, PartialEq, Eq)]
struct Who {
    client: Option<WatchedEnd>,
    server: Option<WatchedEnd>,
    kind: Option<String>,
    version: Option<String>,
    way: Way,
    address: String,
}

impl Gathered {
    pub fn new(beside: Beside, keeps_looks: bool) -> Self {
        Self { beside, keeps_looks, over: Vec::new(), n_lost: 0, hops: Vec::new(), ..Self::default() }
    }

    /// Adds the next snapshot. `servers` are the servers of the latest survey.
    pub fn add(&mut self, look: &Look, servers: &[Server], around: Around<'_>) {
        let names = Names::new();
        let is_wanted = |it: &Flow| match (it.server_idx, &it.server) {
            (Some(_), _) => true,
            (None, Some(_)) => self.beside.everything,
            (None, None) => self.beside.elsewhere,
        };
        let flows = flows_of_known(look, servers, &mut self.known);
        self.cpu.add(&Seen { look, flows: &flows, servers, around, counts_elsewhere: self.beside.elsewhere });
        for flow in flows.into_iter().filter(is_wanted) {
            let (counts, asked) = (flow.counts.clone(), flow.asked.clone());
            let processes: Vec<u32> = flow.processes.keys().copied().collect();
            let who = who(flow, servers, &names);
            let idx = self.hops.iter().position(|it| it.who == who).unwrap_or_else(|| {
                let (counts, processes) = (Counts::default(), BTreeSet::new());
                self.hops.push(Hop { who, asked, processes, counts, looks: Vec::new() });
                self.hops.len() - 1
            });
            let hop = &mut self.hops[idx];
            if self.keeps_looks {
                hop.keep_look(&counts, look.over, &self.over);
            }
            hop.counts.add(&counts);
            hop.processes.extend(processes);
        }
        for (asked, times) in &look.accepted {
            self.accepted.entry(asked.clone()).or_default().add(times);
        }
        for listed in around.listed[1] {
            self.add_queues(listed, servers);
        }
        self.over.push(look.over);
        self.n_lost += look.n_lost;
    }

    fn add_queues(&mut self, listed: &Listed, servers: &[Server]) {
        let Some(server) = servers.iter().find(|it| it.process.pid == listed.pid) else {
            return;
        };
        for (place, queue) in &listed.queues {
            let address = match place {
                Place::Tcp(address) => address.to_string(),
                Place::Path { path, .. } | Place::Abstract(path) => path.to_string_lossy().into_owned(),
            };
            let (n_waiting, backlog) = (u64::from(queue.waiting), u64::from(queue.backlog));
            let new = || WatchedQueue {
                server: server.name(),
                pid: listed.pid,
                address: address.clone(),
                n_waiting,
                backlog,
            };
            let queue = self.queues.entry((listed.pid, address.clone())).or_insert_with(new);
            queue.n_waiting = queue.n_waiting.max(n_waiting);
        }
    }

    /// Returns the sums of all snapshots, the busiest hop first.
    pub fn watched(mut self) -> Watched {
        let over_s = self.over.iter().sum::<Duration>().as_secs_f64();
        if self.keeps_looks {
            // Adds empty entries up to the last snapshot.
            self.hops.iter_mut().for_each(|it| it.miss_looks(&self.over));
        }
        self.hops = joined(self.hops);
        self.hops.sort_by_key(|it| std::cmp::Reverse((it.counts.n_turns(), it.counts.n_opened)));
        let lost = (self.n_lost > 0).then(|| Note {
            code: NoteCode::HopsLost,
            what: format!(
                "looptax's table of processes and addresses was full: {} requests and connections were not counted",
                self.n_lost
            ),
            next: None,
        });
        Watched {
            schema_version: WATCHED_SCHEMA_VERSION,
            looptax_version: env!("CARGO_PKG_VERSION").to_owned(),
            at: super::now(),
            over_s,
            busy_pct: None,
            hops: self.hops.into_iter().map(|it| it.watched(over_s, &self.cpu, &self.accepted)).collect(),
            queues: self.queues.into_values().collect(),
            notes: lost.into_iter().collect(),
        }
    }
}

/// Joins the hops of each client. A hop whose processes have ended is added to a service with the same program and
/// unit, if there is exactly one such service.
fn joined(hops: Vec<Hop>) -> Vec<Hop> {
    let mut joined: Vec<Hop> = Vec::new();
    for mut hop in hops {
        if let Some(client) = &mut hop.who.client {
            client.pid = client.pid.filter(|it| process(*it).is_some());
        }
        match joined.iter_mut().find(|it| it.who == hop.who) {
            Some(same) => same.add(hop),
            None => joined.push(hop),
        }
    }
    let (ended, mut joined): (Vec<_>, Vec<_>) = joined.into_iter().partition(|it| it.who.has_ended());
    let n_alive = joined.len();
    for hop in ended {
        let mut same = joined[..n_alive].iter_mut().filter(|it| it.who.is_service_of(&hop.who));
        match (same.next(), same.next()) {
            (Some(only), None) => only.add(hop),
            _ => joined.push(hop),
        }
    }
    joined
}

impl Who {
    /// Whether all processes of the client that were seen have ended.
    fn has_ended(&self) -> bool {
        self.client.as_ref().is_some_and(|it| it.pid.is_none())
    }

    /// Whether this client, which is running, is the service of an ended client: it has the same program and unit, and
    /// sent requests to the same server in the same way. The users are compared only if the ended client's user is
    /// known, because looptax does not know the user of a client that it never saw running.
    fn is_service_of(&self, ended: &Self) -> bool {
        let (Some(own), Some(other)) = (&self.client, &ended.client) else {
            return false;
        };
        let same_client = own.program == other.program && own.home.is_some() && own.home == other.home;
        let same_user = other.user.is_none() || own.user == other.user;
        let rest = |it: &Self| (it.server.clone(), it.kind.clone(), it.version.clone(), it.way, it.address.clone());
        same_client && same_user && rest(self) == rest(ended)
    }
}

impl Hop {
    /// Adds another hop's counts; both hops have the same number of snapshots.
    fn add(&mut self, other: Self) {
        self.processes.extend(other.processes);
        self.counts.add(&other.counts);
        for (own, other) in self.looks.iter_mut().zip(other.looks) {
            own.n_requests += other.n_requests;
            own.n_bytes_asked += other.n_bytes_asked;
            own.n_bytes_answered += other.n_bytes_answered;
            own.times.add(&other.times);
        }
    }

    /// Adds counts to the present snapshot, which lasted `over`. `before` contains the lengths of the earlier
    /// snapshots. For each earlier snapshot without counts for this hop, adds an empty entry.
    fn keep_look(&mut self, counts: &Counts, over: Duration, before: &[Duration]) {
        self.miss_looks(before);
        if self.looks.len() == before.len() {
            self.looks.push(no_look(over));
        }
        let Some(look) = self.looks.last_mut() else {
            return;
        };
        look.n_requests += counts.n_turns();
        look.n_bytes_asked += counts.n_bytes_asked;
        look.n_bytes_answered += counts.n_bytes_answered;
        look.times.add(if counts.times.n() > 0 { &counts.times } else { &counts.served });
    }

    fn miss_looks(&mut self, before: &[Duration]) {
        let missed = before.get(self.looks.len()..).unwrap_or_default();
        self.looks.extend(missed.iter().map(|it| no_look(*it)));
    }

    fn watched(self, over_s: f64, cpu: &CpuSums, accepted: &HashMap<Asked, Times>) -> WatchedHop {
        let Self { who, asked, processes, counts, looks } = self;
        let pid = |end: Option<&WatchedEnd>| end.and_then(|it| it.pid);
        let per_s = |n: u64| n as f64 / over_s;
        WatchedHop {
            server_cpu: Some(cpu.of_server(pid(who.server.as_ref()))),
            client_cpu: Some(cpu.of_client(pid(who.client.as_ref()))),
            client: who.client,
            n_processes: processes.len() as u64,
            server: who.server,
            kind: who.kind,
            version: who.version,
            way: who.way,
            address: who.address,
            n_requests: counts.n_turns(),
            requests_per_s: per_s(counts.n_turns()),
            n_overlapping: counts.n_overlapping,
            times: times(&counts.times),
            served: times(&counts.served),
            n_opened: counts.n_opened,
            opened_per_s: per_s(counts.n_opened),
            accept_wait: accepted.get(&asked).and_then(times),
            n_closed: (who.way != Way::Unix).then_some(counts.n_closed),
            n_bytes_asked: counts.n_bytes_asked,
            n_bytes_answered: counts.n_bytes_answered,
            looks,
        }
    }
}

fn no_look(over: Duration) -> WatchedLook {
    let times = Times::default();
    WatchedLook { over_s: over.as_secs_f64(), n_requests: 0, n_bytes_asked: 0, n_bytes_answered: 0, times }
}

fn who(flow: Flow, servers: &[Server], names: &Names) -> Who {
    let server = flow.server_idx.map(|idx| &servers[idx]);
    Who {
        client: flow.client.map(|it| end(it, names)),
        server: flow.server.map(|it| end(it, names)),
        kind: server.map(|it| it.kind.name().to_owned()),
        version: server.and_then(|it| it.version.clone()),
        way: flow.way,
        address: flow.address,
    }
}

fn end(party: Party, names: &Names) -> WatchedEnd {
    WatchedEnd {
        pid: party.process.as_ref().map(|it| it.pid),
        user: party.process.as_ref().map(|it| names.user_of(it)),
        home: party.process.as_ref().map_or_else(|| home(&party.home), |it| names.home_of(it)),
        program: party.name,
    }
}

fn times(times: &Times) -> Option<WatchedTimes> {
    let us = |quantile| Some(times.quantile_ns(quantile)? / 1e3);
    Some(WatchedTimes { mean_us: times.mean_ns()? / 1e3, p50_us: us(0.5)?, p90_us: us(0.9)?, p99_us: us(0.99)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that is larger than the pid of any process.
    const ENDED: u32 = 1 << 30;

    fn hop(program: &str, pid: Option<u32>, home: Option<&str>, process: u32) -> Hop {
        let end = |program: &str, pid, home: Option<&str>| WatchedEnd {
            program: program.to_owned(),
            pid,
            user: pid.map(|_| "www-data".to_owned()),
            home: home.map(str::to_owned),
        };
        let who = Who {
            client: Some(end(program, pid, home)),
            server: Some(end("mariadbd", Some(9), None)),
            kind: Some("mariadb".to_owned()),
            version: None,
            way: Way::Loopback,
            address: "127.0.0.1:3306".to_owned(),
        };
        let counts = Counts { n_opened: 1, ..Counts::default() };
        let asked = Asked::Tcp { to: ([127, 0, 0, 1], 3306).into(), network: 1 };
        Hop { who, asked, processes: BTreeSet::from([process]), counts, looks: vec![no_look(Duration::from_secs(1))] }
    }

    #[track_caller]
    fn check(hops: Vec<Hop>, expected: &[(&str, bool, usize)]) {
        let joined = joined(hops);
        let told: Vec<(&str, bool, usize)> = joined
            .iter()
            .map(|it| {
                let client = it.who.client.as_ref().unwrap();
                assert_eq!((it.counts.n_opened as usize, it.looks.len()), (it.processes.len(), 1));
                (&*client.program, client.pid.is_some(), it.processes.len())
            })
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn an_ended_client_is_a_row_of_its_own_only_if_it_is_of_no_service_that_is_there() {
        let own = Some(std::process::id());
        let alive = || hop("app", own, Some("app.service"), 1);
        let ended = || hop("app", None, Some("app.service"), 2);
        check(vec![alive(), ended()], &[("app", true, 2)]);
        check(vec![ended(), alive()], &[("app", true, 2)]);
        // Clients that were seen running and have ended.
        check(vec![hop("app", Some(ENDED), None, 1)], &[("app", false, 1)]);
        check(vec![hop("app", Some(ENDED), None, 1), hop("app", Some(ENDED + 1), None, 2)], &[("app", false, 2)]);
        // An ended client with another unit or another program; then an ended client without a unit, and an ended
        // client that may belong to two services.
        for other in [hop("app", None, Some("b.service"), 2), hop("cron", None, Some("app.service"), 2)] {
            let program = other.who.client.as_ref().unwrap().program.clone();
            check(vec![alive(), other], &[("app", true, 1), (&program, false, 1)]);
        }
        check(vec![hop("app", own, None, 1), hop("app", None, None, 2)], &[("app", true, 1), ("app", false, 1)]);
        let second = || hop("app", Some(1), Some("app.service"), 3);
        check(vec![alive(), second(), ended()], &[("app", true, 1), ("app", true, 1), ("app", false, 1)]);
    }
}
