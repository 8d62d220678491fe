//! The file to which a result is written. The file gets its final name only when it is complete and on the disk.
//!
//! If the name is a link that root or the caller has made, the link stays and its target is replaced. If another user
//! has made the link, the link itself is replaced, so that no user can redirect a result into another user's file. If
//! the name is a device or a pipe, the result is written to it directly.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, fchmod, flock, openat};
use rustix::io::Errno;

use crate::control::is_privileged;
use crate::folder::Folder;
use crate::walk::{Last, Links, Walk};

/// The file, device or pipe to which a result is written.
#[derive(Debug)]
pub struct Output {
    folder: Folder,
    name: OsString,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A regular file, or a name that does not exist yet.
    File {
        is_there: bool,
    },
    Stream,
}

/// The action for an existing file with the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Keep the existing file and return an error.
    Keep,
    Replace,
}

impl Output {
    /// Determines where a result with this path is written. Creates nothing.
    ///
    /// # Errors
    /// The kernel's error; `IsADirectory`; a refusal if the path leads through another user's link.
    pub fn find(path: &Path) -> io::Result<Self> {
        Self::walk(path, None)
    }

    /// Does the same as [`Output::find`], and creates missing folders on the path.
    ///
    /// # Errors
    /// As [`Output::find`].
    pub fn find_or_make(path: &Path) -> io::Result<Self> {
        Self::walk(path, Some(0o777))
    }

    fn walk(path: &Path, make: Option<u32>) -> io::Result<Self> {
        let links = if is_privileged() { Links::Trusted } else { Links::All };
        let walk = Walk { last_link: Links::Trusted, make, ..Walk::following(links) };
        let walked = walk.to(path)?;
        let is_strange = walked.folder.stranger().is_some();
        let kind = match &walked.last {
            // A link to a missing file is a mistake of the user, so no result is written there.
            None if walked.is_by_link => return Err(Errno::NOENT.into()),
            None => Kind::File { is_there: false },
            Some(last) => kind_of(last, is_strange)?,
        };
        Ok(Self { folder: walked.folder, name: walked.name, kind })
    }

    /// Returns the output with this name in a folder that is held open. An existing file is replaced.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is not a single component.
    pub fn within(folder: Folder, name: &OsStr) -> io::Result<Self> {
        Ok(Self { name: crate::folder::plain(name)?.to_owned(), folder, kind: Kind::File { is_there: false } })
    }

    /// Whether a regular file with this name exists already.
    pub fn is_there(&self) -> bool {
        self.kind == Kind::File { is_there: true }
    }

    /// Whether the output is a device or a pipe.
    pub fn is_stream(&self) -> bool {
        self.kind == Kind::Stream
    }

    /// Returns the path of the output, with its links resolved.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Opens the device or pipe.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open_stream(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.folder, &*self.name, flags, Mode::empty())?))
    }

    /// Creates the file under its final name, for a result that is written in parts. The name must not exist yet.
    ///
    /// # Errors
    /// The kernel's error; `AlreadyExists` if the name exists, even as another user's link.
    pub fn create(&self, mode: u32) -> io::Result<File> {
        self.folder.create(&self.name, mode)
    }

    /// Creates a temporary file in the same folder, which becomes the output when it is complete.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn begin(&self, mode: Option<u32>) -> io::Result<Begun<'_>> {
        for number in 0_u32.. {
            let name = neighbour(&self.name, number);
            match self.folder.create(&name, mode.unwrap_or(0o666)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_TRIES => {}
                made => {
                    let begun = Begun { output: self, name, file: made?, is_done: false };
                    // `sweep` keeps locked files. If a file system has no locks, `sweep` cannot tell which files are in
                    // use, and removes none of them.
                    let _held = flock(&begun.file, FlockOperation::NonBlockingLockExclusive);
                    if let Some(mode) = mode {
                        fchmod(&begun.file, Mode::from_raw_mode(mode))?;
                    }
                    return Ok(begun);
                }
            }
        }
        unreachable!("the last try returns")
    }
}

/// Removes the temporary files that killed processes left in a folder: those that no process has locked.
///
/// # Errors
/// The kernel's error; everything else that can be removed is removed nevertheless.
pub fn sweep(folder: &Folder) -> io::Result<()> {
    let mut outcome = Ok(());
    for name in folder.names()?.iter().filter(|it| is_neighbour(it)) {
        let Ok(file) = folder.open_own(name) else {
            continue;
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            outcome = outcome.and(folder.remove(name));
        }
    }
    outcome
}

/// Makes the folder for results, and missing folders on the path.
///
/// # Errors
/// As [`Output::find`].
pub fn make_folder(path: &Path) -> io::Result<()> {
    let output = Output::find_or_make(path);
    match output {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(()),
        found => found?.folder.make_folder(path.file_name().unwrap_or_default(), 0o777),
    }
}

/// The number of temporary names that are tried, because some may exist already.
const MOST_TRIES: u32 = 1000;

fn neighbour(name: &OsStr, number: u32) -> OsString {
    let mut random = [0; 8];
    let filled = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let part = if filled.is_ok() { u64::from_ne_bytes(random) } else { u64::from(number) };
    let short: String = name.to_string_lossy().chars().filter(|it| *it != '\u{fffd}').take(40).collect();
    format!(".{short}.looptax-{part:016x}").into()
}

fn is_neighbour(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let part = name.strip_prefix('.').and_then(|it| it.rsplit_once(".looptax-"));
    part.is_some_and(|(_, part)| part.len() == 16 && part.bytes().all(|it| it.is_ascii_hexdigit()))
}

/// Returns the kind of the file. A device or pipe is accepted only if no other user can replace it.
fn kind_of(last: &Last, is_strange: bool) -> io::Result<Kind> {
    match last.file_type() {
        FileType::RegularFile => Ok(Kind::File { is_there: true }),
        FileType::Directory => Err(io::ErrorKind::IsADirectory.into()),
        FileType::Symlink if !last.is_magic => Ok(Kind::File { is_there: false }),
        FileType::Symlink => Ok(Kind::Stream),
        _ if is_strange => Ok(Kind::File { is_there: false }),
        _ => Ok(Kind::Stream),
    }
}

/// An unfinished file that has a temporary name.
#[derive(Debug)]
pub struct Begun<'a> {
    output: &'a Output,
    name: OsString,
    file: File,
    is_done: bool,
}

impl Begun<'_> {
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its final name. Syncs the folder to the disk if its file system can do that.
    ///
    /// # Errors
    /// The kernel's error; `AlreadyExists` if an existing file has to be kept.
    pub fn finish(mut self, existing: Existing) -> io::Result<()> {
        let (folder, to) = (&self.output.folder, &self.output.name);
        match existing {
            Existing::Keep => folder.rename_new(&self.name, to)?,
            Existing::Replace => folder.rename(&self.name, to)?,
        }
        self.is_done = true;
        let _as_far_as_it_can = folder.sync();
        Ok(())
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            let _gone = self.output.folder.remove(&self.name);
        }
    }
}
