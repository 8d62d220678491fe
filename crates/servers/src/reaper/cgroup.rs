//! The cgroup that a killed looptax leaves: the reaper is in it as well, and leaves it first.
//!
//! Removes only folders whose name says whose they were, `looptax-<pid>-<start time>`, once that process is gone.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use looptax_host::{Folder, Links, kernel};

use crate::process::is_alive;

/// How often it is tried: a process that was killed is in it a moment longer.
const N_TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Removes it; whether it is gone.
pub(super) fn remove(folder: &Path) -> bool {
    let Some(((pid, start_ticks), outer)) = owner(folder).zip(folder.parent()) else {
        return false;
    };
    for _ in 0..N_TRIES {
        if !is_alive(pid, start_ticks) {
            let members = kernel::text(folder.join("cgroup.procs")).unwrap_or_default();
            for member in members.lines() {
                // One that has ended since is in neither.
                kernel::write(outer.join("cgroup.procs"), member).ok();
            }
            let name = folder.file_name().unwrap_or_default();
            let outside = Folder::following(Links::All, outer);
            match outside.and_then(|it| it.remove_folder(name)) {
                Ok(()) => return true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
                Err(_) => {}
            }
        }
        thread::sleep(PAUSE);
    }
    false
}

fn owner(folder: &Path) -> Option<(u32, u64)> {
    let name = folder.file_name()?.to_str()?;
    let (pid, start_ticks) = name.strip_prefix("looptax-")?.split_once('-')?;
    Some((pid.parse().ok()?, start_ticks.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn r19_only_a_folder_of_one_who_is_gone_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        };
        assert!(remove(&folder(&format!("looptax-{}-5", u32::MAX))));
        for name in ["looptax-mine-5", "other-4294967295-5"] {
            let foreign = folder(name);
            assert!(!remove(&foreign) && foreign.exists(), "{name}");
        }
    }
}
