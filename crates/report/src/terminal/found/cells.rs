//! The contents of the cells in the tables of `looptax find`.

use crate::format::Text;

/// Longest part of a name that is shown; the rest is cut, since anybody may choose a name of any length.
const MOST_NAME: usize = 60;

/// Longest path of a socket, by the kernel's limit.
const MOST_ADDRESS: usize = 108;

/// Shown for a process that holds a connection and was not found.
pub(in crate::terminal) const NOT_SEEN: &str = "(not seen)";

pub(super) fn dash() -> String {
    "-".to_owned()
}

/// Returns a foreign name, cleaned and cut to the longest length.
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
