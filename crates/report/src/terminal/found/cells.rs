//! What is in the cells of the tables of `looptax find`.

use crate::format::Text;

/// Longest name that is shown; the rest is cut, since anybody may choose one of any length.
const MOST_NAME: usize = 60;

/// A process that holds a connection, and that was not found.
pub(in crate::terminal) const NOT_SEEN: &str = "(not seen)";

pub(super) fn dash() -> String {
    "-".to_owned()
}

/// A foreign name, clean and no longer than a name is.
pub(in crate::terminal) fn shown(name: &str, text: Text) -> String {
    let short: String = name.chars().take(MOST_NAME + 1).collect();
    let clean = text.clean(&short);
    if short.chars().count() <= MOST_NAME {
        return clean;
    }
    let kept: String = short.chars().take(MOST_NAME - 3).collect();
    format!("{}...", text.clean(&kept))
}
