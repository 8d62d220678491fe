//! Reads files as another process sees them, and only files that the process's user could read.
//!
//! A process may have another root folder or other mounts. The process's user can change the root folder and the mounts
//! in a private namespace, and can mount files there that the user cannot read. looptax therefore follows links within
//! the process's root folder, and requires that the permission bits let the process's user read every folder and file
//! on the path.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use crate::folder::{Folder, read_whole};
use crate::read::{open_by, open_path};
use crate::refusal::Refusal;
use crate::viewer::Viewer;
use crate::walk::{Links, Walk, Walked};

#[derive(Debug)]
pub struct View {
    root: OwnedFd,
    cwd: Option<PathBuf>,
    viewer: Viewer,
}

impl View {
    /// Opens the root folder of a process. Relative paths start at the working folder of the process.
    ///
    /// # Errors
    /// The kernel's error: the process has ended, or looptax may not inspect it.
    pub fn of_process(pid: u32, viewer: Viewer) -> io::Result<Self> {
        let root = open_path(Path::new(&format!("/proc/{pid}/root")))?;
        let cwd = crate::kernel::link(format!("/proc/{pid}/cwd")).ok();
        let inside = cwd.map(|cwd| match crate::kernel::link(format!("/proc/{pid}/root")) {
            Ok(root) if root != Path::new("/") => {
                cwd.strip_prefix(&root).map_or(cwd.clone(), |it| Path::new("/").join(it))
            }
            _ => cwd,
        });
        Ok(Self { root, cwd: inside, viewer })
    }

    /// Reads a regular file.
    ///
    /// # Errors
    /// The errors of [`crate::read::read`]. In addition, a refusal if the process's user is not permitted to read the
    /// file.
    pub fn read(&self, path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
        read_whole(&mut self.open(path)?, most_bytes)
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// As [`View::read`].
    pub fn open(&self, path: &Path) -> io::Result<File> {
        open_by(&self.walk(Links::All), &self.whole(path)?)
    }

    /// Opens a regular file for reading; returns an error if the path ends in a link.
    ///
    /// # Errors
    /// As [`View::read`].
    pub fn open_ordinary(&self, path: &Path) -> io::Result<File> {
        open_by(&self.walk(Links::None), &self.whole(path)?)
    }

    /// Returns the metadata of the file to which a path leads, following links; `None` if there is no file.
    ///
    /// # Errors
    /// As [`View::read`].
    pub fn look(&self, path: &Path) -> io::Result<Option<Stat>> {
        self.looked(Links::All, path)
    }

    /// Does the same as [`View::look`], but if the path ends in a link, returns the metadata of the link itself.
    ///
    /// # Errors
    /// As [`View::read`].
    pub fn look_at_link(&self, path: &Path) -> io::Result<Option<Stat>> {
        self.looked(Links::None, path)
    }

    /// Returns the names in a folder, sorted.
    ///
    /// # Errors
    /// As [`View::read`].
    pub fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let walked = self.walk_to(path)?;
        let stat = walked.last.as_ref().map(|it| it.stat);
        if let Some(stat) = stat
            && !self.viewer.may_read(&stat)
        {
            let (at, viewer) = (walked.path(), self.viewer.uid);
            return Err(Refusal::Unreadable { at, viewer }.into());
        }
        let mut names = Folder::at_end(walked)?.names()?;
        names.sort();
        Ok(names)
    }

    /// Whether a path leads to a regular file.
    pub fn is_file(&self, path: &Path) -> bool {
        let found = self.look(path).ok().flatten();
        found.is_some_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile)
    }

    /// Walks to a path.
    ///
    /// # Errors
    /// As [`View::read`].
    pub fn walk_to(&self, path: &Path) -> io::Result<Walked> {
        self.walk(Links::All).to(&self.whole(path)?)
    }

    fn looked(&self, last_link: Links, path: &Path) -> io::Result<Option<Stat>> {
        match self.walk(last_link).to(&self.whole(path)?) {
            Ok(walked) => Ok(walked.last.map(|it| it.stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn walk(&self, last_link: Links) -> Walk<'_> {
        Walk { last_link, root: Some(&self.root), viewer: Some(&self.viewer), ..Walk::following(Links::All) }
    }

    fn whole(&self, path: &Path) -> io::Result<PathBuf> {
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        let cwd = self.cwd.as_ref().ok_or(io::ErrorKind::PermissionDenied)?;
        Ok(cwd.join(path))
    }
}
