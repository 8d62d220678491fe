//! Which of the kernel's programs and maps a process holds, and whether they are still there.

use std::fs;
use std::os::fd::{FromRawFd, OwnedFd};

/// What a descriptor can be of, with the command that opens one by its number.
/// Source: linux/bpf.h, `bpf_cmd`; `proc_pid_fdinfo(5)`.
const KINDS: [(&str, libc::c_int); 2] = [("prog_id", 13), ("map_id", 14)];

/// A program or map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    kind: &'static str,
    command: libc::c_int,
    id: u32,
}

/// What the descriptors of a process are of; programs behind its links, too.
pub(crate) fn objects_of(pid: u32) -> Vec<Object> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
        for (kind, command) in KINDS {
            let id = text
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| *name == kind)
                .map(|(_, id)| id.trim().parse().unwrap());
            let object = id.map(|id| Object { kind, command, id });
            found.extend(object.filter(|object| !found.contains(object)));
        }
    }
    found
}

impl Object {
    pub(crate) fn is_program(&self) -> bool {
        self.kind == "prog_id"
    }

    /// Whether the kernel still has it.
    pub(crate) fn exists(&self) -> bool {
        // id, next id, flags.
        let attributes = [self.id, 0, 0];
        // SAFETY: these commands read twelve bytes, which are live.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                self.command,
                attributes.as_ptr(),
                size_of_val(&attributes),
            )
        };
        if fd < 0 {
            let error = std::io::Error::last_os_error();
            assert_eq!(error.raw_os_error(), Some(libc::ENOENT), "{self:?}");
            return false;
        }
        // SAFETY: the kernel has just made this descriptor for us.
        drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        true
    }
}
