//! A user on whose behalf a file is read: a file that the user could not read is not read for them either.

use rustix::fs::Stat;

/// A user, and the groups of that user.
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

    /// A user whose groups are not known.
    pub(crate) fn without_groups(uid: u32) -> Self {
        Self { uid, gid: u32::MAX, groups: Vec::new() }
    }

    /// Whether the user may look up names in a folder, by the folder's permission bits.
    pub(crate) fn may_search(&self, folder: &Stat) -> bool {
        self.may(folder, 0o1)
    }

    /// Whether the user may read a file, by the file's permission bits. Access lists are not considered.
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
