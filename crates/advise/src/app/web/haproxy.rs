//! `HAProxy`: the `server` lines to which `HAProxy` sends HTTP or FastCGI. In `mode tcp`, also the `server` lines of
//! databases, if a check or the default port shows the kind of database.

use std::ops::Range;

use looptax_model::dsn::Kind;

use super::sink::{Behind, Sink, address};
use super::words::words_of;
use crate::app::kind_words;
use crate::app::setting::Value;

const SECTIONS: [&str; 12] = [
    "global",
    "defaults",
    "frontend",
    "backend",
    "listen",
    "peers",
    "resolvers",
    "userlist",
    "cache",
    "fcgi-app",
    "program",
    "mailers",
];

/// Settings of a section that apply to all servers of the section.
#[derive(Debug, Clone, Copy, Default)]
struct Speaks {
    is_http: bool,
    is_fastcgi: bool,
    /// The kind of server that `option …-check` checks.
    checks: Option<Kind>,
}

pub(super) fn read(sink: &mut Sink<'_>) {
    let text = sink.text;
    let mut usual = Speaks::default();
    let mut own = Speaks::default();
    let mut section = (String::new(), String::new());
    let mut servers: Vec<Vec<Range<usize>>> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let words = words_of(line, start);
        start += line.len();
        let word = |at: usize| words.get(at).map_or("", |it| &text[it.clone()]);
        match word(0) {
            first if SECTIONS.contains(&first) => {
                push(sink, &section, own, &servers);
                servers.clear();
                section = (first.to_owned(), word(1).to_owned());
                if first == "defaults" {
                    usual = Speaks::default();
                }
                own = usual;
            }
            "mode" => own.is_http = word(1) == "http",
            "option" => own.checks = word(1).strip_suffix("-check").and_then(kind_words::kind_in).or(own.checks),
            "use-fcgi-app" => own.is_fastcgi = true,
            "server" if words.len() > 2 => servers.push(words),
            _ => continue,
        }
        if section.0 == "defaults" {
            usual = own;
        }
    }
    push(sink, &section, own, &servers);
}

fn push(sink: &mut Sink<'_>, (kind, name): &(String, String), speaks: Speaks, servers: &[Vec<Range<usize>>]) {
    if !matches!(&**kind, "backend" | "listen" | "defaults") {
        return;
    }
    for words in servers {
        let text = sink.text;
        let all: Vec<&str> = words.iter().map(|it| &text[it.clone()]).collect();
        let is_fastcgi = speaks.is_fastcgi || all.windows(2).any(|it| it == ["proto", "fcgi"]);
        let directive = match (speaks.is_http, is_fastcgi) {
            (true, true) => "server fcgi".to_owned(),
            (true, false) => "server http".to_owned(),
            (false, _) => {
                let by_port = || kind_words::kind_of_port(all[2].rsplit_once(':')?.1);
                let Some(database) = speaks.checks.or_else(by_port).or_else(|| kind_of_socket(all[2])) else {
                    continue;
                };
                format!("server {}", database.name())
            }
        };
        let block = format!("{kind} {name}");
        let server = sink.named(std::slice::from_ref(&block), all[1]);
        sink.push(Behind {
            blocks: vec![block, server],
            directive,
            value: place(all[2]),
            doubt: None,
            item: words[0].start..words[2].end,
            literal: words[2].clone(),
        });
    }
}

/// The kind of database according to words in the path of a socket.
pub(super) fn kind_of_socket(path: &str) -> Option<Kind> {
    let words =
        [(".s.PGSQL.", Kind::Postgres), ("mysql", Kind::Mysql), ("redis", Kind::Redis), ("memcache", Kind::Memcached)];
    let (_, kind) = words.into_iter().find(|(word, _)| path.contains('/') && path.contains(word))?;
    Some(kind)
}

/// Reads an address in the forms of `HAProxy` (`/run/app.sock`, `unix@/run/app.sock`) or in the common forms.
fn place(text: &str) -> Value {
    let tcp = ["ipv4@", "ipv6@"].iter().find_map(|it| text.strip_prefix(it));
    match text.strip_prefix("unix@") {
        Some(path) => address(&format!("unix:{path}")),
        None => address(tcp.unwrap_or(text)),
    }
}
