//! What has to be written, as bytes of the text: the places of changed, added and removed settings.
//!
//! Nothing outside these places changes: comments, indentation, ends of lines and other settings stay.

use std::fmt;
use std::ops::Range;

use super::setting::{Joins, Setting};

/// Bytes of a text that become others. It may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// What goes; empty where something is added.
    pub at: Range<usize>,
    /// What comes.
    pub text: String,
}

impl fmt::Debug for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rewrite")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// What moves a connection.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Moves {
    /// What is written into the file that was read.
    pub here: Vec<Rewrite>,
    /// What variables of the environment become; they may hold a password.
    pub variables: Vec<Variable>,
}

/// A variable and its value.
pub type Variable = (String, String);

impl fmt::Debug for Moves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.variables.iter().map(|it| &it.0);
        f.debug_struct("Moves")
            .field("here", &self.here)
            .field("variables", &names.collect::<Vec<_>>())
            .finish()
    }
}

/// Writes all of them into a text, each at its place.
///
/// `None` where two of them are about the same bytes: no text would be right.
pub fn rewritten(text: &str, rewrites: &[Rewrite]) -> Option<String> {
    let mut sorted: Vec<&Rewrite> = rewrites.iter().collect();
    // Those at one place keep their order.
    sorted.sort_by_key(|it| (it.at.start, it.at.end));
    let mut new = String::new();
    let mut done = 0;
    for rewrite in sorted {
        new.push_str(text.get(done..rewrite.at.start)?);
        new.push_str(&rewrite.text);
        done = rewrite.at.end;
    }
    new.push_str(text.get(done..)?);
    Some(new)
}

/// Another value in a setting's place.
pub(super) fn replaced(setting: &Setting, item: String) -> Rewrite {
    Rewrite {
        at: setting.place(),
        text: item,
    }
}

/// A setting beside another one: in a line of its own below, indented like that, or behind it.
pub(super) fn added(text: &str, anchor: &Setting, item: &str) -> Option<Rewrite> {
    let end = anchor.place().end;
    let (at, text) = match anchor.joins {
        Joins::With(between) => (end, format!("{between}{item}")),
        Joins::Line => {
            let line = line_around(text, &anchor.place())?;
            let whole = &text[line.clone()];
            let indent = &whole[..whole.len() - whole.trim_start_matches([' ', '\t']).len()];
            let newline = newline(text);
            let body = whole.trim_end_matches(['\n', '\r']).len();
            (line.start + body, format!("{newline}{indent}{item}"))
        }
    };
    Some(Rewrite { at: at..at, text })
}

/// A setting taken away: its line with it where nothing else stands there, else what parts it from its neighbour.
pub(super) fn removed(text: &str, setting: &Setting) -> Option<Rewrite> {
    let place = setting.place();
    let line = line_around(text, &place)?;
    let (before, after) = (
        text.get(line.start..place.start)?,
        text.get(place.end..line.end)?,
    );
    // Between braces a comma has to go: its own, else that of the setting before, which is the last one then.
    let own_comma = setting.item.ends_with(',');
    let behind = after.trim_start_matches([' ', '\t']);
    let is_last =
        !own_comma && matches!(setting.joins, Joins::With(between) if between.starts_with(','));
    let mut at = place.clone();
    if is_last && behind.starts_with(',') {
        at.end += after.len() - behind.len() + 1;
    } else if is_last {
        let head = text.get(..place.start)?;
        let kept = head.trim_end();
        if kept.ends_with(',') {
            at.start = kept.len() - 1;
            return Some(nothing_at(at));
        }
    }
    let rest = text.get(at.end..line.end)?;
    if before.trim().is_empty() && rest.trim().is_empty() {
        return Some(nothing_at(line));
    }
    // What stands behind it on the line moves to its place.
    at.end += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    Some(nothing_at(at))
}

fn nothing_at(at: Range<usize>) -> Rewrite {
    Rewrite {
        at,
        text: String::new(),
    }
}

/// The lines that hold a place, with the end of the last.
fn line_around(text: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let start = text.get(..place.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(place.end..)?.find('\n');
    Some(start..end.map_or(text.len(), |at| place.end + at + 1))
}

fn newline(text: &str) -> &'static str {
    let is_dos = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    if is_dos { "\r\n" } else { "\n" }
}
