//! Splits lines that hold several settings: TOML lists, `SQLConnectInfo`, Exim's servers, environment variables.
//!
//! Each part is a setting with its own place. Called by `lines`.

use super::quotes::{Bare, Quotes};
use super::setting::{Joins, Setting, Value};

/// Splits `ProFTPD`'s `SQLConnectInfo database@host:port user password`, and `SQLNamedConnectInfo`, which has a name
/// and a backend before the same parts.
pub(super) fn connect_info(setting: &Setting) -> Vec<Setting> {
    let is_called = |name: &str| setting.path.last().is_some_and(|it| it.eq_ignore_ascii_case(name));
    let is_named = is_called("SQLNamedConnectInfo");
    let is_own = is_named || is_called("SQLConnectInfo");
    let value = match &setting.value {
        Value::Text(value) => value,
        Value::Variable { .. } | Value::Hidden if is_own => {
            let mut host = setting.clone();
            host.path.push("host".to_owned());
            return vec![host];
        }
        Value::Variable { .. } | Value::Hidden => return Vec::new(),
    };
    if !is_own || setting.quotes != Quotes::Bare(Bare::Word) {
        return Vec::new();
    }
    let base = setting.literal.start;
    let mut words = value.split([' ', '\t']).filter(|it| !it.is_empty());
    let ahead = if is_named { words.next().zip(words.next()) } else { None };
    let Some(info) = words.next() else {
        return Vec::new();
    };
    let (database, host) = info.split_once('@').map_or((info, None), |it| (it.0, Some(it.1)));
    let parts = [
        ("backend", ahead.map(|it| it.1)),
        ("database", Some(database)),
        ("host", host),
        ("user", words.next()),
        ("password", words.next()),
    ];
    let parts = parts.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let parts = parts.map(|(name, text)| {
        let from = base + offset(value, text);
        let mut part = setting.part(name, text, from..from + text.len(), 0, Joins::With(" "));
        if let Some((name, _)) = ahead {
            part.path.insert(part.path.len() - 1, name.to_owned());
        }
        part
    });
    parts.collect()
}

/// The byte of `whole` at which `part` begins; `part` is a slice of `whole`.
fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(whole.as_ptr().addr())
}

/// Splits Exim's `hide mysql_servers = localhost/database/user/password : …` into servers. Each server may have a
/// socket in parentheses. Redis servers have no user.
pub(super) fn exim_servers(setting: &Setting) -> Vec<Setting> {
    let kinds = ["mysql_servers", "pgsql_servers", "redis_servers"];
    let name = setting.path.last().map_or("", |it| it);
    let kind = kinds.into_iter().find(|it| name.ends_with(it));
    let (Some(kind), Value::Text(value)) = (kind, &setting.value) else {
        return Vec::new();
    };
    // A list that begins with `<` uses another separator.
    if setting.quotes != Quotes::Bare(Bare::Line) || value.starts_with('<') {
        return Vec::new();
    }
    let words = if kind == "redis_servers" { ["database", "password", ""] } else { ["database", "user", "password"] };
    let mut found = Vec::new();
    for (idx, server) in servers(value).into_iter().enumerate() {
        let (place, rest) = match server.split_once(")/") {
            Some((place, rest)) => (place, rest),
            None => server.split_once('/').unwrap_or((server, "")),
        };
        let (host, socket) = place.split_once('(').unwrap_or((place, ""));
        let (host, port) = host.trim().split_once("::").unwrap_or((host.trim(), ""));
        // MySQL's C library uses a socket only if the host is localhost.
        let is_ignored = kind == "mysql_servers" && !matches!(host, "" | "localhost");
        let socket = if is_ignored { "" } else { socket };
        let mut parts = vec![("host", host), ("port", port), ("socket", socket)];
        parts.extend(words.into_iter().zip(rest.split('/')));
        parts.retain(|it| !it.0.is_empty() && !it.1.is_empty() && (it.0 != "host" || socket.is_empty()));
        for (name, text) in parts {
            let from = setting.literal.start + offset(value, text);
            let mut part = setting.part(name, text, from..from + text.len(), 0, Joins::With("/"));
            part.path.insert(part.path.len() - 1, idx.to_string());
            found.push(part);
        }
    }
    found
}

