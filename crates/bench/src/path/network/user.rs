//! The right to make namespaces: had, or given to ourselves in a user namespace.

use std::io;

use looptax_host::kernel;
use rustix::process::{getgid, getuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};

/// Whether this process may make network namespaces as it is.
pub fn may_make_namespaces() -> bool {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Moves this process, which must have one thread, into its own user namespace, in which it has all rights over the
/// namespaces that it makes; files and processes see the same user as before.
///
/// # Source
/// `user_namespaces(7)`: a single id may be mapped without any right, once groups cannot be dropped any more.
pub(super) fn become_root_of_ours() -> io::Result<()> {
    let (uid, gid) = (getuid().as_raw(), getgid().as_raw());
    // SAFETY: no table of open files is unshared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }?;
    tell_kernel("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
    tell_kernel("/proc/self/setgroups", "deny")?;
    tell_kernel("/proc/self/gid_map", &format!("{gid} {gid} 1"))
}

/// Writes all of it in one call, as the kernel requires for these files.
fn tell_kernel(file: &str, words: &str) -> io::Result<()> {
    kernel::write(file, words)
}
