//! Remembers facts about the program's processes: their event queues and rings, and whether their arguments or
//! environment demand TCP.
//!
//! Reading the descriptors of a process takes long if the process has many. So the descriptors are read once per
//! process, and again after the process has made a queue. A queue that the process got in another way (passed to it,
//! copied) is found when the remembered facts have expired.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use looptax_host::kernel;

use crate::caller::Caller;
use crate::demands::Demands;
use crate::sys::{process, wait};
use crate::{Features, Mapping};

/// With more processes than this, the facts about all of them are forgotten; each process is inspected again when it
/// connects.
const MAX_PROCESSES: usize = 4_096;
/// Maximum number of processes whose demands are remembered; each process takes a descriptor.
const MAX_DEMANDS: usize = 64;
/// A new event queue appears among its process's descriptors shortly after looptax has seen the call that makes the
/// queue. An inspection at least this long after that call finds the queue.
const SETTLING_NS: u64 = 10_000_000;
/// How long the result of an inspection stays valid.
const FRESH_NS: u64 = 5_000_000_000;

#[derive(Debug, Default)]
pub(crate) struct Processes {
    known: Mutex<HashMap<i32, Known>>,
}

/// Descriptors through which a process gets events of its sockets, or uses them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Descriptors {
    pub(crate) queues: Vec<i32>,
    /// The process's rings (`io_uring`).
    pub(crate) rings: Vec<i32>,
}

#[derive(Debug, Default)]
struct Known {
    /// The process's number, which no other process ever had.
    number: u64,
    descriptors: Descriptors,
    /// When the process's descriptors were last read; `None` before the first time.
    looked_ns: Option<u64>,
    /// When the process last made a queue or a ring that the inspections may have missed.
    made_ns: Option<u64>,
    /// Which routes the process's arguments or environment keep on TCP.
    demands: Option<Demands>,
}

impl Processes {
    /// Records that a process makes an event queue or a ring.
    pub(crate) fn note_queue(&self, pid: i32) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(pid).or_default().made_ns = Some(wait::monotonic_ns());
    }

    /// Returns the event queues and rings of the caller's process.
    pub(crate) fn descriptors(&self, caller: &Caller, pid: i32, features: Features) -> Descriptors {
        let number = caller.number(pid, features).unwrap_or_default();
        let now = wait::monotonic_ns();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entry(&mut known, pid, number);
        let is_fresh = entry.looked_ns.is_some_and(|at| now - at < FRESH_NS && entry.made_ns.is_none());
        if is_fresh && number != 0 {
            return entry.descriptors.clone();
        }
        entry.descriptors = look_for(caller.tid).unwrap_or_default();
        entry.looked_ns = Some(now);
        if entry.made_ns.is_some_and(|at| now - at >= SETTLING_NS) {
            entry.made_ns = None;
        }
        entry.descriptors.clone()
    }

    pub(crate) fn has_queues(&self, caller: &Caller, pid: i32, features: Features) -> bool {
        !self.descriptors(caller, pid, features).queues.is_empty()
    }

    /// Returns whether the process's arguments or environment contain words that keep the route on TCP.
    pub(crate) fn is_demanded(
        &self,
        caller: &Caller,
        pid: i32,
        features: Features,
        mapping: &Mapping,
        route_idx: usize,
    ) -> bool {
        if mapping.routes[route_idx].demands.is_empty() {
            return false;
        }
        let number = caller.number(pid, features).unwrap_or_default();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let own = entry(&mut known, pid, number);
        let is_current = |it: &Demands| number != 0 && it.is_current();
        if let Some(demands) = own.demands.as_ref().filter(|it| is_current(it)) {
            return demands.keeps(route_idx);
        }
        own.demands = None;
        let demands = Demands::read(caller.tid, mapping);
        let is_kept = demands.keeps(route_idx);
        if known.values().filter(|it| it.demands.is_some()).count() >= MAX_DEMANDS {
            known.values_mut().for_each(|it| it.demands = None);
        }
        entry(&mut known, pid, number).demands = Some(demands);
        is_kept
    }
}

fn entry(known: &mut HashMap<i32, Known>, pid: i32, number: u64) -> &mut Known {
    if known.len() > MAX_PROCESSES {
        known.clear();
    }
    let entry = known.entry(pid).or_default();
    if entry.number != number {
        // Another process has this id now. `made_ns` is kept, because the inspections may have missed a queue that the
        // new process has made.
        *entry = Known { number, made_ns: entry.made_ns, ..Known::default() };
    }
    entry
}

fn look_for(tid: i32) -> io::Result<Descriptors> {
    let mut found = Descriptors::default();
    for name in kernel::names(format!("/proc/{tid}/fd"))? {
        let Some(fd) = name.to_str().and_then(|it| it.parse().ok()) else {
            continue;
        };
        let target = process::link(&format!("/proc/{tid}/fd/{fd}"));
        match target.as_deref() {
            Ok(b"anon_inode:[eventpoll]") => found.queues.push(fd),
            Ok(b"anon_inode:[io_uring]") => found.rings.push(fd),
            _ => {}
        }
    }
    Ok(found)
}

/// Returns whether a ring holds files itself, or waits for events of files; the exchange of a socket would not reach
/// such a ring. If the kernel does not report this, returns true.
///
/// # Source
/// `io_uring/fdinfo.c`: `UserFiles:` with the number of files, and `PollList:` followed by a line for each wait for
/// events.
pub(crate) fn holds_files(tid: i32, ring: i32) -> bool {
    let text = kernel::text(format!("/proc/{tid}/fdinfo/{ring}")).unwrap_or_default();
    let mut after_list = text.lines().skip_while(|line| !line.starts_with("PollList:"));
    let is_list_empty = after_list.next().is_some() && after_list.next().is_none_or(|line| !line.starts_with(' '));
    let has_no_files = text.lines().any(|line| {
        let n = line.strip_prefix("UserFiles:");
        n.is_some_and(|n| n.trim() == "0")
    });
    !(is_list_empty && has_no_files)
}
