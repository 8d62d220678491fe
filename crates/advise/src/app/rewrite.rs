//! Changes to a text as bytes: the places at which settings are changed, added and removed.
//!
//! Bytes outside these places do not change: comments, indentation, line ends and other settings stay.

use std::fmt;
use std::ops::Range;

use super::quotes::{Bare, Quotes};
use super::setting::{Joins, Setting};

/// A replacement of bytes of a text. It may contain a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// The bytes to remove; empty for an addition.
    pub at: Range<usize>,
    pub text: String,
}

impl fmt::Debug for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rewrite").field("at", &self.at).finish_non_exhaustive()
    }
}

#[derive(Clone, Default, PartialEq, Eq)]
pub struct Moves {
    /// The changes to the file that was read.
    pub here: Vec<Rewrite>,
    /// The new values of environment variables. They may contain a password.
    pub variables: Vec<Variable>,
    /// Variables for the container's own environment. They override the variables that the container takes from
    /// elsewhere.
    pub own: Vec<Variable>,
}

pub type Variable = (String, String);

impl fmt::Debug for Moves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.variables.iter().chain(&self.own).map(|it| &it.0);
        f.debug_struct("Moves").field("here", &self.here).field("variables", &names.collect::<Vec<_>>()).finish()
    }
}

/// Applies all rewrites to a text, each at its place.
///
/// `None` if two rewrites change the same bytes: no result would be right.
pub fn rewritten(text: &str, rewrites: &[Rewrite]) -> Option<String> {
    let mut sorted: Vec<&Rewrite> = rewrites.iter().collect();
    // Several rewrites at the same place keep their order.
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

pub(super) fn replaced(setting: &Setting, item: String) -> Rewrite {
    Rewrite { at: setting.place(), text: item }
}

/// Adds a setting next to another setting: on a separate line below it, with the same indentation, or after it on the
/// same line.
pub(super) fn added(text: &str, anchor: &Setting, item: &str) -> Option<Rewrite> {
    let end = anchor.place().end;
    let (at, text) = match anchor.joins {
        Joins::With(between) => (end, format!("{between}{item}")),
        Joins::Pair => {
            let (lines, dash) = pair_around(text, anchor)?;
            let (name, value) = item.split_once(": ")?;
            let newline = newline(text);
            // Kubernetes accepts only strings, and a number without quotes is not a string.
            let is_text = value.contains(|it: char| !it.is_ascii_digit());
            let value = if is_text { value.to_owned() } else { format!("\"{value}\"") };
            let blanks = " ".repeat(dash.len());
            let body = text[..lines.end].trim_end_matches(['\n', '\r']).len();
            (body, format!("{newline}{dash}name: {name}{newline}{blanks}value: {value}"))
        }
        Joins::Apart => return None,
        Joins::Line => {
            let line = line_around(text, &anchor.place())?;
            let whole = &text[line.clone()];
            let (before, behind) = around(&text[line.start..anchor.place().start], anchor);
            let newline = newline(text);
            let body = whole.trim_end_matches(['\n', '\r']).len();
            (line.start + body, format!("{newline}{before}{item}{behind}"))
        }
    };
    Some(Rewrite { at: at..at, text })
}

/// The text to write before and after a setting that gets a separate line: the same blanks as for its neighbour. If the
/// neighbour is an item of a list, as in `- "NAME=value"`, also the dash and the quotes.
fn around(before: &str, neighbour: &Setting) -> (String, &'static str) {
    let blanks = before.len() - before.trim_start_matches([' ', '\t']).len();
    let dashes = &before[blanks..];
    let quote = match dashes.chars().next_back() {
        Some('"') => "\"",
        Some('\'') => "'",
        _ => "",
    };
    let is_dash = |it: char| it == '-' || it == ' ';
    let is_dashed = dashes.starts_with('-') && dashes.trim_end_matches(['"', '\'']).chars().all(is_dash);
    if !is_dashed {
        return (before[..blanks].to_owned(), "");
    }
    if is_list_item(neighbour) { (before.to_owned(), quote) } else { (before.replace('-', " "), "") }
}

/// The lines of a variable in a Kubernetes list, and the text before its name: blanks and the dash. `None` if the
/// variable is in braces, or if anything except comments is between the name and the value.
fn pair_around<'a>(text: &'a str, value: &Setting) -> Option<(Range<usize>, &'a str)> {
    let own = line_around(text, &value.place())?;
    let is_nothing = |it: &str| it.trim().is_empty() || it.trim_start().starts_with('#');
    let above = text.get(..own.start)?.split_inclusive('\n').rev();
    let mut start = own.start;
    let name = above.inspect(|it| start -= it.len()).find(|it| !is_nothing(it))?;
    let (dash, _) = name.split_once("name:")?;
    let is_dash = dash.trim_start_matches(' ').strip_prefix('-')?.chars().all(|it| it == ' ');
    let before = text.get(own.start..value.start)?;
    let is_below = before.len() == dash.len() && before.chars().all(|it| it == ' ');
    (is_dash && is_below).then_some((start..own.end, dash))
}

