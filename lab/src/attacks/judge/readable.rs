//! Finds files on the ground that the attacker may read, and checks whether one of them contains the secret.
//!
//! Names may change during the scan, so links are not followed, and the checks use the file that was opened.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use super::super::ground::Ground;

/// Size of the largest file that is read. The files that looptax writes are smaller; larger files are programs.
const MOST_BYTES: u64 = 8 << 20;

/// Identity and version of a file at the time when it was read.
type Seen = (u64, u64, u64, i64, i64);

/// Reads each file once, and again after it has changed.
pub(super) struct Scanner {
    folders: Vec<PathBuf>,
    uid: u32,
    secret: Vec<u8>,
    clean: HashSet<Seen>,
}

impl Scanner {
    pub(super) fn new(ground: &Ground) -> Self {
        Self {
            folders: vec![ground.hers(), ground.at("tmp"), ground.at("ours")],
            uid: ground.uid,
            secret: ground.secret.clone().into_bytes(),
            clean: HashSet::new(),
        }
    }

    /// Returns the first file that the attacker may read and that contains the secret; removes this file.
    pub(super) fn scan(&mut self) -> Result<Option<PathBuf>> {
        for folder in self.folders.clone() {
            if let Some(found) = self.scan_folder(&folder)? {
                // The file is removed so that it does not count in the next round.
                fs::remove_file(&found).ok();
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn scan_folder(&mut self, folder: &Path) -> Result<Option<PathBuf>> {
        // A name may disappear during the scan.
        let Some(opened) = open(folder, OFlags::DIRECTORY) else {
            return Ok(None);
        };
        let is = File::from(opened.try_clone()?).metadata()?;
        if !self.may(&is, 0o1) {
            return Ok(None);
        }
        let Ok(entries) = rustix::fs::Dir::read_from(&opened) else {
            return Ok(None);
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "." || name == ".." {
                continue;
            }
            let path = folder.join(name);
            let found = match entry.file_type() {
                rustix::fs::FileType::Directory => self.scan_folder(&path)?,
                rustix::fs::FileType::RegularFile => self.holds_secret(&path).then_some(path),
                _ => None,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn holds_secret(&mut self, path: &Path) -> bool {
        let Some(opened) = open(path, OFlags::NONBLOCK) else {
            return false;
        };
        let file = File::from(opened);
        let Ok(is) = file.metadata() else {
            return false;
        };
        let seen = (is.dev(), is.ino(), is.size(), is.mtime(), is.mtime_nsec());
        if !is.is_file() || is.size() > MOST_BYTES || !self.may(&is, 0o4) {
            return false;
        }
        if self.clean.contains(&seen) {
            return false;
        }
        let mut bytes = Vec::new();
        if file.take(MOST_BYTES).read_to_end(&mut bytes).is_err() {
            return false;
        }
        let is_there = bytes.windows(self.secret.len()).any(|it| it == self.secret);
        if !is_there {
            self.clean.insert(seen);
        }
        is_there
    }

    /// Checks only by the mode whether the attacker has this right to a file. The owner of a file always has it,
    /// because owners can change the mode.
    fn may(&self, is: &fs::Metadata, right: u32) -> bool {
        is.uid() == self.uid || is.gid() == self.uid && is.mode() & (right << 3) != 0 || is.mode() & right != 0
    }
}

fn open(path: &Path, flags: OFlags) -> Option<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
}
