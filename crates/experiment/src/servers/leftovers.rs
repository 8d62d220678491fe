//! Finds and removes what remains after both looptax and its reaper have crashed. Recognizes these leftovers by the
//! names and locks of their folders.
//!
//! Never touches another user's folder, a folder without looptax's lock file, or a folder whose lock is held. Called by
//! `target` and `copies` before they make folders.

use std::path::{Path, PathBuf};
use std::time::Duration;

use looptax_host::read;

use crate::servers::ServerError;
use crate::servers::process;
use crate::servers::scratch::{self, Standing};

/// How long a leftover server may take to end before it is killed; its data are not needed.
const GRACE: Duration = Duration::from_secs(2);

/// A scratch folder whose lock is no longer held by any process.
#[derive(Debug)]
pub struct Leftover {
    pub folder: PathBuf,
    /// The servers of this folder that were still running and that were ended.
    pub ended_pids: Vec<u32>,
    /// The reason why the folder still exists; `None` if it was removed.
    pub problem: Option<ServerError>,
}

/// Removes the folders that earlier runs of this user left in `scratch_root`, and ends their servers.
///
/// A root that cannot be read contains nothing that looptax could remove.
pub fn sweep(scratch_root: &Path) -> Vec<Leftover> {
    let paths = read::list(scratch_root).unwrap_or_default().into_iter();
    paths.filter_map(sweep_folder).collect()
}

/// Removes one folder; `None` if looptax may not touch it.
fn sweep_folder(folder: PathBuf) -> Option<Leftover> {
    match scratch::standing(&folder) {
        Standing::Foreign => return None,
        Standing::Unfinished => {
            // Only an empty folder is removed. If the run that made it is still alive, the run makes another folder
            // with a new name.
            scratch::remove_folder(&folder).ok()?;
            return Some(Leftover { folder, ended_pids: Vec::new(), problem: None });
        }
        Standing::Ours => {}
    }
    let lock = scratch::open_lock(&folder).ok()?;
    lock.try_lock().ok()?;
    let ended_pids = process::end(&scratch::noted_processes(&folder), GRACE);
    let problem = scratch::remove_folder(&folder).err().map(|source| ServerError::Scratch {
        action: "remove",
        path: folder.clone(),
        source,
    });
    Some(Leftover { folder, ended_pids, problem })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::servers::process::{Process, StopSignal};

    fn folder_in(root: &Path, name: &str) -> PathBuf {
        let folder = root.join(name);
        fs::create_dir_all(folder.join("srv")).unwrap();
        File::create(folder.join("lock")).unwrap();
        folder
    }

    #[test]
    fn removes_an_abandoned_folder_and_ends_its_server() {
        let root = tempfile::tempdir().unwrap();
        let folder = folder_in(root.path(), "looptax-00000001");
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::with_pid(child.id(), StopSignal::Term).unwrap();
        std::io::Write::write_all(&mut File::create(folder.join("pids")).unwrap(), format!("{process}\n").as_bytes())
            .unwrap();
        let found = sweep(root.path());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].ended_pids, [child.id()]);
        assert!(found[0].problem.is_none());
        assert!(!folder.exists());
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn leaves_alone_what_is_held_unlocked_or_named_otherwise() {
        let root = tempfile::tempdir().unwrap();
        let held = folder_in(root.path(), "looptax-00000002");
        let other = folder_in(root.path(), "other");
        let unlocked = root.path().join("looptax-unlocked");
        fs::create_dir(&unlocked).unwrap();
        let lock = scratch::open_lock(&held).unwrap();
        lock.try_lock_shared().unwrap();
        assert!(sweep(root.path()).is_empty());
        assert!(held.exists() && other.exists() && unlocked.exists());
        drop(lock);
        // If another test starts a program at the same time, the forked child holds this test's lock until it executes
        // the program.
        let is_swept = || {
            std::thread::sleep(Duration::from_millis(10));
            sweep(root.path()).len() == 1
        };
        assert!((0..100).any(|_| is_swept()));
    }

    #[test]
    fn leaves_alone_what_another_user_owns() {
        let root = tempfile::tempdir().unwrap();
        let folder = folder_in(root.path(), "looptax-00000003");
        // Only root can give a folder to another user. Without root, `/proc/1` serves as a folder of another user.
        if std::os::unix::fs::chown(&folder, Some(65_534), None).is_ok() {
            assert!(sweep(root.path()).is_empty());
            assert!(folder.exists());
        }
    }
}
