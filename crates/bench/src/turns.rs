//! Scheduling in turns: each end of a connection gets the core only when the other end gives it up.
//!
//! Under normal scheduling, a process that has used less CPU time than the running process takes the core as soon as it
//! is woken. So a change that makes one end slower also changes how often the ends take the core from each other, and
//! the measured cost of the change includes this effect. With real-time priority (`SCHED_FIFO`, the same for both ends)
//! the core is never taken. Used only for positive controls: in practice programs do not run that way.

use std::io;

use looptax_host::processes;

use crate::sys;

/// `SCHED_FIFO` priority of both ends: the lowest, because the two priorities only need to be equal.
const PRIORITY: i32 = 1;

/// Makes the two ends take turns until this value is dropped.
#[derive(Debug)]
pub struct InTurns {
    server_pids: Vec<u32>,
}

impl InTurns {
    /// Gives real-time priority to the calling thread and to all threads of the server's processes. Threads that these
    /// threads start later inherit the priority.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] if this process has neither root rights nor `CAP_SYS_NICE` nor a limit that
    /// allows real-time priority; normal scheduling is then restored.
    pub fn start(server_pids: &[u32]) -> io::Result<Self> {
        let turns = Self { server_pids: server_pids.to_vec() };
        sys::schedule(0, libc::SCHED_FIFO, PRIORITY)?;
        for pid in server_pids {
            for tid in processes::threads(*pid)? {
                ignoring_ended(sys::schedule(tid, libc::SCHED_FIFO, PRIORITY))?;
            }
        }
        Ok(turns)
    }
}

impl Drop for InTurns {
    fn drop(&mut self) {
        let pids = self.server_pids.iter();
        let server = pids.flat_map(|pid| processes::threads(*pid).unwrap_or_default());
        for tid in std::iter::once(0).chain(server) {
            // Lowering the priority is always allowed, and unnecessary for a thread that has ended.
            let _ = sys::schedule(tid, libc::SCHED_OTHER, 0);
        }
    }
}

fn ignoring_ended(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Returns the policy of a thread: field 41 of proc(5)'s `stat`.
    fn policy(tid: u32) -> i32 {
        let stat = fs::read_to_string(format!("/proc/{tid}/stat")).unwrap();
        let after_name = stat.rsplit_once(')').unwrap().1;
        after_name.split_whitespace().nth(38).unwrap().parse().unwrap()
    }

    #[test]
    fn both_ends_take_turns_until_it_is_dropped() {
        let mut server = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        match InTurns::start(&[server.id()]) {
            Ok(turns) => {
                assert_eq!(policy(server.id()), libc::SCHED_FIFO);
                drop(turns);
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
        assert_eq!(policy(server.id()), libc::SCHED_OTHER);
        let own = fs::read_link("/proc/thread-self").unwrap();
        let tid = own.file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert_eq!(policy(tid), libc::SCHED_OTHER);
        drop(server.stdin.take());
        server.wait().unwrap();
    }
}
