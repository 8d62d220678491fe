//! Adds lines to a YAML file: an item to a list, an entry to a mapping, words to a command.
//!
//! Each addition is an insertion at the end of existing lines, which stay unchanged.

use looptax_model::record::Edit;

use super::super::rewrite::{Rewrite, newline};
use super::tree::{Node, Shape};

/// The added lines of a file: in the form that is written, and in the form that is shown.
pub(super) type Inserted = (Vec<Rewrite>, Edit);

/// A new item for a list. If the mapping has no such list, the list is added, too.
pub(super) struct Item<'a> {
    /// The owner of the list, for a person.
    pub(super) title: &'a str,
    pub(super) key: &'a str,
    /// The lines of the item, without the dash. All lines except the first include their indentation.
    pub(super) lines: &'a [String],
    /// The key of the entry below which a new list begins, if the entry exists.
    pub(super) below: &'a str,
}

/// Adds an item to a list of a mapping. `name` is the node with the mapping's name, if it has a name.
pub(super) fn item(text: &str, (name, own): (Option<&Node>, &Node), item: &Item<'_>) -> Result<Inserted, String> {
    let Item { title, key, lines, below } = item;
    let shown = format!("- {}  # {key} of {title}", shown(lines));
    let newline = newline(text);
    if own.all(key).count() > 1 {
        return Err(format!("`{title}` has `{key}` twice"));
    }
    let written = |indent: &str, dash: &str| {
        let rest = " ".repeat(dash.chars().count());
        let heads = std::iter::once(dash).chain(std::iter::repeat(&*rest));
        let lines = heads.zip(*lines).map(|(head, line)| format!("{newline}{indent}{head}{line}"));
        lines.collect::<String>()
    };
    let Some((_, list)) = own.entry(key) else {
        let neighbour = own.get(below).filter(|it| !it.is_marked && it.ends_simply() && !it.at.is_empty());
        let (below, line) = match neighbour.map(|it| line_end(text, it.at.end)) {
            Some(end) => (end, line_of(text, end)),
            None => header_place(text, name, own)?,
        };
        let indent = indent_of(text, own).ok_or_else(|| format!("`{title}` is not in a separate block"))?;
        let header = insertion(below, format!("{newline}{indent}{key}:"));
        let own = insertion(below, written(&format!("{indent}  "), "- "));
        return Ok((vec![header, own], edit(line, &shown)));
    };
    let by_hand = || format!("the {key} of `{title}` are not a plain list with one entry per line");
    let last = list.items().last().filter(|_| list.is_block()).ok_or_else(by_hand)?;
    if list.is_marked || !list.ends_simply() || list.items().iter().any(|it| it.is_marked) {
        return Err(by_hand());
    }
    let (indent, dash) = dash_before(text, last).ok_or_else(by_hand)?;
    let below = line_end(text, list.at.end);
    Ok((vec![insertion(below, written(indent, dash))], edit(line_of(text, below), &shown)))
}

/// Adds a volume to the `volumes` of the file; `None` if the file has the volume already.
pub(super) fn declare(text: &str, root: &Node, name: &str, below: Option<&str>) -> Result<Option<Inserted>, String> {
    let newline = newline(text);
    let shown = below.map_or_else(|| format!("{name}:"), |it| format!("{name}: {{ {it} }}"));
    let shown = format!("{shown}  # volumes of the file");
    if root.all("volumes").count() > 1 {
        return Err("the file has `volumes` twice".to_owned());
    }
    let Some((key, volumes)) = root.entry("volumes") else {
        let has_end = text.lines().any(|it| it.starts_with("..."));
        if !text.ends_with('\n') || has_end || indent_of(text, root) != Some(String::new()) {
            return Err("`volumes` cannot be added at the end of the file: it has no final newline, ends with `...`, \
                        or is indented"
                .to_owned());
        }
        let at = text.len();
        let header = insertion(at, format!("volumes:{newline}"));
        let below = below.map_or_else(String::new, |it| format!("    {it}{newline}"));
        let own = insertion(at, format!("  {name}:{newline}{below}"));
        return Ok(Some((vec![header, own], edit(line_of(text, at), &shown))));
    };
    if volumes.get(name).is_some() {
        return Ok(None);
    }
    let by_hand = || "the section `volumes:` of the file is not written with one entry per line".to_owned();
    if volumes.is_marked || !volumes.ends_simply() {
        return Err(by_hand());
    }
    let (at, indent) = match &volumes.kind {
        Shape::Nothing if volumes.at.is_empty() => (line_end(text, key.at.end), "  ".to_owned()),
        Shape::Map { is_flow: false, .. } => {
            let indent = indent_of(text, volumes).filter(|it| !it.is_empty());
            (line_end(text, volumes.at.end), indent.ok_or_else(by_hand)?)
        }
        _ => return Err(by_hand()),
    };
    let below = below.map_or_else(String::new, |it| format!("{newline}{indent}  {it}"));
    let new = insertion(at, format!("{newline}{indent}{name}:{below}"));
    Ok(Some((vec![new], edit(line_of(text, at), &shown))))
}

/// Adds an entry to the mapping that is the value of `key`.
pub(super) fn entry(text: &str, own: &Node, (title, key): (&str, &str), new: &str) -> Result<Inserted, String> {
    let by_hand = || format!("the {key} of `{title}` is not written as plain lines");
    let map = own.get(key).filter(|it| it.is_block() && it.ends_simply()).ok_or_else(by_hand)?;
    let indent = indent_of(text, map).ok_or_else(by_hand)?;
    let at = line_end(text, map.at.end);
    let inserted = insertion(at, format!("{}{indent}{new}", newline(text)));
    Ok((vec![inserted], edit(line_of(text, at), &format!("{new}  # {key} of {title}"))))
}

