//! A client's rights, taken over by one thread of ours.
//!
//! The kernel keeps user and groups per thread, so the rest of the program stays who it is.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use looptax_path::Endpoint;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::client::Client;

/// User, group and further groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

impl Rights {
    /// Takes them over for the calling thread, for good. Nothing is done where they are ours already.
    ///
    /// # Errors
    /// The kernel's refusal: it takes root.
    pub fn take(&self) -> io::Result<()> {
        if rustix::process::geteuid().as_raw() == self.uid {
            return Ok(());
        }
        let groups: Vec<Gid> = self.groups.iter().map(|it| Gid::from_raw(*it)).collect();
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&groups)?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        Ok(())
    }
}

/// A socket's file, held open: it leads there whatever our rights and view are later, and however long
/// its path is.
pub(super) struct Door(OwnedFd);

impl Door {
    /// The socket at `path` as the client sees it, or as we do.
    ///
    /// # Errors
    /// What the kernel says of the path.
    pub(super) fn of(path: &Path, client: Option<&Client>) -> io::Result<Self> {
        let seen = match client.and_then(|client| client.pid) {
            Some(pid) => in_view_of(pid, path),
            None => path.to_owned(),
        };
        let file = rustix::fs::open(seen, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self(file))
    }

    /// Where to connect, for as long as this lives.
    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.place().into())
    }

    /// An error's text with the socket's path in it, instead of ours.
    pub(super) fn named(&self, text: &str, path: &Path) -> String {
        text.replace(&self.place(), &path.to_string_lossy())
    }

    fn place(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }
}

fn in_view_of(pid: u32, path: &Path) -> PathBuf {
    let below = path.strip_prefix("/").unwrap_or(path);
    Path::new(&format!("/proc/{pid}/root")).join(below)
}
