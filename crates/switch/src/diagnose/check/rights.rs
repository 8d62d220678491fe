//! A client's rights, taken over by one thread of ours.
//!
//! The kernel keeps user and groups per thread, so the rest of the program stays who it is.

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
    /// Takes them over for the calling thread, for good. Nothing is done if they are ours already.
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
