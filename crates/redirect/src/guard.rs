//! The guard: a process that outlives a killed watchdog for as long as it takes to end the program, too.
//!
//! A user that kills `looptax run` means the program. A parent-death signal cannot do that: the program's parent is the
//! supervisor, and its death by itself changes nothing. And if no process holds the listener of a filter any more, the
//! kernel has every stopped call fail with `ENOSYS`, which it offers no way around.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use crate::descendants;
use crate::launch::Started;
use crate::page::{Helper, Page};
use crate::sys::fork::{self, Never};
use crate::sys::{own_pid, process, wait};
use crate::watchdog::{Config, KILLED_MS, keep};

/// Signals of a terminal that stop the program, and not us.
const STOPS: [i32; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// Starts the guard of this process, which is the watchdog.
///
/// # Errors
/// When it cannot be forked.
pub(crate) fn start(config: &Config, page: &'static Page, started: &Started) -> std::io::Result<()> {
    let watchdog = process::pidfd_open(own_pid(), 0)?;
    let guard = fork::fork(|| guard(config, page, started, &watchdog))?;
    page.note_helper(Helper::Guard, guard);
    Ok(())
}

fn guard(config: &Config, page: &'static Page, started: &Started, watchdog: &OwnedFd) -> Never {
    // Our parent may be killed before it can.
    page.note_helper(Helper::Guard, own_pid());
    fork::withdraw("looptax-guard");
    for signal in STOPS {
        fork::set_disposition(signal, libc::SIG_IGN);
    }
    wait::until(&[(watchdog.as_fd(), libc::POLLIN)]);
    // It ended as it should: another process looks after those that the program left behind.
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

/// Ends all that came from the program: a supervisor that lives is above every process of it, and the first one is
/// above those that it started itself.
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
