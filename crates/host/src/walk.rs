//! Resolves a path to a file from `/`, one component at a time. Holds each component open while it looks up the next
//! one.
//!
//! A path that is looked up twice can lead to two different files, so this module looks up a path only once. It opens
//! every folder on the path without following a link. It reads the text of each link, and resolves the text in the same
//! way. It holds each file and folder open through a descriptor. The rule of a walk decides which links it follows. The
//! walk reports each link that it followed.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, openat, readlinkat};
use rustix::io::Errno;

use crate::control::{Stranger, stranger_in};
use crate::folder::Folder;
use crate::refusal::Refusal;
use crate::viewer::Viewer;

/// The maximum number of links in a path; the kernel follows the same number.
const MOST_LINKS: usize = 40;
/// The number by which `statfs` identifies the file system of `/proc`.
const PROC_MAGIC: u32 = 0x9fa0;
/// The inode number of `/proc` itself.
const PROC_ROOT_INODE: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// All links. Use this to read a file that a person passed; never use it to write.
    All,
    /// Links that only root or the caller can have created.
    Trusted,
    None,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The link's path.
    pub at: PathBuf,
    pub to: PathBuf,
    pub owner: u32,
    /// Whether only root or the caller can have created the link.
    pub is_trusted: bool,
}

/// The end of a walk.
#[derive(Debug)]
pub struct Walked {
    /// The folder that contains the last component.
    pub folder: Folder,
    /// The name of the last component; `.` for `/` itself.
    pub name: OsString,
    /// The file with this name; `None` if there is no such file.
    pub last: Option<Last>,
    /// Whether the last component of the given path is a link that was followed.
    pub is_by_link: bool,
    /// The links that were followed, in order.
    pub links: Vec<Link>,
}

/// The file at the last component of a path, held by a descriptor through which nothing can be read or written.
#[derive(Debug)]
pub struct Last {
    pub fd: OwnedFd,
    pub stat: Stat,
    /// Whether the file is a link that does not lead to the path in its text, such as `/proc/self/fd/1`.
    pub is_magic: bool,
}

impl Last {
    fn itself(fd: OwnedFd, stat: Stat) -> Self {
        Self { fd, stat, is_magic: false }
    }

    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

impl Walked {
    /// Returns an error if another user's link led to the target, unless `is_fine` accepts the link's owner as a user
    /// who may see the target.
    ///
    /// If the caller has no more rights than its user, returns no error: the kernel decides what the caller may do.
    ///
    /// # Errors
    /// [`Refusal::Link`].
    pub fn refuse_lent(&self, is_fine: impl Fn(u32) -> bool) -> io::Result<()> {
        let mut strange = { self.links.iter() }.filter(|it| !it.is_trusted && !is_fine(it.owner));
        match strange.next() {
            Some(link) if crate::control::is_privileged() => {
                Err(Refusal::Link { at: link.at.clone(), owner: link.owner }.into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the whole path, without links.
    pub fn path(&self) -> PathBuf {
        if self.name == "." {
            return self.folder.path().to_owned();
        }
        self.folder.path().join(&self.name)
    }
}

#[allow(missing_debug_implementations)] // A judge is a closure.
pub struct Walk<'a> {
    /// The rule for links before the last component.
    pub links: Links,
    /// The rule for a link at the last component.
    pub last_link: Links,
    /// The folder that is used as `/`; if `None`, the caller's own `/`.
    pub root: Option<&'a OwnedFd>,
    /// The user on whose behalf files are read; if `None`, the caller.
    pub viewer: Option<&'a Viewer>,
    /// The mode with which missing folders before the last component are made; `None` if they are not made.
    pub make: Option<u32>,
    /// The check of everything on the path, including links and the last component.
    pub(crate) judge: Option<&'a Judge<'a>>,
    /// The process to which `/proc/self` refers; if `None`, the caller's own process.
    pub(crate) process: Option<u32>,
}

/// Checks each file or folder on a walk, from its descriptor, its metadata and its path.
pub(crate) type Judge<'a> = dyn Fn(BorrowedFd<'_>, &Stat, &Path) -> io::Result<()> + 'a;

impl Walk<'_> {
    /// Returns a walk with the same rule for all links.
    pub fn following(links: Links) -> Self {
        Self { links, last_link: links, root: None, viewer: None, make: None, judge: None, process: None }
    }

    /// Walks along `path`. A relative path starts at the working folder.
    ///
    /// # Errors
    /// The kernel's error, or a [`Refusal`].
    pub fn to(&self, path: &Path) -> io::Result<Walked> {
        let absolute = if path.is_absolute() { path.to_owned() } else { std::env::current_dir()?.join(path) };
        let mut way = Way::start(self)?;
        way.queue(&absolute);
        way.go()
    }
}

fn is_in_proc(fd: &OwnedFd) -> io::Result<bool> {
    Ok(rustix::fs::fstatfs(fd)?.f_type as u32 == PROC_MAGIC)
}

struct Way<'a> {
    rule: &'a Walk<'a>,
    held: Vec<Held>,
    pending: VecDeque<OsString>,
    links: Vec<Link>,
    /// Whether the path ended with `/`, so that its last component has to be a folder.
    wants_folder: bool,
    is_by_link: bool,
}

struct Held {
    fd: OwnedFd,
    path: PathBuf,
    stat: Stat,
    /// The other user or group that may replace a folder on the path to this folder.
    way: Option<Stranger>,
    /// The other user or group that may write in this folder.
    own: Option<Stranger>,
}

impl Held {
    /// Whether a file of this owner in this folder certainly got its name from root or from the caller.
    fn keeps(&self, owner: u32) -> bool {
        self.own.as_ref().is_none_or(|it| it.is_kept_from(owner))
    }

