//! All descendants of some processes: finds, signals and ends them.
//!
//! Reads `/proc`. Only some kernels list the children of a process in `/proc`, so the parents of all processes are
//! read. A process that ends during the search is left out; a process that starts during it is found the next time.
//! Used by code that must leave no process behind.

use std::os::fd::AsFd;

use looptax_host::processes::{self, Stat};

use crate::sys::{process, wait};

/// Pause between two searches for processes that are about to end.
const PAUSE_MS: i32 = 1;
/// Maximum number of searches without a result, after which [`kill_until`] gives up: some ten seconds.
const MOST_LOOKS: usize = 5_000;

/// Returns the running descendants of `roots`; a root is included only if it descends from another root.
///
/// # Cost
/// Reads a short file for every process of the machine.
pub(crate) fn find(roots: &[i32]) -> Vec<i32> {
    let found = look(roots);
    found.iter().map(|it| it.pid.cast_signed()).collect()
}

/// Sends a signal to the descendants of `roots`, except for the spared ones.
pub(crate) fn signal(roots: &[i32], spared: &[i32], signal: i32) {
    for seen in look(roots) {
        if !spared.contains(&seen.pid.cast_signed()) {
            send(seen, signal);
        }
    }
}

/// Kills the descendants of `roots`, except for the spared ones, until none of them is found. `take_away` is called
/// before each search, to reap children of the caller that have ended.
///
/// A process is missed if its parent started it after the list of processes was read, and the parent had ended before
/// the parent's entry was read; [`kill_until`] then searches again.
pub(crate) fn kill_all(roots: &[i32], spared: &[i32], mut take_away: impl FnMut()) {
    loop {
        take_away();
        let mut left = look(roots);
        left.retain(|it| !spared.contains(&it.pid.cast_signed()));
        if left.is_empty() {
            return;
        }
        for seen in left {
            send(seen, libc::SIGKILL);
        }
        let _ = wait::poll(&[], PAUSE_MS);
    }
}

/// Repeats [`kill_all`] until `is_over` returns true, but at most [`MOST_LOOKS`] times. `is_over` must return true if
/// no process is left.
pub(crate) fn kill_until(roots: &[i32], spared: &[i32], mut take_away: impl FnMut(), is_over: impl Fn() -> bool) {
    for _ in 0..MOST_LOOKS {
        kill_all(roots, spared, &mut take_away);
        if is_over() {
            return;
        }
    }
}

/// Sends a signal only if the number still belongs to the process that was found, not to a newer process.
fn send(seen: Stat, signal: i32) {
    let Ok(pidfd) = process::pidfd_open(seen.pid.cast_signed(), 0) else {
        return;
    };
    if processes::stat(seen.pid).is_some_and(|now| now.start_ticks == seen.start_ticks) {
        let _ = process::pidfd_signal(pidfd.as_fd(), signal);
    }
}

fn look(roots: &[i32]) -> Vec<Stat> {
    let roots: Vec<u32> = roots.iter().map(|pid| pid.cast_unsigned()).collect();
    processes::descendants(&roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_found_and_killed_with_theirs() {
        use std::process::Command;
        let script = "sleep 1000 & sleep 1000 & wait";
        let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = child.id().cast_signed();
        while find(&[pid]).len() < 2 {
            std::thread::yield_now();
        }
        let own = crate::sys::own_pid();
        assert!(find(&[own]).contains(&pid));
        let spared = find(&[pid])[0];
        signal(&[pid], &[spared], libc::SIGSTOP);
        kill_all(&[pid], &[spared], || {});
        assert_eq!(find(&[pid]), [spared]);
        kill_all(&[pid], &[], || {});
        // The shell notices that both processes are gone, and ends by itself.
        child.wait().unwrap();
    }
}
