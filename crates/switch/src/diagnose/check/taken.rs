//! Points about a connection whose container gets variables from other files or objects. The points name the file and
//! line of each variable, and never show a Secret's values.
//!
//! Called by `subject`, for all connections of a file.

use std::path::Path;

use looptax_advise::app::Found;
use looptax_model::record::{CheckedConnection, Edit};

use super::sources::Looked;

/// Replaces every value that comes from a Secret with stars.
pub(super) fn hide(checked: &mut CheckedConnection, found: &Found) {
    if !found.has_secrets() {
        return;
    }
    let hide = |text: &mut String| *text = found.without_secrets(text);
    hide(&mut checked.place);
    for point in &mut checked.points {
        hide(&mut point.what);
        point.next.iter_mut().for_each(hide);
    }
    for change in &mut checked.changes {
        hide(&mut change.advice);
        change.edits.iter_mut().flat_map(|it| it.before.iter_mut().chain(&mut it.after)).for_each(hide);
    }
}

/// Gives each line the number that it has in its own file, and sets the connection's file to the file that contains the
/// connection.
pub(super) fn locate(checked: &mut CheckedConnection, looked: &Looked) {
    let folder = Path::new(&looked.name).parent().unwrap_or(Path::new(""));
    let (own, line) = checked.line.map(|it| looked.whole.line(it)).unzip();
    let own = own.flatten();
    if let Some(words) = own {
        checked.source = folder.join(words).display().to_string();
    }
    checked.line = line;
    for edit in checked.changes.iter_mut().flat_map(|it| &mut it.edits) {
        let Some((words, line)) = edit.line.map(|it| looked.whole.line(it)) else {
            continue;
        };
        let Edit { before, after, .. } = edit;
        if words == own {
            edit.line = Some(line);
        } else if let Some(text) = after.as_mut().or(before.as_mut()) {
            let file = words.map_or_else(|| looked.name.clone(), |it| folder.join(it).display().to_string());
            *text = format!("{text}  # {file}:{line}");
            edit.line = None;
        }
    }
}
