//! The names of options and parameters whose value is a password or a similar secret.
//!
//! Called by `mask`, which masks values, and by the parsers of text with such names.

use percent_encoding::percent_decode_str;

/// A name that contains one of these words is the name of a password.
const PASSWORDS: [&str; 5] = ["pass", "pwd", "auth", "secret", "token"];
/// `MongoDB`'s options whose names contain `auth` but whose values are not secret: the database with the account, and
/// the login method.
const OPEN: [&str; 2] = ["authsource", "authmechanism"];

/// Returns whether a name belongs to a password or a similar secret. Does not cover command-line options: for each
/// tool, other code lists the options that hold a password.
pub(crate) fn is_secret(name: &str) -> bool {
    contains_any(name, &PASSWORDS) && !OPEN.contains(&&*plain(name))
}

/// Returns whether a name in an address belongs to a key for a cloud or for TLS.
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
