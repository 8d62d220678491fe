//! nginx: `fastcgi_pass`, `uwsgi_pass`, `memcached_pass` and `proxy_pass`, and the servers of the `upstream` blocks
//! that these directives name.
//!
//! A name for which the file has no `upstream` may be an upstream in another file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use looptax_model::dsn::Kind;

use crate::app::kind_words;
use crate::app::setting::Problem;

use super::haproxy::kind_of_socket;
use super::sink::{Behind, MOST_DEPTH, Sink, address, without_scheme};
use super::words::{Ends, Piece, pieces};

/// Directives that pass on a request. Each has the scheme of its address, and whether the address must have the scheme.
const PASSES: [(&str, &str, bool); 4] = [
    ("fastcgi_pass", "", false),
    ("uwsgi_pass", "uwsgi", false),
    ("memcached_pass", "", false),
    ("proxy_pass", "http", true),
];

const MOST_INCLUDES: usize = 8;

type Words = Vec<Range<usize>>;

/// The servers of an `upstream`, and the directives that pass requests to it.
#[derive(Default)]
struct Upstream {
    servers: Vec<Words>,
    directives: BTreeSet<&'static str>,
}

pub(super) fn read(sink: &mut Sink<'_>) {
    let all = pieces(sink.text, Ends::Semicolon);
    let mut upstreams = upstreams(sink.text, &all);
    let mut blocks: Vec<String> = Vec::new();
    for piece in all {
        if blocks.len() > MOST_DEPTH {
            return;
        }
        match piece {
            Piece::Opened(words) => {
                let words: Vec<&str> = words.iter().map(|it| &sink.text[it.clone()]).collect();
                let name = sink.named(&blocks, &words.join(" "));
                blocks.push(name);
            }
            Piece::Closed(_) => drop(blocks.pop()),
            Piece::Directive(words) => pass(sink, &blocks, &words, &mut upstreams),
        }
    }
    for (name, upstream) in upstreams {
        for directive in upstream.directives {
            for (idx, words) in upstream.servers.iter().enumerate() {
                let number = (upstream.servers.len() > 1).then(|| format!(" {}", idx + 1));
                let block = format!("upstream {name}{}", number.unwrap_or_default());
                server(sink, block, directive, words);
            }
        }
    }
}

/// If a file passes on no requests itself, returns a problem that names the files which it includes. looptax does not
/// read these files.
pub(super) fn includes(text: &str) -> Option<Problem> {
    // The files of nginx's own packages contain no servers.
    let is_theirs =
        |it: &&str| it.ends_with("mime.types") || it.ends_with("_params") || it.contains("/modules-enabled/");
    let all = pieces(text, Ends::Semicolon).into_iter();
    let files = all.filter_map(|it| match it {
        Piece::Directive(words) if &text[words.first()?.clone()] == "include" => text.get(words.get(1)?.clone()),
        _ => None,
    });
    let files: Vec<&str> = files.filter(|it| !is_theirs(it)).take(MOST_INCLUDES).collect();
    let what = format!(
        "looptax does not follow nginx's `include` directives; pass each included file separately: {}",
        files.join(", ")
    );
    (!files.is_empty()).then_some(Problem { line: None, what })
}

fn upstreams(text: &str, all: &[Piece]) -> BTreeMap<String, Upstream> {
    let mut found: BTreeMap<String, Upstream> = BTreeMap::new();
    let mut open: Vec<Option<String>> = Vec::new();
    for piece in all {
        match piece {
            Piece::Opened(words) => {
                let is_own = words.first().is_some_and(|it| &text[it.clone()] == "upstream");
                let name = words.get(1).filter(|_| is_own);
                open.push(name.map(|it| text[it.clone()].to_owned()));
            }
            Piece::Closed(_) => drop(open.pop()),
            Piece::Directive(words) => {
                let is_server = words.len() > 1 && &text[words[0].clone()] == "server";
                if let Some(Some(name)) = open.last().filter(|_| is_server) {
                    let upstream = found.entry(name.clone()).or_default();
                    upstream.servers.push(words.clone());
                }
            }
        }
    }
    found
}

