//! Computes the CPU time of services: the CPU time that a process and its descendants have used between two readings of
//! all processes.
//!
//! This module only reads; looptax runs no code when a process begins, ends or sends data. If a process ended between
//! the readings, its time is contained in its parent's time of ended children. Called by `watch`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::processes::{self, Stat, cpu_ns};

/// Nanoseconds per tick: the kernel counts the CPU time of ended children in a hundred ticks a second.
const NS_PER_TICK: i64 = 10_000_000;
/// Maximum error of the difference between two readings, in ticks. Each reading is the sum of two numbers that the
/// kernel rounded down.
const ERROR_TICKS: i64 = 2;
/// A CPU time is reported only if it is at least this many times as long as its possible error.
const LEAST_TIMES_ERROR: i64 = 10;

/// The CPU times of all processes at one point in time.
#[derive(Debug, Clone, Default)]
pub struct CpuTimes {
    processes: HashMap<u32, Used>,
    /// The children of each process.
    children: HashMap<u32, Vec<u32>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Used {
    parent: u32,
    start_ticks: u64,
    own_ns: i64,
    ended_children_ticks: i64,
}

/// The reason why a CPU time cannot be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoCpuTime {
    #[error("the process has ended")]
    Ended,
    #[error("the kernel did not add the CPU time of an ended process to the CPU time of its parent")]
    Uncollected,
    #[error("too little CPU time: the kernel counts the CPU time of ended processes in ticks of 10 ms")]
    Coarse,
}

impl CpuTimes {
    /// Reads the CPU times. If a child has ended since the reading `earlier`, its time is contained in its parent's
    /// time of ended children.
    ///
    /// # Cost
    /// A short file and a system call for each process.
    pub fn read(earlier: Option<&Self>) -> Self {
        let mut processes: HashMap<u32, Used> =
            processes::all().filter_map(|it| Some((it.pid, Used::read(&it)?))).collect();
        let gone = |it: &(&u32, &Used)| processes.get(it.0).is_none_or(|now| now.start_ticks != it.1.start_ticks);
        let bereft: HashSet<u32> =
            earlier.iter().flat_map(|it| &it.processes).filter(gone).map(|it| it.1.parent).collect();
        // The child may have ended after its parent was read, so the parent is read again.
        for pid in bereft {
            if let Some(again) = processes.get(&pid).and_then(|_| Used::read(&processes::stat(pid)?)) {
                processes.insert(pid, again);
            }
        }
        Self::new(processes)
    }

    fn new(processes: HashMap<u32, Used>) -> Self {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for (pid, it) in &processes {
            children.entry(it.parent).or_default().push(*pid);
        }
        Self { processes, children }
    }

    /// Returns the CPU time that the process `root` and its descendants have used since the reading `earlier`. Leaves
    /// out the processes in `others` and their descendants. A process whose parent has ended in the meantime still
    /// counts.
    ///
    /// # Errors
    /// [`NoCpuTime`]: the reason why the time is not known.
    pub fn spent_since(&self, earlier: &Self, root: u32, others: &HashSet<u32>) -> Result<Duration, NoCpuTime> {
        if !self.processes.contains_key(&root) {
            return Err(NoCpuTime::Ended);
        }
        let before = if self.same(earlier, root) { earlier.tree(root, others) } else { HashSet::new() };
        let has_begun = |pid: &u32| self.same(earlier, *pid);
        let gone: Vec<&Used> =
            before.iter().filter(|it| !has_begun(it)).filter_map(|it| earlier.processes.get(it)).collect();
        let mut members = self.tree(root, others);
        members.extend(before.iter().filter(|it| has_begun(it)));
        let (mut own_ns, mut ended_ticks) = (0, 0);
        for pid in &members {
            let Some(now) = self.processes.get(pid) else { continue };
            let then = earlier.processes.get(pid).filter(|_| has_begun(pid));
            own_ns += now.own_ns - then.map_or(0, |it| it.own_ns);
            ended_ticks += now.ended_children_ticks - then.map_or(0, |it| it.ended_children_ticks);
        }
        let gone_ns: i64 = gone.iter().map(|it| it.own_ns + it.ended_children_ticks * NS_PER_TICK).sum();
        let of_ended_ns = ended_ticks * NS_PER_TICK - gone_ns;
        let error_ns = ERROR_TICKS * NS_PER_TICK;
        if of_ended_ns < -error_ns {
            return Err(NoCpuTime::Uncollected);
        }
        let spent = own_ns + of_ended_ns.max(0);
        if (ended_ticks > 0 || !gone.is_empty()) && spent < error_ns * LEAST_TIMES_ERROR {
            return Err(NoCpuTime::Coarse);
        }
        Ok(Duration::from_nanos(u64::try_from(spent).unwrap_or(0)))
    }

