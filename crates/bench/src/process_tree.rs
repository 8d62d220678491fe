//! CPU time of a server with all its processes, those that have ended included.
//!
//! A server with a process per connection has lost that process when a connection has ended; its parent
//! has inherited the time. Read before and after each whole run, and each slice of one-shot requests.

use std::fs;

use looptax_record::TICK_NS;

use crate::sys::process_cpu_ns;

/// CPU of process `pid`, of its children that run, and of those that it has waited for; `None` when
/// it is gone.
///
/// The last part is told in ticks of 10 ms, so that a single short run may show too little and the
/// next one too much; over many runs that evens out.
pub(crate) fn cpu_ns(pid: u32) -> Option<u64> {
    let own = process_cpu_ns(pid)?;
    let running = children(pid).filter_map(process_cpu_ns).sum::<u64>();
    let ended = fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| ticks_of_ended(&stat))?;
    Some(own + running + ended * TICK_NS)
}

fn children(pid: u32) -> impl Iterator<Item = u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let pids: Vec<u32> = list
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    pids.into_iter()
}

/// `cutime` and `cstime`.
///
/// # Source
/// `proc_pid_stat(5)`: fields 16 and 17; the second field is a name that may hold anything.
fn ticks_of_ended(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_ended_children_stands_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 50 60 70 8 20 0 1 0 99";
        assert_eq!(ticks_of_ended(stat), Some(78));
        assert_eq!(ticks_of_ended("7 (a) S 1"), None);
    }

    #[test]
    fn our_own_process_has_used_cpu_and_no_process_has_none() {
        assert!(cpu_ns(std::process::id()).is_some_and(|ns| ns > 0));
        assert_eq!(cpu_ns(u32::MAX), None);
    }
}
