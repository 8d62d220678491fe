//! The files that she may read on the ground, and whether the secret is in one.
//!
//! Names change while this looks: no link is followed, and what counts is the file that was opened.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use super::super::ground::Ground;

/// Largest file that is read: what looptax writes is smaller, and programs are not written by it.
const MOST_BYTES: u64 = 8 << 20;

/// A file as it was read.
type Seen = (u64, u64, u64, i64, i64);

/// Reads each file once, and again when it has changed.
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

    /// The first file that she may read and that holds the secret; it is taken away.
    pub(super) fn scan(&mut self) -> Result<Option<PathBuf>> {
        for folder in self.folders.clone() {
            if let Some(found) = self.scan_folder(&folder)? {
                // The next round is judged by what it does itself.
                fs::remove_file(&found).ok();
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn scan_folder(&mut self, folder: &Path) -> Result<Option<PathBuf>> {
        // A name that is gone meanwhile has nothing to tell.
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

    /// Whether she has this right, only by the mode; she may give herself rights to her own files.
    fn may(&self, is: &fs::Metadata, right: u32) -> bool {
        is.uid() == self.uid || is.gid() == self.uid && is.mode() & (right << 3) != 0 || is.mode() & right != 0
    }
}

fn open(path: &Path, flags: OFlags) -> Option<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
}
