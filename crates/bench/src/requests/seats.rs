//! The cores on which the two ends of each connection run. If looptax may not pin the server's thread, the client
//! thread follows the server's thread. looptax reads the cores before and after every slice.

use looptax_host::processes::{n_migrations, stat};
use looptax_model::record::Seats;
use looptax_model::stats::Side;

use crate::connect::Worker;
use crate::cores::pin_thread;
use crate::plan::Placement;

/// With more connections than this, looptax neither follows nor observes their ends, because it would have to read four
/// files of `/proc` for each connection.
pub(super) const MOST_CONNECTIONS: usize = 16;

/// The threads at the two ends of each connection of an epoch; empty if they are pinned.
#[derive(Default)]
pub(super) struct Ends {
    /// The worker of each connection, by side and connection; empty if at least one worker is not known.
    workers: [Vec<Worker>; 2],
    /// Client threads, by side and connection.
    clients: [Vec<u32>; 2],
    /// The core that was assigned to each client thread.
    dealt: Vec<Option<usize>>,
    cores: Vec<usize>,
    /// The placement that the client threads keep by following the server's threads; `None` if the client threads
    /// follow no thread.
    follows: Option<Placement>,
}

/// The state of both ends of a side's connections at one moment.
pub(super) struct Look {
    n_same: u32,
    n_split: u32,
    /// How often the scheduler has moved one of the threads so far.
    moves: Option<u64>,
}

impl Ends {
    pub(super) fn new(
        workers: [Vec<Worker>; 2],
        tids: &[u32],
        dealt: &[Option<usize>],
        cores: &[usize],
        follows: Option<Placement>,
    ) -> Self {
        let n_threads = dealt.len().max(1);
        let clients = Side::BOTH.map(|side| {
            let first = side.idx() * n_threads % tids.len().max(1);
            let thread = |idx| tids.get(first + idx % n_threads).copied().unwrap_or(0);
            (0..workers[side.idx()].len()).map(thread).collect()
        });
        Self { workers, clients, dealt: dealt.to_vec(), cores: cores.to_vec(), follows }
    }

    pub(super) fn follows(&self) -> Option<Placement> {
        self.follows
    }

    /// Pins each client thread to the core on which its connection's server thread ran last, or to another core, as the
    /// placement requires.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn follow(&self, side: Side) -> std::io::Result<()> {
        let Some(placement) = self.follows else { return Ok(()) };
        let pairs = self.pairs(side).take(self.dealt.len());
        pairs.zip(&self.dealt).try_for_each(|((worker, client), dealt)| {
            let server = stat(worker.tid).map(|it| it.core as usize);
            let core = match (placement, server) {
                (Placement::Same, Some(server)) if self.cores.contains(&server) => Some(server),
                (Placement::Split, Some(server)) => self.beside(server, *dealt),
                _ => None,
            };
            core.map_or(Ok(()), |core| pin_thread(client, core))
        })
    }

    /// Returns a core that is not the server's: the assigned core if possible.
    fn beside(&self, server: usize, dealt: Option<usize>) -> Option<usize> {
        let others = || self.cores.iter().copied().filter(|core| *core != server);
        dealt
            .filter(|core| *core != server)
            .or_else(|| others().find(|core| *core > server))
            .or_else(|| others().next())
    }

    /// Returns the cores of a side's connections now; `None` if they are not known.
    pub(super) fn look(&self, side: Side) -> Option<Look> {
        let n = self.workers[side.idx()].len();
        if n == 0 {
            return None;
        }
        let mut look = Look { n_same: 0, n_split: 0, moves: Some(0) };
        for (worker, client) in self.pairs(side) {
            let [server, client_core] = [worker.tid, client].map(|tid| Some(stat(tid)?.core));
            if server? == client_core? {
                look.n_same += 1;
            } else {
                look.n_split += 1;
            }
            let moves = [worker.tid, client].map(n_migrations);
            look.moves = look.moves.zip(moves[0]).zip(moves[1]).map(|((sum, one), two)| sum + one + two);
        }
        Some(look)
    }

    fn pairs(&self, side: Side) -> impl Iterator<Item = (Worker, u32)> {
        let idx = side.idx();
        self.workers[idx].iter().copied().zip(self.clients[idx].iter().copied())
    }
}

impl Look {
    /// Returns the seats of a slice from the observation before the slice (`self`) and the observation after it
    /// (`later`).
    pub(super) fn until(&self, later: &Self) -> Seats {
        Seats {
            same: self.n_same + later.n_same,
            split: self.n_split + later.n_split,
            moves: later.moves.zip(self.moves).map(|(now, then)| now.saturating_sub(then)),
        }
    }
}
