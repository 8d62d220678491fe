//! CPU time of a server with all its processes, those that have ended included.
//!
//! A server with a process per connection has lost that process when a connection has ended; its parent
//! has inherited the time. Read before and after each whole run, and each slice of one-shot requests.

use std::path::Path;

use looptax_host::kernel;
use looptax_model::record::TICK_NS;

use crate::sys::process_cpu_ns;

/// CPU of process `pid`, of its children that run, and of those that it has waited for; `None` when
/// it is gone.
///
/// The last part is told in ticks of 10 ms, so that a single short run may show too little and the
/// next one too much; over many runs that evens out.
pub fn cpu_ns(pid: u32) -> Option<u64> {
    let own = process_cpu_ns(pid)?;
    let running = children(pid).filter_map(process_cpu_ns).sum::<u64>();
    let ended = kernel::text(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| ticks_of_ended(&stat))?;
    Some(own + running + ended * TICK_NS)
}

/// CPU of all that process `pid` has started, and of those of them that were waited for; without its own.
///
/// An application's workers come and go below its supervisor, which waits for whoever lost its parent; what
/// [`cpu_ns`] says of ticks holds here, too.
pub fn descendants_cpu_ns(pid: u32) -> Option<u64> {
    let ended = |pid: u32| ticks_of_ended(&kernel::text(format!("/proc/{pid}/stat")).ok()?);
    let own_ns = ended(pid)? * TICK_NS;
    let cpu_ns = |pid| process_cpu_ns(pid).unwrap_or(0) + ended(pid).unwrap_or(0) * TICK_NS;
    Some(own_ns + descendants(pid).map(cpu_ns).sum::<u64>())
}

/// Whether process `pid` was started by `ancestor`, or by one that was.
pub fn is_descendant(pid: u32, ancestor: u32) -> bool {
    descendants(ancestor).any(|it| it == pid)
}

/// The processes that `ancestor` has started, and those that they have.
pub(crate) fn descendants(ancestor: u32) -> impl Iterator<Item = u32> {
    let mut waiting: Vec<u32> = children(ancestor).collect();
    std::iter::from_fn(move || {
        let next = waiting.pop()?;
        waiting.extend(children(next));
        Some(next)
    })
}

/// The children of all threads of a process.
fn children(pid: u32) -> impl Iterator<Item = u32> {
    let tasks = format!("/proc/{pid}/task");
    let threads = kernel::names(&tasks).into_iter().flatten();
    let lists = threads.map(|it| {
        let list = kernel::text(Path::new(&tasks).join(it).join("children"));
        list.unwrap_or_default()
    });
    let lists: Vec<String> = lists.collect();
    let pids: Vec<u32> = { lists.iter() }
        .flat_map(|list| list.split_whitespace())
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
    use std::fs;

    #[test]
    fn the_time_of_ended_children_stands_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 50 60 70 8 20 0 1 0 99";
        assert_eq!(ticks_of_ended(stat), Some(78));
        assert_eq!(ticks_of_ended("7 (a) S 1"), None);
    }

    #[test]
    fn the_time_of_all_that_a_process_started_counts_once() {
        let work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let before_ns = descendants_cpu_ns(std::process::id()).unwrap();
        // A grandchild that is waited for, and one that goes on.
        let script = format!("sh -c '{work}'; {work}; read line");
        let mut child = std::process::Command::new("sh")
            .args(["-c", &script])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let is_idle = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            children(child.id()).next().is_none() && stat.contains(") S")
        };
        let mut own_ns = 0;
        while own_ns == 0 || !is_idle() {
            std::thread::yield_now();
            own_ns = process_cpu_ns(child.id()).unwrap();
        }
        let own_ns = process_cpu_ns(child.id()).unwrap();
        let all_ns = descendants_cpu_ns(std::process::id()).unwrap() - before_ns;
        assert!(
            own_ns > 0 && all_ns > own_ns,
            "{all_ns} of all, {own_ns} of one"
        );
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn our_own_process_has_used_cpu_and_no_process_has_none() {
        assert!(cpu_ns(std::process::id()).is_some_and(|ns| ns > 0));
        assert_eq!(cpu_ns(u32::MAX), None);
    }
}
