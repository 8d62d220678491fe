//! A folder that is held open. Names are looked up in this folder, even if its path leads to another folder later.
//!
//! A name is a single path component. No operation follows a link. A name is reported as missing only if the kernel
//! reports it as missing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, fstat, linkat, mkdirat, openat, renameat,
    renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::control::{Stranger, is_ours, is_writable_by_us_alone, stranger_in};
use crate::refusal::Refusal;

/// A folder that is held open.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
    stranger: Option<Stranger>,
}

/// The identity of a file: two files that exist at the same time have different identities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    pub dev: u64,
    pub ino: u64,
}

impl From<&Stat> for FileId {
    fn from(stat: &Stat) -> Self {
        Self { dev: stat.st_dev, ino: stat.st_ino }
    }
}

impl Folder {
    pub(crate) fn held(fd: OwnedFd, path: PathBuf, stranger: Option<Stranger>) -> Self {
        Self { fd, path, stranger }
    }

    /// Returns the path that the folder had when it was opened, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the user or group, other than root and the caller, that may write in the folder, or replace a folder on
    /// the path to it.
    pub fn stranger(&self) -> Option<&Stranger> {
        self.stranger.as_ref()
    }

    /// Returns the kernel's metadata of the folder.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn stat(&self) -> io::Result<Stat> {
        Ok(fstat(&self.fd)?)
    }

    /// Returns the metadata of the file with this name; for a link, the metadata of the link itself. Returns `None` if
    /// the name does not exist.
    ///
    /// # Errors
    /// The kernel's error, except for a missing name.
    pub fn look(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Stat>> {
        stat_at(&self.fd, plain(name.as_ref())?)
    }

    /// Whether the caller may create files in the folder.
    pub fn takes_files(&self) -> bool {
        let access = Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(&self.fd, ".", access, AtFlags::EACCESS).is_ok()
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// The kernel's error; `NotADirectory` for a link.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = plain(name.as_ref())?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty())?;
        let stat = fstat(&fd)?;
        Ok(self.below(fd, self.path.join(name), &stat))
    }

    /// Returns a folder that was found in this one.
    pub(crate) fn below(&self, fd: OwnedFd, path: PathBuf, stat: &Stat) -> Self {
        let above = self.stranger.clone().filter(|_| !self.keeps(stat.st_uid));
        let stranger = above.or_else(|| stranger_in(fd.as_fd(), stat, &path));
        Self { fd, path, stranger }
    }

    /// Whether a file of this owner can have got its name in this folder only from root or the caller.
    pub fn keeps(&self, owner: u32) -> bool {
        self.stranger.as_ref().is_none_or(|it| it.path == self.path && it.is_kept_from(owner))
    }

    /// Opens a regular file in the folder for reading.
    ///
    /// # Errors
    /// The kernel's error; `InvalidInput` for anything other than a regular file.
    pub fn open_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_ordinary(name.as_ref(), OFlags::RDONLY)
    }

    /// Reads a regular file in the folder; returns the open file and its contents.
    ///
    /// # Errors
    /// As [`Folder::open_file`]; `FileTooLarge` for more than `most_bytes`.
    pub fn read(&self, name: impl AsRef<OsStr>, most_bytes: u64) -> io::Result<(File, Vec<u8>)> {
        let mut file = self.open_file(name)?;
        let bytes = read_whole(&mut file, most_bytes)?;
        Ok((file, bytes))
    }

    /// Opens a file for reading. Only root and the caller may have written the file.
    ///
    /// # Errors
    /// As [`Folder::open_file`], and [`Refusal::NotOwn`].
    pub fn open_own(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let file = self.open_file(name.as_ref())?;
        self.refuse_foreign(&file, name.as_ref())?;
        Ok(file)
    }

    /// Reads a file that only root and the caller may have written.
    ///
    /// # Errors
    /// As [`Folder::open_own`]; `FileTooLarge` for more than `most_bytes`.
    pub fn read_own(&self, name: impl AsRef<OsStr>, most_bytes: u64) -> io::Result<Vec<u8>> {
        read_whole(&mut self.open_own(name)?, most_bytes)
    }

    /// Opens a file for reading and appending. Only root and the caller may have written the file.
    ///
    /// # Errors
    /// As [`Folder::open_own`].
    pub fn append_own(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let file = self.open_ordinary(name.as_ref(), OFlags::RDWR | OFlags::APPEND)?;
        self.refuse_foreign(&file, name.as_ref())?;
        Ok(file)
    }

    /// Opens a file for reading and writing; creates the file if it is missing. Only root and the caller may have
    /// written an existing file.
    ///
    /// # Errors
    /// As [`Folder::open_own`].
    pub fn open_or_create_own(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.own_or_created(name.as_ref(), OFlags::RDWR)
    }

    /// Opens a file for appending; creates the file if it is missing. Only root and the caller may have written an
    /// existing file.
    ///
    /// # Errors
    /// As [`Folder::open_own`].
    pub fn append_or_create_own(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.own_or_created(name.as_ref(), OFlags::RDWR | OFlags::APPEND)
    }

    fn own_or_created(&self, name: &OsStr, access: OFlags) -> io::Result<File> {
        loop {
            match self.open_ordinary(name, access) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => {
                    let file = opened?;
                    self.refuse_foreign(&file, name)?;
                    return Ok(file);
                }
            }
            match self.create(name, 0o600) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // The file exists now; the loop opens it again for the requested access.
                made => drop(made?),
            }
        }
    }

    fn refuse_foreign(&self, file: &File, name: &OsStr) -> io::Result<()> {
        let stat = fstat(file)?;
        if is_ours(stat.st_uid) && is_writable_by_us_alone(file.as_fd(), &stat) {
            return Ok(());
        }
        Err(Refusal::NotOwn { at: self.path.join(name), owner: stat.st_uid, mode: stat.st_mode & 0o7777 }.into())
    }

    fn open_ordinary(&self, name: &OsStr, access: OFlags) -> io::Result<File> {
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(openat(&self.fd, plain(name)?, flags, Mode::empty())?);
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            let words = format!("`{}` is not an ordinary file", self.path.join(name).display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        Ok(file)
    }

    /// Creates a new file for reading and writing.
    ///
    /// # Errors
    /// The kernel's error; `AlreadyExists` if the name exists, even as a link that leads nowhere.
    pub fn create(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        Ok(File::from(openat(&self.fd, plain(name.as_ref())?, flags, mode)?))
    }

    /// Makes a folder in this one.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn make_folder(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<()> {
        Ok(mkdirat(&self.fd, plain(name.as_ref())?, Mode::from_raw_mode(mode))?)
    }

    /// Makes a symbolic link in the folder.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn make_link(&self, name: impl AsRef<OsStr>, to: &Path) -> io::Result<()> {
        Ok(symlinkat(to, &self.fd, plain(name.as_ref())?)?)
    }

    /// Sets the folder's own permission bits.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::fchmod(self.readable()?, Mode::from_raw_mode(mode))?)
    }

    /// Renames a file within the folder; replaces a file that already has the new name.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        let (from, to) = (plain(from.as_ref())?, plain(to.as_ref())?);
        Ok(renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Renames a file within the folder, to a name that does not exist yet.
    ///
    /// # Errors
    /// The kernel's error; `AlreadyExists` if the name is taken.
    pub fn rename_new(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        let (from, to) = (plain(from.as_ref())?, plain(to.as_ref())?);
        match renameat_with(&self.fd, from, &self.fd, to, RenameFlags::NOREPLACE) {
            // A file system that cannot rename in this way may still be able to give the file a second name.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(&self.fd, from, &self.fd, to, AtFlags::empty())?;
                self.remove(from)
            }
            done => Ok(done?),
        }
    }

    /// Exchanges the names of two files.
    ///
    /// # Errors
    /// The kernel's error; `INVAL` or `NOSYS` if the file system cannot exchange names.
    pub fn exchange(&self, one: impl AsRef<OsStr>, other: impl AsRef<OsStr>) -> Result<(), Errno> {
        let names = (plain(one.as_ref()), plain(other.as_ref()));
        let (Ok(one), Ok(other)) = names else {
            return Err(Errno::INVAL);
        };
        renameat_with(&self.fd, one, &self.fd, other, RenameFlags::EXCHANGE)
    }

    /// Removes a file; if the name is a link, removes the link itself.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.fd, plain(name.as_ref())?, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.fd, plain(name.as_ref())?, AtFlags::REMOVEDIR)?)
    }

    /// Removes the file, link or folder with this name. Removes a folder with everything in it. Follows no link.
    ///
    /// # Errors
    /// The first error; everything else that can be removed is removed nevertheless.
    pub fn remove_all(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = name.as_ref();
        match self.remove(name) {
            Err(error) if is_of_folder(&error) => {}
            done => return done,
        }
        let inner = self.folder(name)?;
        let mut outcome = Ok(());
        for below in inner.names()? {
            let done = inner.remove_all(&below);
            outcome = outcome.and(done);
        }
        outcome.and(self.remove_folder(name))
    }

    /// Returns the names in the folder, in no particular order.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self.readable()?)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Syncs the names in the folder to the disk.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(self.readable()?)?)
    }

    /// Returns a second handle of the same folder.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn again(&self) -> io::Result<Self> {
        Ok(Self { fd: self.fd.try_clone()?, path: self.path.clone(), stranger: self.stranger.clone() })
    }

    /// Returns a descriptor by which the folder can be read and changed.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn readable(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&self.fd, ".", flags, Mode::empty())?)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn is_of_folder(error: &io::Error) -> bool {
    // If a program unlinks a folder, POSIX specifies EPERM, but Linux returns EISDIR.
    let code = error.raw_os_error();
    [Errno::ISDIR, Errno::PERM].iter().any(|it| code == Some(it.raw_os_error()))
}

/// Reads the rest of a file.
///
/// # Errors
/// The kernel's error; `FileTooLarge` for more than `most_bytes`.
pub fn read_whole(file: &mut File, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        let words = format!("the file has more than {most_bytes} bytes, the largest size that looptax reads");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}

/// Returns the name if it is a single component that does not lead out of the folder.
///
/// # Errors
/// `InvalidInput` for a path, `.`, `..`, an empty name, or a name with a zero byte.
pub fn plain(name: &OsStr) -> io::Result<&OsStr> {
    let bytes = name.as_bytes();
    let is_path = bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.iter().any(|it| matches!(it, b'/' | 0));
    if is_path {
        let words = format!("`{}` is not a plain file name", name.to_string_lossy());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    Ok(name)
}

/// Returns the metadata of a name in a folder; for a link, the metadata of the link itself. Returns `None` if the name
/// does not exist.
///
/// # Errors
/// The kernel's error, except for a missing name.
pub(crate) fn stat_at(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
