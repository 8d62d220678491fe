//! The contents of the cells in the tables of `looptax find`.

use crate::format::Text;

/// Longest name that is shown; the rest is cut, since anybody may choose one of any length.
const MOST_NAME: usize = 60;

/// Longest path of a socket, which the kernel limits.
const MOST_ADDRESS: usize = 108;

/// A process that holds a connection, and that was not found.
pub(in crate::terminal) const NOT_SEEN: &str = "(not seen)";

pub(super) fn dash() -> String {
    "-".to_owned()
}

/// A foreign name, clean and no longer than a name is.
pub(in crate::terminal) fn shown(name: &str, text: Text) -> String {
    up_to(MOST_NAME, name, text)
}

/// The address of a socket, whole.
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
