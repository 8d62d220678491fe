//! Gives up capabilities of the calling thread: permanently, or only while it inspects other users' files. Passes
//! capabilities on to a program.
//!
//! If a process of root has only the capabilities that it needs to inspect other users' files, neither this process nor
//! the programs that it starts can write in another user's folder.

use std::io;
use std::marker::PhantomData;
use std::os::unix::process::CommandExt;
use std::process::Command;

pub use rustix::thread::CapabilitySet;
use rustix::thread::{
    CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// The capabilities that are needed to find out to which processes sockets belong. They give access to the links in
/// `/proc/PID/fd` of other users' processes, and to the paths of the files and folders that these processes use.
///
/// # Source
/// Measured on Linux 6.18: if one of the two is missing, no process of another user can be inspected.
pub const LOOKING: CapabilitySet = CapabilitySet::SYS_PTRACE.union(CapabilitySet::DAC_READ_SEARCH);

/// The capabilities that root needs to write a result into a folder of another user.
pub const WRITING: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::CHOWN).union(CapabilitySet::FOWNER);

/// Passes rights of this process on to a program. Without this, the program would run without rights in a user
/// namespace, because the process keeps its user in that namespace, and this user is not root.
pub fn pass_on(command: &mut Command, rights: CapabilitySet) {
    if rights.is_empty() {
        return;
    }
    let keep = move || -> io::Result<()> {
        let mut sets = capabilities(None)?;
        sets.inheritable |= rights;
        set_capabilities(None, sets)?;
        rights.iter().try_for_each(|it| Ok(configure_capability_in_ambient_set(it, true)?))
    };
    // SAFETY: only system calls; no memory is allocated between fork and exec.
    unsafe { command.pre_exec(keep) };
}

/// Gives up all capabilities except `kept`: for the calling thread, for the threads that it starts, and for all
/// programs that these threads execute. Call it only while the process has a single thread.
///
/// # Errors
/// The kernel's error; in this case some of the other capabilities may be left.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    // Without this setting, a program that root executes would get all capabilities again.
    set_no_new_privs(true)?;
    let before = capabilities(None)?;
    if before.effective.contains(CapabilitySet::SETPCAP) {
        for it in CapabilitySet::all().difference(kept).iter() {
            // A kernel that does not know the capability returns an error.
            if capability_is_in_bounding_set(it).unwrap_or(false) {
                remove_capability_from_bounding_set(it)?;
            }
        }
    }
    clear_ambient_capability_set()?;
    // A service may already have only the kept capabilities, and its filter of system calls may forbid any change.
    if kept.contains(before.permitted) {
        return Ok(());
    }
    let sets = CapabilitySets {
        effective: before.effective & kept,
        permitted: before.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}

/// Whether the caller may pin threads of other users. Root may, and so may a process with `CAP_SYS_NICE`.
pub fn may_place_threads() -> bool {
    capabilities(None).is_ok_and(|it| it.effective.contains(CapabilitySet::SYS_NICE))
}

/// Keeps the thread's capabilities lowered until it is dropped.
#[derive(Debug)]
pub struct Lowered {
    before: Option<CapabilitySets>,
    _of_this_thread: PhantomData<*const ()>,
}

/// Lowers the thread's capabilities to these, until the returned guard is dropped.
///
/// If the kernel refuses, the capabilities stay as they are, and the caller continues.
#[must_use = "the capabilities come back when the returned guard is dropped"]
pub fn lowered_to(kept: CapabilitySet) -> Lowered {
    let lowered = || {
        let before = capabilities(None)?;
        let effective = before.effective & kept;
        if effective == before.effective {
            return Ok(None);
        }
        let sets = CapabilitySets { effective, ..before };
        set_capabilities(None, sets).map(|()| Some(before))
    };
    Lowered { before: lowered().unwrap_or(None), _of_this_thread: PhantomData }
}

impl Drop for Lowered {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // The capabilities are still permitted, so the kernel does not refuse.
            set_capabilities(None, before).ok();
        }
    }
}