/// Returns Exim's list of servers with its continuation lines; returns any other line unchanged.
pub(super) fn with_servers<'a>(text: &'a str, start: usize, line: &'a str) -> &'a str {
    let is_list = |line: &str| line.split_once('=').is_some_and(|it| it.0.trim_end().ends_with("_servers"));
    if !line.ends_with('\\') || line.trim_start().starts_with('#') || !is_list(line) {
        return line;
    }
    let mut end = start;
    for line in text[start..].split_inclusive('\n') {
        end += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    text[start..end].trim_end()
}

/// Splits a list of servers at colons. A double colon is part of a server, not a separator.
fn servers(value: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(colon) = value[at..].find(':').map(|it| at + it) {
        at = colon + 1;
        if value[at..].starts_with(':') {
            at += 1;
            continue;
        }
        found.push(&value[start..colon]);
        start = at;
    }
    found.push(&value[start..]);
    let trimmed = found.into_iter().map(|it| it.trim_matches(|c: char| c.is_whitespace() || c == '\\'));
    trimmed.filter(|it| it.contains('/')).collect()
}

/// Reads the variables in Supervisor's `environment=A="b",C="d"`.
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

/// Reads the assignments in a unit's `Environment=`, which may be in quotes.
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
            // systemd removes quotes at any place in a word, including the quotes around the value.
            if let Some(bare) = ['"', '\''].iter().find_map(|it| text.strip_prefix(*it)?.strip_suffix(*it)) {
                part.value = Value::Text(bare.to_owned());
                part.literal = part.literal.start + 1..part.literal.end - 1;
            } else if quote.is_none() && text.contains(['"', '\'']) {
                part.value = Value::Hidden;
            }
            part.path = vec![name.to_owned()];
            // A single `%` begins a specifier like `%h` or `%i`.
            part.read_doubled('%');
            found.push(part);
        }
        at += blank + opened + end + 1;
    }
    found
}

/// The end of the first word, in which quotes may contain blanks.
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

/// The texts of a TOML list, without their quotes.
pub(super) fn items(setting: &Setting, first: usize) -> Vec<Setting> {
    let raw = &setting.item[setting.literal.clone()];
    let is_line = raw.len() == setting.item.len();
    if !is_line && !raw.starts_with('[') {
        return Vec::new();
    }
    if raw[usize::from(!is_line)..].trim_start().starts_with('[') {
        return inner_items(setting, raw, first);
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

/// The texts of the lists inside a list: `[["127.0.0.1", 5433, "primary"]]`.
fn inner_items(setting: &Setting, raw: &str, first: usize) -> Vec<Setting> {
    let lists = raw.split('[').filter_map(|it| Some(it.split_once(']')?.0));
    let items = lists.enumerate().flat_map(|(idx, list)| {
        list.split(',').enumerate().map(move |(own, item)| (first + idx, own, item.trim().trim_matches(['"', '\''])))
    });
    let parts = items.map(|(list, own, text)| {
        let from = setting.literal.start + offset(raw, text);
        let mut part = setting.part(&own.to_string(), text, from..from + text.len(), 0, Joins::With(", "));
        part.path.insert(part.path.len() - 1, list.to_string());
        part
    });
    parts.collect()
}

/// The arguments of `pam_mysql.so` in PAM's files.
pub(super) fn pam_arguments(setting: &Setting) -> Vec<Setting> {
    let Some((_, arguments)) = setting.item.split_once("pam_mysql.so ") else {
        return Vec::new();
    };
    // With `config_file`, another file contains further settings.
    if arguments.contains("config_file=") {
        return Vec::new();
    }
    arguments_in(setting, arguments, "pam_mysql")
}

/// Reads the arguments of BIND's DLZ drivers: in braces after `database "mysql`, or on the next line.
pub(super) fn dlz_arguments(settings: &[Setting]) -> Vec<Setting> {
    let pairs = settings.iter().zip(settings.iter().skip(1).map(Some).chain([None]));
    let found = pairs.filter_map(|(setting, next)| {
        let driver = setting.item.strip_prefix("database")?.trim_start().strip_prefix('"')?;
        let name = ["mysql", "postgres"].into_iter().find(|it| driver.contains(it))?;
        let place = if driver.contains('{') { setting } else { next.filter(|it| it.item.starts_with('{'))? };
        let inside = place.item.split_once('{')?.1.split('}').next()?;
        Some(arguments_in(place, inside, &format!("dlz {name}")))
    });
    found.flatten().collect()
}

/// Reads the `name=value` pairs between blanks, under the name of the module or driver that receives them.
fn arguments_in(setting: &Setting, text: &str, whose: &str) -> Vec<Setting> {
    let words = text.split_whitespace().filter_map(|it| Some((it, it.split_once('=')?)));
    let parts = words.map(|(word, (name, value))| {
        let from = offset(&setting.item, word);
        let part = setting.part(name, value, from..from + word.len(), name.len(), Joins::With(" "));
        Setting { path: vec![whose.to_owned(), setting.line.to_string(), name.to_owned()], ..part }
    });
    parts.collect()
}
