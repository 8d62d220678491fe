//! A cgroup of our own, in which this process and what it starts from then on have their sockets.
//!
//! Made below the cgroup that we are in, so that no limit is escaped; gone afterwards. What a crash left
//! is found by name at the next start. Touches no folder with another name, and none with a process in
//! it. Called by whoever wants a `Sockmap`.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use looptax_host::kernel;

use super::SockmapError;
use super::hierarchy;

/// Start of our folders' names; pid and start time follow.
const NAME: &str = "looptax-";
/// How often the removal is tried: a process that has just ended counts a moment longer.
const N_TRIES: u32 = 100;
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(10);

/// A cgroup of our own. This process is in it until it is dropped, and so is what it starts meanwhile.
///
/// A socket belongs to the cgroup in which it was made: a server that was started before stays outside.
/// There is one at a time per process.
#[derive(Debug)]
pub struct OwnCgroup {
    folder: PathBuf,
    /// Where this process was before.
    former: PathBuf,
    handle: File,
}

impl OwnCgroup {
    /// Removes what ended runs left beside it, makes the folder, and moves this process in with all its
    /// threads.
    ///
    /// # Errors
    /// [`SockmapError::NoCgroup`] without a cgroup of version 2, [`SockmapError::Folder`] where one may
    /// not be made below our own.
    pub fn create() -> Result<Self, SockmapError> {
        let former = hierarchy::own_folder()?;
        sweep(&former);
        let pid = std::process::id();
        let start_ticks = start_ticks_of(pid).unwrap_or_default();
        let folder = former.join(format!("{NAME}{pid}-{start_ticks}"));
        kernel::make_folder(&folder).map_err(failed("make", &folder))?;
        let entered = kernel::open(&folder)
            .map_err(failed("open", &folder))
            .and_then(|handle| {
                move_to(&folder, pid).map_err(failed("enter", &folder))?;
                Ok(handle)
            });
        match entered {
            Ok(handle) => Ok(Self {
                folder,
                former,
                handle,
            }),
            Err(error) => {
                // It is empty, and the next start would find it.
                kernel::remove_folder(&folder).ok();
                Err(error)
            }
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Moves everybody back to where we came from, and removes the folder.
    fn leave(&self) -> io::Result<()> {
        for pid in members(&self.folder) {
            // It may have ended since.
            move_to(&self.former, pid).ok();
        }
        kernel::remove_folder(&self.folder)
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        for _ in 0..N_TRIES {
            match self.leave() {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(PAUSE),
                // What cannot be removed at all is found at the next start.
                Ok(()) | Err(_) => return,
            }
        }
    }
}

fn failed<'a>(
    action: &'static str,
    folder: &'a Path,
) -> impl FnOnce(io::Error) -> SockmapError + 'a {
    move |source| SockmapError::Folder {
        action,
        folder: folder.to_owned(),
        source,
    }
}

/// Moves a process into a cgroup, with all its threads.
fn move_to(folder: &Path, pid: u32) -> io::Result<()> {
    kernel::write(folder.join("cgroup.procs"), pid.to_string())
}

fn members(folder: &Path) -> Vec<u32> {
    let text = kernel::text(folder.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Removes folders of ours whose process is gone, with what such processes had made inside.
///
/// The kernel refuses to remove one with a living process in it, so a server that outlives its looptax
/// for a moment keeps the folder until the start after.
fn sweep(folder: &Path) {
    let Ok(names) = kernel::names(folder) else {
        return;
    };
    for name in names {
        if name.to_str().is_some_and(is_abandoned) {
            sweep(&folder.join(&name));
            kernel::remove_folder(folder.join(&name)).ok();
        }
    }
}

/// Whether a folder's name is one of ours, and its process gone.
fn is_abandoned(name: &str) -> bool {
    let owner = name
        .strip_prefix(NAME)
        .and_then(|rest| rest.split_once('-'))
        .and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
    owner.is_some_and(|(pid, start_ticks): (u32, u64)| start_ticks_of(pid) != Some(start_ticks))
}

/// When a living process started, in clock ticks since boot; `None` when it is gone or dead.
///
/// # Source
/// `proc_pid_stat(5)`: fields 3 and 22, of which the first follows the name.
fn start_ticks_of(pid: u32) -> Option<u64> {
    let stat = kernel::read(format!("/proc/{pid}/stat")).ok()?;
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    (!["Z", "X"].contains(&state)).then_some(())?;
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_whose_process_is_gone_are_abandoned() {
        let pid = std::process::id();
        let start = start_ticks_of(pid).unwrap();
        for (name, expected) in [
            (format!("looptax-{pid}-{start}"), false),
            (format!("looptax-{pid}-{}", start + 1), true),
            (format!("looptax-{}-5", u32::MAX), true),
            ("looptax-1".to_owned(), false),
            ("looptax-mine-5".to_owned(), false),
            (format!("other-{}-5", u32::MAX), false),
        ] {
            assert_eq!(is_abandoned(&name), expected, "{name}");
        }
    }
}
