//! The guard: a process that survives if the watchdog is killed, and then ends the program.
//!
//! A user who kills `looptax run` means to end the program. A parent-death signal cannot do that: the program's parent
//! is the supervisor, whose death by itself changes nothing. And once no process holds the filter's listener, the
//! kernel makes every stopped call fail with `ENOSYS`, which cannot be prevented.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use crate::descendants;
use crate::launch::Started;
use crate::page::{Helper, Page};
use crate::sys::fork::{self, Never};
use crate::sys::{own_pid, process, wait};
use crate::watchdog::{Config, KILLED_MS, keep};

/// A terminal's signals that should stop the program but not us.
const STOPS: [i32; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// Starts the guard of this process, which is the watchdog.
///
/// # Errors
/// If the guard cannot be forked.
pub(crate) fn start(config: &Config, page: &'static Page, started: &Started) -> std::io::Result<()> {
    let watchdog = process::pidfd_open(own_pid(), 0)?;
    let guard = fork::fork(|| guard(config, page, started, &watchdog))?;
    page.note_helper(Helper::Guard, guard);
    Ok(())
}

fn guard(config: &Config, page: &'static Page, started: &Started, watchdog: &OwnedFd) -> Never {
    // Our parent also records this number, but may be killed before it does.
    page.note_helper(Helper::Guard, own_pid());
    fork::withdraw("looptax-guard");
    for signal in STOPS {
        fork::set_disposition(signal, libc::SIG_IGN);
    }
    wait::until(&[(watchdog.as_fd(), libc::POLLIN)]);
    // The watchdog ended regularly: another process serves the processes that the program left behind.
    if page.has_left() {
        return fork::end(0);
    }
    if config.ends_all {
        return end_all(page, started);
    }
    if !config.keeps_running
        && page.ended().is_none()
        && let Some(program) = &started.program
    {
        let _ = process::pidfd_signal(program.as_fd(), libc::SIGKILL);
    }
    match started.supervisor.try_clone() {
        Ok(supervisor) => keep(config, page, started, &supervisor),
        Err(_) => fork::end(0),
    }
}

/// Ends all processes of the program: the supervisor's descendants, if the supervisor lives; then the program's first
/// process and its descendants.
fn end_all(page: &Page, started: &Started) -> Never {
    let program_pid = page.program_pid.load(Ordering::Acquire);
    if lives(&started.supervisor) {
        let is_over = || started.listener.is_deserted(KILLED_MS) || !lives(&started.supervisor);
        descendants::kill_until(&[started.supervisor_pid], &[], || {}, is_over);
    }
    if let Some(program) = started.program.as_ref().filter(|it| lives(it)) {
        descendants::kill_all(&[program_pid], &[], || {});
        let _ = process::pidfd_signal(program.as_fd(), libc::SIGKILL);
    }
    let _ = process::pidfd_signal(started.supervisor.as_fd(), libc::SIGKILL);
    fork::end(0)
}

fn lives(process: &OwnedFd) -> bool {
    !wait::has_happened(process.as_fd(), libc::POLLIN)
}
