//! Reads the facts about processes in `/proc/PID/stat`, and finds out which process started which.
//!
//! No other code reads that file, except for `redirect` after a fork. A pid still belongs to the same process if the
//! start time has not changed. Callers: `bench` (CPU time of a process and its descendants), `redirect` and
//! `experiment` (to end processes), `discover`, `why`.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use procfs::FromRead;
use procfs::process::{Stat as KernelStat, Status};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::kernel;

/// The maximum number of bytes read from a file in `/proc`. In the list of a process's children, each child takes up to
/// eight bytes.
const MOST_BYTES: u64 = 4 << 20;

/// Nanoseconds per tick of the kernel's start times of processes: there are a hundred ticks a second.
pub(crate) const NS_PER_TICK: u64 = 10_000_000;

/// Facts about a process that the kernel shows to every user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    /// The time when the process started, in ticks since boot. No other process with this pid has the same start time.
    pub start_ticks: u64,
    /// The CPU time of the children for which the process has waited, in ticks of 10 ms.
    pub ended_children_ticks: u64,
    /// The core on which the process is running, or ran last.
    pub core: u32,
    /// Whether a signal or a debugger has stopped the process.
    pub is_stopped: bool,
    /// Whether all threads of the process have ended, and its parent has not reaped it yet.
    pub has_ended: bool,
}

/// Reads the facts about a process; `None` if the process has ended.
pub fn stat(pid: u32) -> Option<Stat> {
    parse(&kernel::read_up_to(format!("/proc/{pid}/stat"), MOST_BYTES).ok()?)
}

/// Reads the facts about all visible processes.
pub fn all() -> impl Iterator<Item = Stat> {
    let names = kernel::names("/proc").into_iter().flatten();
    names.filter_map(|name| stat(name.to_str()?.parse().ok()?))
}

/// Returns the running descendants of the processes in `roots`. A process in `roots` is included only if it is a
/// descendant of another process in `roots`.
///
/// # Cost
/// Reads a short file for every process of the machine. A process that is started during the call may be missing.
pub fn descendants(roots: &[u32]) -> Vec<Stat> {
    let mut children: HashMap<u32, Vec<Stat>> = HashMap::new();
    for it in all() {
        children.entry(it.parent).or_default().push(it);
    }
    let mut found = Vec::new();
    let mut parents = roots.to_vec();
    // Each entry is removed with its parent, so the loop ends even if the list is inconsistent.
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.pid);
            found.push(child);
        }
    }
    found.retain(|it| !it.has_ended);
    found
}

/// Returns the pids of the descendants of `root`, nearest first. If the kernel lists children (`CONFIG_PROC_CHILDREN`),
/// reads only the files of `root` and of its descendants. Otherwise reads the files of all processes, as
/// [`descendants`] does. Stops following children after `most` processes.
pub fn descendant_pids(root: u32, most: usize) -> Vec<u32> {
    if !lists_children() {
        return descendants(&[root]).iter().map(|it| it.pid).collect();
    }
    let mut found = listed_children(root);
    let mut idx = 0;
    while idx < found.len() && found.len() < most {
        found.extend(listed_children(found[idx]));
        idx += 1;
    }
    found
}

/// Returns the running children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    if lists_children() {
        return listed_children(pid);
    }
    let children = all().filter(|it| it.parent == pid && !it.has_ended);
    children.map(|it| it.pid).collect()
}

fn lists_children() -> bool {
    kernel::metadata("/proc/thread-self/children").is_ok()
}

/// Whether a process is a descendant of `ancestor`.
pub fn is_descendant(pid: u32, ancestor: u32) -> bool {
    let parent = |pid: &u32| Some(stat(*pid)?.parent).filter(|it| *it != 0);
    std::iter::successors(parent(&pid), parent).any(|it| it == ancestor)
}