    fn into_folder(self) -> Folder {
        Folder::held(self.fd, self.path, self.way.or(self.own))
    }
}

impl<'a> Way<'a> {
    fn start(rule: &'a Walk<'a>) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = match rule.root {
            Some(root) => openat(root, ".", flags, Mode::empty())?,
            None => openat(CWD, "/", flags, Mode::empty())?,
        };
        let mut way = Self {
            rule,
            held: Vec::new(),
            pending: VecDeque::new(),
            links: Vec::new(),
            wants_folder: false,
            is_by_link: false,
        };
        let stat = rustix::fs::fstat(&fd)?;
        way.judge(&fd, &stat, Path::new("/"))?;
        way.hold(fd, PathBuf::from("/"), stat)?;
        Ok(way)
    }

    fn queue(&mut self, path: &Path) {
        let parts: Vec<OsString> = { path.components() }
            .filter_map(|part| match part {
                Component::Normal(name) => Some(name.to_owned()),
                Component::ParentDir => Some("..".into()),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
            })
            .collect();
        self.wants_folder |= self.pending.is_empty() && path.as_os_str().as_bytes().ends_with(b"/");
        for part in parts.into_iter().rev() {
            self.pending.push_front(part);
        }
    }

    /// Adds a folder to the held folders. The new folder is inside the last held folder.
    fn hold(&mut self, fd: OwnedFd, path: PathBuf, stat: Stat) -> io::Result<()> {
        if let Some(viewer) = self.rule.viewer
            && !viewer.may_search(&stat)
        {
            let viewer = viewer.uid;
            return Err(Refusal::Unreadable { at: path, viewer }.into());
        }
        let way = self.held.last().and_then(|above| {
            let moved_by = || above.own.clone().filter(|_| !above.keeps(stat.st_uid));
            above.way.clone().or_else(moved_by)
        });
        self.held.push(Held { own: stranger_in(fd.as_fd(), &stat, &path), fd, path, stat, way });
        Ok(())
    }