    /// Whether a pid belongs to the same process in both readings.
    fn same(&self, earlier: &Self, pid: u32) -> bool {
        let pair = self.processes.get(&pid).zip(earlier.processes.get(&pid));
        pair.is_some_and(|(now, then)| now.start_ticks == then.start_ticks)
    }

    /// Returns a process and its descendants, without the processes in `others` and their descendants.
    fn tree(&self, root: u32, others: &HashSet<u32>) -> HashSet<u32> {
        let mut found = HashSet::new();
        let mut parents: Vec<u32> = self.processes.contains_key(&root).then_some(root).into_iter().collect();
        while let Some(parent) = parents.pop() {
            if found.insert(parent) {
                parents.extend(self.children.get(&parent).into_iter().flatten().filter(|it| !others.contains(it)));
            }
        }
        found
    }
}

impl Used {
    fn read(stat: &Stat) -> Option<Self> {
        Some(Self {
            parent: stat.parent,
            start_ticks: stat.start_ticks,
            own_ns: i64::try_from(cpu_ns(stat.pid)?).ok()?,
            ended_children_ticks: i64::try_from(stat.ended_children_ticks).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds readings from each process's pid, parent, start, own CPU time in ms, and ticks of ended children.
    fn times(all: &[(u32, u32, u64, i64, i64)]) -> CpuTimes {
        let used = |(pid, parent, start_ticks, own_ms, ended): &(u32, u32, u64, i64, i64)| {
            let own_ns = own_ms * 1_000_000;
            (*pid, Used { parent: *parent, start_ticks: *start_ticks, own_ns, ended_children_ticks: *ended })
        };
        CpuTimes::new(all.iter().map(used).collect())
    }

    type Processes<'a> = &'a [(u32, u32, u64, i64, i64)];

    #[track_caller]
    fn check(before: Processes<'_>, after: Processes<'_>, expected: Result<u64, NoCpuTime>) {
        let spent = times(after).spent_since(&times(before), 10, &HashSet::from([70]));
        assert_eq!(spent, expected.map(Duration::from_millis));
    }

    #[test]
    fn a_service_has_used_what_its_processes_have_also_those_that_ended() {
        // Two workers, and a server that the first worker has started.
        let before = [(10, 1, 5, 100, 300), (11, 10, 6, 9_000, 0), (12, 10, 6, 50, 0), (70, 11, 7, 400, 0)];
        // The second worker has ended, and its time was not added to any other process.
        let alone = [(10, 1, 5, 101, 300), (11, 10, 6, 9_020, 0), (70, 11, 7, 900, 0)];
        check(&before, &alone, Err(NoCpuTime::Uncollected));
        check(&before, &[(10, 1, 5, 101, 300), (11, 10, 6, 9_020, 0), (12, 10, 6, 52, 0)], Ok(23));
        // The first worker has used 700 ms more and has ended. A process that started and ended in between has used 300
        // ms.
        check(&before, &[(10, 1, 5, 101, 300 + 970 + 30), (12, 10, 6, 52, 0), (70, 1, 7, 900, 0)], Ok(1 + 2 + 1_000));
        // The second worker's parent has ended; the worker still counts.
        check(&before, &[(10, 1, 5, 100, 300), (11, 10, 6, 9_000, 0), (12, 1, 6, 57, 0)], Ok(7));
        // The pid now belongs to another process.
        check(&before, &[(10, 1, 99, 100, 0), (12, 10, 100, 50, 0)], Ok(150));
        check(&before, &[(11, 1, 6, 9_000, 0)], Err(NoCpuTime::Ended));
        check(&[(10, 1, 5, 100, 300)], &[(10, 1, 5, 110, 302)], Err(NoCpuTime::Coarse));
    }

    #[test]
    fn this_process_uses_time() {
        let before = CpuTimes::read(None);
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_millis(20) {}
        let spent = CpuTimes::read(Some(&before)).spent_since(&before, std::process::id(), &HashSet::new());
        // Other tests in this process also use CPU time, and may reap children.
        assert!(spent.is_err() || spent.is_ok_and(|it| it > Duration::from_millis(1)), "{spent:?}");
    }
}