/// Returns the children of all threads of a process, as the kernel lists them.
fn listed_children(pid: u32) -> Vec<u32> {
    let tasks = format!("/proc/{pid}/task");
    let threads = kernel::names(&tasks).into_iter().flatten();
    let lists = threads.map(|it| {
        let list = kernel::read_up_to(Path::new(&tasks).join(it).join("children"), MOST_BYTES);
        String::from_utf8(list.unwrap_or_default()).unwrap_or_default()
    });
    let lists: Vec<String> = lists.collect();
    let words = lists.iter().flat_map(|list| list.split_whitespace());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Returns the process to which a thread belongs, and the parent of this process.
pub fn of_thread(tid: u32) -> Option<(u32, u32)> {
    let text = kernel::read_up_to(format!("/proc/{tid}/status"), MOST_BYTES).ok()?;
    let status = Status::from_read(&text[..]).ok()?;
    Some((u32::try_from(status.tgid).ok()?, u32::try_from(status.ppid).ok()?))
}

/// Returns the cores that a thread may use, in ascending order. For the calling thread, pass 0.
///
/// # Errors
/// The thread has ended.
pub fn cores_of(tid: u32) -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(number_of(tid)?)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
}

/// Lets a thread run only on these cores.
///
/// # Errors
/// The thread has ended, or the kernel does not permit it.
pub fn let_use(tid: u32, cores: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cores.iter().filter(|core| **core < CpuSet::MAX_CPU).for_each(|core| set.set(*core));
    Ok(sched_setaffinity(number_of(tid)?, &set)?)
}

fn number_of(tid: u32) -> io::Result<Option<Pid>> {
    if tid == 0 {
        return Ok(None);
    }
    let pid = i32::try_from(tid).ok().and_then(Pid::from_raw);
    pid.map(Some).ok_or_else(|| rustix::io::Errno::NOENT.into())
}

/// Returns how often the scheduler has moved a thread to another core; `None` if the kernel does not report it.
///
/// # Source
/// Linux, `proc_sched_show_task`: `se.nr_migrations`, for every user who may see the thread.
pub fn n_migrations(tid: u32) -> Option<u64> {
    let text = kernel::read_up_to(format!("/proc/{tid}/sched"), MOST_BYTES).ok()?;
    let line = std::str::from_utf8(&text).ok()?.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Returns how often a thread has been given a core; `None` if the kernel does not report it.
///
/// # Source
/// Linux, `proc_pid_schedstat`: the third number, for every user.
pub fn n_turns(tid: u32) -> Option<u64> {
    let text = kernel::read_up_to(format!("/proc/{tid}/schedstat"), MOST_BYTES).ok()?;
    std::str::from_utf8(&text).ok()?.split_whitespace().nth(2)?.parse().ok()
}

/// Returns the CPU time of a process, including its ended threads; `None` if the process has ended.
///
/// # Source
/// `clock_getcpuclockid(3)`: the kernel's clock of a process, in ns, for every user.
pub fn cpu_ns(pid: u32) -> Option<u64> {
    let pid = i32::try_from(pid).ok()?;
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: both calls only write to these two variables.
    let is_read = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
    };
    let ns = u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?;
    is_read.then_some(ns)
}

/// Returns the threads of a process, in the kernel's order.
///
/// # Errors
/// The process has ended.
pub fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let tasks = kernel::names(format!("/proc/{pid}/task"))?;
    Ok(tasks.filter_map(|it| it.to_str()?.parse().ok()).collect())
}

/// Returns the time since a process started; `None` if the process does not exist.
///
/// # Source
/// `proc_pid_stat(5)`: the field `starttime` is in ticks of `CLOCK_BOOTTIME`, 100 per second.
pub fn age(pid: u32) -> Option<Duration> {
    let now = clock_gettime(ClockId::Boottime);
    let now = Duration::new(now.tv_sec.try_into().ok()?, now.tv_nsec.try_into().ok()?);
    Some(now.saturating_sub(Duration::from_nanos(stat(pid)?.start_ticks * NS_PER_TICK)))
}

