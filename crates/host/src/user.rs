//! Finds users' names by their numbers, and determines whether a user's number is the same outside this user namespace.

use std::fs;
use std::path::Path;

/// The link of the first user namespace, which always has this number. Source: `PROC_USER_INIT_INO` in
/// linux/include/uapi/linux/nsfs.h.
const FIRST_NAMESPACE: &str = "user:[4026531837]";

/// Returns a user's name for a person, such as `user x`, or `user 1001` if the user has no name.
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
