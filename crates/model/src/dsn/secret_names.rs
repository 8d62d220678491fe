//! Which names say that their value is a password, or as good as one.
//!
//! Called by `mask`, which hides values, and by the readers of forms that carry them.

use percent_encoding::percent_decode_str;

/// Parts of the name of a password, in any place.
const PASSWORDS: [&str; 5] = ["pass", "pwd", "auth", "secret", "token"];
/// `MongoDB`'s options that have `auth` in their names and say where the account is looked for, and how it logs in.
const OPEN: [&str; 2] = ["authsource", "authmechanism"];

/// Whether the value of such a name is a password, or as good as one. Options of a command line are not
/// meant: each tool's options that take a password are known.
pub(crate) fn is_secret(name: &str) -> bool {
    contains_any(name, &PASSWORDS) && !OPEN.contains(&&*plain(name))
}

/// Whether it is what clouds and TLS call a secret, within an address.
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
