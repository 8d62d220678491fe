//! A YAML text as a tree. Each node has its place, and a mark if the node must not be changed.
//!
//! Unlike this module, `yaml` returns only values. The size of a tree is limited, and aliases are not followed. Used by
//! `compose`, `pods`, `maps` and `line`.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::super::yaml::quoted;

const MOST_DEPTH: usize = 32;
const MOST_NODES: usize = 20_000;

#[derive(Debug)]
pub(super) struct Node {
    /// The bytes of the node; a block ends with the end of its content.
    pub(super) at: Range<usize>,
    /// Whether the node has an anchor or a tag: it may then also be used elsewhere, or have another meaning.
    pub(super) is_marked: bool,
    pub(super) kind: Shape,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// A text. `is_simple` is false for a block scalar and for a text over several lines.
    Text {
        text: String,
        is_simple: bool,
    },
    Nothing,
    Map {
        entries: Vec<(Node, Node)>,
        is_flow: bool,
    },
    List {
        items: Vec<Node>,
        is_flow: bool,
    },
    Alias,
}

impl Node {
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Shape::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The entries of a mapping; empty for anything else.
    pub(super) fn entries(&self) -> &[(Self, Self)] {
        match &self.kind {
            Shape::Map { entries, .. } => entries,
            _ => &[],
        }
    }

    pub(super) fn into_entries(self) -> Vec<(Self, Self)> {
        match self.kind {
            Shape::Map { entries, .. } => entries,
            _ => Vec::new(),
        }
    }

    pub(super) fn into_items(self) -> Vec<Self> {
        match self.kind {
            Shape::List { items, .. } => items,
            _ => Vec::new(),
        }
    }

    /// The entries with this key. There are several if the file has the key more than once.
    pub(super) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a (Self, Self)> {
        let entries = self.entries().iter();
        entries.filter(move |(name, _)| name.text() == Some(key))
    }

    /// The entry with this key. If there are several, returns the last, which most parsers use.
    pub(super) fn entry<'a>(&'a self, key: &'a str) -> Option<&'a (Self, Self)> {
        self.all(key).last()
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().rfind(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
    }

    /// The items of a list; empty for anything else.
    pub(super) fn items(&self) -> &[Self] {
        match &self.kind {
            Shape::List { items, .. } => items,
            _ => &[],
        }
    }

    /// The words of the node's text, or of the texts of its items.
    pub(super) fn words(&self) -> Vec<String> {
        let own = self.text().into_iter();
        let all = own.chain(self.items().iter().filter_map(Self::text));
        all.flat_map(str::split_whitespace).map(str::to_owned).collect()
    }

    /// Whether the node is a block: a mapping or a list that is written in lines, without brackets.
    pub(super) fn is_block(&self) -> bool {
        matches!(self.kind, Shape::Map { is_flow: false, .. } | Shape::List { is_flow: false, .. })
    }

    /// Whether `is` is true for this node or a node inside it.
    pub(super) fn any(&self, is: &dyn Fn(&Self) -> bool) -> bool {
        is(self)
            || match &self.kind {
                Shape::Map { entries, .. } => { entries.iter() }.any(|(key, value)| key.any(is) || value.any(is)),
                Shape::List { items, .. } => items.iter().any(|it| it.any(is)),
                _ => false,
            }
    }

    /// Whether another line of the same block can be added after the node's last line.
    pub(super) fn ends_simply(&self) -> bool {
        match &self.kind {
            Shape::Text { is_simple, .. } => *is_simple,
            Shape::Nothing | Shape::Alias | Shape::Map { is_flow: true, .. } | Shape::List { is_flow: true, .. } => {
                true
            }
            Shape::Map { entries, .. } => entries.last().is_some_and(|it| it.1.ends_simply()),
            Shape::List { items, .. } => items.last().is_some_and(Self::ends_simply),
        }
    }
}

/// The only document of a text. `None` if the text is not YAML, has several documents, or is too large.
pub(super) fn read(text: &str) -> Option<Node> {
    let mut all = documents(text)?;
    all.pop().filter(|_| all.is_empty())
}

/// The documents of a text. `None` if the text is not YAML or is too large.
pub(super) fn documents(text: &str) -> Option<Vec<Node>> {
    let chars = text.char_indices().map(|(at, _)| at);
    let mut build =
        Build { text, bytes: chars.chain([text.len()]).collect(), open: Vec::new(), roots: Vec::new(), n_nodes: 0 };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        build.event(event, &span)?;
    }
    Some(build.roots)
}

/// A mapping or a list whose end has not been reached yet.
struct Open {
    start: usize,
    is_marked: bool,
    is_map: bool,
    is_flow: bool,
    key: Option<Node>,
    entries: Vec<(Node, Node)>,
    items: Vec<Node>,
    end: usize,
}