    fn go(mut self) -> io::Result<Walked> {
        while let Some(name) = self.pending.pop_front() {
            if name == ".." {
                if self.held.len() > 1 {
                    self.held.pop();
                }
                continue;
            }
            let is_last = self.pending.is_empty();
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = openat(&self.top().fd, &*name, flags, Mode::empty());
            let fd = match opened {
                Ok(fd) => fd,
                Err(Errno::NOENT) if is_last => return Ok(self.end(name, None)),
                Err(Errno::NOENT) => match self.rule.make {
                    Some(mode) => self.make(&name, mode)?,
                    None => return Err(Errno::NOENT.into()),
                },
                Err(error) => return Err(error.into()),
            };
            let stat = rustix::fs::fstat(&fd)?;
            self.judge(&fd, &stat, &self.top().path.join(&name))?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
                let is_magic = self.is_magic(&fd)?;
                if self.follows(&name, &stat, is_last && !self.wants_folder, is_magic)? {
                    self.is_by_link |= is_last;
                    self.follow(&name, &fd, &stat)?;
                    continue;
                }
                let last = Last { fd, stat, is_magic };
                return Ok(self.end(name, Some(last)));
            }
            let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            if !is_folder && (!is_last || self.wants_folder) {
                return Err(Errno::NOTDIR.into());
            }
            if is_last {
                return Ok(self.end(name, Some(Last::itself(fd, stat))));
            }
            let path = self.top().path.join(&name);
            self.hold(fd, path, stat)?;
        }
        self.end_held()
    }

    /// Returns the end of a path, if the path leads to a folder that is already held: `/`, or a folder reached through
    /// `..`.
    fn end_held(mut self) -> io::Result<Walked> {
        let top = self.held.pop().expect("the walk keeps its first folder until the end");
        let fd = openat(&top.fd, ".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let last = Some(Last::itself(fd, top.stat));
        let (above, name) = match self.held.pop() {
            Some(above) => {
                let name = top.path.file_name().unwrap_or(OsStr::new(".")).to_owned();
                (above, name)
            }
            None => (top, OsString::from(".")),
        };
        Ok(Walked { folder: above.into_folder(), name, last, is_by_link: self.is_by_link, links: self.links })
    }

    fn judge(&self, fd: &OwnedFd, stat: &Stat, path: &Path) -> io::Result<()> {
        let judge = self.rule.judge;
        judge.map_or(Ok(()), |it| it(fd.as_fd(), stat, path))
    }

    fn top(&self) -> &Held {
        self.held.last().expect("the walk keeps its first folder until the end")
    }

    fn make(&self, name: &OsStr, mode: u32) -> io::Result<OwnedFd> {
        match rustix::fs::mkdirat(&self.top().fd, name, Mode::from_raw_mode(mode)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.top().fd, name, flags, Mode::empty())?)
    }

    /// Whether a link in `/proc` leads to an object that the kernel holds, instead of the path in its text.
    fn is_magic(&self, link: &OwnedFd) -> io::Result<bool> {
        Ok(is_in_proc(link)? && !self.is_proc_root())
    }

    /// Whether the folder on top of the stack is `/proc` itself.
    fn is_proc_root(&self) -> bool {
        let top = self.top();
        top.stat.st_ino == PROC_ROOT_INODE && is_in_proc(&top.fd).unwrap_or(false)
    }

    /// Whether a link is followed; `false` only at the last component, if the link itself is wanted.
    fn follows(&self, name: &OsStr, stat: &Stat, is_last: bool, is_magic: bool) -> io::Result<bool> {
        let rule = if is_last { self.rule.last_link } else { self.rule.links };
        let is_followed = match rule {
            Links::All => true,
            Links::Trusted => self.is_trusted(stat),
            Links::None => false,
        };
        if is_last && (!is_followed || is_magic) {
            return Ok(false);
        }
        if !is_followed || is_magic {
            return Err(Refusal::Link { at: self.top().path.join(name), owner: stat.st_uid }.into());
        }
        Ok(true)
    }

    /// Whether only root or the caller can have created this link in the folder on top of the stack.
    fn is_trusted(&self, link: &Stat) -> bool {
        let top = self.top();
        top.way.is_none() && top.keeps(link.st_uid)
    }

    fn follow(&mut self, name: &OsStr, fd: &OwnedFd, stat: &Stat) -> io::Result<()> {
        if self.links.len() == MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let to = match (self.rule.process, name.to_str()) {
            (Some(pid), Some("self")) if self.is_proc_root() => PathBuf::from(pid.to_string()),
            (Some(pid), Some("thread-self")) if self.is_proc_root() => PathBuf::from(format!("{pid}/task/{pid}")),
            _ => {
                let text = readlinkat(fd, "", Vec::new())?;
                PathBuf::from(OsString::from_vec(text.into_bytes()))
            }
        };
        self.links.push(Link {
            at: self.top().path.join(name),
            to: to.clone(),
            owner: stat.st_uid,
            is_trusted: self.is_trusted(stat),
        });
        if to.is_absolute() {
            self.held.truncate(1);
        }
        self.queue(&to);
        Ok(())
    }

    fn end(mut self, name: OsString, last: Option<Last>) -> Walked {
        let top = self.held.pop().expect("the walk keeps its first folder until the end");
        Walked { folder: top.into_folder(), name, last, is_by_link: self.is_by_link, links: self.links }
    }
}

impl Folder {
    /// Opens a folder; returns an error if there is a link on the path.
    ///
    /// # Errors
    /// The kernel's error, or a [`Refusal`].
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::at_end(Walk::following(Links::None).to(path)?)
    }

    /// Opens a folder; follows links according to the rule.
    ///
    /// # Errors
    /// As [`Folder::open`].
    pub fn following(links: Links, path: &Path) -> io::Result<Self> {
        Self::at_end(Walk::following(links).to(path)?)
    }

    /// Returns the folder at the end of a walk.
    ///
    /// # Errors
    /// At the end of the path there is nothing, or something that is not a folder.
    pub fn at_end(walked: Walked) -> io::Result<Self> {
        let path = walked.path();
        let last = walked.last.ok_or(Errno::NOENT)?;
        if last.file_type() == FileType::Symlink {
            let owner = last.stat.st_uid;
            return Err(Refusal::Link { at: path, owner }.into());
        }
        if last.file_type() != FileType::Directory {
            return Err(Errno::NOTDIR.into());
        }
        Ok(walked.folder.below(last.fd, path, &last.stat))
    }
}
