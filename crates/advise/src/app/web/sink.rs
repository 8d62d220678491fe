//! Collects the addresses that the parsers of web servers' files find, each as a setting with its place.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::app::quotes::{Bare, Quotes};
use crate::app::setting::{Joins, LineStarts, MOST_SETTINGS, MOST_VALUE_BYTES, Setting, Value};

pub(super) const MOST_DEPTH: usize = 64;

pub(super) struct Behind {
    /// The blocks around the address, outermost first.
    pub(super) blocks: Vec<String>,
    /// The directive that passes requests to the address: `fastcgi_pass`.
    pub(super) directive: String,
    pub(super) value: Value,
    /// Why another address may take effect.
    pub(super) doubt: Option<String>,
    /// The directive with the address, or the part of the directive that is shown.
    pub(super) item: Range<usize>,
    pub(super) literal: Range<usize>,
}

/// The addresses that were found, with their places.
pub(super) struct Sink<'a> {
    pub(super) text: &'a str,
    starts: LineStarts,
    /// For each path of a block, how many blocks with this path were found.
    seen: BTreeMap<Vec<String>, usize>,
    settings: Vec<Setting>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, starts: LineStarts::from_text(text), seen: BTreeMap::new(), settings: Vec::new() }
    }

    /// The addresses that were found, in the order of the text.
    pub(super) fn sorted(mut self) -> Vec<Setting> {
        self.settings.sort_by_key(|it| it.start);
        self.settings
    }

    /// The name of a block, numbered if a block next to it has the same name: the second `server` is `server 2`.
    pub(super) fn named(&mut self, outer: &[String], name: &str) -> String {
        let name = if name.len() > 96 { "…" } else { name };
        let mut path = outer.to_vec();
        path.push(name.to_owned());
        let n_seen = self.seen.entry(path).or_default();
        *n_seen += 1;
        match *n_seen {
            1 => name.to_owned(),
            n => format!("{name} {n}"),
        }
    }

    pub(super) fn push(&mut self, it: Behind) {
        let is_long = it.item.len() > MOST_VALUE_BYTES || it.blocks.len() > MOST_DEPTH;
        if is_long || self.settings.len() >= MOST_SETTINGS {
            return;
        }
        let mut path = it.blocks;
        path.push(it.directive);
        let start = it.item.start;
        self.settings.push(Setting {
            path,
            value: it.value,
            doubt: it.doubt,
            line: self.starts.line(start),
            start,
            item: self.text[it.item].to_owned(),
            key: 0..0,
            literal: it.literal.start - start..it.literal.end - start,
            quotes: Quotes::Bare(Bare::Part),
            doubled: None,
            joins: Joins::Line,
        });
    }
}

/// The value for an address like `host:port`. If the text contains a variable, the value is hidden, because only the
/// program can evaluate the variable.
pub(super) fn address(text: &str) -> Value {
    if text.contains(['$', '%', '{']) {
        return Value::Hidden;
    }
    Value::Text(text.to_owned())
}

/// Returns the text after a scheme, and the number of bytes of the scheme; `None` if the text does not begin with the
/// scheme. Upper and lower case are the same.
pub(super) fn without_scheme<'a>(text: &'a str, scheme: &str) -> Option<(&'a str, usize)> {
    let n_bytes = scheme.len() + "://".len();
    let head = text.get(..n_bytes)?;
    let is_it = head.ends_with("://") && head[..scheme.len()].eq_ignore_ascii_case(scheme);
    is_it.then(|| (&text[n_bytes..], n_bytes))
}
