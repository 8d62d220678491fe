//! Stops a server: all its processes get SIGSTOP, and at the end SIGCONT, even after an error.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use looptax_host::{processes, waiting};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Maximum number of checks until all processes are stopped; the next constant is the pause between two checks.
const LOOKS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// Processes that are stopped until this value is dropped.
pub(super) struct Stopped(HashMap<u32, OwnedFd>);

impl Stopped {
    /// Stops these processes and all their descendants, and waits until the kernel reports them as stopped.
    ///
    /// # Errors
    /// A process does not stop; in this case the other processes continue.
    pub(super) fn stop(roots: &[u32]) -> io::Result<Self> {
        let mut stopped = Self(HashMap::new());
        for _ in 0..LOOKS {
            let others = processes::descendants(roots).into_iter().map(|it| it.pid);
            let all: Vec<u32> = roots.iter().copied().chain(others).collect();
            for pid in &all {
                stopped.signal(*pid)?;
            }
            if all.iter().all(|pid| processes::stat(*pid).is_none_or(|it| it.is_stopped || it.has_ended)) {
                return Ok(stopped);
            }
            waiting::pause(PAUSE);
        }
        Err(io::Error::other("the server's processes did not stop after SIGSTOP"))
    }

    fn signal(&mut self, pid: u32) -> io::Result<()> {
        if self.0.contains_key(&pid) {
            return Ok(());
        }
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        // A process that has ended after it was listed need not be stopped.
        let Some(Ok(handle)) = number.map(|it| pidfd_open(it, PidfdFlags::empty())) else {
            return Ok(());
        };
        pidfd_send_signal(&handle, Signal::STOP)?;
        self.0.insert(pid, handle);
        Ok(())
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        for handle in self.0.values() {
            // A process that has ended needs no signal.
            pidfd_send_signal(handle, Signal::CONT).ok();
        }
    }
}
