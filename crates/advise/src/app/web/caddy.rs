//! Caddy: `php_fastcgi` and `reverse_proxy`, with addresses on the same line or in the block of the directive.

use std::ops::Range;

use super::sink::{Behind, MOST_DEPTH, Sink, address, without_scheme};
use super::words::{Ends, Piece, pieces};
use crate::app::setting::Value;

/// A `reverse_proxy` or `php_fastcgi` whose block is still open. Further lines of the block may set the protocol.
struct Open {
    depth: usize,
    addresses: Vec<(Range<usize>, Range<usize>)>,
    is_fastcgi: bool,
}

pub(super) fn read(sink: &mut Sink<'_>) {
    let text = sink.text;
    let mut blocks: Vec<String> = Vec::new();
    let mut open: Option<Open> = None;
    for piece in pieces(text, Ends::Line) {
        if blocks.len() > MOST_DEPTH {
            return;
        }
        let (words, opens) = match piece {
            Piece::Closed(_) => {
                blocks.pop();
                if let Some(ended) = open.take_if(|it| it.depth > blocks.len()) {
                    push(sink, &blocks, &ended);
                }
                continue;
            }
            Piece::Directive(words) => (words, false),
            Piece::Opened(words) => (words, true),
        };
        let name = words.first().map_or("", |it| &text[it.clone()]);
        match name {
            "reverse_proxy" | "php_fastcgi" => {
                let found = Open {
                    depth: blocks.len() + 1,
                    addresses: addresses(text, &words),
                    is_fastcgi: name == "php_fastcgi",
                };
                if opens {
                    open = Some(found);
                } else {
                    push(sink, &blocks, &found);
                }
            }
            "to" => {
                if let Some(open) = &mut open {
                    open.addresses.extend(addresses(text, &words));
                }
            }
            "transport" => {
                let speaks = words.get(1).map(|it| &text[it.clone()]);
                if let Some(open) = &mut open {
                    open.is_fastcgi |= speaks == Some("fastcgi");
                }
            }
            _ => {}
        }
        if opens {
            let words: Vec<&str> = words.iter().map(|it| &text[it.clone()]).collect();
            let name = sink.named(&blocks, &words.join(" "));
            blocks.push(name);
        }
    }
}

/// Returns those words after a directive that are addresses. Each has the range from the directive to the word, and the
/// range of the word.
fn addresses(text: &str, words: &[Range<usize>]) -> Vec<(Range<usize>, Range<usize>)> {
    let Some(first) = words.first() else {
        return Vec::new();
    };
    let is_matcher = |it: &&Range<usize>| {
        let word = &text[(**it).clone()];
        word == "*" || word.starts_with(['/', '@'])
    };
    let own = words[1..].iter().filter(|it| !is_matcher(it));
    own.map(|it| (first.start..it.end, it.clone())).collect()
}

fn push(sink: &mut Sink<'_>, blocks: &[String], found: &Open) {
    let directive = if found.is_fastcgi { "php_fastcgi" } else { "reverse_proxy" };
    for (idx, (item, literal)) in found.addresses.iter().enumerate() {
        let text = &sink.text[literal.clone()];
        let plain = without_scheme(text, "http").map_or(text, |it| it.0);
        if plain.contains("://") {
            continue;
        }
        let name = sink.named(blocks, directive);
        let mut blocks = blocks.to_vec();
        if name != directive {
            blocks.push(name);
        }
        // Only the first address directly follows the directive.
        let item = if idx == 0 { item.clone() } else { literal.clone() };
        sink.push(Behind {
            blocks,
            directive: directive.to_owned(),
            value: place(plain),
            doubt: None,
            item,
            literal: literal.clone(),
        });
    }
}

/// Reads an address in Caddy's forms (`unix//run/app.sock`, `:8000`, `{$NAME:default}`) or in the common forms.
fn place(text: &str) -> Value {
    let variable = text.strip_prefix("{$").and_then(|it| it.strip_suffix('}'));
    if let Some(inside) = variable.filter(|it| !it.contains('{')) {
        let (name, fallback) = match inside.split_once(':') {
            Some((name, fallback)) => (name, Some(fallback.to_owned())),
            None => (inside, None),
        };
        let name = name.to_owned();
        return Value::Variable { name, fallback };
    }
    let socket = ["unix/", "unix+h2c/"].iter().find_map(|it| text.strip_prefix(it));
    match socket {
        // The permissions of the socket may follow the path.
        Some(path) => address(&format!("unix:{}", path.split('|').next().unwrap_or(path))),
        None => address(text),
    }
}
