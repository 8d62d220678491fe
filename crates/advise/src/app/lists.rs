//! Values that are lists of settings: `host=127.0.0.1 dbname=mail`, `Server=…;Database=…`, `--db-host 127.0.0.1`; and
//! lists of servers.

use super::bound::Bound;
use super::quotes::Quotes;
use super::setting::{Joins, MOST_SETTINGS, Setting, UNKNOWN, Value};
use super::table::Role;
use looptax_model::dsn::{Kind, Unspoken};

/// Maximum number of servers that are read from a list.
const MOST_SERVERS: usize = 32;

/// How another server is added to a list: after a comma. This value also marks a server as one of several; when a
/// person changes one of these servers, the others stay.
pub(super) const OF_SEVERAL: Joins = Joins::With(",");

/// Splits a value that is a list of settings: each part becomes a setting whose path begins with the path of the list.
/// Parts with escapes or quotes are left out.
pub(crate) fn parts(setting: &Setting) -> Vec<Setting> {
    let Value::Text(value) = &setting.value else {
        return Vec::new();
    };
    // If the value contains escapes in the file, the places of its parts are not known.
    let Some(base) = setting.item[setting.literal.clone()].find(&**value) else {
        return Vec::new();
    };
    let base = setting.literal.start + base;
    if let Some(found) = of_short_dbi(setting, value, base) {
        return found;
    }
    if value.starts_with("--") {
        return options(setting, value, base);
    }
    let separators: &[char] = if value.contains(';') { &[';'] } else { &[' ', '\t', ','] };
    let joins = Joins::With(match separators {
        [';'] => ";",
        _ => " ",
    });
    let mut found = Vec::new();
    let mut at = 0;
    for piece in value.split(separators) {
        let blank = piece.len() - piece.trim_start().len();
        let trimmed = piece.trim();
        let from = base + at + blank;
        if let Some((name, text)) = trimmed.split_once('=') {
            let (name, text) = (name.trim_end(), text.trim_start());
            let is_quoted = text.starts_with(['"', '\'']);
            if !is_quoted {
                let mut part = setting.part(name, text, from..from + trimmed.len(), name.len(), joins);
                if text.contains(UNKNOWN) {
                    part.value = Value::Hidden;
                }
                found.push(part);
            }
        } else if at == 0 && !trimmed.is_empty() {
            // The part without a name is the address in a StackExchange.Redis list, and the database in Perl's
            // `DBI:mysql:database;host=…`.
            let is_dbi = trimmed.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("dbi:"));
            let head = trimmed.match_indices(':').nth(1).filter(|_| is_dbi).map_or(0, |it| it.0 + 1);
            let name = if head > 0 { "database" } else { "" };
            found.push(setting.part(name, &trimmed[head..], from + head..from + trimmed.len(), 0, joins));
        }
        at += piece.len() + 1;
    }
    found
}

/// Splits Perl's `DBI:mysql:database:host:port`.
fn of_short_dbi(setting: &Setting, value: &str, base: usize) -> Option<Vec<Setting>> {
    let is_dbi = value.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("dbi:"));
    let head = value.match_indices(':').nth(1).filter(|_| is_dbi && !value.contains('='))?.0 + 1;
    let mut at = base + head;
    let parts = ["database", "host", "port"].into_iter().zip(value[head..].split(':')).map(|(name, text)| {
        let from = at;
        at += text.len() + 1;
        setting.part(name, text, from..from + text.len(), 0, Joins::With(":"))
    });
    Some(parts.collect())
}

/// Reads the options in `--db-host localhost --db-port=3306`, under their names without dashes.
fn options(setting: &Setting, value: &str, base: usize) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut name: Option<&str> = None;
    let mut at = 0;
    for word in value.split(' ') {
        let from = base + at;
        at += word.len() + 1;
        let own = word.trim_start_matches('-');
        match (word.starts_with('-'), own.split_once('='), name) {
            (true, Some((name, text)), _) => {
                let end = from + word.len();
                found.push(setting.part(name, text, end - text.len()..end, 0, Joins::With(" ")));
            }
            (true, None, _) => name = Some(own),
            (false, _, Some(own)) if !word.is_empty() => {
                found.push(setting.part(own, word, from..from + word.len(), 0, Joins::With(" ")));
                name = None;
            }
            _ => {}
        }
    }
    found
}

