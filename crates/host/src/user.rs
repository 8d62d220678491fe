//! Users by their numbers, and whether a user's number means the same as outside this user namespace.

use std::fs;
use std::path::Path;

/// Source: `PROC_USER_INIT_INO` in linux/include/uapi/linux/nsfs.h: the number that the first namespace always has.
const FIRST_NAMESPACE: &str = "user:[4026531837]";

/// Shows a user to a person: `user x` or `user 1001`.
pub(crate) fn shown(uid: u32) -> String {
    let text = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let number: u32 = fields.nth(1)?.parse().ok()?;
        (number == uid).then_some(name)
    });
    match name {
        Some(name) => format!("user {name}"),
        None => format!("user {uid}"),
    }
}

/// Whether this process is in the machine's own user namespace.
pub(crate) fn is_first_namespace() -> bool {
    let own = fs::read_link("/proc/self/ns/user");
    own.is_ok_and(|it| it == Path::new(FIRST_NAMESPACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_shown_by_name_if_there_is_one() {
        assert_eq!(shown(0), "user root");
        assert_eq!(shown(4_000_000_000), "user 4000000000");
    }
}
