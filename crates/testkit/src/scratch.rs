//! A scratch folder for one test, with a separate working folder and TMPDIR. Also finds the processes that still use
//! these folders.
//!
//! Reads `/proc`, and changes nothing outside the scratch folder. Used by tests and by the runner.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{patience, signals};

/// A folder that is removed when this value is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    /// Makes a folder that every account can reach, because private servers run under separate accounts.
    ///
    /// # Panics
    /// Panics if the folder cannot be made.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Makes a folder for programs that root starts, like [`Self::new`]. Such programs must not be in the folder for
    /// temporary files, because every account may write there.
    ///
    /// # Panics
    /// Panics if the folder cannot be made.
    pub fn for_programs() -> Self {
        if rustix::process::geteuid().is_root() { Self::below(Path::new("/var")) } else { Self::new() }
    }

    /// Makes a folder like [`Self::new`], but in a given folder, for tests that depend on the location.
    ///
    /// # Panics
    /// Panics if the folder cannot be made.
    pub fn below(folder: &Path) -> Self {
        signals::are_heard_by_children();
        let folder = tempfile::Builder::new()
            .prefix("lt-")
            .tempdir_in(folder)
            .expect("the folder for temporary files can be written");
        let scratch = Self { folder };
        for part in [scratch.folder.path(), &scratch.work(), &scratch.tmp()] {
            fs::create_dir_all(part).expect("our own folder can be written");
            fs::set_permissions(part, fs::Permissions::from_mode(0o755)).expect("our own folder can be changed");
        }
        scratch
    }

    /// Returns the folder in which the program under test runs.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    pub fn tmp(&self) -> PathBuf {
        self.folder.path().join("t")
    }

    /// Returns the path of a file in the working folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// Makes another account the owner of the working folder and of TMPDIR.
    ///
    /// # Panics
    /// Panics if the test does not run as root.
    pub fn give_to(&self, uid: u32) {
        for part in [self.work(), self.tmp()] {
            chown(&part, Some(uid), Some(uid)).expect("root may give folders away");
        }
    }

    /// Returns a list of all files in the folder, one per line.
    pub fn tree(&self) -> String {
        let mut text = String::new();
        list(self.folder.path(), 1, &mut text);
        text
    }

    /// Returns the processes that work in the folder, or that have its path in their command line or in their
    /// environment.
    pub fn processes(&self) -> Vec<u32> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| *pid != std::process::id() && self.is_used_by(*pid))
            .collect()
    }

    fn is_used_by(&self, pid: u32) -> bool {
        let here = self.folder.path();
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let mentions = |name: &str| {
            let text = fs::read(proc.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(&here.display().to_string())
        };
        let works_here = fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd.starts_with(here));
        works_here || mentions("cmdline") || mentions("environ")
    }

    /// Returns those of [`Self::processes`] whose program has this name.
    pub fn processes_of(&self, program: &str) -> Vec<u32> {
        let is_it =
            |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == program);
        self.processes().into_iter().filter(is_it).collect()
    }

    /// Waits up to a second; then fails if a process still uses the folder, or if TMPDIR is not empty. The wait is for
    /// the guard of `looptax run`, which ends only after it has seen the end of the process that started it.
    ///
    /// # Panics
    /// Panics if something is left.
    #[track_caller]
    pub fn check_nothing_left(&self) {
        self.check_nothing_left_after(Duration::from_secs(1));
    }

    /// Does the same as [`Self::check_nothing_left`], but waits up to `at_most`: for a program that could not clean up
    /// itself.
    ///
    /// # Panics
    /// Panics if something is left after `at_most`.
    #[track_caller]
    pub fn check_nothing_left_after(&self, at_most: Duration) {
        let is_gone = patience::wait(at_most, || {
            let is_empty = fs::read_dir(self.tmp()).is_ok_and(|mut it| it.next().is_none());
            (is_empty && self.processes().is_empty()).then_some(())
        });
        assert!(is_gone.is_some(), "left behind: processes {:?}\n{}", self.processes(), self.tree());
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

fn list(folder: &Path, depth: usize, text: &mut String) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        writeln!(text, "{:depth$}{}", "", name.display()).expect("writing to a String");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&entry.path(), depth + 2, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_who_works_in_it_and_what_it_holds() {
        let scratch = Scratch::new();
        scratch.check_nothing_left();
        let mut cat = std::process::Command::new("cat")
            .current_dir(scratch.work())
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(scratch.processes(), [cat.id()]);
        drop(cat.stdin.take());
        cat.wait().unwrap();
        fs::create_dir(scratch.tmp().join("left")).unwrap();
        assert!(scratch.tree().contains("left"));
        assert!(std::panic::catch_unwind(|| scratch.check_nothing_left()).is_err());
    }
}