/// Adds words at the end of the command in the entry `key`. If there is no such entry, writes `whole` as the command.
pub(super) fn words(
    text: &str,
    (name, own): (Option<&Node>, &Node),
    (title, key): (&str, &str),
    (options, whole): (&[String], &str),
) -> Result<Inserted, String> {
    let shown = |line| edit(line, &format!("{}  # at the end of the {key} of {title}", options.join(" ")));
    let newline = newline(text);
    let Some((_, command)) = own.entry(key) else {
        let (below, line) = header_place(text, name, own)?;
        let indent = indent_of(text, own).ok_or_else(|| format!("`{title}` is not in a separate block"))?;
        let own = insertion(below, format!("{newline}{indent}{key}: {whole}"));
        return Ok((vec![own], edit(line, &format!("{key}: {whole}  # of {title}"))));
    };
    let by_hand = || format!("the {key} of `{title}` is not written as one plain line or list");
    let is_foreign = |it: &Node| it.is_marked || matches!(it.kind, Shape::Alias);
    if own.all(key).count() > 1 || command.any(&is_foreign) {
        return Err(by_hand());
    }
    let at = line_of(text, command.at.end);
    match &command.kind {
        Shape::Text { text: value, is_simple: true } => {
            let raw = &text[command.at.clone()];
            let is_quoted = raw.len() > 1 && raw.starts_with(['"', '\'']);
            // A word that is added after a comment sign or an open quote of a shell would be part of the comment or of
            // the quoted text.
            let is_open = ['"', '\''].iter().any(|it| value.matches(*it).count() % 2 == 1);
            if is_open || value.contains(['#', '\\']) || value.trim().is_empty() {
                return Err(by_hand());
            }
            let end = command.at.end - usize::from(is_quoted);
            Ok((vec![insertion(end, format!(" {}", options.join(" ")))], shown(at)))
        }
        Shape::List { items, is_flow } => {
            let last = items.last().ok_or_else(by_hand)?;
            let is_simple = |it: &Node| matches!(it.kind, Shape::Text { is_simple: true, .. });
            if !items.iter().all(is_simple) {
                return Err(by_hand());
            }
            let quoted = options.iter().map(|it| format!("\"{it}\""));
            if *is_flow {
                let new = format!(", {}", quoted.collect::<Vec<_>>().join(", "));
                return Ok((vec![insertion(last.at.end, new)], shown(at)));
            }
            let (indent, dash) = dash_before(text, last).ok_or_else(by_hand)?;
            let head = format!("{newline}{indent}{dash}");
            let new = format!("{head}{}", quoted.collect::<Vec<_>>().join(&head));
            Ok((vec![insertion(line_end(text, last.at.end), new)], shown(at)))
        }
        _ => Err(by_hand()),
    }
}

/// The line below which a new entry of a mapping is added: the line of its image, or else the line of the mapping's
/// name. Returns the end of this line and its number.
fn header_place(text: &str, name: Option<&Node>, own: &Node) -> Result<(usize, usize), String> {
    for (name, value) in ["image", "build"].iter().filter_map(|it| own.entry(it)) {
        let end = line_end(text, name.at.end);
        let is_one_line = value.at.end <= end && value.at.start < value.at.end;
        if is_one_line && value.ends_simply() && !value.is_marked && value.text().is_some() {
            return Ok((end, line_of(text, end)));
        }
    }
    let name = name.ok_or("the image of a container is not on a separate line")?;
    let end = line_end(text, name.at.end);
    let first = own.entries().first().map_or(0, |it| it.0.at.start);
    if first < end {
        return Err("the first setting of a service is on the same line as the service's name".to_owned());
    }
    Ok((end, line_of(text, end)))
}

/// The indentation of a block mapping: the spaces before its first key. The line of this key may begin with the dash of
/// an item. `None` if the mapping is not such a block.
fn indent_of(text: &str, own: &Node) -> Option<String> {
    let at = own.entries().first().filter(|_| own.is_block())?.0.at.start;
    let before = &text[line_start(text, at)..at];
    before.chars().all(|it| it == ' ' || it == '-').then(|| " ".repeat(before.len()))
}

/// The text before an item on its line, in two parts: the spaces, and the dash with the spaces after it.
fn dash_before<'a>(text: &'a str, item: &Node) -> Option<(&'a str, &'a str)> {
    let before = &text[line_start(text, item.at.start)..item.at.start];
    let dash = before.trim_start_matches(' ');
    let is_dash = dash.strip_prefix('-').is_some_and(|rest| !rest.is_empty() && rest.trim_matches(' ').is_empty());
    is_dash.then(|| before.split_at(before.len() - dash.len()))
}

/// Joins several lines into one.
fn shown(lines: &[String]) -> String {
    match lines {
        [line] => line.clone(),
        lines => format!("{{ {} }}", lines.iter().map(|it| it.trim()).collect::<Vec<_>>().join(", ")),
    }
}

pub(super) fn insertion(at: usize, text: String) -> Rewrite {
    Rewrite { at: at..at, text }
}

pub(super) fn edit(line: usize, shown: &str) -> Edit {
    Edit { line: Some(line), before: None, after: Some(shown.to_owned()) }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |it| it + 1)
}

/// The end of the line that contains the byte `at`, before the line break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let line = rest.split('\n').next().unwrap_or_default();
    at + line.trim_end_matches('\r').len()
}

pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}
