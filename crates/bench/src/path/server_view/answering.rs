//! Finds the thread of a server that answers on a connection. This thread sleeps after each answer, so the kernel gives
//! it a core about as often as it answers, and counts that.
//!
//! For a MySQL account that may not read `performance_schema.threads`.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use looptax_host::processes::{n_turns, threads};

use crate::path::Conversation;

/// Number of queries in each round. In one round another thread may sleep equally often by chance. It is unlikely that
/// this happens in all three rounds.
const ROUNDS: [u64; 3] = [23, 41, 16];
/// Number of attempts to find the thread. One attempt may not be enough: each time another process preempts the thread,
/// the kernel counts one more turn, as if the thread had slept.
const ATTEMPTS: usize = 8;
/// A server with more threads than this is not checked.
const MOST_THREADS: usize = 512;

impl Conversation {
    /// Returns the thread of process `pid` that answers on this connection. `None` if several threads are possible, or
    /// if the server does not report that each connection has a thread.
    pub fn answering_thread(&mut self, pid: u32) -> Option<u32> {
        let of_connection = [vec![Some("one-thread-per-connection".to_owned())]];
        if self.query("SELECT @@thread_handling").ok()? != of_connection {
            return None;
        }
        (0..ATTEMPTS).find_map(|_| self.only_thread(pid))
    }

    fn only_thread(&mut self, pid: u32) -> Option<u32> {
        let mut left: Option<Vec<u32>> = None;
        for n in ROUNDS {
            let before = turns(pid)?;
            for _ in 0..n {
                // The pause is long enough for the server's thread to fall asleep.
                thread::sleep(Duration::from_micros(20));
                self.execute("DO 0").ok()?;
            }
            let now = turns(pid)?;
            let is_it = |(tid, turns): (&u32, &u64)| {
                let more = before.get(tid).map_or(0, |it| turns.saturating_sub(*it));
                is_near(more, n).then_some(*tid)
            };
            let fit: Vec<u32> = now.iter().filter_map(is_it).collect();
            left = Some(match left {
                Some(old) => old.into_iter().filter(|it| fit.contains(it)).collect(),
                None => fit,
            });
        }
        left.filter(|it| it.len() == 1)?.pop()
    }
}

/// Returns whether a thread that got a core `more` times may have answered `n` queries in that time. The thread may
/// have received some queries without sleeping; `more` is then less than `n`. If the thread shares a core with the
/// client, the thread may have to wait for the client in the middle of each answer; `more` is then greater than `n`.
///
/// The thread that answers always passes this test. So if only one thread passes, that thread answers.
fn is_near(more: u64, n: u64) -> bool {
    (n - n / 4..=2 * n + 4).contains(&more)
}

/// Returns how often each thread of a process got a core; `None` if there are too many threads.
fn turns(pid: u32) -> Option<BTreeMap<u32, u64>> {
    let tids = threads(pid).ok().filter(|it| it.len() <= MOST_THREADS)?;
    // A thread that has just ended is left out.
    Some(tids.into_iter().filter_map(|tid| Some((tid, n_turns(tid)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_slept_about_as_often_may_be_it() {
        for (more, n, expected) in
            [(23, 23, true), (18, 23, true), (17, 23, false), (47, 23, true), (51, 23, false), (0, 16, false)]
        {
            assert_eq!(is_near(more, n), expected, "{more} of {n}");
        }
    }

    #[test]
    fn this_test_has_threads_that_ran() {
        let own = turns(std::process::id()).unwrap();
        assert!(own.values().any(|it| *it > 0), "{own:?}");
    }
}
