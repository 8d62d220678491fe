//! The right to make namespaces, which the process has already or gets in a user namespace.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use looptax_host::kernel;
use rustix::process::{getgid, getuid};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set, set_capabilities,
};

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

/// Writes the whole text in one call, as the kernel requires for these files.
fn tell_kernel(file: &str, words: &str) -> io::Result<()> {
    kernel::write(file, words)
}
