//! Capabilities of the calling thread: given up for good, or while strangers' files are looked at.
//!
//! A root that has no capability but to look cannot write in a folder of another user, and what it starts cannot either.

use std::io;
use std::marker::PhantomData;

pub use rustix::thread::CapabilitySet;
use rustix::thread::{
    CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// The rights that are needed to see whose sockets they are: the links in `/proc/PID/fd` of other users' processes, and
/// the way to the files and folders that these use.
///
/// # Source
/// Measured on Linux 6.18: without either of them no process of another user can be looked into.
pub const LOOKING: CapabilitySet = CapabilitySet::SYS_PTRACE.union(CapabilitySet::DAC_READ_SEARCH);

/// The rights that root needs to write a result in a folder of another user.
pub const WRITING: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::CHOWN).union(CapabilitySet::FOWNER);

/// Gives up all capabilities but these, for the calling thread, the threads that it starts, and all programs that they
/// execute. To be called while there is one thread.
///
/// # Errors
/// The kernel's error; then some may be left.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    // A program that root executes would otherwise have all of them again.
    set_no_new_privs(true)?;
    let before = capabilities(None)?;
    if before.effective.contains(CapabilitySet::SETPCAP) {
        for it in CapabilitySet::all().difference(kept).iter() {
            // A kernel that does not know it gives an error.
            if capability_is_in_bounding_set(it).unwrap_or(false) {
                remove_capability_from_bounding_set(it)?;
            }
        }
    }
    clear_ambient_capability_set()?;
    // A service has no more to begin with, and its filter of system calls may know no way to change them.
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

/// Whether threads of other users may be pinned: by root, or with `CAP_SYS_NICE`.
pub fn may_place_threads() -> bool {
    capabilities(None).is_ok_and(|it| it.effective.contains(CapabilitySet::SYS_NICE))
}

/// While it lives, the thread uses no other capabilities than it was made with.
#[derive(Debug)]
pub struct Lowered {
    before: Option<CapabilitySets>,
    _of_this_thread: PhantomData<*const ()>,
}

/// Lowers the thread's capabilities to these, until the guard is dropped.
///
/// A kernel that refuses leaves them as they are: nothing is won by not looking.
#[must_use = "the capabilities come back when it is dropped"]
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
            // They are permitted still, so the kernel does not refuse.
            set_capabilities(None, before).ok();
        }
    }
}