/// Repeats a connection for each server of its list: memcached's clients divide their keys among the servers, exporters
/// query each server, and a client of `MongoDB` may connect to any of the servers first.
pub(super) fn servers(bound: Bound) -> Vec<Bound> {
    let role = if bound.app.kind == Kind::Memcached { Role::Host } else { Role::Url };
    let list = bound.roles.get(&role).filter(|it| it.joins != Joins::Apart && it.quotes != Quotes::Instead);
    let pieces = match bound.app.kind {
        kind @ (Kind::Memcached | Kind::PhpFpm) => list.map_or_else(Vec::new, |it| pieces(it, kind)),
        Kind::Mongodb => list.map_or_else(Vec::new, members),
        _ => Vec::new(),
    };
    if pieces.len() < 2 {
        return vec![bound];
    }
    let pieces = pieces.into_iter().take(MOST_SERVERS).enumerate();
    let all = pieces.map(|(idx, piece)| {
        let mut own = bound.clone();
        own.anchor += idx * MOST_SETTINGS;
        own.roles.insert(role, piece);
        own
    });
    all.collect()
}

/// Makes a URL for each host of a URL with several hosts.
fn members(setting: &Setting) -> Vec<Setting> {
    let Value::Text(url) = &setting.value else {
        return Vec::new();
    };
    let body = url.split_once("://").map_or("", |it| it.1);
    let place = body.split(['/', '?']).next().unwrap_or_default();
    let hosts = place.rsplit('@').next().unwrap_or_default().split(',');
    let urls = hosts.filter_map(|host| Unspoken::with_host(url, host));
    urls.map(|url| Setting { value: Value::Text(url), joins: OF_SEVERAL, ..setting.clone() }).collect()
}

/// Splits a value at commas, semicolons and blanks. Each part becomes a setting with the name of the whole.
fn pieces(setting: &Setting, kind: Kind) -> Vec<Setting> {
    let Value::Text(value) = &setting.value else {
        return Vec::new();
    };
    let Some(base) = setting.item[setting.literal.clone()].find(&**value) else {
        return Vec::new();
    };
    let base = setting.literal.start + base;
    let mut at = base;
    let mut found = Vec::new();
    // A path may contain blanks. After the address of PHP-FPM, a semicolon and the page may follow.
    let separators: &[char] = match value.contains('/') {
        true if kind == Kind::PhpFpm => &[','],
        true => &[',', ';'],
        false => &[',', ';', ' '],
    };
    for text in value.split(separators) {
        if !text.is_empty() {
            let mut piece = setting.part("", text, at..at + text.len(), 0, OF_SEVERAL);
            piece.path.pop();
            found.push(piece);
        }
        at += text.len() + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::lines::{Lines, read};
    use super::*;

    #[test]
    fn each_part_is_changed_without_the_others() {
        let (settings, _) = read("connect = host=127.0.0.1 user=m password=p\n", Lines::Pairs);
        let found = parts(&settings[0]);
        assert_eq!(found[0].path, ["connect", "host"]);
        assert_eq!(found[0].with(None, "/s"), "host=/s");
        assert_eq!(found.len(), 3);
        let (settings, _) = read("a = \"Server=h;User ID=u;\"\n", Lines::Ini);
        let found = parts(&settings[0]);
        assert_eq!((&*found[1].path[1], &*found[1].item), ("User ID", "User ID=u"));
        let named = |text: &str| {
            let (settings, _) = read(text, Lines::Ini);
            let found = parts(&settings[0]).into_iter();
            found.map(|it| format!("{}={}", it.path[1], it.item)).collect::<Vec<_>>()
        };
        assert_eq!(named("a = DBI:mysql:d:h:3306"), ["database=d", "host=h", "port=3306"]);
        assert_eq!(named("a = \"--db-host h --x --db-port=1\""), ["db-host=h", "db-port=1"]);
    }
}