fn pass(sink: &mut Sink<'_>, blocks: &[String], words: &[Range<usize>], upstreams: &mut BTreeMap<String, Upstream>) {
    let [name, target, ..] = words else { return };
    let own = PASSES.iter().find(|it| it.0 == &sink.text[name.clone()]);
    let Some((directive, scheme, has_scheme)) = own else {
        return;
    };
    let text = &sink.text[target.clone()];
    if *has_scheme && !text.contains("://") && !text.starts_with('$') {
        stream(sink, blocks, name.start..target.end, target.clone(), upstreams);
        return;
    }
    let (rest, n_bytes) = match without_scheme(text, scheme).filter(|_| !scheme.is_empty()) {
        Some(found) => found,
        // A variable may hold the whole address, or only the scheme. An address with a scheme that differs from the
        // directive's scheme uses TLS. An address without a scheme belongs to a stream.
        None if text.starts_with('$') => (text, 0),
        None if *has_scheme || text.contains("://") => return,
        None => (text, 0),
    };
    let n_own = match rest.strip_prefix("unix:") {
        Some(path) => "unix:".len() + path.find(':').unwrap_or(path.len()),
        None if rest.starts_with('$') => rest.len(),
        None => rest.find(['/', '?']).unwrap_or(rest.len()),
    };
    let own = &rest[..n_own];
    if let Some(upstream) = upstreams.get_mut(own) {
        upstream.directives.insert(directive);
        return;
    }
    let start = target.start + n_bytes;
    let doubt = is_bare_name(own).then(|| format!("`{own}`, which is a host, or an upstream in another file"));
    sink.push(Behind {
        blocks: shown(blocks),
        directive: (*directive).to_owned(),
        value: address(own),
        doubt,
        item: name.start..target.end,
        literal: start..start + n_own,
    });
}

/// Adds an address in a stream. It has no scheme, so ports and names have to show the kind of its server.
fn stream(
    sink: &mut Sink<'_>,
    blocks: &[String],
    item: Range<usize>,
    target: Range<usize>,
    upstreams: &mut BTreeMap<String, Upstream>,
) {
    let text = sink.text;
    let own = &text[target.clone()];
    let kind = |text: &str| {
        let by_port = text.rsplit_once(':').and_then(|it| kind_words::kind_of_port(it.1));
        by_port.or_else(|| kind_of_socket(text))
    };
    let directive = |kind: Option<Kind>| {
        Some(match kind? {
            Kind::Mysql => "stream mysql",
            Kind::Postgres => "stream postgres",
            Kind::Redis => "stream redis",
            Kind::Memcached => "stream memcached",
            _ => return None,
        })
    };
    if let Some(upstream) = upstreams.get_mut(own) {
        let servers = upstream.servers.iter().find_map(|it| kind(&text[it.get(1)?.clone()]));
        upstream.directives.extend(directive(servers.or_else(|| kind_words::kind_in(own))));
    } else if let Some(directive) = directive(kind(own)) {
        let value = address(own);
        let (blocks, directive) = (shown(blocks), directive.to_owned());
        sink.push(Behind { blocks, directive, value, doubt: None, item, literal: target });
    }
}

/// The names of the blocks, without the `http` block.
fn shown(blocks: &[String]) -> Vec<String> {
    let kept = blocks.iter().filter(|it| !it.starts_with("http"));
    kept.cloned().collect()
}

/// Whether a text is a name without a dot or a port, other than `localhost`. By default, a machine does not resolve
/// such a name.
fn is_bare_name(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_number = text.chars().all(|c| c.is_ascii_digit());
    text != "localhost" && !is_number && !text.is_empty() && text.chars().all(is_name)
}

fn server(sink: &mut Sink<'_>, block: String, directive: &str, words: &[Range<usize>]) {
    let own = &sink.text[words[1].clone()];
    let value = address(own);
    sink.push(Behind {
        blocks: vec![block],
        directive: format!("{directive} server"),
        value,
        doubt: None,
        item: words[0].start..words[1].end,
        literal: words[1].clone(),
    });
}
