//! Starts a slice on all client threads together, and wakes the coordinator when the last thread is done.
//!
//! The barrier is also the watchdog. Client threads wait for answers without a time limit, as real clients do by
//! default, because a limit costs a kernel timer per wait. Instead, the coordinator shuts the connections down if an
//! answer takes too long.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use looptax_model::stats::Side;
use rustix::net::{Shutdown, shutdown};

use super::failure::Failure;
use crate::clock::now_ns;
use crate::error::LoadError;

/// If an answer takes longer than this, the waiting coordinator also checks whether the experiment is to stop.
const LATE: Duration = Duration::from_secs(1);
/// While an answer is late, the coordinator checks at this interval whether the experiment is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The times of one slice, by the measuring clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SliceSpec {
    pub(crate) side: Side,
    /// Number of earlier slices of this side in the same epoch.
    pub(crate) rank: u64,
    /// End of the guard: answers count from this time on.
    pub(crate) count_from_ns: u64,
    /// From this time on no request starts and no answer counts.
    pub(crate) stop_at_ns: u64,
}

/// The next task of the client threads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command {
    /// Send untimed requests on each connection of a side: `n_requests` per connection.
    Prime {
        side: Side,
        n_requests: u64,
    },
    Slice(SliceSpec),
    Leave,
}

struct State {
    generation: u64,
    command: Command,
    n_busy: usize,
    failure: Option<Failure>,
    /// Whether the watchdog has shut the connections down.
    is_cut: bool,
    /// The threads' ids in the kernel.
    tids: Vec<u32>,
}

/// The point at which coordinator and client threads synchronise once per slice, outside the measured windows.
pub(crate) struct SliceBarrier {
    state: Mutex<State>,
    started: Condvar,
    finished: Condvar,
    n_threads: usize,
    sockets: Vec<Arc<OwnedFd>>,
    answer_limit: Duration,
}

impl SliceBarrier {
    /// Makes a barrier for `n_threads` client threads that drive `sockets`; an answer on a socket may take at most
    /// `answer_limit`.
    pub(crate) fn new(n_threads: usize, sockets: Vec<Arc<OwnedFd>>, answer_limit: Duration) -> Self {
        let state = State {
            generation: 0,
            command: Command::Leave,
            n_busy: 0,
            failure: None,
            is_cut: false,
            tids: vec![0; n_threads],
        };
        Self {
            state: Mutex::new(state),
            started: Condvar::new(),
            finished: Condvar::new(),
            n_threads,
            sockets,
            answer_limit,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Coordinator: starts `command` on all threads and waits until every thread has executed it. Once `stop` is set,
    /// the coordinator no longer waits for late answers.
    ///
    /// # Errors
    /// The first failure of any thread.
    pub(crate) fn run(&self, command: Command, stop: &AtomicBool) -> Result<(), Failure> {
        let mut state = self.lock();
        state.command = command;
        state.generation += 1;
        state.n_busy = self.n_threads;
        self.started.notify_all();
        let mut left = self.longest(command);
        // The first pause is so long that the coordinator does not wake up while the threads measure.
        let mut pause = left.saturating_sub(self.answer_limit.saturating_sub(LATE));
        loop {
            let (woken, waited) = self
                .finished
                .wait_timeout_while(state, pause, |state| state.n_busy > 0)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            left = left.saturating_sub(pause);
            if !waited.timed_out() {
                break;
            }
            if left.is_zero() || stop.load(Ordering::Relaxed) {
                state = self.cut(state);
                break;
            }
            pause = LOOK.min(left);
        }
        state.failure.take().map_or(Ok(()), Err)
    }

    /// Returns how long a command may take: the time until the slice's end, plus the limit of an answer.
    fn longest(&self, command: Command) -> Duration {
        let slice = match command {
            Command::Slice(spec) => Duration::from_nanos(spec.stop_at_ns.saturating_sub(now_ns())),
            Command::Prime { .. } | Command::Leave => Duration::ZERO,
        };
        slice + self.answer_limit
    }

    /// Shuts all connections down, which wakes every thread that waits for an answer.
    fn cut<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.is_cut = true;
        for socket in &self.sockets {
            // If the peer has already closed the connection, this fails without harm.
            let _ = shutdown(socket, Shutdown::Both);
        }
        self.finished.wait_while(state, |state| state.n_busy > 0).unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn leave(&self) {
        let mut state = self.lock();
        state.command = Command::Leave;
        state.generation += 1;
        self.started.notify_all();
    }

    /// Client thread: registers its thread id.
    pub(crate) fn enter(&self, place: usize, tid: u32) {
        if let Some(known) = self.lock().tids.get_mut(place) {
            *known = tid;
        }
    }

    /// Coordinator: returns the ids of the threads; an id is known once its thread has finished a command.
    pub(crate) fn tids(&self) -> Vec<u32> {
        self.lock().tids.clone()
    }

    /// Client thread: waits for the next command after number `seen`.
    pub(crate) fn next(&self, seen: &mut u64) -> Command {
        let state = self.lock();
        let state =
            self.started.wait_while(state, |state| state.generation == *seen).unwrap_or_else(PoisonError::into_inner);
        *seen = state.generation;
        state.command
    }

    /// Client thread: reports that it has done its part.
    pub(crate) fn done(&self, outcome: Result<(), Failure>) {
        let mut state = self.lock();
        if let Err(mut failure) = outcome {
            if state.is_cut && matches!(failure.source, LoadError::Closed) {
                failure.source = LoadError::Timeout { limit: self.answer_limit };
            }
            state.failure.get_or_insert(failure);
        }
        state.n_busy = state.n_busy.saturating_sub(1);
        if state.n_busy == 0 {
            self.finished.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;
    use crate::error::Stage;

    #[test]
    fn r19_an_answer_that_is_late_is_not_waited_for_once_somebody_wants_to_stop() {
        let (silent, mut ours) = UnixStream::pair().unwrap();
        let socket = Arc::new(OwnedFd::from(ours.try_clone().unwrap()));
        // The answer limit is far longer than any test may take.
        let barrier = SliceBarrier::new(1, vec![socket], Duration::from_secs(3600));
        let prime = Command::Prime { side: Side::Other, n_requests: 1 };
        let ended = thread::scope(|scope| {
            scope.spawn(|| {
                barrier.next(&mut 0);
                let _ = ours.read(&mut [0]);
                barrier.done(Err(Failure { side: Side::Other, stage: Stage::Priming, source: LoadError::Closed }));
            });
            barrier.run(prime, &AtomicBool::new(true))
        });
        let failure = ended.unwrap_err();
        assert!(matches!(failure.source, LoadError::Timeout { .. }));
        drop(silent);
    }
}
