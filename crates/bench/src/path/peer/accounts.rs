//! The accounts of this machine: our own, those of the system, and the owners of the id ranges for containers.
//!
//! Reads only files that root writes.

use looptax_host::read;

use super::rule::{Accounts, Lent};

/// The lowest id of a person's account, unless login.defs sets another.
///
/// # Source
/// login.defs(5), `UID_MIN`.
const USUAL_FIRST: u32 = 1000;

pub(super) fn read_all() -> Accounts {
    let text = read::system_text;
    Accounts {
        own: own(&text("/proc/self/status")),
        first_ordinary: first_ordinary(&text("/etc/login.defs")),
        lent: lent(&text("/etc/subuid"), &text("/etc/passwd")),
    }
}

pub(super) fn name(uid: u32) -> Option<String> {
    name_of(&read::system_text("/etc/passwd"), uid).map(str::to_owned)
}

/// Returns an account's name and number, to be shown to a person.
pub(super) fn named(uid: u32) -> String {
    match name(uid) {
        Some(name) => format!("{name} (uid {uid})"),
        None => format!("uid {uid}"),
    }
}

/// Returns the effective uid of our process: the second number of the line `Uid:`. The calling thread's own uid may
/// differ, because the thread may have assumed a client's rights.
fn own(status: &str) -> u32 {
    let line = status.lines().find_map(|it| it.strip_prefix("Uid:"));
    let told = line.and_then(|it| it.split_whitespace().nth(1)?.parse().ok());
    told.unwrap_or_else(|| rustix::process::geteuid().as_raw())
}

fn first_ordinary(definitions: &str) -> u32 {
    let value = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next()? == "UID_MIN").then(|| words.next()?.parse().ok())?
    };
    definitions.lines().find_map(value).unwrap_or(USUAL_FIRST)
}

/// Parses lines such as `alice:100000:65536`, which may have an id instead of the name.
fn lent(ranges: &str, passwd: &str) -> Vec<Lent> {
    let range = |line: &str| {
        let mut fields = line.trim().split(':');
        let name = fields.next()?;
        Some(Lent {
            to: uid_of(passwd, name).or_else(|| name.parse().ok())?,
            first: fields.next()?.parse().ok()?,
            n: fields.next()?.parse().ok()?,
        })
    };
    ranges.lines().filter_map(range).collect()
}

/// Returns the name and the id of each account.
fn entries(passwd: &str) -> impl Iterator<Item = (&str, u32)> {
    passwd.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        Some((name, fields.nth(1)?.parse().ok()?))
    })
}

fn uid_of(passwd: &str, name: &str) -> Option<u32> {
    entries(passwd).find(|it| it.0 == name).map(|it| it.1)
}

fn name_of(passwd: &str, uid: u32) -> Option<&str> {
    entries(passwd).find(|it| it.1 == uid).map(|it| it.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/srv/alice:/bin/sh\nbroken\n";

    #[test]
    fn lent_numbers_have_a_name_or_a_number_before_them() {
        let ranges = "alice:100000:65536\n1001:165536:10\nghost:1:1\nbroken\nalice:x:1\n";
        let expected = [(1000, 100_000, 65_536), (1001, 165_536, 10)];
        let expected = expected.map(|(to, first, n)| Lent { to, first, n });
        assert_eq!(lent(ranges, PASSWD), expected);
    }

    #[test]
    fn what_is_told_of_accounts_is_read() {
        assert_eq!(first_ordinary("# UID_MIN 7\nSYS_UID_MIN 100\nUID_MIN\t500\n"), 500);
        assert_eq!(first_ordinary(""), 1000);
        assert_eq!(own("Name:\tx\nUid:\t5\t6\t7\t8\n"), 6);
        assert_eq!(own(""), rustix::process::geteuid().as_raw());
        assert_eq!(name_of(PASSWD, 1000), Some("alice"));
        assert_eq!(name_of(PASSWD, 1), None);
    }
}
