//! Finds applications that answer HTTP behind a web server. The names of their programs do not show that they do.
//!
//! A program that listens counts as such an application only if a web server on this machine is connected to it, or if
//! it was started as a known application server (`web`). The program's protocol is not checked.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use looptax_model::dsn::Kind;

use crate::discover::ends::{Accepted, Ends};
use crate::discover::family::{Families, places};
use crate::discover::glimpses::Glimpses;
use crate::discover::process::Process;
use crate::discover::servers::{Server, endpoints, listening_of};
use crate::discover::web::{application_server, is_proxy, is_web_server, known_as};

/// Programs that open a listening socket for another program and also keep the socket open themselves.
const ACTIVATORS: [&str; 2] = ["systemd", "init"];

/// Returns the applications that answer HTTP behind a web server, without the servers in `known`, which were recognised
/// by their programs. `glimpses` has the connections that were opened and closed since an earlier survey, and `earlier`
/// has the servers that this earlier survey found.
pub(crate) fn upstreams(
    processes: &[Process],
    known: &[Server],
    earlier: &[Server],
    ends: &Ends<'_>,
    glimpses: Option<&Glimpses>,
) -> Vec<Server> {
    let families = Families::new(processes);
    let known = places(known);
    let asked = asked_by(processes, &families, ends, glimpses);
    let sockets = listening_of(ends.networks, ends.owners);
    let is_candidate = |process: &&Process| {
        let program = process.program_name();
        let is_between = is_proxy(&program) || ACTIVATORS.contains(&&*process.name);
        !is_between && families.server_of(process.pid, &known).is_none()
    };
    let is_asked = |process: &Process| {
        let own = families.leader(process.pid);
        let places = endpoints(process, ends.networks, ends.owners);
        places.iter().any(|it| {
            let mut others = asked.iter().filter(|(leader, _)| *leader != own);
            others.any(|(_, accepted)| accepted.has(it))
        })
    };
    let was_one = |process: &Process| {
        let mut earlier = earlier.iter().filter(|it| it.kind == Kind::Http);
        earlier.any(|it| it.process == *process)
    };
    let is_server = |process: &Process| {
        let is_hidden = ends.owners.hidden.contains(&process.pid);
        if !sockets.contains_key(&process.pid) {
            return is_hidden && application_server(process).is_some();
        }
        application_server(process).is_some() || was_one(process) || is_asked(process)
    };
    let candidates = processes.iter().filter(is_candidate);
    let found: Vec<&Process> = candidates.filter(|it| is_server(it)).collect();
    let pids: HashSet<u32> = found.iter().map(|it| it.pid).collect();
    let none = BTreeSet::new();
    let sockets_of = |pid: u32| sockets.get(&pid).unwrap_or(&none);
    // A worker has the listening sockets of its master process.
    let is_worker = |it: &Process| pids.contains(&it.parent) && sockets_of(it.pid).is_subset(sockets_of(it.parent));
    let masters = found.iter().filter(|it| !is_worker(it));
    masters.map(|it| server(it, ends)).collect()
}

fn server(process: &Process, ends: &Ends<'_>) -> Server {
    Server {
        kind: Kind::Http,
        // An unknown program is not executed to find out its version, because it might do anything.
        version: None,
        name: known_as(process),
        endpoints: endpoints(process, ends.networks, ends.owners),
        is_hidden: ends.owners.hidden.contains(&process.pid),
        process: process.clone(),
    }
}

/// Returns the addresses at which each web server's connections were accepted. The pid is that of the web server's
/// leading process.
fn asked_by(
    processes: &[Process],
    families: &Families<'_>,
    ends: &Ends<'_>,
    glimpses: Option<&Glimpses>,
) -> Vec<(u32, Accepted)> {
    let web = processes.iter().filter(|it| is_web_server(&it.program_name()));
    let mut groups: BTreeMap<u32, HashSet<u32>> = BTreeMap::new();
    for process in web {
        let leader = families.leader(process.pid);
        groups.entry(leader).or_default().insert(process.pid);
    }
    let of_pid = |pid: u32| {
        let mut groups = groups.iter();
        groups.find(|(_, pids)| pids.contains(&pid)).map(|(leader, _)| *leader)
    };
    let glimpsed = glimpses.map(|it| it.accepted_from(of_pid)).unwrap_or_default();
    let arrivals = if groups.is_empty() { Vec::new() } else { ends.arrivals() };
    let accepted = groups.iter().map(|(leader, pids)| {
        let is_of = |inode| { ends.owners.of_socket(inode).iter() }.any(|it| pids.contains(it));
        let mut accepted = Accepted::default();
        for arrival in arrivals.iter().filter(|it| is_of(it.inode)) {
            accepted.add(arrival);
        }
        (*leader, accepted)
    });
    accepted.chain(glimpsed).collect()
}
