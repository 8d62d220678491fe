//! Volumes of a Compose file: what a service has at a folder, and the lines that give it one more.
//!
//! Each is an insertion at the end of a line that is there, and stands below it: what is there stays as it is.

use looptax_model::record::Edit;

use super::super::rewrite::{Rewrite, newline};
use super::tree::{Node, Shape};

/// Lines that come into a file, as they are written and as they are shown.
pub(super) type Lines = (Vec<Rewrite>, Edit);

/// What a service has at a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mounted<'a> {
    Nothing,
    Volume(&'a str),
    /// Something else there, above it, or in it; or something that nobody can tell.
    Other,
}

pub(super) fn at_folder<'a>(service: &'a Node, folder: &str) -> Mounted<'a> {
    let mut found = Mounted::Nothing;
    for key in ["volumes", "tmpfs"] {
        let Some(node) = service.get(key) else {
            continue;
        };
        let items = match &node.kind {
            Shape::List { items, .. } => &items[..],
            Shape::Nothing => &[],
            _ => std::slice::from_ref(node),
        };
        for item in items {
            let Some((source, target)) = parts(item, key == "tmpfs") else {
                return Mounted::Other;
            };
            if !touches(target, folder) {
                continue;
            }
            let name = source.filter(|it| is_name(it) && is_same(target, folder));
            found = match (name, found) {
                (Some(name), Mounted::Nothing) => Mounted::Volume(name),
                _ => return Mounted::Other,
            };
        }
    }
    if service.get("volumes_from").is_some() {
        return Mounted::Other;
    }
    found
}

/// Whether a service has configuration of its own at one of the places where its server looks.
pub(super) fn has_own_configuration(service: &Node) -> bool {
    let places = ["/etc/mysql", "/etc/my.cnf", "/etc/postgres"];
    let is_place = |item: &Node| {
        let target = parts(item, false).map(|(_, target)| target.trim_end_matches('/'));
        target.is_none_or(|it| it == "/etc" || places.iter().any(|place| it.starts_with(place)))
    };
    let items = |key: &str| match service.get(key).map(|it| &it.kind) {
        Some(Shape::List { items, .. }) => items.iter().any(is_place),
        None | Some(Shape::Nothing) => false,
        Some(_) => true,
    };
    items("volumes") || service.get("configs").is_some()
}

/// Source and target of a volume: `data:/var/lib/mysql:ro`, or keys.
fn parts(item: &Node, is_tmpfs: bool) -> Option<(Option<&str>, &str)> {
    let Some(text) = item.text() else {
        let kind = item.get("type").and_then(Node::text);
        let source = item.get("source").and_then(Node::text);
        let source = source.filter(|_| kind == Some("volume"));
        return Some((source, item.get("target")?.text()?));
    };
    // A variable may hold anything, colons too.
    if text.contains('$') {
        let target = text.rsplit('}').next()?.split(':').rfind(|it| it.starts_with('/'))?;
        return Some((None, target));
    }
    let mut parts = text.split(':');
    let first = parts.next()?;
    match parts.next() {
        Some(target) if !is_tmpfs => Some((Some(first), target)),
        _ => Some((None, first)),
    }
}

fn is_name(source: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    source.starts_with(|c: char| c.is_ascii_alphanumeric()) && source.chars().all(is_sign)
}

/// `/var/run` is `/run`, in these images and nearly everywhere.
fn plain(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_prefix("/var").filter(|it| *it == "/run" || it.starts_with("/run/")).unwrap_or(path)
}

fn is_same(one: &str, other: &str) -> bool {
    plain(one) == plain(other)
}

/// Whether one lies in the other.
fn touches(one: &str, other: &str) -> bool {
    let (one, other) = (plain(one), plain(other));
    let is_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(one, other) || is_in(other, one)
}

