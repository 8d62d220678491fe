//! Waits for calls of a program's other threads that looked up a file before the file was exchanged and that have not
//! ended yet.

use std::time::Duration;

use looptax_host::kernel;

use crate::sys::wait;

/// Time within which a call of `epoll_ctl` ends, once it has a core and its queue's lock.
const LAST_CALL: Duration = Duration::from_micros(30);
/// The longest wait, for a program with more threads than cores.
const LONGEST_NS: u64 = 20_000_000;

/// Waits until calls that had looked up the old file have ended, but no longer than [`LONGEST_NS`].
///
/// A running call ends by itself. A call that waits for its queue's lock, or that got the lock and waits for a core,
/// ends only after its thread has run again. We may hold that lock ourselves, because reading a queue's `fdinfo` takes
/// it.
pub(super) fn let_end(pid: i32, caller: i32) {
    let until_ns = wait::monotonic_ns() + LONGEST_NS;
    let names = kernel::names(format!("/proc/{pid}/task")).into_iter().flatten();
    let tids = names.filter_map(|it| it.to_str()?.parse().ok()).filter(|tid| *tid != caller);
    let mut held_up: Vec<HeldUp> = tids.filter_map(|tid| HeldUp::of(pid, tid)).collect();
    wait::yield_for(LAST_CALL);
    while !held_up.is_empty() && wait::monotonic_ns() < until_ns {
        held_up.retain(|it| HeldUp::of(pid, it.tid).is_some_and(|now| now.in_lock || now.n_turns == it.n_turns));
        wait::yield_for(LAST_CALL);
    }
}

/// A thread that is not running, and may be in a call that had looked up the old file.
struct HeldUp {
    tid: i32,
    /// Whether the thread waits for a queue's lock.
    in_lock: bool,
    /// How often the thread has been given a core so far.
    n_turns: u64,
}

impl HeldUp {
    /// Inspects a thread. `None` if the thread runs, sleeps in another call, or has ended.
    ///
    /// # Source
    /// `proc_pid_stat(5)` and `proc_pid_syscall(5)`; the kernel's Documentation/scheduler/sched-stats.rst: the third
    /// number of `schedstat` counts a thread's turns. `__schedule` of kernel/sched/core.c counts the ends of these
    /// turns as context switches.
    fn of(pid: i32, tid: i32) -> Option<Self> {
        let text = |name: &str| kernel::text(format!("/proc/{pid}/task/{tid}/{name}")).ok();
        let stat = text("stat")?;
        let in_lock = match stat.rsplit_once(") ")?.1.chars().next()? {
            'D' => is_epoll_ctl(&text("syscall")?),
            'R' => false,
            _ => return None,
        };
        let n_turns = turns(&text("schedstat")?)?;
        let is_held_up = in_lock || n_turns <= ended_turns(&text("status")?)?;
        is_held_up.then_some(Self { tid, in_lock, n_turns })
    }
}

fn is_epoll_ctl(syscall: &str) -> bool {
    syscall.split_whitespace().next() == Some(&libc::SYS_epoll_ctl.to_string())
}

/// Returns the number of turns; `None` if the kernel does not count them.
fn turns(schedstat: &str) -> Option<u64> {
    let count: u64 = schedstat.split_whitespace().nth(2)?.parse().ok()?;
    (count > 0).then_some(count)
}

fn ended_turns(status: &str) -> Option<u64> {
    let count = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some(count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_that_sleeps_or_has_its_core_is_not_held_up_and_one_without_a_core_is() {
        let pid = std::process::id().cast_signed();
        let link = kernel::link("/proc/thread-self").unwrap();
        let own = link.file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert!(HeldUp::of(pid, own).is_none(), "it runs");
        let is_over = AtomicBool::new(false);
        let n_threads = 4 * thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 0..n_threads {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let names = || kernel::names(format!("/proc/{pid}/task")).into_iter().flatten();
            let tids = || names().filter_map(|it| it.to_str()?.parse().ok());
            // More threads run than there are cores, so some of them have to wait for a core.
            let begun_ns = wait::monotonic_ns();
            while tids().find_map(|tid| HeldUp::of(pid, tid)).is_none() {
                assert!(wait::monotonic_ns() - begun_ns < 30_000_000_000, "each of {n_threads} threads has a core");
            }
            let_end(pid, own);
            is_over.store(true, Relaxed);
        });
    }

    #[test]
    fn what_the_kernel_writes_is_read() {
        assert!(is_epoll_ctl(&format!("{} 0x4 0x3 0x5\n", libc::SYS_epoll_ctl)));
        assert!(!is_epoll_ctl("running\n"));
        assert_eq!(turns("125958 4971896 2\n"), Some(2));
        assert_eq!(turns("0 0 0\n"), None);
        let status = "Threads:\t1\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(ended_turns(status), Some(9));
    }
}
