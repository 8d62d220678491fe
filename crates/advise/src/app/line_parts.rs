//! Values of a line that hold several settings: lists of TOML, `SQLConnectInfo`, Exim's servers, variables of an environment.
//!
//! Each part is a setting with its own place. Called by `lines`.

use super::quotes::{Bare, Quotes};
use super::setting::{Joins, Setting, Value};

/// `ProFTPD`'s `SQLConnectInfo database@host:port user password`, part by part.
pub(super) fn connect_info(setting: &Setting) -> Vec<Setting> {
    let is_own = setting.path.last().is_some_and(|it| it.eq_ignore_ascii_case("SQLConnectInfo"));
    let value = match &setting.value {
        Value::Text(value) => value,
        Value::Variable { .. } | Value::Hidden if is_own => {
            let mut host = setting.clone();
            host.path.push("host".to_owned());
            return vec![host];
        }
        Value::Variable { .. } | Value::Hidden => return Vec::new(),
    };
    let base = setting.literal.start;
    let Some(at) = value.find('@').filter(|_| is_own && setting.quotes == Quotes::Bare(Bare::Word)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut add = |name: &str, from: usize, text: &str| {
        let place = base + from..base + from + text.len();
        found.push(setting.part(name, text, place, 0, Joins::With(" ")));
    };
    add("database", 0, &value[..at]);
    let mut from = at + 1;
    for (name, word) in ["host", "user", "password"].into_iter().zip(value[from..].split([' ', '\t'])) {
        add(name, from, word);
        from += word.len() + 1;
    }
    found
}

/// Exim's `hide mysql_servers = localhost/database/user/password : …`, of which each may have a socket in parentheses.
pub(super) fn exim_servers(setting: &Setting) -> Vec<Setting> {
    let is_own = setting.path.last().is_some_and(|it| it.ends_with("mysql_servers") || it.ends_with("pgsql_servers"));
    let Value::Text(value) = &setting.value else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut at = setting.literal.start;
    for (idx, server) in value.split(" : ").enumerate().filter(|_| is_own && setting.quotes == Quotes::Bare(Bare::Line))
    {
        let (place, rest) = match server.split_once(")/") {
            Some((place, rest)) => (place, rest),
            None => server.split_once('/').unwrap_or((server, "")),
        };
        let (host, socket) = place.split_once('(').unwrap_or((place, ""));
        let (host, port) = host.trim().split_once("::").unwrap_or((host.trim(), ""));
        let mut login = rest.split('/');
        let mut parts = vec![("host", host), ("port", port), ("socket", socket)];
        parts.extend(["database", "user", "password"].into_iter().zip(&mut login));
        // The socket is what counts.
        parts.retain(|it| !it.1.is_empty() && (it.0 != "host" || socket.is_empty()));
        for (name, text) in parts {
            let from = at + server.find(text).unwrap_or_default();
            let mut part = setting.part(name, text, from..from + text.len(), 0, Joins::With("/"));
            part.path.insert(part.path.len() - 1, idx.to_string());
            found.push(part);
        }
        at += server.len() + " : ".len();
    }
    found
}

/// The variables of Supervisor's `environment=A="b",C="d"`.
pub(super) fn listed_assignments(setting: &Setting) -> Vec<Setting> {
    let is_own = setting.path.last().is_some_and(|it| it == "environment");
    let raw = &setting.item[setting.literal.clone()];
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(sign) = raw[at..].find('=').map(|it| at + it).filter(|_| is_own) {
        let name = raw[at..sign].trim_matches([',', ' ']);
        let quote = raw[sign + 1..].chars().next().filter(|c| matches!(c, '"' | '\''));
        let start = sign + 1 + usize::from(quote.is_some());
        let end = raw[start..].find(quote.unwrap_or(',')).map_or(raw.len(), |it| start + it);
        let from = setting.literal.start + start;
        let mut part = setting.part(name, &raw[start..end], from..from + end - start, 0, Joins::With(","));
        part.path.remove(part.path.len() - 2);
        part.read_doubled('%');
        found.push(part);
        at = (end + usize::from(quote.is_some())).min(raw.len());
    }
    found
}

/// The assignments of a unit's `Environment=`, which may stand in quotes.
pub(super) fn assignments(setting: &Setting) -> Vec<Setting> {
    let is_environment = setting.path.last().is_some_and(|it| it == "Environment");
    let Value::Text(value) = &setting.value else {
        return Vec::new();
    };
    if !is_environment {
        return Vec::new();
    }
    let mut found = Vec::new();
    let base = setting.literal.start;
    let mut at = 0;
    while at < value.len() {
        let rest = &value[at..];
        let blank = rest.len() - rest.trim_start().len();
        let word = &rest[blank..];
        let quote = word.chars().next().filter(|c| matches!(c, '"' | '\''));
        let opened = usize::from(quote.is_some());
        let body = &word[opened..];
        let end = match quote {
            Some(quote) => body.find(quote),
            None => end_of_word(body),
        };
        let end = end.unwrap_or(body.len());
        let from = base + at + blank + opened;
        if let Some((name, text)) = body[..end].split_once('=') {
            let mut part = setting.part(name, text, from..from + end, name.len(), Joins::With(" "));
            // systemd takes quotes away wherever in a word they stand.
            if let Some(bare) = ['"', '\''].iter().find_map(|it| text.strip_prefix(*it)?.strip_suffix(*it)) {
                part.value = Value::Text(bare.to_owned());
                part.literal = part.literal.start + 1..part.literal.end - 1;
            } else if quote.is_none() && text.contains(['"', '\'']) {
                part.value = Value::Hidden;
            }
            part.path = vec![name.to_owned()];
            // Specifiers: `%h`, `%i`.
            part.read_doubled('%');
            found.push(part);
        }
        at += blank + opened + end + 1;
    }
    found
}

/// Where a word ends whose blanks may stand in quotes.
fn end_of_word(text: &str) -> Option<usize> {
    let mut within = None;
    text.char_indices().find_map(|(at, c)| {
        match within {
            Some(quote) if c == quote => within = None,
            None if matches!(c, '"' | '\'') => within = Some(c),
            None if c == ' ' => return Some(at),
            _ => {}
        }
        None
    })
}

/// The texts of a list of TOML, each in quotes.
pub(super) fn items(setting: &Setting, first: usize) -> Vec<Setting> {
    let raw = &setting.item[setting.literal.clone()];
    let is_line = raw.len() == setting.item.len();
    if !is_line && !raw.starts_with('[') {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = raw[at..].find(['"', '\'']).map(|it| at + it) {
        let quote = if raw[start..].starts_with('"') { '"' } else { '\'' };
        let Some(end) = raw[start + 1..].find(quote).map(|it| start + 1 + it) else {
            break;
        };
        let from = setting.literal.start + start + 1;
        let name = (first + found.len()).to_string();
        let text = &raw[start + 1..end];
        found.push(setting.part(&name, text, from..from + text.len(), 0, Joins::With(", ")));
        at = end + 1;
    }
    found
}
