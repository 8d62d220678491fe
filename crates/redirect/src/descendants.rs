//! All processes that come from some: found, signalled, ended.
//!
//! Read from `/proc`, whose list of a process's children is there only on some kernels: so the parents of all
//! processes are looked at. A process that ends on the way is none any more; one that is made on the way is found
//! the next time. Used by whoever has to leave nothing behind.

use std::collections::HashMap;
use std::os::fd::AsFd;

use looptax_host::kernel;

use crate::sys::{process, wait};

/// Between two looks at processes that are about to be gone.
const PAUSE_MS: i32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    pid: i32,
    parent: i32,
    /// When it started, in the kernel's ticks: no other of its number did then.
    start: u64,
    /// Whether it has ended and only waits to be taken away.
    has_ended: bool,
}

/// The processes that come from these and run; not these themselves, unless one comes from another.
///
/// # Cost
/// A short file to read for every process of the machine.
pub(crate) fn find(roots: &[i32]) -> Vec<i32> {
    let found = look(roots);
    found.iter().map(|it| it.pid).collect()
}

/// Sends a signal to those that come from these, but for the spared ones.
pub(crate) fn signal(roots: &[i32], spared: &[i32], signal: i32) {
    for seen in look(roots) {
        if !spared.contains(&seen.pid) {
            send(seen, signal);
        }
    }
}

/// Kills what comes from these, but for the spared ones, until none of it is left. `take_away` is called before each
/// look, for children of the caller that have ended.
pub(crate) fn kill_all(roots: &[i32], spared: &[i32], mut take_away: impl FnMut()) {
    loop {
        take_away();
        let mut left = look(roots);
        left.retain(|it| !spared.contains(&it.pid));
        if left.is_empty() {
            return;
        }
        for seen in left {
            send(seen, libc::SIGKILL);
        }
        let _ = wait::poll(&[], PAUSE_MS);
    }
}

/// Only where it is still the process that was seen, and no other that has its number since.
fn send(seen: Seen, signal: i32) {
    let Ok(pidfd) = process::pidfd_open(seen.pid, 0) else {
        return;
    };
    if read(seen.pid).is_some_and(|now| now.start == seen.start) {
        let _ = process::pidfd_signal(pidfd.as_fd(), signal);
    }
}

fn look(roots: &[i32]) -> Vec<Seen> {
    let mut children: HashMap<i32, Vec<Seen>> = HashMap::new();
    let names = kernel::names("/proc").into_iter().flatten();
    let pids = names.filter_map(|it| it.to_str()?.parse().ok());
    for seen in pids.filter_map(read) {
        children.entry(seen.parent).or_default().push(seen);
    }
    let mut found = Vec::new();
    let mut parents = roots.to_vec();
    // Each is taken out with its parent, so that even a list that is torn ends.
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.pid);
            found.push(child);
        }
    }
    found.retain(|it| !it.has_ended);
    found
}

fn read(pid: i32) -> Option<Seen> {
    parse(pid, &kernel::read(format!("/proc/{pid}/stat")).ok()?)
}

/// # Source
/// `proc_pid_stat(5)`: after the name state, parent, 18th the number of threads, 20th when it started. A process whose first thread
/// alone has ended looks like one that has ended, and has others.
fn parse(pid: i32, stat: &[u8]) -> Option<Seen> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = std::str::from_utf8(&stat[after_name..])
        .ok()?
        .split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let n_threads: u32 = fields.nth(15)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    Some(Seen {
        pid,
        parent,
        start,
        has_ended: state == "X" || state == "Z" && n_threads <= 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(state: &str, n_threads: u32, has_ended: bool) {
        let stat = format!(
            "7 (a ) Z 1 b) {state} 3 7 7 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 {n_threads} 0 9 0"
        );
        let seen = Seen {
            pid: 7,
            parent: 3,
            start: 9,
            has_ended,
        };
        assert_eq!(parse(7, stat.as_bytes()), Some(seen));
    }

    #[test]
    fn a_process_has_ended_when_all_its_threads_have() {
        check("S", 1, false);
        check("T", 2, false);
        check("Z", 1, true);
        check("Z", 2, false);
        assert_eq!(parse(7, b"7 (a) S"), None);
    }

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
        // The shell hears that both are gone, and ends by itself.
        child.wait().unwrap();
    }
}
