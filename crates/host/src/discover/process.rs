//! Reads facts about processes from `/proc`, as far as looptax may see them.
//!
//! Files whose contents another process controls are read up to a size limit.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::{View, Viewer, kernel};
use procfs::process::Status;

use crate::discover::home::{Home, home_of};
use crate::discover::namespace_id::NamespaceId;

/// The maximum number of bytes of a command line that are read. Some command lines are long, for example a proxy's
/// command line, which shows where the proxy leads.
const MOST_COMMAND_LINE_BYTES: u64 = 64 << 10;
const MOST_MAPS_BYTES: u64 = 4 << 20;
const MOST_CGROUP_BYTES: u64 = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// The name that the process has set, at most 15 bytes, such as `mariadbd`.
    pub name: String,
    /// The file that the process runs, as the process sees it; `None` if looptax may not inspect the process.
    pub program: Option<PathBuf>,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    pub network: Option<NamespaceId>,
    pub mounts: Option<NamespaceId>,
    /// The container or unit to which the process belongs.
    pub home: Home,
    /// Whether the root folder of the process differs from the root folder of its mount namespace.
    pub is_in_chroot: bool,
}

impl Process {
    /// Returns the name of the program's file, without the kernel's mark for a deleted file. If the file is not known,
    /// returns the name that the process has set.
    pub fn program_name(&self) -> String {
        let file = self.program.as_deref().and_then(Path::file_name);
        let Some(file) = file else {
            return self.name.clone();
        };
        let name = String::from_utf8_lossy(file.as_bytes());
        name.trim_end_matches(" (deleted)").to_owned()
    }

    /// Returns the command line of the process, with invalid UTF-8 replaced; empty if looptax may not read it.
    pub fn arguments(&self) -> Vec<String> {
        let bytes = kernel::read_up_to(self.file("cmdline"), MOST_COMMAND_LINE_BYTES).unwrap_or_default();
        bytes
            .split(|byte| *byte == 0)
            .filter(|word| !word.is_empty())
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    }

    /// Whether the process has mapped a shared library with this name: the name `libpq` matches `libpq.so.5` and
    /// `libpq-3f9d.so.5.17`. `None` if looptax may not inspect the process, or the process has ended.
    pub fn has_library(&self, name: &str) -> Option<bool> {
        let maps = kernel::read_up_to(self.file("maps"), MOST_MAPS_BYTES).ok().filter(|it| !it.is_empty())?;
        Some(String::from_utf8_lossy(&maps).lines().any(|line| {
            let file = line.rsplit_once('/').map_or("", |it| it.1);
            { file.strip_prefix(name) }.is_some_and(|rest| rest.starts_with(['.', '-']) && rest.contains(".so"))
        }))
    }

    /// Returns a view of the files, as the process sees them. The view contains only files that the user of the process
    /// could read.
    ///
    /// # Errors
    /// The process has ended, or looptax may not inspect it.
    pub fn view(&self) -> io::Result<View> {
        View::of_process(self.pid, self.viewer())
    }

    /// Returns the user on whose behalf the files of the process are read.
    pub fn viewer(&self) -> Viewer {
        Viewer { uid: self.uid, gid: self.gid, groups: self.groups.clone() }
    }

    /// Returns the path of a file in the process's folder in `/proc`.
    pub fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.pid))
    }
}

/// Returns all visible processes, in ascending order of their pids.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(names) = kernel::names("/proc") else {
        return Vec::new();
    };
    let mut pids: Vec<u32> = names.filter_map(|it| it.to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids.into_iter().filter_map(process).collect()
}

/// Reads the facts about a process; `None` if it has ended, or is a thread of the kernel.
pub fn process(pid: u32) -> Option<Process> {
    let entry = procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?;
    let status: Status = entry.status().ok()?;
    // A thread of the kernel does not have its own memory, so it has no `VmSize`.
    status.vmsize?;
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let cgroup = kernel::read_up_to(folder.join("cgroup"), MOST_CGROUP_BYTES).unwrap_or_default();
    Some(Process {
        pid,
        parent: u32::try_from(status.ppid).unwrap_or(0),
        name: status.name,
        program: kernel::link(folder.join("exe")).ok(),
        uid: status.euid,
        gid: status.egid,
        groups: status.groups,
        network: namespace(&folder.join("ns/net")),
        mounts: namespace(&folder.join("ns/mnt")),
        home: home_of(&String::from_utf8_lossy(&cgroup)),
        is_in_chroot: kernel::link(folder.join("root")).is_ok_and(|root| root != Path::new("/")),
    })
}

/// Returns the number in a link such as `net:[4026531840]`.
fn namespace(link: &Path) -> Option<NamespaceId> {
    let target = kernel::link(link).ok()?;
    let text = target.to_str()?;
    let number = text.split_once(":[")?.1.strip_suffix(']')?;
    number.parse().ok().map(NamespaceId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_with_its_program_and_its_namespaces() {
        let pid = std::process::id();
        let all = processes();
        let own = all.iter().find(|process| process.pid == pid).unwrap();
        assert_eq!(own.uid, rustix::process::geteuid().as_raw());
        assert_eq!(own.program, std::env::current_exe().ok());
        assert!(own.network.is_some() && own.mounts.is_some());
        let first = own.arguments().into_iter().next().unwrap();
        assert_eq!(Some(first), std::env::args().next());
        let view = own.view().unwrap();
        assert!(view.look(Path::new("/proc")).unwrap().is_some());
    }

    #[test]
    fn a_program_that_was_replaced_keeps_its_name() {
        let mut process = process(std::process::id()).unwrap();
        process.program = Some("/usr/sbin/mariadbd (deleted)".into());
        assert_eq!(process.program_name(), "mariadbd");
        process.program = None;
        process.name = "mariadbd".to_owned();
        assert_eq!(process.program_name(), "mariadbd");
    }
}