/// The lines that give a service a volume.
pub(super) fn mount(text: &str, service: (&Node, &Node), name: &str, folder: &str) -> Result<Lines, String> {
    let (key, own) = service;
    let title = key.text().unwrap_or_default();
    let item = format!("- {name}:{folder}");
    let shown = format!("{item}  # volumes of {title}");
    let newline = newline(text);
    if own.all("volumes").count() > 1 {
        return Err(format!("`{title}` has `volumes` twice"));
    }
    let Some((_, volumes)) = own.entry("volumes") else {
        let (below, line) = header_place(text, key, own)?;
        let (first, _) = own.entries().first().ok_or("a service is empty")?;
        let indent = indent_before(text, first.at.start)
            .filter(|it| !it.is_empty())
            .ok_or_else(|| format!("`{title}` is not in a block of its own"))?;
        let header = insertion(below, format!("{newline}{indent}volumes:"));
        let own = insertion(below, format!("{newline}{indent}  {item}"));
        return Ok((vec![header, own], edit(line, &shown)));
    };
    let by_hand = || format!("the volumes of `{title}` are not a plain list of lines");
    let Shape::List { items, is_flow: false } = &volumes.kind else {
        return Err(by_hand());
    };
    let last = items.last().ok_or_else(by_hand)?;
    if volumes.is_marked || !volumes.ends_simply() || items.iter().any(|it| it.is_marked) {
        return Err(by_hand());
    }
    let start = line_start(text, last.at.start);
    let before = &text[start..last.at.start];
    let dash = before.trim_start_matches(' ');
    let is_item = dash.strip_prefix('-').is_some_and(|rest| !rest.is_empty() && rest.trim_matches(' ').is_empty());
    if !is_item {
        return Err(by_hand());
    }
    let below = line_end(text, volumes.at.end);
    let new = insertion(below, format!("{newline}{before}{name}:{folder}"));
    Ok((vec![new], edit(line_of(text, below), &shown)))
}

/// The lines that name a volume for the whole file.
pub(super) fn declare(text: &str, root: &Node, name: &str) -> Result<Option<Lines>, String> {
    let newline = newline(text);
    let shown = format!("{name}:  # volumes of the file");
    if root.all("volumes").count() > 1 {
        return Err("the file has `volumes` twice".to_owned());
    }
    let Some((key, volumes)) = root.entry("volumes") else {
        let has_end = text.lines().any(|it| it.starts_with("..."));
        if !text.ends_with('\n') || has_end || !root_is_flush(text, root) {
            return Err("the file's end is not the end of a line".to_owned());
        }
        let at = text.len();
        let header = insertion(at, format!("volumes:{newline}"));
        let own = insertion(at, format!("  {name}:{newline}"));
        return Ok(Some((vec![header, own], edit(line_of(text, at), &shown))));
    };
    if volumes.get(name).is_some() {
        return Ok(None);
    }
    let by_hand = || "the volumes of the file are not plain lines".to_owned();
    if volumes.is_marked || !volumes.ends_simply() {
        return Err(by_hand());
    }
    let (below, indent) = match &volumes.kind {
        Shape::Nothing if volumes.at.is_empty() => (line_end(text, key.at.end), "  "),
        Shape::Map { entries, is_flow: false } => {
            let first = entries.first().ok_or_else(by_hand)?;
            let indent = indent_before(text, first.0.at.start).filter(|it| !it.is_empty());
            (line_end(text, volumes.at.end), indent.ok_or_else(by_hand)?)
        }
        _ => return Err(by_hand()),
    };
    let new = insertion(below, format!("{newline}{indent}{name}:"));
    Ok(Some((vec![new], edit(line_of(text, below), &shown))))
}

/// Below which line a service's `volumes:` begin: that of its image, else its own first one.
fn header_place(text: &str, key: &Node, own: &Node) -> Result<(usize, usize), String> {
    for (name, value) in ["image", "build"].iter().filter_map(|it| own.entry(it)) {
        let end = line_end(text, name.at.end);
        let is_one_line = value.at.end <= end && value.at.start < value.at.end;
        if is_one_line && value.ends_simply() && !value.is_marked && value.text().is_some() {
            return Ok((end, line_of(text, end)));
        }
    }
    let end = line_end(text, key.at.end);
    let first = own.entries().first().map_or(0, |it| it.0.at.start);
    if first < end {
        return Err("a service begins in the line of its name".to_owned());
    }
    Ok((end, line_of(text, end)))
}

fn root_is_flush(text: &str, root: &Node) -> bool {
    let first = root.entries().first();
    first.is_some_and(|(key, _)| indent_before(text, key.at.start) == Some(""))
}

/// What stands before a key in its line, where that is blanks alone.
fn indent_before(text: &str, at: usize) -> Option<&str> {
    let before = &text[line_start(text, at)..at];
    before.chars().all(|it| it == ' ').then_some(before)
}

fn insertion(at: usize, text: String) -> Rewrite {
    Rewrite { at: at..at, text }
}

fn edit(line: usize, shown: &str) -> Edit {
    Edit { line: Some(line), before: None, after: Some(shown.to_owned()) }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |it| it + 1)
}

/// The end of the line that holds a place, before its line break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let line = rest.split('\n').next().unwrap_or_default();
    at + line.trim_end_matches('\r').len()
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}
