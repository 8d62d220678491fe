//! Determines which users may write to a socket, from its owner, group and mode, before the socket exists and can be
//! tried.

use looptax_host::discover::Process;
use looptax_host::read;

use crate::diagnose::check::user_name;

const WRITE: u32 = 0o2;

/// A socket's owner, group and mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mode: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    groups: Vec<u32>,
}

impl User {
    pub(crate) fn new(name: String, uid: u32, groups: Vec<u32>) -> Self {
        Self { name, uid, groups }
    }

    pub(crate) fn of(process: &Process) -> Self {
        let mut groups = process.groups.clone();
        groups.push(process.gid);
        Self { name: user_name(process.uid), uid: process.uid, groups }
    }
}

impl Access {
    /// Whether this user may connect.
    pub(crate) fn lets_in(self, user: &User) -> bool {
        self.allows(user, WRITE)
    }

    /// Whether this user has all of these rights (read 4, write 2, search 1). Only the first class that applies to the
    /// user counts: owner, group, others.
    pub(crate) fn allows(self, user: &User, rights: u32) -> bool {
        let shift = if user.uid == 0 {
            return true;
        } else if user.uid == self.uid {
            6
        } else if user.groups.contains(&self.gid) {
            3
        } else {
            0
        };
        (self.mode >> shift) & rights == rights
    }
}

/// Returns the number of a user or group, from its name in a file such as `/etc/passwd`, or from the number itself.
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
