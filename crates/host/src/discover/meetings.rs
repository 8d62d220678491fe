//! Measures how often the clients of a single-threaded server run on the server's core.

use std::collections::{BTreeSet, HashMap};
use std::thread;
use std::time::{Duration, Instant};

use crate::discover::survey::survey;
use crate::processes::{n_turns, stat, threads};

/// How long clients are observed, and the pause between two samples.
const LOOKING: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(2);
/// Minimum number of samples in which a thread had run. With fewer samples, the result would not show where requests
/// are made.
const LEAST_LOOKS: u32 = 50;
/// The maximum number of threads of clients that are observed; with more threads, each sample would take long.
const MOST_THREADS: usize = 64;

/// The samples of a server's clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meetings {
    /// The names of the clients' programs.
    pub programs: Vec<String>,
    /// The number of samples in which a thread had run since the previous sample.
    pub n_looks: u32,
    /// The number of these samples in which the thread was on the core on which the server's thread ran last.
    pub n_same: u32,
}

/// Observes the clients of a single-threaded server for a second. `None` if only looptax itself was seen to be
/// connected, or the other clients hardly ran.
///
/// In some samples a client does other work than requests, so the result is an estimate of where requests are made.
///
/// # Cost
/// A survey of the machine, then two short files per thread and sample.
#[allow(clippy::disallowed_methods, reason = "the duration of the observation, not a measurement")]
pub fn meetings(server_pid: u32) -> Option<Meetings> {
    let survey = survey(None);
    let clients = survey.clients.iter().filter(|it| {
        let server = survey.servers.get(it.server_idx);
        server.is_some_and(|server| server.process.pid == server_pid)
    });
    let clients = clients.filter_map(|it| it.peer.process.as_ref()).filter(|it| it.pid != std::process::id());
    let mut programs = BTreeSet::new();
    let mut tids = BTreeSet::new();
    for client in clients {
        programs.insert(client.program_name());
        tids.extend(threads(client.pid).unwrap_or_default());
    }
    let tids: Vec<u32> = tids.into_iter().take(MOST_THREADS).collect();
    let mut turns: HashMap<u32, u64> = HashMap::new();
    let mut seen = Meetings { programs: programs.into_iter().collect(), n_looks: 0, n_same: 0 };
    let ends = Instant::now() + LOOKING;
    while !tids.is_empty() && Instant::now() < ends {
        let server = stat(server_pid)?.core;
        for tid in &tids {
            let Some(now) = n_turns(*tid) else { continue };
            let has_run = turns.insert(*tid, now).is_some_and(|before| before != now);
            if has_run && let Some(client) = stat(*tid) {
                seen.n_looks += 1;
                seen.n_same += u32::from(client.core == server);
            }
        }
        thread::sleep(PAUSE);
    }
    (seen.n_looks >= LEAST_LOOKS).then_some(seen)
}
