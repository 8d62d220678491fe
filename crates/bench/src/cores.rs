//! Which cores each client thread and its server thread run on, and the pinning itself.

use std::io;

use looptax_host::kernel;
use looptax_host::processes::{cores_of, descendant_pids, let_use};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::error::BenchError;
use crate::keys::generator;
use crate::plan::{Placement, ServerThreads};
use crate::schedule::shuffled;

/// Number of the random stream that shuffles the cores (see `schedule`).
const CORES: u64 = 4;

/// Returns the cores that this process may use, in rising order.
///
/// # Errors
/// If the kernel does not report the cores.
pub fn allowed_cores() -> io::Result<Vec<usize>> {
    cores_of(0)
}

/// Returns the cores of an experiment with `placement`.
///
/// [`BenchError::Machine`] if the cores cannot be read, or if the placement is `split` and this process may use only
/// one core.
pub(crate) fn cores_for(placement: Placement) -> Result<Vec<usize>, BenchError> {
    let cores = allowed_cores().map_err(|source| BenchError::Machine { action: "read the allowed cores", source })?;
    if placement == Placement::Split && cores.len() < 2 {
        return Err(BenchError::Machine {
            action: "keep the two ends of a connection on different cores",
            source: io::Error::other("this process may use only one core"),
        });
    }
    Ok(cores)
}

/// The cores of the client thread and the server thread, for each connection of an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CoreMap {
    /// The core of each client thread; with the event client, the core of each event loop.
    pub(crate) client: Vec<Option<usize>>,
    pub(crate) server: Vec<Option<usize>>,
}

impl CoreMap {
    /// Distributes the connections of an epoch over `cores`, the result of [`cores_for`]. Connection `i` belongs to
    /// client thread `i % n_clients`.
    pub(crate) fn deal(
        placement: Placement,
        threads: ServerThreads,
        cores: &[usize],
        n_connections: usize,
        n_clients: usize,
        core_seed: u64,
        holds_server: bool,
    ) -> Self {
        let order: Vec<usize> =
            shuffled(generator(core_seed, &[CORES]), cores.len()).into_iter().map(|idx| cores[idx]).collect();
        let at = |idx: usize| order[idx % order.len()];
        let single = threads.are_one();
        let server_core = |connection: usize| {
            if single { at(0) } else { at(connection % n_clients) }
        };
        let client_core = |client: usize| match placement {
            Placement::Same | Placement::ClientPinned if single => at(0),
            Placement::Same | Placement::ClientPinned => at(client),
            // A single server thread has a separate core; the clients share the other cores.
            Placement::Split if single => order[1 + client % (order.len() - 1)],
            Placement::Split | Placement::Free => at(client + 1),
        };
        let pins_client = placement != Placement::Free;
        let pins_server = holds_server && matches!(placement, Placement::Same | Placement::Split);
        Self {
            client: (0..n_clients).map(|client| pins_client.then(|| client_core(client))).collect(),
            server: (0..n_connections).map(|connection| pins_server.then(|| server_core(connection))).collect(),
        }
    }

    /// Returns the core of each connection's client end and of its server end; `None` if that end is not pinned.
    pub(crate) fn by_connection(&self) -> [Vec<Option<u32>>; 2] {
        let n_clients = self.client.len().max(1);
        let client_of = |connection: usize| *self.client.get(connection % n_clients)?;
        let number = |core: Option<usize>| core.map(|core| core as u32);
        [(0..self.server.len()).map(client_of).map(number).collect(), self.server.iter().copied().map(number).collect()]
    }
}

/// Pins the calling thread to `core`, or lets it run on all of `cores`.
pub(crate) fn pin_self(core: Option<usize>, cores: &[usize]) -> io::Result<()> {
    Ok(sched_setaffinity(None, &set_of(core, cores))?)
}

/// Pins another thread to `core`.
pub(crate) fn pin_thread(tid: u32, core: usize) -> io::Result<()> {
    let_use(tid, &[core])
}

/// Pins all threads of a server to `core`; if `core` is `None`, lets them run on all of `cores`. `None` also needs a
/// system call, because an earlier epoch may have limited the threads to fewer cores. New threads and child processes
/// inherit the setting.
pub(crate) fn pin_process(pid: u32, core: Option<usize>, cores: &[usize]) -> io::Result<()> {
    // Twice, because a thread with the old mask may have started during the first round.
    for _ in 0..2 {
        for name in kernel::names(format!("/proc/{pid}/task"))? {
            let Some(tid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            match let_use(tid, core.as_ref().map_or(cores, std::slice::from_ref)) {
                // The thread has ended in the meantime.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                other => other?,
            }
        }
    }
    Ok(())
}

/// Does the same as [`pin_process`] for the server and all processes that it has started.
pub(crate) fn pin_tree(pid: u32, core: Option<usize>, cores: &[usize]) -> io::Result<()> {
    pin_process(pid, core, cores)?;
    for child in descendant_pids(pid, usize::MAX) {
        match pin_process(child, core, cores) {
            // The process has ended in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

fn set_of(core: Option<usize>, cores: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    match core {
        Some(core) => set.set(core),
        None => cores.iter().for_each(|core| set.set(*core)),
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deal(placement: Placement, threads: ServerThreads, n: usize, clients: usize, seed: u64) -> CoreMap {
        CoreMap::deal(placement, threads, &[2, 5], n, clients, seed, true)
    }

    #[test]
    fn same_puts_both_ends_on_one_core_and_deals_pairs_over_all() {
        let map = deal(Placement::Same, ServerThreads::PerConnection, 4, 4, 9);
        assert_eq!(map.client, map.server);
        assert_ne!(map.client[0], map.client[1]);
        let single = deal(Placement::Same, ServerThreads::Single, 4, 4, 9);
        assert!(single.client.iter().chain(&single.server).all(|core| *core == single.server[0]));
    }

    #[test]
    fn split_puts_them_on_different_cores() {
        for threads in [ServerThreads::PerConnection, ServerThreads::Single] {
            let map = deal(Placement::Split, threads, 4, 4, 1);
            assert!(map.client.iter().zip(&map.server).all(|(client, server)| client != server), "{map:?}");
        }
    }

    #[test]
    fn an_event_loop_shares_its_core_with_the_connections_it_serves() {
        let map = deal(Placement::Same, ServerThreads::PerConnection, 5, 2, 3);
        for connection in 0..5 {
            assert_eq!(map.server[connection], map.client[connection % 2]);
        }
    }

    #[test]
    fn free_pins_nothing_and_client_pinned_leaves_the_server_alone() {
        let free = deal(Placement::Free, ServerThreads::PerConnection, 2, 2, 3);
        assert!(free.client.iter().chain(&free.server).all(Option::is_none));
        let ours = deal(Placement::ClientPinned, ServerThreads::PerConnection, 2, 2, 3);
        assert!(ours.client.iter().all(Option::is_some) && ours.server.iter().all(Option::is_none));
    }

    #[test]
    fn cores_are_drawn_anew_for_each_epoch() {
        let firsts: Vec<_> =
            (0..40).map(|seed| deal(Placement::Same, ServerThreads::Single, 1, 1, seed).server[0]).collect();
        assert!(firsts.contains(&Some(2)) && firsts.contains(&Some(5)));
    }
}