/// Parses the text of `/proc/PID/stat`.
///
/// # Source
/// `proc_pid_stat(5)`. A process whose first thread has ended while other threads run also has the state `Z`.
fn parse(text: &[u8]) -> Option<Stat> {
    let it = KernelStat::from_read(text).ok()?;
    let number = |it: i32| u32::try_from(it).unwrap_or(0);
    let ended = u64::try_from(it.cutime).ok()? + u64::try_from(it.cstime).ok()?;
    Some(Stat {
        pid: number(it.pid),
        parent: number(it.ppid),
        group: number(it.pgrp),
        start_ticks: it.starttime,
        ended_children_ticks: ended,
        core: number(it.processor.unwrap_or(0)),
        is_stopped: matches!(it.state, 'T' | 't'),
        has_ended: it.state == 'X' || it.state == 'Z' && it.num_threads <= 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(state: &str, n_threads: u32, has_ended: bool, is_stopped: bool) {
        // The zeroes are the fields from the size in memory to the signal at the end; the core follows.
        let numbers = vec!["0"; 16].join(" ");
        let text = format!(
            "7 (a ) Z 1 b) {state} 3 5 7 0 -1 4194304 1 0 0 0 1 2 70 8 20 0 {n_threads} 0 9 {numbers} 4 0 0 0 0 0 0 0 0 0 0 0 0 0"
        );
        let expected = Stat {
            pid: 7,
            parent: 3,
            group: 5,
            start_ticks: 9,
            ended_children_ticks: 78,
            core: 4,
            is_stopped,
            has_ended,
        };
        assert_eq!(parse(text.as_bytes()), Some(expected));
        // A process can set its name to any bytes.
        let name = text.bytes().map(|it| if it == b'a' { 0xff } else { it });
        assert_eq!(parse(&name.collect::<Vec<_>>()), Some(expected));
    }

    #[test]
    fn a_process_has_ended_when_all_its_threads_have() {
        check("S", 1, false, false);
        check("T", 2, false, true);
        check("Z", 1, true, false);
        check("Z", 2, false, false);
        assert_eq!(parse(b"7 (a) S"), None);
    }

    #[test]
    fn a_thread_that_is_sent_to_another_core_has_moved() {
        let allowed = cores_of(0).unwrap();
        let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let only = |core: usize| {
            let_use(tid, &[core]).unwrap();
            assert_eq!(cores_of(tid).unwrap(), [core]);
            (stat(tid).unwrap().core as usize, n_migrations(tid))
        };
        let [first, last] = [allowed[0], allowed[allowed.len() - 1]];
        let (core, before) = only(first);
        let (other, after) = only(last);
        assert_eq!([core, other], [first, last]);
        assert!(first == last || before < after || before.is_none(), "{before:?} {after:?}");
        assert!(let_use(tid, &[]).is_err() && let_use(u32::MAX, &[first]).is_err());
        assert_eq!(n_migrations(u32::MAX), None);
    }

    #[test]
    fn a_tree_is_the_same_by_the_kernels_lists_and_by_the_parents_of_all() {
        let script = "sleep 1000 & (sleep 1000 & wait) & wait";
        let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        let sorted = |mut pids: Vec<u32>| {
            pids.sort_unstable();
            pids
        };
        let by_parents = || sorted(descendants(&[child.id()]).iter().map(|it| it.pid).collect());
        while by_parents().len() < 3 {
            std::thread::yield_now();
        }
        let pids = by_parents();
        assert_eq!(sorted(descendant_pids(child.id(), 99)), pids);
        assert_eq!(children(child.id()).len(), 2);
        assert!(pids.iter().all(|pid| is_descendant(*pid, std::process::id())));
        assert!(!is_descendant(std::process::id(), child.id()));
        assert_eq!(stat(u32::MAX), None);
        for pid in pids.into_iter().chain([child.id()]) {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        child.wait().unwrap();
    }
}
