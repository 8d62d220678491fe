//! The child's work between its start and the program: it gives up all rights, then executes a descriptor.
//!
//! All memory is allocated before the child exists: the child only makes system calls. Every step that fails ends the
//! child before the program starts.

use std::ffi::{CString, OsStr, c_char, c_int, c_ulong};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use rustix::process::{Gid, Pid, Resource, Rlimit, Signal, Uid};

use super::subject::Owner;
use super::supervise::Confinement;

/// The program's limits on each resource, in seconds, bytes and descriptors: it only lists and tests files.
const LIMITS: [(Resource, u64); 4] =
    [(Resource::Cpu, 60), (Resource::Core, 0), (Resource::Fsize, 16 << 20), (Resource::Nofile, 4_096)];
/// Version of the kernel's structures for capabilities. Source: linux/capability.h, `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;
/// More than the kernel has capabilities.
const MOST_CAPABILITIES: c_ulong = 64;
/// Source: `linux/close_range.h`.
const CLOSE_ON_EXEC: u32 = 1 << 2;
/// Kernels before 5.11 cannot mark a range of descriptors: there, this many numbers are tried.
const MOST_DESCRIPTORS: RawFd = 65_536;

/// All data of a child, allocated before the child exists.
pub(super) struct Child {
    /// The process that creates the child.
    parent: Pid,
    program: OwnedFd,
    folder: Option<OwnedFd>,
    /// The user that the child becomes; `None` if we are it already.
    becomes: Option<(Uid, Gid, Vec<Gid>)>,
    is_root_s: bool,
    // Owns the strings to which the pointers lead.
    _texts: Vec<CString>,
    arguments: Vec<*const c_char>,
    variables: Vec<*const c_char>,
    confinement: Option<Confinement>,
}

// SAFETY: the pointers lead into `_texts`, whose strings do not move and live as long as this value.
unsafe impl Send for Child {}
// SAFETY: nothing is changed through the pointers.
unsafe impl Sync for Child {}

/// The parts of a child.
pub(super) struct Parts<'a> {
    pub(super) program: OwnedFd,
    pub(super) folder: Option<OwnedFd>,
    pub(super) owner: &'a Owner,
    pub(super) is_ours: bool,
    pub(super) arguments: Vec<CString>,
    pub(super) variables: Vec<CString>,
    pub(super) confinement: Option<Confinement>,
}

impl Child {
    pub(super) fn new(parts: Parts<'_>) -> Self {
        let pointers = |all: &[CString]| -> Vec<*const c_char> {
            let own = all.iter().map(|it| it.as_ptr());
            own.chain([ptr::null()]).collect()
        };
        let owner = parts.owner;
        let groups = owner.groups.iter().map(|it| Gid::from_raw(*it)).collect();
        let becomes = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid), groups);
        Self {
            parent: rustix::process::getpid(),
            program: parts.program,
            folder: parts.folder,
            becomes: (!parts.is_ours).then_some(becomes),
            is_root_s: owner.uid == 0,
            arguments: pointers(&parts.arguments),
            variables: pointers(&parts.variables),
            _texts: { parts.arguments.into_iter() }.chain(parts.variables).collect(),
            confinement: parts.confinement,
        }
    }

    /// Becomes the program; returns only on failure, with the reason.
    pub(super) fn become_program(&self) -> io::Error {
        match self.prepare() {
            Ok(()) => self.execute(),
            Err(error) => error,
        }
    }

    fn prepare(&self) -> io::Result<()> {
        rustix::process::setsid()?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        for (resource, most) in LIMITS {
            let now = rustix::process::getrlimit(resource);
            let most = now.maximum.map_or(most, |it| it.min(most));
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            rustix::process::setrlimit(resource, limit)?;
        }
        let is_bounded = drop_bounding_set();
        if let Some((uid, gid, groups)) = &self.becomes {
            rustix::thread::set_thread_groups(groups)?;
            rustix::thread::set_thread_res_gid(*gid, *gid, *gid)?;
            rustix::thread::set_thread_res_uid(*uid, *uid, *uid)?;
        }
        drop_capabilities()?;
        // Otherwise root would regain every capability of the bounding set by executing.
        if self.is_root_s && !is_bounded {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        rustix::thread::set_no_new_privs(true)?;
        self.enter_folder()?;
        // This comes after the change of user, which resets it.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that ended before that call sends no signal, and does not answer the calls of a confined child.
        if rustix::process::getppid() != Some(self.parent) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if let Some(confinement) = &self.confinement {
            confinement.enter()?;
        }
        close_others_on_exec();
        Ok(())
    }

    /// Enters the process's working folder; `/` if its user may not enter that any more.
    fn enter_folder(&self) -> io::Result<()> {
        let is_there = { self.folder.as_ref() }.is_some_and(|it| rustix::process::fchdir(it).is_ok());
        if !is_there {
            rustix::process::chdir(c"/")?;
        }
        Ok(())
    }

    fn execute(&self) -> io::Error {
        // SAFETY: both lists end in null, and their strings live; the path is empty and the descriptor is open.
        unsafe {
            libc::syscall(
                libc::SYS_execveat,
                self.program.as_raw_fd(),
                c"".as_ptr(),
                self.arguments.as_ptr(),
                self.variables.as_ptr(),
                libc::AT_EMPTY_PATH,
            );
        }
        io::Error::last_os_error()
    }
}

/// Whether executing a program can no longer gain a capability.
fn drop_bounding_set() -> bool {
    for capability in 0..MOST_CAPABILITIES {
        // SAFETY: the call gets only numbers.
        let result = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        if result != 0 {
            // EINVAL: this is the first number that the kernel does not have.
            return io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL);
        }
    }
    true
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: c_int,
}

fn drop_capabilities() -> io::Result<()> {
    // SAFETY: the call gets only numbers.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    // The effective, permitted and inheritable capabilities, in two words each.
    let none = [0_u32; 6];
    // SAFETY: both are valid and have this version's layout.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, none.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn close_others_on_exec() {
    // SAFETY: the call gets only numbers; nothing is closed before the program starts.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, CLOSE_ON_EXEC) };
    if result == 0 {
        return;
    }
    for fd in 3..MOST_DESCRIPTORS {
        // SAFETY: the call gets only numbers; the kernel refuses numbers that are not open.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// A text for the kernel; a text with a zero byte is an error.
pub(super) fn text(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

/// Kills the process group of this leader: the process, and all that it started and that did not leave the group.
pub(super) fn end_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}

/// A copy of a descriptor that is closed on execution.
pub(super) fn copy(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?)
}
