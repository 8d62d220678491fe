//! Reads the ids of tracepoints from the mounted tracefs. If tracefs is not mounted, reads the ids from a private mount
//! that no other process sees.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// The usual path of tracefs, according to `Documentation/trace/ftrace.rst` of Linux.
const USUAL: &str = "/sys/kernel/tracing/events";

pub(super) struct Tracefs {
    events: OwnedFd,
}

#[allow(clippy::disallowed_methods, reason = "the kernel's own file system, opened through a descriptor of its mount")]
impl Tracefs {
    /// Opens the mounted tracefs, or makes a mount without a path, which disappears when its descriptor is closed.
    ///
    /// # Errors
    /// The kernel's error: the mount is not allowed, or this kernel has no tracing.
    pub(super) fn open() -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let usual = openat(CWD, USUAL, flags, Mode::empty());
        let Err(_) = usual else {
            return Ok(Self { events: usual? });
        };
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
        let events = openat(&mount, "events", flags, Mode::empty())?;
        Ok(Self { events })
    }

    pub(super) fn id(&self, tracepoint: &str) -> io::Result<u64> {
        let flags = OFlags::CLOEXEC | OFlags::RDONLY;
        let path = format!("{tracepoint}/id");
        let mut text = String::new();
        File::from(openat(&self.events, &*path, flags, Mode::empty())?).read_to_string(&mut text)?;
        text.trim().parse().map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracepoint_has_a_number_for_who_may_ask() {
        let Ok(tracefs) = Tracefs::open() else {
            assert!(!rustix::process::geteuid().is_root() || !has_tracefs());
            return;
        };
        assert!(tracefs.id("sched/sched_waking").unwrap() > 0);
        assert!(tracefs.id("no/such_event").is_err());
    }

    /// Inside a container, root may not be allowed to mount tracefs.
    fn has_tracefs() -> bool {
        fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).is_ok()
    }
}
