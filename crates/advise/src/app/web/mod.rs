//! Web servers' and proxies' own files: to which server behind them each block hands its requests.
//!
//! Text in, settings with their places out. A setting is the address alone (`127.0.0.1:9000`, `unix:/run/app.sock`), so
//! that whatever stands around it stays; its last name says which directive it belongs to, and so what is spoken there.
//! What goes through TLS is left out. `words` takes a text apart; one file for each program. Called by `read`.

mod apache;
mod caddy;
mod haproxy;
mod nginx;
mod words;

use std::collections::BTreeMap;
use std::ops::Range;

use super::quotes::{Bare, Quotes};
use super::setting::{Joins, LineStarts, MOST_SETTINGS, MOST_VALUE_BYTES, Read, Setting, Value};

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    Nginx,
    Apache,
    Caddy,
    Haproxy,
}

/// Deepest nesting that is followed.
const MOST_DEPTH: usize = 64;

/// The addresses behind a proxy.
pub(crate) fn read(text: &str, proxy: Proxy) -> Read {
    let mut sink = Sink {
        text,
        starts: LineStarts::from_text(text),
        seen: BTreeMap::new(),
        settings: Vec::new(),
    };
    match proxy {
        Proxy::Nginx => nginx::read(&mut sink),
        Proxy::Apache => apache::read(&mut sink),
        Proxy::Caddy => caddy::read(&mut sink),
        Proxy::Haproxy => haproxy::read(&mut sink),
    }
    sink.settings.sort_by_key(|it| it.start);
    (sink.settings, Vec::new())
}

/// An address that was found.
struct Behind {
    /// The blocks that it stands in, from the outside.
    blocks: Vec<String>,
    /// What hands requests to it: `fastcgi_pass`.
    directive: String,
    value: Value,
    /// Why it may not be what counts.
    doubt: Option<String>,
    /// The directive with the address, as far as it is shown.
    item: Range<usize>,
    /// What becomes another address.
    literal: Range<usize>,
}

struct Sink<'a> {
    text: &'a str,
    starts: LineStarts,
    /// How many blocks of each name there were.
    seen: BTreeMap<Vec<String>, usize>,
    settings: Vec<Setting>,
}

impl Sink<'_> {
    /// A block's name among its neighbours: the second `server` is `server 2`.
    fn named(&mut self, outer: &[String], name: &str) -> String {
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

    /// Keeps it, within bounds.
    fn push(&mut self, it: Behind) {
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

/// `host:port`, or what only the program knows where it holds a variable.
fn address(text: &str) -> Value {
    if text.contains(['$', '%', '{']) {
        return Value::Hidden;
    }
    Value::Text(text.to_owned())
}

/// Without a scheme, where it has this one in whatever case, and how many bytes that takes.
fn without_scheme<'a>(text: &'a str, scheme: &str) -> Option<(&'a str, usize)> {
    let n_bytes = scheme.len() + "://".len();
    let head = text.get(..n_bytes)?;
    let is_it = head.ends_with("://") && head[..scheme.len()].eq_ignore_ascii_case(scheme);
    is_it.then(|| (&text[n_bytes..], n_bytes))
}

#[cfg(test)]
mod tests;
