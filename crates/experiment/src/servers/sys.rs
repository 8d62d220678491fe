//! The system calls that need `unsafe`: the calls of a child between fork and exec, and the calls for System V shared
//! memory. The module `servers` has no other unsafe code.
//!
//! The closures run in a forked child of a process that may have several threads, so they only make system calls, and
//! neither allocate nor lock.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Resource, Rlimit, Signal};

/// Prepares the child in three ways: the child gets its death signal when the thread that starts it ends; the child has
/// a separate process group, so that Ctrl-C at the terminal reaches only looptax; the child's soft limit on open files
/// is raised to the hard limit.
///
/// The closure runs after the change of user, because that change would clear the death signal.
pub(crate) fn tie_to_us(command: &mut Command, death_signal: Signal) {
    command.process_group(0);
    let parent = rustix::process::getpid();
    let prepare = move || {
        rustix::process::set_parent_process_death_signal(Some(death_signal))?;
        if rustix::process::getppid() != Some(parent) {
            // looptax had already ended before the death signal was set.
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let files = rustix::process::getrlimit(Resource::Nofile);
        let raised = Rlimit { current: files.maximum, maximum: files.maximum };
        // If raising the limit fails, the server can still start with the old limit.
        rustix::process::setrlimit(Resource::Nofile, raised).ok();
        Ok(())
    };
    // SAFETY: the closure makes four system calls through rustix, which neither allocate nor lock.
    unsafe { command.pre_exec(prepare) };
}

/// Puts the child into a separate session, and makes it ignore the signals of a terminal or a logout.
pub(crate) fn detach(command: &mut Command) {
    let prepare = || {
        rustix::process::setsid()?;
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            // SAFETY: SIG_IGN is a valid disposition for these signals, and remains set after exec.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        Ok(())
    };
    // SAFETY: setsid and signal are async-signal-safe; the closure does nothing else.
    unsafe { command.pre_exec(prepare) };
}

/// Removes a System V shared memory segment, if its key and its creator are the given ones, and if no process is
/// attached to it.
///
/// PostgreSQL uses such a segment as a lock on its data folder, and leaves the segment behind when it is killed.
pub(crate) fn remove_unused_segment(id: i32, key: i32, creator_uid: u32) {
    // SAFETY: shmid_ds is plain data, for which all zeroes is a valid value.
    let mut segment: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: the third argument points to a valid shmid_ds, which IPC_STAT fills.
    if unsafe { libc::shmctl(id, libc::IPC_STAT, &raw mut segment) } != 0 {
        return;
    }
    let is_ours = segment.shm_perm.__key == key && segment.shm_perm.cuid == creator_uid;
    if is_ours && segment.shm_nattch == 0 {
        // SAFETY: IPC_RMID takes no argument; the check above has shown that this is the intended segment.
        unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}
