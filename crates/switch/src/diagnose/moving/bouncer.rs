//! How pgbouncer authenticates: the same over its socket as over its port, or by rules for each.
//!
//! # Source
//! pgbouncer.org/config.html, `auth_type`, `%include`; pgbouncer.org/usage.html.

use std::path::{Path, PathBuf};

use looptax_host::discover::Process;
use looptax_host::kernel;

/// More than any configuration that people wrote.
const MOST_BYTES: u64 = 1 << 20;
/// Methods that ask for the same wherever somebody comes from. `pam` is told where that is, `cert` wants TLS.
const SAME_EVERYWHERE: [&str; 6] = ["any", "trust", "plain", "md5", "scram-sha-256", "ldap"];

/// Why a login over the socket may end otherwise than over TCP.
pub(super) fn difference(process: &Process) -> Option<String> {
    match configuration(process).as_deref().map(method) {
        None => {
            Some("its configuration, which may treat sockets otherwise, cannot be read".to_owned())
        }
        Some(None) => Some(
            "its configuration includes others, one of which may treat sockets otherwise"
                .to_owned(),
        ),
        Some(Some(method)) if SAME_EVERYWHERE.contains(&&*method) => None,
        Some(Some(method)) => Some(format!(
            "its configuration says `auth_type = {method}`, which may end otherwise over the socket"
        )),
    }
}

/// What it was started with. A relative path is taken from its folder, unless that is `/`, where it goes when it leaves
/// the one that it was started in.
fn configuration(process: &Process) -> Option<String> {
    let path = PathBuf::from(process.arguments().pop()?);
    let path = if path.is_absolute() {
        path
    } else {
        let folder = kernel::link(process.file("cwd")).ok()?;
        (folder != Path::new("/")).then(|| folder.join(path))?
    };
    let bytes = process.view().ok()?.read(&path, MOST_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

/// The last method that it says, or the usual one; `None` where another file may say it.
fn method(text: &str) -> Option<String> {
    let mut found = "md5".to_owned();
    for line in text.lines().map(str::trim) {
        if line.starts_with('%') {
            return None;
        }
        let pair = line
            .split_once('=')
            .map(|(name, value)| (name.trim(), value.trim()));
        if let Some((name, value)) = pair
            && name.eq_ignore_ascii_case("auth_type")
        {
            value.clone_into(&mut found);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(method(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn the_last_method_counts() {
        check("[pgbouncer]\n;auth_type = hba\n", Some("md5"));
        check("auth_type=trust\n auth_type = hba \n", Some("hba"));
        check("%include other.ini\nauth_type = md5", None);
    }
}
