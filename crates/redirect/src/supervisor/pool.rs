//! The threads of a supervisor: one always waits for a call, and there are more only if calls take long.
//!
//! For each call the kernel wakes all waiting threads, so there are few of them. A thread that is about to wait for
//! something else first starts another thread. A thread that has finished a call and finds enough waiting threads ends.
//! A call may also wait unexpectedly, for example for memory that a program supplies itself (userfaultfd); `monitor`
//! then ensures that other calls do not have to wait, too.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use super::Supervisor;
use crate::page::N_SLOTS;
use looptax_host::seccomp;

use crate::sys::schedule;

/// Number of threads that wait for a call.
///
/// If two threads waited, every call would wake both threads, one of them unnecessarily. Connections were a fifth
/// slower with two waiting threads (2026-11, two cores).
const N_WAITING: usize = 1;
/// If calls take longer than this, another thread is started for other calls.
const LONG: Duration = Duration::from_millis(20);
const STACK_BYTES: usize = 128 * 1024;

pub(super) struct Pool {
    n_waiting: AtomicUsize,
    free_slots: Mutex<Vec<usize>>,
    supervisor: Mutex<Weak<Supervisor>>,
    n_received: AtomicU64,
    /// Whether the monitor sleeps until the next call.
    is_idle: AtomicBool,
    monitor: OnceLock<Thread>,
}

impl Pool {
    pub(super) fn new() -> Self {
        Self {
            n_waiting: AtomicUsize::new(0),
            free_slots: Mutex::new((0..N_SLOTS).rev().collect()),
            supervisor: Mutex::default(),
            n_received: AtomicU64::new(0),
            is_idle: AtomicBool::new(false),
            monitor: OnceLock::new(),
        }
    }
}

/// Starts the first threads.
pub(super) fn start(supervisor: &Arc<Supervisor>) -> io::Result<()> {
    let own = Arc::downgrade(supervisor);
    let mut place = supervisor.pool.supervisor.lock().unwrap_or_else(PoisonError::into_inner);
    *place = own;
    drop(place);
    for _ in 0..N_WAITING {
        spawn(supervisor)?;
    }
    let watched = Arc::downgrade(supervisor);
    let monitor = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || monitor(&watched))?;
    let _ = supervisor.pool.monitor.set(monitor.thread().clone());
    Ok(())
}

/// Starts another thread if all threads have been busy with the same calls for longer than [`LONG`]. Sleeps while there
/// are no calls.
fn monitor(supervisor: &Weak<Supervisor>) {
    let mut n_before = u64::MAX;
    while let Some(supervisor) = supervisor.upgrade() {
        let pool = &supervisor.pool;
        let n_now = pool.n_received.load(Ordering::SeqCst);
        if n_now != n_before {
            n_before = n_now;
        } else if pool.n_waiting.load(Ordering::SeqCst) < N_WAITING {
            stand_in(&supervisor);
        } else {
            pool.is_idle.store(true, Ordering::SeqCst);
            if pool.n_received.load(Ordering::SeqCst) == n_now {
                thread::park();
            }
            pool.is_idle.store(false, Ordering::SeqCst);
            continue;
        }
        drop(supervisor);
        thread::sleep(LONG);
    }
}

/// Ensures that another thread waits for calls while this thread does something else. Returns false if that is
/// impossible.
pub(super) fn stand_in(supervisor: &Supervisor) -> bool {
    if supervisor.pool.n_waiting.load(Ordering::SeqCst) >= N_WAITING {
        return true;
    }
    let place = supervisor.pool.supervisor.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(supervisor) = place.upgrade() else {
        return false;
    };
    drop(place);
    spawn(&supervisor).is_ok()
}

fn spawn(supervisor: &Arc<Supervisor>) -> io::Result<()> {
    let pool = &supervisor.pool;
    let mut free = pool.free_slots.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(slot_idx) = free.pop() else {
        return Err(io::Error::from_raw_os_error(libc::EAGAIN));
    };
    let worker = Arc::clone(supervisor);
    pool.n_waiting.fetch_add(1, Ordering::SeqCst);
    let started = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || work(&worker, slot_idx));
    if started.is_err() {
        pool.n_waiting.fetch_sub(1, Ordering::SeqCst);
        free.push(slot_idx);
    }
    started.map(drop)
}

/// Runs the main loop of a thread, which counts as waiting from the start.
fn work(supervisor: &Supervisor, slot_idx: usize) {
    let pool = &supervisor.pool;
    let slot = supervisor.page.slot(slot_idx);
    // If the kernel refuses the short time slices, the only effect is that answers take a few microseconds longer.
    let _ = schedule::ask_for_short_turns();
    loop {
        // SAFETY: the slot belongs to this thread and is empty.
        let received = unsafe { supervisor.listener.receive(slot.place()) };
        pool.n_waiting.fetch_sub(1, Ordering::SeqCst);
        pool.n_received.fetch_add(1, Ordering::SeqCst);
        if pool.is_idle.load(Ordering::SeqCst)
            && let Some(monitor) = pool.monitor.get()
        {
            monitor.unpark();
        }
        match received {
            Ok(()) => supervisor.handle(slot),
            Err(error) if seccomp::is_passing(&error) && !supervisor.listener.is_deserted(0) => {
                slot.clear();
            }
            // No thread is left that could make a call.
            Err(_) => return,
        }
        if pool.n_waiting.fetch_add(1, Ordering::SeqCst) >= N_WAITING {
            break;
        }
    }
    pool.n_waiting.fetch_sub(1, Ordering::SeqCst);
    let mut free = pool.free_slots.lock().unwrap_or_else(PoisonError::into_inner);
    free.push(slot_idx);
}
