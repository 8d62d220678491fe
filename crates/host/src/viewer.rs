//! A user on whose behalf looptax reads a file. looptax does not read a file for a user who could not read it.

use rustix::fs::Stat;

/// A user, with the user's groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

impl Viewer {
    pub fn root() -> Self {
        Self { uid: 0, gid: 0, groups: Vec::new() }
    }

    /// Returns a user whose groups are not known.
    pub(crate) fn without_groups(uid: u32) -> Self {
        Self { uid, gid: u32::MAX, groups: Vec::new() }
    }

    /// Whether the user may look up names in a folder, according to the folder's permission bits.
    pub(crate) fn may_search(&self, folder: &Stat) -> bool {
        self.may(folder, 0o1)
    }

    /// Whether the user may read a file, according to the file's permission bits. Does not consider access lists.
    pub fn may_read(&self, file: &Stat) -> bool {
        self.may(file, 0o4)
    }

    fn may(&self, file: &Stat, bit: u32) -> bool {
        if self.uid == 0 {
            return true;
        }
        let shift = if file.st_uid == self.uid {
            6
        } else if file.st_gid == self.gid || self.groups.contains(&file.st_gid) {
            3
        } else {
            0
        };
        file.st_mode >> shift & bit != 0
    }
}
