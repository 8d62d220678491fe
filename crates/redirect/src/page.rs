//! The page that the supervisor and its watchdog share: the calls that are being answered, the progress of each, and
//! the counts.
//!
//! The kernel writes each call directly into its slot. So a supervisor that is killed at any instruction leaves no call
//! that its watchdog does not know. The page consists of plain atomics and of memory that the kernel writes; nothing in
//! it is freed.

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::caller::Changes;
use crate::sys::memory;
use crate::{FallbackReason, Stats};
use looptax_host::seccomp::Call;

/// The page has counters for this many routes; a machine has only a few database servers.
pub(crate) const MAX_ROUTES: usize = 64;
/// Number of calls that can be answered at the same time, each by its own supervisor thread. A call keeps its thread if
/// it has to wait for a place in a socket's queue, or for data that the program discards. If no other thread can take
/// its place, the call does not wait; a `connect` then continues over TCP.
pub(crate) const N_SLOTS: usize = 256;

/// Number of bytes for a call: enough even if later kernels report more about it.
const CALL_BYTES: usize = 256;

pub(crate) mod stage {
    /// Nothing has been done yet.
    pub(crate) const SEEN: u32 = 0;
    /// The program's descriptor may already refer to the new socket.
    pub(crate) const REPLACING: u32 = 1;
}

/// A process of ours that runs in addition to the program's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Helper {
    Watchdog,
    Supervisor,
    Guard,
}

/// A call that is being answered.
#[repr(C, align(64))]
pub(crate) struct Slot {
    call: UnsafeCell<[u64; CALL_BYTES / 8]>,
    stage: AtomicU32,
}

// SAFETY: a slot belongs to one worker at a time (`supervisor::pool` assigns them), and to the watchdog only when that
// worker's process is dead; the kernel's death notice orders the accesses.
unsafe impl Sync for Slot {}

#[repr(C)]
pub(crate) struct Page {
    slots: [Slot; N_SLOTS],
    moved: [AtomicU64; MAX_ROUTES],
    left: [[AtomicU64; FallbackReason::ALL.len()]; MAX_ROUTES],
    /// Process id of the program, stored by the program's own process.
    pub(crate) program_pid: AtomicI32,
    /// How the program ended: 0 while it runs, then `1 << 32` and the wait status.
    ended: AtomicU64,
    /// For each signal number, the time at which the signal reached the supervisor, in ns of the monotonic clock.
    pub(crate) signals_ns: [AtomicU64; 65],
    /// Number of names that all supervisors of this run have tried; it makes each name different.
    pub(crate) serial: AtomicU64,
    /// Whether the program may have set, before connecting a socket, an option that has to be carried over.
    pub(crate) has_set_options: AtomicBool,
    /// Whether the watchdog ended because the program had ended.
    has_left: AtomicBool,
    /// Our own processes, in the order of [`Helper`].
    helpers: [AtomicI32; 3],
    /// Whether the watchdog had to answer in the supervisor's place.
    pub(crate) has_taken_over: AtomicBool,
    /// Changes after which a thread's remembered identity may be outdated.
    pub(crate) changes: Changes,
}