/// Whether the setting is a whole item of a list: `NAME=value`.
fn is_list_item(setting: &Setting) -> bool {
    setting.quotes == Quotes::Bare(Bare::Part) && setting.joins == Joins::Line
}

/// Removes a setting: with its line if nothing else is on the line, otherwise with the separator between the setting
/// and its neighbour.
pub(super) fn removed(text: &str, setting: &Setting) -> Option<Rewrite> {
    let place = setting.place();
    if setting.joins == Joins::Pair {
        // looptax does not remove a comment between name and value.
        let lines = pair_around(text, setting)?.0;
        return (text[lines.clone()].lines().count() == 2).then(|| nothing_at(lines));
    }
    let line = line_around(text, &place)?;
    let (before, after) = (text.get(line.start..place.start)?, text.get(place.end..line.end)?);
    if is_list_item(setting)
        && let (_, quote) = around(before, setting)
        && before.trim_start().starts_with('-')
        && after.trim_end().trim_end_matches('\r') == quote
    {
        return Some(nothing_at(line));
    }
    // Between braces a comma has to be removed, too: the comma after the setting, or the comma before it if the setting
    // is the last.
    let own_comma = setting.item.ends_with(',');
    let behind = after.trim_start_matches([' ', '\t']);
    let is_last = !own_comma && matches!(setting.joins, Joins::With(between) if between.starts_with(','));
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
    // The rest of the line moves to the place of the setting.
    at.end += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    Some(nothing_at(at))
}

fn nothing_at(at: Range<usize>) -> Rewrite {
    Rewrite { at, text: String::new() }
}

/// The lines that contain a place, including the end of the last line.
fn line_around(text: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let start = text.get(..place.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(place.end..)?.find('\n');
    Some(start..end.map_or(text.len(), |at| place.end + at + 1))
}

pub(super) fn newline(text: &str) -> &'static str {
    let is_dos = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    if is_dos { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::super::{containers, yaml};
    use super::*;

    #[track_caller]
    fn check(text: &str, settings: &[Setting], item: &str, below: &str, without: &str) {
        let first = &settings[0];
        let new = |rewrite| rewritten(text, &[rewrite]).unwrap();
        assert_eq!(new(added(text, first, item).unwrap()), below);
        assert_eq!(new(removed(text, first).unwrap()), without);
    }

    #[test]
    fn what_comes_into_a_list_is_an_item_and_what_comes_into_an_item_is_none() {
        let text = "a:\n  - host: x\n    b: c\n";
        let settings = yaml::read(text).0;
        let below = "a:\n  - host: x\n    socket: /s\n    b: c\n";
        check(text, &settings, "socket: /s", below, "a:\n  - \n    b: c\n");

        let text = "spec:\n  containers:\n  - env:\n    -  name: A # why\n       value: b # c\n    - name: C\n      value: d\n";
        let settings = containers::in_containers(&yaml::read(text).0);
        let below = text.replace("# c\n", "# c\n    -  name: E\n       value: f\n");
        let without = text.replace("    -  name: A # why\n       value: b # c\n", "");
        check(text, &settings, "E: f", &below, &without);
        let zero = rewritten(text, &[added(text, &settings[0], "E: 0").unwrap()]).unwrap();
        assert!(zero.contains("value: \"0\"\n"), "{zero}");
        let text = text.replace("# why\n", "# why\n       # because\n");
        let settings = containers::in_containers(&yaml::read(&text).0);
        let new = rewritten(&text, &[added(&text, &settings[0], "E: f").unwrap()]).unwrap();
        assert_eq!(new, text.replace("# c\n", "# c\n    -  name: E\n       value: f\n"));
        assert_eq!(removed(&text, &settings[0]), None);
        // A person has to change other forms.
        for text in [
            "- {name: A, value: b}",
            "- name: &a A\n      kept: x\n      value: b",
            "- name:\n        A\n      value: b",
        ] {
            let text = format!("spec:\n  containers:\n  - env:\n    {text}\n");
            let settings = containers::in_containers(&yaml::read(&text).0);
            assert_eq!((added(&text, &settings[0], "E: f"), removed(&text, &settings[0])), (None, None), "{text}");
        }

        let text = "services:\n  a:\n    environment:\n      - \"A=b\"\n      - C=d\n";
        let settings = containers::in_containers(&yaml::read(text).0);
        let below = text.replace("      - C", "      - \"E=f\"\n      - C");
        let without = text.replace("      - \"A=b\"\n", "");
        check(text, &settings, "E=f", &below, &without);
    }
}
