//! User, groups and capabilities of one thread, assumed for a moment and then restored.
//!
//! The C library's functions change all threads of a process; the kernel's calls change one thread. Only the effective
//! and file-system ids change: the real ids stay ours, so the account that we assume can neither signal nor trace us.

use std::ffi::c_long;
use std::io;

use super::checked;

/// Leaves an id unchanged.
const KEEP: c_long = -1;
/// Version of the structures. Source: linux/capability.h, `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// A thread's identity towards the servers that it connects to, and its rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) euid: u32,
    pub(crate) egid: u32,
    pub(crate) fsuid: u32,
    pub(crate) fsgid: u32,
    /// Supplementary groups, sorted.
    pub(crate) groups: Vec<u32>,
    pub(crate) capabilities: u64,
}

impl Identity {
    /// Returns whether acting for `other` needs another identity than our own.
    pub(crate) fn has_to_become(&self, other: &Self) -> bool {
        let is_same = Self { capabilities: self.capabilities, ..other.clone() } == *self;
        !is_same || self.capabilities & !other.capabilities != 0
    }
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityWord {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

type Capabilities = [CapabilityWord; 2];

/// Runs `work` on this thread with another identity.
///
/// # Errors
/// The first step that was refused; in that case `work` has not run.
///
/// # Panics
/// Never: if the earlier identity cannot be restored, the process ends, because it must not continue as another user.
pub(crate) fn run_as<T>(own: &Identity, other: &Identity, work: impl FnOnce() -> T) -> io::Result<T> {
    if !own.has_to_become(other) {
        return Ok(work());
    }
    let before = capabilities(0)?;
    let result = take_on(other).map(|()| work());
    if give_back(own, before).is_err() {
        std::process::abort();
    }
    result
}

fn take_on(other: &Identity) -> io::Result<()> {
    set_groups(&other.groups)?;
    call(libc::SYS_setresgid, KEEP, other.egid.into(), KEEP)?;
    call(libc::SYS_setresuid, KEEP, other.euid.into(), KEEP)?;
    set_file_ids(other)?;
    let mut now = capabilities(0)?;
    let allowed = [other.capabilities as u32, (other.capabilities >> 32) as u32];
    let mut has_changed = false;
    for (word, allowed) in now.iter_mut().zip(allowed) {
        has_changed |= word.effective & !allowed != 0;
        word.effective &= allowed;
    }
    if has_changed {
        set_capabilities(now)?;
    }
    Ok(())
}

fn give_back(own: &Identity, before: Capabilities) -> io::Result<()> {
    call(libc::SYS_setresuid, KEEP, own.euid.into(), KEEP)?;
    set_capabilities(before)?;
    call(libc::SYS_setresgid, KEEP, own.egid.into(), KEEP)?;
    set_file_ids(own)?;
    set_groups(&own.groups)
}

/// Sets groups permanently, while this process still may.
pub(crate) fn take_groups(gid: u32, others: &[u32]) -> io::Result<()> {
    set_groups(others)?;
    let gid = gid.into();
    call(libc::SYS_setresgid, gid, gid, gid).map(drop)
}

pub(crate) fn become_user(uid: u32) -> io::Result<()> {
    let uid = uid.into();
    call(libc::SYS_setresuid, uid, uid, uid).map(drop)
}

/// Sets the file-system ids. The kernel does not report whether it has set them, so they are read again.
fn set_file_ids(wanted: &Identity) -> io::Result<()> {
    for (number, id) in [(libc::SYS_setfsgid, wanted.fsgid), (libc::SYS_setfsuid, wanted.fsuid)] {
        call(number, id.into(), 0, 0)?;
        if call(number, KEEP, 0, 0)? as u32 != id {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
    }
    Ok(())
}

fn call(number: c_long, first: c_long, second: c_long, third: c_long) -> io::Result<c_long> {
    // SAFETY: the calls of this file that use this function take only numbers.
    checked(unsafe { libc::syscall(number, first, second, third) })
}

fn set_groups(groups: &[u32]) -> io::Result<()> {
    // SAFETY: the list is a live slice of the given length.
    let result = unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
    checked(result).map(drop)
}

pub(crate) fn effective_capabilities(tid: i32) -> io::Result<u64> {
    let [low, high] = capabilities(tid)?;
    Ok(u64::from(high.effective) << 32 | u64::from(low.effective))
}

/// Returns the capabilities of a thread; 0 is this thread.
fn capabilities(tid: i32) -> io::Result<Capabilities> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION, pid: tid };
    let mut words = Capabilities::default();
    // SAFETY: both point to live structures of this version's layout.
    let result = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) };
    checked(result).map(|_| words)
}

fn set_capabilities(words: Capabilities) -> io::Result<()> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    // SAFETY: both point to live structures of this version's layout.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) };
    checked(result).map(drop)
}
