//! Who may write to a socket, by its owner, group and mode: before there is one to be tried.

use looptax_host::discover::Process;
use looptax_host::read;

use crate::diagnose::check::user_name;

const OWNER_WRITES: u32 = 0o200;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// Whose a socket is, and who may what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) mode: u32,
}

#[derive(Debug, Clone)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) uid: u32,
    groups: Vec<u32>,
}

impl User {
    pub(super) fn of(process: &Process) -> Self {
        let mut groups = process.groups.clone();
        groups.push(process.gid);
        Self { name: user_name(process.uid), uid: process.uid, groups }
    }
}

impl Access {
    /// Whether this user may connect. Of owner, group and others the first that fits counts alone.
    pub(super) fn lets_in(self, user: &User) -> bool {
        let wanted = if user.uid == 0 {
            return true;
        } else if user.uid == self.uid {
            OWNER_WRITES
        } else if user.groups.contains(&self.gid) {
            GROUP_WRITES
        } else {
            OTHERS_WRITE
        };
        self.mode & wanted != 0
    }
}

/// The number of a user or group, by its name in such a file or as it is.
pub(super) fn number_of(path: &str, name: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let text = read::system_text(path);
    let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split(':').nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_class_that_fits_counts_alone() {
        let user = User { name: "www".to_owned(), uid: 33, groups: vec![33, 50] };
        let check = |uid, gid, mode, expected| {
            let access = Access { uid, gid, mode };
            assert_eq!(access.lets_in(&user), expected, "{access:?}");
        };
        check(0, 0, 0o660, false);
        check(0, 0, 0o666, true);
        check(33, 0, 0o600, true);
        check(33, 33, 0o066, false);
        check(0, 50, 0o660, true);
        check(0, 50, 0o606, false);
    }
}
