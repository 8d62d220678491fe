//! Names whose value is a password or equivalent to one.
//!
//! Called by `mask`, which hides values, and by the readers of forms that contain them.

use percent_encoding::percent_decode_str;

/// A name that contains one of these words is that of a password.
const PASSWORDS: [&str; 5] = ["pass", "pwd", "auth", "secret", "token"];
/// `MongoDB`'s options that contain `auth` in their names but hold no secret: the database with the account, and the
/// method of the login.
const OPEN: [&str; 2] = ["authsource", "authmechanism"];

/// Whether the value of such a name is a password or equivalent to one. Command-line options are not included: the
/// options of each tool that hold a password are listed elsewhere.
pub(crate) fn is_secret(name: &str) -> bool {
    contains_any(name, &PASSWORDS) && !OPEN.contains(&&*plain(name))
}

/// Whether the name is that of a key for a cloud or for TLS, in an address.
pub(crate) fn is_key(name: &str) -> bool {
    contains_any(name, &["key"])
}

fn contains_any(name: &str, words: &[&str]) -> bool {
    let name = plain(name);
    !name.starts_with('-') && words.iter().any(|word| name.contains(word))
}

fn plain(name: &str) -> String {
    percent_decode_str(name).decode_utf8_lossy().to_lowercase()
}
