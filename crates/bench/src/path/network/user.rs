//! The right to make namespaces, which the process has already or gets in a user namespace.

use std::io;

use looptax_host::kernel;
use rustix::process::{getgid, getuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};

/// Returns whether this process already has the right to make network namespaces.
pub fn may_make_namespaces() -> bool {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Moves this process, which must have only one thread, into a new user namespace. There it has all rights over the
/// namespaces that it makes; files and other processes see the same user as before.
///
/// # Source
/// `user_namespaces(7)`: a process without rights may map its own user id and, after it has disabled `setgroups`, its
/// own group id.
pub(super) fn become_root_of_ours() -> io::Result<()> {
    let (uid, gid) = (getuid().as_raw(), getgid().as_raw());
    // SAFETY: the table of open files stays shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }?;
    tell_kernel("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
    tell_kernel("/proc/self/setgroups", "deny")?;
    tell_kernel("/proc/self/gid_map", &format!("{gid} {gid} 1"))
}

/// Writes the whole text in one call, as the kernel requires for these files.
fn tell_kernel(file: &str, words: &str) -> io::Result<()> {
    kernel::write(file, words)
}
