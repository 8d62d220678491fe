//! The contents of cells in the tables of `looptax find`.

use crate::format::Text;

/// Maximum number of characters of a name that are shown, because a program can give itself a name of any length.
const MOST_NAME: usize = 60;

/// Maximum length of a socket's path, which is the kernel's limit.
const MOST_ADDRESS: usize = 108;

/// The text for a process that holds a connection and that looptax did not find.
pub(in crate::terminal) const NOT_SEEN: &str = "(not seen)";

pub(super) fn dash() -> String {
    "-".to_owned()
}

/// Returns a name from outside, cleaned and cut to the maximum length.
pub(in crate::terminal) fn shown(name: &str, text: Text) -> String {
    up_to(MOST_NAME, name, text)
}

/// Returns the whole address of a socket.
pub(super) fn shown_address(address: &str, text: Text) -> String {
    up_to(MOST_ADDRESS, address, text)
}

fn up_to(most: usize, name: &str, text: Text) -> String {
    let short: String = name.chars().take(most + 1).collect();
    let clean = text.clean(&short);
    if short.chars().count() <= most {
        return clean;
    }
    let kept: String = short.chars().take(most - 3).collect();
    format!("{}...", text.clean(&kept))
}
