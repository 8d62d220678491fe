//! Lists the paths of all Unix sockets on which a program listens, in every network namespace, as `ss -xl` does.
//!
//! Queries only the kernel, and opens no connection. Called if a socket is missing.

use std::path::{Path, PathBuf};

use crate::discover::namespaces::networks;
use crate::discover::once::{owners, processes};
use crate::discover::process::{Process, process};
use crate::discover::sock_diag::UnixName;
use crate::entrance;

/// The paths of listening sockets, exactly as the processes passed them to bind(2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenedPaths {
    paths: Vec<(PathBuf, Vec<Process>)>,
    /// Whether the sockets of every network namespace that has a process were listed.
    pub is_complete: bool,
}

impl ListenedPaths {
    /// Returns the processes that listen on a socket with this path; `None` if there are none. A process may see other
    /// folders than looptax, so for that process the path may lead to another file.
    pub fn on(&self, path: &Path) -> Option<&[Process]> {
        let is_it = |it: &&(PathBuf, Vec<Process>)| is_same(&it.0, path);
        self.paths.iter().find(is_it).map(|it| &*it.1)
    }
}

/// Whether a bound name may mean this path: `/var/run` is a link to `/run`, and a relative name is the end of the path.
fn is_same(bound: &Path, path: &Path) -> bool {
    let plain = |it: &Path| match it.strip_prefix("/var/run") {
        Ok(rest) => Path::new("/run").join(rest),
        Err(_) => it.to_owned(),
    };
    let relative = bound.strip_prefix(".").unwrap_or(bound);
    if bound.is_absolute() { plain(bound) == plain(path) } else { path.ends_with(relative) }
}

/// Lists the paths.
///
/// # Cost
/// A netlink dump per network namespace, and a `readlink` per open file.
pub fn listened_paths() -> ListenedPaths {
    // Without the right to enter namespaces, only looptax's own namespace is listed.
    entrance::start().ok();
    let (processes, owners) = (processes(), owners());
    let networks = networks(&processes, process(std::process::id()).and_then(|own| own.network));
    let sockets = networks.sockets.values().flat_map(|it| &it.unix).filter(|it| it.is_listening);
    let paths = sockets.filter_map(|socket| {
        let Some(UnixName::Path(path)) = &socket.name else {
            return None;
        };
        let holders = owners.of_socket(socket.inode);
        let holders = processes.iter().filter(|it| holders.contains(&it.pid)).cloned();
        Some((path.clone(), holders.collect()))
    });
    let is_open = networks.closed.iter().any(|(_, error)| !error.is_of_ended_process());
    ListenedPaths { paths: paths.collect(), is_complete: !is_open }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_listener_is_listed_by_its_path_with_its_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        let all = listened_paths();
        let own = all.on(&path).unwrap();
        assert!(own.iter().any(|it| it.pid == std::process::id()));
        assert_eq!(all.on(&folder.path().join("b.sock")), None);
    }

    #[test]
    fn one_folder_has_two_names_and_a_relative_name_may_be_any_path_that_ends_so() {
        let same = |bound: &str, path: &str| is_same(Path::new(bound), Path::new(path));
        assert!(same("/var/run/mysqld/m", "/run/mysqld/m") && same("./m", "/srv/m") && same("m", "/srv/m"));
        assert!(!same("/run/m", "/srv/m") && !same("n", "/srv/m"));
    }
}
