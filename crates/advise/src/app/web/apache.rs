//! Apache: `ProxyPass`, `ProxyPassMatch`, `BalancerMember` and `SetHandler "proxy:…"`.
//!
//! In `unix:/run/app.sock|http://127.0.0.1:8000/`, the socket is written before the URL. A switch does not change the
//! URL, because Apache still uses the URL: the URL's host becomes the `Host` of the request, and `ProxyPassReverse`
//! removes the URL from responses.

use std::collections::BTreeSet;
use std::ops::Range;

use super::sink::{Behind, MOST_DEPTH, Sink, address, without_scheme};
use super::words::{logical_line, words_of};
use crate::app::setting::Value;

/// The directives that contain an address.
const DIRECTIVES: [&str; 4] = ["ProxyPass", "ProxyPassMatch", "BalancerMember", "SetHandler"];
const SCHEMES: [&str; 3] = ["fcgi", "http", "uwsgi"];

pub(super) fn read(sink: &mut Sink<'_>) {
    let text = sink.text;
    let mut blocks: Vec<String> = Vec::new();
    let mut start = 0;
    let workers = named_workers(text);
    while start < text.len() && blocks.len() <= MOST_DEPTH {
        let line = logical_line(&text[start..]);
        let words = words_of(line, start);
        start += line.len();
        let Some(first) = words.first().map(|it| &text[it.clone()]) else {
            continue;
        };
        if first.starts_with("</") {
            blocks.pop();
        } else if first.starts_with('<') {
            let head = line.trim().trim_matches(['<', '>']);
            let name = sink.named(&blocks, head);
            blocks.push(name);
        } else if let Some(own) = DIRECTIVES.iter().find(|it| it.eq_ignore_ascii_case(first)) {
            target(sink, (&blocks, own), &words, &workers);
        }
    }
}

/// Finds the first address among the words of a directive. `blocks` has the names of the blocks around the directive,
/// and `directive` the directive's name.
fn target(
    sink: &mut Sink<'_>,
    (blocks, directive): (&[String], &str),
    words: &[Range<usize>],
    workers: &BTreeSet<&str>,
) {
    let text = sink.text;
    for word in &words[1..] {
        let whole = &text[word.clone()];
        let own = whole.strip_prefix("proxy:").unwrap_or(whole);
        let start = word.end - own.len();
        let (socket, url) = match own.split_once('|') {
            Some((socket, url)) => (Some(socket), url),
            None => (None, own),
        };
        let known = SCHEMES.iter().find_map(|it| Some((it, without_scheme(url, it)?.0)));
        let Some((scheme, rest)) = known else {
            continue;
        };
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let (value, literal) = match socket {
            Some(socket) => (address(socket), start..start + socket.len()),
            // The socket has to be inserted before the URL.
            None => (address(host), start..start),
        };
        let mut blocks = blocks.to_vec();
        blocks.retain(|it| !it.starts_with("IfModule"));
        // If the address is not the first word after the directive, that first word is the path of the pages that
        // Apache passes on.
        if words[1] != *word {
            blocks.push(text[words[1].clone()].to_owned());
        }
        let is_known = matches!(value, Value::Text(_));
        let is_named = is_known && socket.is_none() && workers.contains(host);
        sink.push(Behind {
            blocks,
            directive: format!("{directive} {scheme}"),
            value,
            doubt: is_named.then(|| format!("the worker `{host}` of a <Proxy> section")),
            item: words[0].start..word.end,
            literal,
        });
        return;
    }
}

/// The names that the file gives to sockets: `<Proxy "unix:/run/php.sock|fcgi://php">` calls a socket `php`.
fn named_workers(text: &str) -> BTreeSet<&str> {
    let names = text.lines().filter_map(|line| {
        let head = line.trim_start().strip_prefix("<Proxy ")?;
        let (_, name) = head.strip_suffix('>')?.split_once("://")?;
        let is_socket = head.contains("unix:");
        Some(name.trim_end_matches(['"', '/'])).filter(|_| is_socket)
    });
    names.collect()
}