struct Build<'a> {
    text: &'a str,
    /// The byte at which each character begins.
    bytes: Vec<usize>,
    open: Vec<Open>,
    roots: Vec<Node>,
    n_nodes: usize,
}

impl Build<'_> {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Option<()> {
        let at = self.byte(span.start.index())..self.byte(span.end.index());
        self.n_nodes += 1;
        if self.n_nodes > MOST_NODES || self.open.len() > MOST_DEPTH {
            return None;
        }
        match event {
            Event::MappingStart(anchor, tag) => {
                self.begin(true, anchor != 0 || tag.is_some(), &at);
            }
            Event::SequenceStart(anchor, tag) => {
                self.begin(false, anchor != 0 || tag.is_some(), &at);
            }
            Event::MappingEnd | Event::SequenceEnd => self.close(&at)?,
            Event::Scalar(text, style, anchor, tag) => {
                let raw = self.text.get(at.clone())?;
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let body = match style {
                    ScalarStyle::SingleQuoted => quoted(raw, '\''),
                    ScalarStyle::DoubleQuoted => quoted(raw, '"'),
                    _ => raw.trim_end(),
                };
                let is_plain = style == ScalarStyle::Plain;
                let is_nothing = is_plain && matches!(&*text, "" | "~" | "null");
                let node = Node {
                    at: at.start..at.start + body.len(),
                    is_marked: anchor != 0 || tag.is_some(),
                    kind: if is_nothing {
                        Shape::Nothing
                    } else {
                        Shape::Text { text: text.into_owned(), is_simple: !is_block && !body.contains('\n') }
                    },
                };
                self.take(node);
            }
            Event::Alias(_) => self.take(Node {
                at: at.start..at.start + self.text.get(at.clone())?.split_whitespace().next()?.len(),
                is_marked: false,
                kind: Shape::Alias,
            }),
            _ => {}
        }
        Some(())
    }

    fn byte(&self, at: usize) -> usize {
        self.bytes.get(at).copied().unwrap_or(self.text.len())
    }

    fn begin(&mut self, is_map: bool, is_marked: bool, at: &Range<usize>) {
        let start = at.start;
        // A list without indentation begins at its first item.
        let is_flow = !at.is_empty() && self.text[start..].starts_with(['{', '[']);
        self.open.push(Open {
            start,
            is_marked,
            is_map,
            is_flow,
            key: None,
            entries: Vec::new(),
            items: Vec::new(),
            end: start,
        });
    }

    fn close(&mut self, at: &Range<usize>) -> Option<()> {
        let open = self.open.pop()?;
        // The end that the parser reports includes the text after a bracket, so the node ends at the byte after the
        // bracket.
        let end = if open.is_flow { at.start + 1 } else { open.end };
        let is_flow = open.is_flow;
        let kind = if open.is_map {
            let entries = open.entries;
            Shape::Map { entries, is_flow }
        } else {
            let items = open.items;
            Shape::List { items, is_flow }
        };
        self.take(Node { at: open.start..end, is_marked: open.is_marked, kind });
        Some(())
    }

    fn take(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            self.roots.push(node);
            return;
        };
        // An empty node has no place, so it does not move the end of the mapping or list.
        if !matches!(node.kind, Shape::Nothing) || node.at.start < node.at.end {
            open.end = open.end.max(node.at.end);
        }
        if !open.is_map {
            open.items.push(node);
        } else if let Some(key) = open.key.take() {
            open.entries.push((key, node));
        } else {
            open.key = Some(node);
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` describes the value of `a`: whether it has brackets, and its bytes.
    #[track_caller]
    fn check(text: &str, expected: Option<(bool, &str)>) {
        let root = read(text);
        let found = root.as_ref().and_then(|it| it.get("a")).map(|it| {
            let (Shape::Map { is_flow, .. } | Shape::List { is_flow, .. }) = it.kind else {
                return (false, &text[it.at.clone()]);
            };
            (is_flow, &text[it.at.clone()])
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn what_is_a_block_is_no_flow_and_ends_with_its_last_word() {
        check("a: [b, c] # d\n", Some((true, "[b, c]")));
        check("a: {b: c}\n", Some((true, "{b: c}")));
        check("a:\n- {b: c} # d\n- e # f\n\ng: h\n", Some((false, "{b: c} # d\n- e")));
        check("a:\n- [b]\ng: h\n", Some((false, "[b]")));
        check("a:\n  - 'b' # c\ng: h\n", Some((false, "- 'b'")));
        check("a:\n  b: c # d\n  e:\ng: h\n", Some((false, "b: c # d\n  e")));
        check("a: b\n---\na: c\n", None);
        check("a: {\n", None);
        check(&"[".repeat(100_000), None);
    }
}
