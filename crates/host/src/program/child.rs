//! The work of a child process before it executes the program: it gives up all rights, then executes a descriptor.
//!
//! All memory is allocated before the child exists, because the child may only make system calls. If a step fails, the
//! child ends before the program starts.

use std::ffi::{CString, OsStr, c_char, c_int, c_ulong};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use rustix::process::{Gid, Pid, Resource, Rlimit, Signal, Uid};

use super::subject::Owner;
use super::supervise::Confinement;

/// The program's limits on resources, in seconds, bytes and descriptors; they are low because the program only lists
/// and tests files.
const LIMITS: [(Resource, u64); 4] =
    [(Resource::Cpu, 60), (Resource::Core, 0), (Resource::Fsize, 16 << 20), (Resource::Nofile, 4_096)];
/// The version of the kernel's structures for capabilities. Source: linux/capability.h, `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;
/// The maximum number of capabilities that are tried; the kernel has fewer.
const MOST_CAPABILITIES: c_ulong = 64;
/// Marks the descriptors of a range instead of closing them. The kernel closes marked descriptors when a program is
/// executed. Source: `linux/close_range.h`.
const CLOSE_ON_EXEC: u32 = 1 << 2;
/// How many descriptors are marked one by one on kernels before 5.11, which cannot mark a range.
const MOST_DESCRIPTORS: RawFd = 65_536;

/// Everything that a child needs, allocated before the child exists.
pub(super) struct Child {
    /// The process that creates the child.
    parent: Pid,
    program: OwnedFd,
    folder: Option<OwnedFd>,
    /// The user that the child becomes; `None` if looptax already runs as this user.
    becomes: Option<(Uid, Gid, Vec<Gid>)>,
    is_root_s: bool,
    // Owns the strings to which `arguments` and `variables` point.
    _texts: Vec<CString>,
    arguments: Vec<*const c_char>,
    variables: Vec<*const c_char>,
    confinement: Option<Confinement>,
}

// SAFETY: the pointers lead into `_texts`, whose strings do not move and live as long as this value.
unsafe impl Send for Child {}
// SAFETY: no code writes through the pointers.
unsafe impl Sync for Child {}

/// The parts from which a child is made.
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

    /// Becomes the program; returns only if that fails, with the error.
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
        // If the bounding set still has capabilities, a process of root would regain them when it executes the program.
        if self.is_root_s && !is_bounded {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        rustix::thread::set_no_new_privs(true)?;
        self.enter_folder()?;
        // The signal is set after the change of user, because the change resets it.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the parent ended before this call, the child gets no signal. No process would then answer the calls of a
        // confined child.
        if rustix::process::getppid() != Some(self.parent) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if let Some(confinement) = &self.confinement {
            confinement.enter()?;
        }
        close_others_on_exec();
        Ok(())
    }

    /// Enters the process's working folder; enters `/` if the process's user may no longer enter that folder.
    fn enter_folder(&self) -> io::Result<()> {
        let is_there = { self.folder.as_ref() }.is_some_and(|it| rustix::process::fchdir(it).is_ok());
        if !is_there {
            rustix::process::chdir(c"/")?;
        }
        Ok(())
    }

    fn execute(&self) -> io::Error {
        // SAFETY: both lists end with a null pointer, and their strings are live; the path is empty and the descriptor
        // is open.
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

/// Removes all capabilities from the bounding set. Returns whether it is now impossible to gain a capability by
/// executing a program.
fn drop_bounding_set() -> bool {
    for capability in 0..MOST_CAPABILITIES {
        // SAFETY: the call gets only numbers.
        let result = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        if result != 0 {
            // EINVAL: the kernel has no capability with this number or a larger one.
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
    // The effective, permitted and inheritable capabilities, each in two words.
    let none = [0_u32; 6];
    // SAFETY: both structures are valid and have the layout of this version.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, none.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn close_others_on_exec() {
    // SAFETY: the call gets only numbers; no descriptor is closed before the program starts.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, CLOSE_ON_EXEC) };
    if result == 0 {
        return;
    }
    for fd in 3..MOST_DESCRIPTORS {
        // SAFETY: the call gets only numbers; the kernel refuses numbers of descriptors that are not open.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Returns a text for the kernel, or an error for a text with a zero byte.
pub(super) fn text(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

/// Kills the process group of this leader: the process, and all processes that it started and that did not leave the
/// group.
pub(super) fn end_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}

/// Returns a copy of a descriptor; the copy is closed when a program is executed.
pub(super) fn copy(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?)
}
