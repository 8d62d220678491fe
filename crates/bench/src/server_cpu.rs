//! Reads the server's costs during a slice: the CPU time of its processes, and the context switches of its threads.

use looptax_host::kernel;

use crate::connect::{Wired, Worker};
use crate::plan::ServerThreads;
use crate::process_tree;
use crate::sys;

/// If a server has more processes than this, looptax does not read their CPU clocks. Reading a clock takes 0.2 to 0.8
/// µs (256 idle processes, 2026-11-25), and looptax reads all clocks before and after each slice.
const MOST_PROCESSES: usize = 2048;
/// If a server has more threads than this, looptax does not read their context switches, because reading them takes
/// some 20 µs per thread.
const MOST_THREADS: usize = 16;

/// The processes and threads that serve one side's connections.
pub(crate) struct ServerMeter {
    pids: Vec<u32>,
    tids: Vec<u32>,
    /// A process that is read together with all processes that it has started.
    tree: Option<u32>,
}

/// Counters of a server at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerReading {
    /// CPU time of all processes of the server, in nanoseconds.
    pub(crate) cpu_ns: Option<u64>,
    /// Voluntary plus involuntary context switches of the server's threads.
    pub(crate) switches: Option<u64>,
}

impl ServerMeter {
    /// Makes a meter for the workers of `wired`. If any worker is unknown, the meter reads nothing. If the threads of a
    /// process start and end, the meter reads no context switches.
    pub(crate) fn new(wired: &[Wired], threads: ServerThreads) -> Self {
        let workers: Option<Vec<Worker>> = wired.iter().map(|it| it.worker).collect();
        Self::of_workers(&workers.unwrap_or_default(), threads)
    }

    fn of_workers(workers: &[Worker], threads: ServerThreads) -> Self {
        if threads == ServerThreads::Tree {
            return Self::of_tree(workers.first().map(|worker| worker.pid));
        }
        let distinct = |mut ids: Vec<u32>, most: usize| {
            ids.sort_unstable();
            ids.dedup();
            if ids.len() <= most { ids } else { Vec::new() }
        };
        Self {
            tree: None,
            pids: distinct(workers.iter().map(|worker| worker.pid).collect(), MOST_PROCESSES),
            tids: if threads == ServerThreads::Any {
                Vec::new()
            } else {
                distinct(workers.iter().map(|worker| worker.tid).collect(), MOST_THREADS)
            },
        }
    }

    /// Makes a meter for a whole process, whose threads or children start and end.
    pub(crate) fn of_tree(pid: Option<u32>) -> Self {
        Self { tree: pid, pids: Vec::new(), tids: Vec::new() }
    }

    pub(crate) fn read(&self) -> ServerReading {
        let total = |ids: &[u32], read: fn(u32) -> Option<u64>| {
            if ids.is_empty() { None } else { ids.iter().map(|id| read(*id)).sum() }
        };
        ServerReading {
            cpu_ns: self.tree.map_or_else(|| total(&self.pids, sys::process_cpu_ns), process_tree::cpu_ns),
            switches: total(&self.tids, switches_of),
        }
    }
}

impl ServerReading {
    /// Returns the difference to `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        let difference = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self { cpu_ns: difference(self.cpu_ns, earlier.cpu_ns), switches: difference(self.switches, earlier.switches) }
    }
}

/// Returns the number of context switches of thread `tid`; `/proc/<tid>/status` also exists for threads.
fn switches_of(tid: u32) -> Option<u64> {
    let status = kernel::text(format!("/proc/{tid}/status")).ok()?;
    let values = status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
    values.map(|(_, number)| number.trim().parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    #[test]
    fn our_own_thread_has_switched() {
        std::thread::yield_now();
        assert!(switches_of(std::process::id()).is_some());
        assert_eq!(switches_of(u32::MAX), None);
    }

    #[test]
    fn the_clocks_of_a_hundred_processes_are_read_and_their_switches_not() {
        let sleeps = (0..100).map(|_| Command::new("sleep").arg("600").spawn().unwrap());
        let mut sleeps: Vec<_> = sleeps.collect();
        let worker = |it: &Child| Worker { pid: it.id(), tid: it.id() };
        let workers: Vec<Worker> = sleeps.iter().map(worker).collect();
        let reading = ServerMeter::of_workers(&workers, ServerThreads::PerConnection).read();
        for sleep in &mut sleeps {
            sleep.kill().unwrap();
            sleep.wait().unwrap();
        }
        assert!(reading.cpu_ns.is_some_and(|it| it > 0));
        assert_eq!(reading.switches, None);
    }

    #[test]
    fn an_unknown_worker_makes_the_meter_silent() {
        assert!(ServerMeter::new(&[], ServerThreads::PerConnection).read().cpu_ns.is_none());
    }
}
