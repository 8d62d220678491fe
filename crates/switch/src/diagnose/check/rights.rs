//! Gives one thread of looptax a client's rights.
//!
//! The kernel keeps user and groups per thread, so the other threads keep their own rights.

use std::io;

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

impl Rights {
    /// Gives the calling thread these rights permanently. Does nothing if the thread already has this user.
    ///
    /// # Errors
    /// The kernel's refusal: only root may do this.
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
