//! Finds out which features the kernel, and a sandbox around looptax, allow. Each feature is tried; none is inferred
//! from a version.
//!
//! A child process installs the real filter and makes one call; this process then handles the call as the supervisor
//! will handle the program's calls.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::page::Page;
use crate::sys::fork::{self, Never};
use crate::sys::{errno, own_pid, pass, process, socket, wait};
use crate::{Switches, filter, page};
use looptax_host::seccomp::{self, Answer, Listener};

/// Features of the kernel that looptax uses if they exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each feature is present or absent, independently of the others")]
pub struct Features {
    /// Whether the supervisor is woken on the caller's core.
    pub has_sync_wake_up: bool,
    /// Whether only a fatal signal ends a call that the supervisor has seen.
    pub has_wait_killable: bool,
    pub has_thread_pidfd: bool,
    /// Whether the kernel reports a thread's user through the thread's pidfd.
    pub has_pidfd_info: bool,
    /// Whether processes have numbers that are never reused.
    pub has_pidfs: bool,
    pub has_netns_cookie: bool,
    pub has_kcmp: bool,
    /// Whether the program cannot gain rights when it executes another program (sudo); without root, a filter requires
    /// this.
    pub needs_no_new_privileges: bool,
}

/// The reason why connections cannot be moved.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// The kernel cannot stop calls for a supervisor.
    #[error("the kernel does not allow a process to answer another process's system calls (seccomp user notification)")]
    NoNotification(#[source] io::Error),
    #[error("another program already answers this process's system calls: a container runtime, or looptax itself")]
    Supervised,
    /// A call that the supervisor needs is not allowed.
    #[error("{call} is forbidden (by Yama's ptrace_scope, or by a container's profile)")]
    Forbidden { call: &'static str, source: io::Error },
    #[error("looptax tested whether it can answer system calls; the test failed at {step}")]
    Trial { step: &'static str, source: io::Error },
}

/// How long the child process may take for its call.
const PATIENCE_MS: i32 = 5_000;

/// Tries all features. `switches` turn off features that exist.
///
/// Call it while the process has only one thread.
///
/// # Errors
/// The first necessary feature that is missing.
///
/// # Cost
/// One process and some twenty system calls.
pub fn probe(switches: Switches) -> Result<Features, Obstacle> {
    if switches.no_listener {
        return Err(Obstacle::NoNotification(io::Error::from_raw_os_error(libc::ENOSYS)));
    }
    let n_bytes = seccomp::call_bytes().map_err(Obstacle::NoNotification)?;
    if n_bytes > page::call_bytes() {
        return Err(Obstacle::NoNotification(io::Error::from_raw_os_error(libc::E2BIG)));
    }
    let failed = |step| move |source| Obstacle::Trial { step, source };
    let (ours, its) = pass::pair().map_err(failed("socketpair"))?;
    let target = socket::stream(libc::AF_INET).map_err(failed("socket"))?;
    let pid = fork::fork(|| child(&its, &target)).map_err(failed("fork"))?;
    drop(its);
    let found = examine(&ours, pid, &target);
    // The child is our own and no longer needed, whatever it waits for.
    wait::kill_child(pid);
    found.map(|it| without(it, switches))
}

fn without(found: Features, switches: Switches) -> Features {
    Features {
        has_sync_wake_up: found.has_sync_wake_up && !switches.no_sync_wake_up,
        has_wait_killable: found.has_wait_killable && !switches.no_wait_killable,
        has_thread_pidfd: found.has_thread_pidfd && !switches.no_thread_pidfd,
        has_pidfd_info: found.has_pidfd_info && !switches.no_pidfd_info && !switches.no_thread_pidfd,
        has_pidfs: found.has_pidfs && !switches.no_pidfs,
        has_netns_cookie: found.has_netns_cookie && !switches.no_netns_cookie,
        has_kcmp: found.has_kcmp && !switches.no_kcmp,
        needs_no_new_privileges: found.needs_no_new_privileges,
    }
}

/// The filter of this process, with the features of the kernel that it uses.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) listener: OwnedFd,
    pub(crate) has_wait_killable: bool,
    pub(crate) needs_no_new_privileges: bool,
}

/// Installs the filter for this process.
pub(crate) fn install(wants_wait_killable: bool) -> io::Result<Installed> {
    match install_as_we_are(wants_wait_killable) {
        Err(error) if errno(&error) == libc::EACCES => {
            fork::give_up_new_privileges()?;
            let installed = install_as_we_are(wants_wait_killable)?;
            Ok(Installed { needs_no_new_privileges: true, ..installed })
        }
        other => other,
    }
}

fn install_as_we_are(wants_wait_killable: bool) -> io::Result<Installed> {
    let program = filter::program();
    let installed =
        |has_wait_killable| move |listener| Installed { listener, has_wait_killable, needs_no_new_privileges: false };
    if wants_wait_killable {
        let flag = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        match seccomp::install(&program, flag) {
            Err(error) if errno(&error) == libc::EINVAL => {}
            other => return other.map(installed(true)),
        }
    }
    seccomp::install(&program, 0).map(installed(false))
}

/// Runs in the child process: installs the filter, sends the listener, makes one call.
fn child(socket: &OwnedFd, target: &OwnedFd) -> Never {
    match install(true) {
        Ok(it) => {
            let told = [0, u8::from(it.has_wait_killable), u8::from(it.needs_no_new_privileges)];
            let sent = pass::send(socket.as_fd(), &told, Some(it.listener.as_fd()));
            drop(it);
            if sent.is_ok() {
                let _ = socket::own_name(target.as_fd());
            }
        }
        Err(error) => {
            let _ = pass::send(socket.as_fd(), &[errno(&error) as u8], None);
        }
    }
    fork::end(0)
}

fn examine(ours: &OwnedFd, pid: i32, target: &OwnedFd) -> Result<Features, Obstacle> {
    let mut told = [0; 3];
    let (_, listener) =
        pass::receive(ours.as_fd(), &mut told).map_err(|source| Obstacle::Trial { step: "recvmsg", source })?;
    let Some(listener) = listener else {
        return Err(match i32::from(told[0]) {
            libc::EBUSY => Obstacle::Supervised,
            errno => Obstacle::NoNotification(io::Error::from_raw_os_error(errno)),
        });
    };
    let listener = Listener::new(listener);
    let has_sync_wake_up = listener.wake_synchronously().is_ok();
    let found = handle(&listener, pid, target)?;
    Ok(Features { has_sync_wake_up, has_wait_killable: told[1] != 0, needs_no_new_privileges: told[2] != 0, ..found })
}

/// Handles the child's call as the program's calls will be handled later.
fn handle(listener: &Listener, pid: i32, target: &OwnedFd) -> Result<Features, Obstacle> {
    use std::os::fd::AsRawFd;
    let trial = |step| move |source| Obstacle::Trial { step, source };
    let forbidden = |call| move |source| Obstacle::Forbidden { call, source };
    let page = Page::map().map_err(trial("mmap"))?;
    let slot = page.slot(0);
    let has_call = wait::poll(&[(listener.fd(), libc::POLLIN)], PATIENCE_MS);
    if !has_call.map_err(trial("poll"))?[0] {
        return Err(trial("poll")(io::Error::from_raw_os_error(libc::ETIME)));
    }
    // SAFETY: the slot is zeroed, and no other thread uses it.
    unsafe { listener.receive(slot.place()) }.map_err(Obstacle::NoNotification)?;
    let Some(call) = slot.call() else {
        return Err(trial("receive")(io::Error::from_raw_os_error(libc::EIO)));
    };
    let fd = target.as_raw_fd();
    let has_thread_pidfd = process::pidfd_open(pid, libc::PIDFD_THREAD).is_ok();
    let pidfd = process::pidfd_open(pid, 0).map_err(forbidden("pidfd_open"))?;
    let copy = process::pidfd_getfd(pidfd.as_fd(), fd).map_err(forbidden("pidfd_getfd"))?;
    process::read_memory(call.tid, call.args[2], &mut [0; 4]).map_err(forbidden("process_vm_readv"))?;
    let has_kcmp = process::is_same_file(pid, fd, copy.as_fd()).is_ok_and(|is_same| is_same);
    let replaced = listener.replace(call.id, target.as_fd(), fd, false);
    replaced.map_err(Obstacle::NoNotification)?;
    let answered = listener.answer(call.id, Answer::GoOn);
    answered.map_err(Obstacle::NoNotification)?;
    Ok(Features {
        has_sync_wake_up: false,
        has_wait_killable: false,
        needs_no_new_privileges: false,
        has_thread_pidfd,
        has_pidfd_info: process::pidfd_info(pidfd.as_fd()).is_ok(),
        has_pidfs: has_pidfs(&pidfd),
        has_netns_cookie: socket::cookie(copy.as_fd(), libc::SO_NETNS_COOKIE).is_ok(),
        has_kcmp,
    })
}

/// Returns whether two processes' descriptors have different inodes.
fn has_pidfs(other: &OwnedFd) -> bool {
    let own = process::pidfd_open(own_pid(), 0);
    let inode = |fd: &OwnedFd| process::inode(fd.as_fd()).ok();
    own.is_ok_and(|own| inode(&own).is_some() && inode(&own) != inode(other))
}