impl Page {
    /// Maps a new page, all zeroes, which is shared with the processes that are forked from now on.
    pub(crate) fn map() -> io::Result<&'static Self> {
        // SAFETY: all zeroes is a valid value of every field; each is an atomic, or a slot's call.
        unsafe { memory::share() }
    }

    /// Clears the page for another run. No process may be using it.
    pub(crate) fn clear(&'static self) -> io::Result<()> {
        // SAFETY: the page was mapped by `map`; the caller ensures that no process uses it.
        unsafe { memory::clear(self) }
    }

    pub(crate) fn note_helper(&self, helper: Helper, pid: i32) {
        self.helpers[helper as usize].store(pid, Ordering::Release);
    }

    /// Returns the process id of the supervisor that was started; it may have died.
    pub(crate) fn supervisor_pid(&self) -> i32 {
        self.helper(Helper::Supervisor)
    }

    pub(crate) fn watchdog_pid(&self) -> i32 {
        self.helper(Helper::Watchdog)
    }

    /// Returns the process id of the guard; 0 before there is one.
    pub(crate) fn guard_pid(&self) -> i32 {
        self.helper(Helper::Guard)
    }

    fn helper(&self, helper: Helper) -> i32 {
        self.helpers[helper as usize].load(Ordering::Acquire)
    }

    /// Returns the ids of this run's processes other than the program's; some may have ended.
    pub(crate) fn helpers(&self) -> Vec<i32> {
        let helpers = self.helpers.iter().map(|it| it.load(Ordering::Acquire));
        helpers.filter(|pid| *pid != 0).collect()
    }

    pub(crate) fn slot(&self, idx: usize) -> &Slot {
        &self.slots[idx]
    }

    /// Returns the slots of calls that a dead supervisor left.
    pub(crate) fn left_behind(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.call().is_some())
    }

    /// Counts a moved connection; returns true if it is the first moved connection of its route.
    pub(crate) fn count_moved(&self, route_idx: usize) -> bool {
        self.moved[route_idx].fetch_add(1, Ordering::Relaxed) == 0
    }

    pub(crate) fn count_left(&self, route_idx: usize, reason: FallbackReason) {
        self.left[route_idx][reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self, n_routes: usize) -> Stats {
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        let left = |counts: &[AtomicU64; FallbackReason::ALL.len()]| {
            let counts = FallbackReason::ALL.into_iter().zip(counts.iter().map(count));
            counts.filter(|(_, n)| *n > 0).collect()
        };
        Stats {
            n_moved: self.moved[..n_routes].iter().map(count).collect(),
            left: self.left[..n_routes].iter().map(left).collect(),
        }
    }

    /// Records that the watchdog is about to end regularly.
    pub(crate) fn set_left(&self) {
        self.has_left.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::SeqCst)
    }

    pub(crate) fn set_ended(&self, wait_status: i32) {
        let value = 1 << 32 | u64::from(wait_status as u32);
        self.ended.store(value, Ordering::Release);
    }

    /// Returns the program's wait status, if it has ended.
    pub(crate) fn ended(&self) -> Option<i32> {
        let value = self.ended.load(Ordering::Acquire);
        (value != 0).then_some((value as u32).cast_signed())
    }
}

impl Slot {
    /// Returns the memory into which the kernel writes the call.
    pub(crate) fn place(&self) -> *mut libc::seccomp_notif {
        self.call.get().cast()
    }

    /// Returns the call that is being answered, if there is one.
    pub(crate) fn call(&self) -> Option<Call> {
        let place = self.place();
        // SAFETY: the memory is large enough, aligned to eight bytes and always initialised; the comment at `Sync` says
        // which threads may read it.
        let notif = unsafe { place.read_volatile() };
        // The kernel numbers calls from a random 64-bit number on, so zero does not occur in practice.
        (notif.id != 0).then_some(Call {
            id: notif.id,
            tid: notif.pid.cast_signed(),
            arch: notif.data.arch,
            number: notif.data.nr,
            args: notif.data.args,
        })
    }

    /// Empties the slot: the call has its answer.
    pub(crate) fn clear(&self) {
        self.stage.store(stage::SEEN, Ordering::Relaxed);
        // SAFETY: as in `call`.
        unsafe { self.call.get().write_volatile([0; CALL_BYTES / 8]) };
    }

    pub(crate) fn stage(&self) -> u32 {
        self.stage.load(Ordering::Acquire)
    }

    /// Records that the program's descriptor is about to be replaced.
    pub(crate) fn begin_replacing(&self) {
        self.stage.store(stage::REPLACING, Ordering::Release);
    }

    /// Records that the program's descriptor was not replaced after all.
    pub(crate) fn end_replacing(&self) {
        self.stage.store(stage::SEEN, Ordering::Release);
    }
}

/// Returns the largest size of a call that the kernel may report.
pub(crate) const fn call_bytes() -> usize {
    CALL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back_by_route_and_reason() {
        let page = Page::map().unwrap();
        page.count_moved(1);
        page.count_left(0, FallbackReason::Full);
        page.count_left(0, FallbackReason::Full);
        let stats = page.stats(2);
        assert_eq!(stats.n_moved, [0, 1]);
        assert_eq!(stats.left, [vec![(FallbackReason::Full, 2)], vec![]]);
        assert_eq!((stats.n_moved(), stats.n_left()), (1, 2));
    }

    #[test]
    fn a_status_of_zero_is_an_end_too() {
        let page = Page::map().unwrap();
        assert_eq!(page.ended(), None);
        page.set_ended(0);
        assert_eq!(page.ended(), Some(0));
        page.set_ended(-1);
        assert_eq!(page.ended(), Some(-1));
    }

    #[test]
    fn a_slot_tells_what_the_kernel_wrote_until_it_is_cleared() {
        let page = Page::map().unwrap();
        let slot = page.slot(3);
        assert!(slot.call().is_none());
        // SAFETY: no other thread uses this page.
        unsafe { (*slot.place()).id = 7 };
        slot.begin_replacing();
        assert_eq!(page.left_behind().count(), 1);
        assert_eq!(slot.stage(), stage::REPLACING);
        slot.clear();
        assert_eq!(page.left_behind().count(), 0);
        assert_eq!(slot.stage(), stage::SEEN);
    }
}
