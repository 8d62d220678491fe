//! CPU time of a server with all its processes, including those that have ended.
//!
//! If a server has a process per connection, that process ends with the connection, and its parent inherits its CPU
//! time. looptax reads the CPU time before and after each whole run, and before and after each slice of one-shot
//! requests.

use looptax_host::processes::{descendant_pids, stat};
use looptax_model::record::TICK_NS;

use crate::sys::process_cpu_ns;

/// Returns the CPU time of process `pid` and of its descendants: those that run, and those that have ended and were
/// waited for. `None` if `pid` has ended.
///
/// The kernel reports a part of this time in ticks of 10 ms, so the result can be too low for one short run and too
/// high for the next; over many runs the error averages out.
pub fn cpu_ns(pid: u32) -> Option<u64> {
    let own = process_cpu_ns(pid)?;
    Some(own + descendants_cpu_ns(pid)?)
}

/// Returns the CPU time of all processes that process `pid` has started, including those that have ended and were
/// waited for, without the CPU time of `pid` itself.
///
/// An application's workers start and end below its supervisor, which waits for processes that lost their parent. The
/// remark about ticks at [`cpu_ns`] applies to this function, too.
pub fn descendants_cpu_ns(pid: u32) -> Option<u64> {
    let ended = |pid: u32| Some(stat(pid)?.ended_children_ticks * TICK_NS);
    let own_ns = ended(pid)?;
    let cpu_ns = |pid: &u32| process_cpu_ns(*pid).unwrap_or(0) + ended(*pid).unwrap_or(0);
    Some(own_ns + descendant_pids(pid, usize::MAX).iter().map(cpu_ns).sum::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_time_of_all_that_a_process_started_counts_once() {
        let work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let before_ns = descendants_cpu_ns(std::process::id()).unwrap();
        // The child waits for a grandchild that works, then works itself and keeps running.
        let script = format!("sh -c '{work}'; {work}; read line");
        let mut child =
            std::process::Command::new("sh").args(["-c", &script]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let is_idle = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            descendant_pids(child.id(), 1).is_empty() && stat.contains(") S")
        };
        let mut own_ns = 0;
        while own_ns == 0 || !is_idle() {
            std::thread::yield_now();
            own_ns = process_cpu_ns(child.id()).unwrap();
        }
        let own_ns = process_cpu_ns(child.id()).unwrap();
        let all_ns = descendants_cpu_ns(std::process::id()).unwrap() - before_ns;
        assert!(own_ns > 0 && all_ns > own_ns, "{all_ns} of all, {own_ns} of one");
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn our_own_process_has_used_cpu_and_no_process_has_none() {
        assert!(cpu_ns(std::process::id()).is_some_and(|ns| ns > 0));
        assert_eq!(cpu_ns(u32::MAX), None);
    }
}
