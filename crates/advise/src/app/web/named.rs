//! Finds every place where a proxy's file contains a port, whatever the directive.
//!
//! looptax does not know most directives (`grpc_pass`, a `map`, directives of modules), so this file includes all
//! directives except those that are known not to connect. Takes texts, and returns lines. The caller has to find out to
//! which machine a host belongs.

use std::ops::{Range, RangeInclusive};

use super::Proxy;
use super::words::{Ends, Piece, logical_line, pieces, words_of};
use crate::app::setting::LineStarts;

/// Directives whose addresses belong to a request, a response or a rule, or are addresses at which the proxy listens.
const CONNECT_TO_NOBODY: [&str; 46] = [
    "acl",
    "add_header",
    "allow",
    "bind",
    "deny",
    "errordocument",
    "fastcgi_param",
    "grpc_set_header",
    "header",
    "header_down",
    "header_up",
    "http-check",
    "http-request",
    "http-response",
    "listen",
    "log-format",
    "log_format",
    "logformat",
    "option",
    "proxy_cookie_domain",
    "proxy_cookie_path",
    "proxy_hide_header",
    "proxy_redirect",
    "proxy_set_header",
    "proxypassreverse",
    "proxypassreversecookiedomain",
    "proxypassreversecookiepath",
    "redir",
    "redirect",
    "redirectmatch",
    "redirectpermanent",
    "redirecttemp",
    "requestheader",
    "require",
    "respond",
    "return",
    "rewrite",
    "rewritecond",
    "scgi_param",
    "server_name",
    "serveralias",
    "servername",
    "setenvif",
    "sub_filter",
    "uwsgi_param",
    "valid_referers",
];

/// A place where a file contains the port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPort {
    /// The lines of the directive, counted from 1.
    pub lines: RangeInclusive<usize>,
    /// The text before the port: empty, an address, a name, or a text with a variable.
    pub host: String,
}

/// The places where a text contains the port, in the order of the text.
pub(crate) fn named_ports(text: &str, proxy: Proxy, port: u16) -> Vec<NamedPort> {
    let starts = LineStarts::from_text(text);
    let mut found = Vec::new();
    for words in directives(text, proxy) {
        let [name, values @ ..] = &*words else {
            continue;
        };
        let directive = text[name.clone()].to_ascii_lowercase();
        if CONNECT_TO_NOBODY.contains(&&*directive) {
            continue;
        }
        let end = words[words.len() - 1].end.max(name.start + 1) - 1;
        let lines = starts.line(name.start)..=starts.line(end);
        let hosts = values.iter().flat_map(|it| hosts(&text[it.clone()], port));
        found.extend(hosts.map(|host| NamedPort { lines: lines.clone(), host: host.to_owned() }));
    }
    found
}

fn directives(text: &str, proxy: Proxy) -> Vec<Vec<Range<usize>>> {
    let ends = match proxy {
        Proxy::Nginx => Ends::Semicolon,
        Proxy::Caddy => Ends::Line,
        Proxy::Apache | Proxy::Haproxy => return lines(text),
    };
    let all = pieces(text, ends).into_iter();
    let own = all.filter_map(|it| match it {
        Piece::Directive(words) => Some(words),
        // In Caddy, a directive that connects may have a block; in nginx, the head of a block never connects.
        Piece::Opened(words) => Some(words).filter(|_| proxy == Proxy::Caddy),
        Piece::Closed(_) => None,
    });
    own.collect()
}

/// The words of each line. If quotes are still open at the end of a line, the quotes end there.
fn lines(text: &str) -> Vec<Vec<Range<usize>>> {
    let mut start = 0;
    let mut found = Vec::new();
    while start < text.len() {
        let line = logical_line(&text[start..]);
        let words = words_of(line, start);
        start += line.len();
        // `<Proxy "http://127.0.0.1:8000">` and similar sections set options for a server to which other lines connect.
        let is_section = words.first().is_some_and(|it| text[it.clone()].starts_with('<'));
        if !is_section {
            found.push(words);
        }
    }
    found
}

/// For each place where a word contains the port, the text before the port.
fn hosts(word: &str, port: u16) -> Vec<&str> {
    // In Apache, the text after a socket is only a name, to which Apache does not connect.
    let is_on_socket = word.contains("unix:") && word.contains('|');
    if is_on_socket {
        return Vec::new();
    }
    let wanted = format!(":{port}");
    let all = word.match_indices(&wanted).filter(|(at, _)| {
        let behind = word[at + wanted.len()..].chars().next();
        !behind.is_some_and(|it| it.is_ascii_digit())
    });
    all.map(|(at, _)| host_before(&word[..at])).collect()
}

fn host_before(text: &str) -> &str {
    if text.ends_with(']') {
        return &text[text.rfind('[').unwrap_or(0)..];
    }
    let is_part = |c: char| c.is_alphanumeric() || "._-${}%*".contains(c);
    let start = text.rfind(|c| !is_part(c));
    let start = start.map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, proxy: Proxy, expected: &[&str]) {
        let found = named_ports(text, proxy, 8000);
        let shown = found.iter().map(|it| {
            let (from, to) = (it.lines.start(), it.lines.end());
            format!("{from}-{to} {}", it.host)
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn a_port_is_found_in_whatever_directive_connects() {
        check(
            "# proxy_pass http://127.0.0.1:8000;\nset $up 127.0.0.1:8000;\nlocation / {\n grpc_pass\n  grpc://[::1]:8000; \
             proxy_pass $scheme://localhost:8000/x; proxy_redirect http://127.0.0.1:8000/ /; proxy_pass http://a:80001; }\n\
             stream { server { listen 8000; proxy_pass $host:8000; } }\n",
            Proxy::Nginx,
            &["2-2 127.0.0.1", "4-5 [::1]", "5-5 localhost", "6-6 $host"],
        );
        check(
            "ProxyPass /ws ws://127.0.0.1:8000/ws\nProxyPassReverse / http://127.0.0.1:8000/\n\
             RewriteRule ^/(.*)$ http://127.0.0.1:8000/$1 [P]\nProxyPass / unix:/a.sock|http://127.0.0.1:8000/\n\
             <Proxy http://127.0.0.1:8000>\n</Proxy>\n",
            Proxy::Apache,
            &["1-1 127.0.0.1", "3-3 127.0.0.1"],
        );
        check(
            "listen db\n mode tcp\n bind :8000\n server a 127.0.0.1:8000 check # :8000\n server b ipv4@10.0.0.7:8000\n",
            Proxy::Haproxy,
            &["4-4 127.0.0.1", "5-5 10.0.0.7"],
        );
        check(
            "a.org {\n reverse_proxy :8000 {\n  header_up Host 127.0.0.1:8000\n  to h2c://b:8000\n }\n}\n",
            Proxy::Caddy,
            &["2-2 ", "4-4 b"],
        );
    }
}
