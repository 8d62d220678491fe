//! User, groups and rights of one thread, taken on for a moment and given back.
//!
//! The C library's functions change all threads of a process; the kernel's calls change one. Only the effective and
//! file-system identity changes: the real one stays ours, so that the account that we take on can neither signal nor
//! trace us.

use std::ffi::c_long;
use std::io;

use super::checked;

/// Leaves an id as it is.
const KEEP: c_long = -1;
/// Version of the structures. Source: linux/capability.h, `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Who a thread is to those that it connects to, and what it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Effective user.
    pub(crate) euid: u32,
    /// Effective group.
    pub(crate) egid: u32,
    pub(crate) fsuid: u32,
    pub(crate) fsgid: u32,
    /// Supplementary groups, sorted.
    pub(crate) groups: Vec<u32>,
    /// Effective capabilities.
    pub(crate) capabilities: u64,
}

impl Identity {
    /// Whether acting for another takes more than being ourselves.
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

/// Runs `work` as somebody else, on this thread.
///
/// # Errors
/// The first step that was refused; then `work` has not run.
///
/// # Panics
/// Never: if the way back is closed the process ends, because it must not go on as another user.
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

/// Takes on groups for good, while this process may.
pub(crate) fn take_groups(gid: u32, others: &[u32]) -> io::Result<()> {
    set_groups(others)?;
    let gid = gid.into();
    call(libc::SYS_setresgid, gid, gid, gid).map(drop)
}

pub(crate) fn become_user(uid: u32) -> io::Result<()> {
    let uid = uid.into();
    call(libc::SYS_setresuid, uid, uid, uid).map(drop)
}

/// The kernel does not say whether it obeyed: it is asked again.
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
    // SAFETY: the calls of this file that come here take only numbers.
    checked(unsafe { libc::syscall(number, first, second, third) })
}

fn set_groups(groups: &[u32]) -> io::Result<()> {
    // SAFETY: the list is a live slice of the given length.
    let result = unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
    checked(result).map(drop)
}

/// The effective rights of a thread.
pub(crate) fn effective_capabilities(tid: i32) -> io::Result<u64> {
    let [low, high] = capabilities(tid)?;
    Ok(u64::from(high.effective) << 32 | u64::from(low.effective))
}

/// Those of a thread; 0 is this one.
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
