//! Finds passwords in a text and masks them; no other code masks passwords.
//!
//! Text that may be a password is treated as a password. If a text is ambiguous, more than the password is masked, and
//! no part of the password remains.

use std::ops::Range;

use crate::dsn::keywords::keywords;
use crate::dsn::secret_names::{is_key, is_secret};

/// The text that replaces a password.
pub const MASK: &str = "****";

/// Returns the text with its secrets masked.
pub fn masked(text: &str) -> String {
    let mut shown = text.to_owned();
    for range in secrets_in(text).into_iter().rev() {
        shown.replace_range(range, MASK);
    }
    shown
}

/// Returns the ranges of the secrets in a text. In a URL or a Go DSN, the secret is the part after the user's name. In
/// a query, a keyword string or a list, a secret is the value of a `name=value` whose name belongs to a secret. The
/// ranges are in order and do not overlap. Their ends are byte positions, at ASCII characters.
pub fn secrets_in(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = in_login(text).into_iter().collect();
    found.extend(in_values(text));
    found.retain(|range| !range.is_empty());
    found.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns the range from the first `:` after the scheme to the last `@`: a password may contain `:`, `@` and `/`.
fn in_login(text: &str) -> Option<Range<usize>> {
    let scheme_end = text.find("://").map(|at| at + 3);
    let start = scheme_end.unwrap_or(0);
    let at = text.rfind('@').filter(|at| *at > start)?;
    match text[start..at].find(':').map(|colon| start + colon) {
        Some(colon) if scheme_end.is_some() || is_login(text, colon, at) => Some(colon + 1..at),
        // Redis and Symfony also accept an address with only the secret before the `@`.
        None if text.starts_with("redis") => Some(start..at),
        _ => None,
    }
}

/// Checks whether a text without a scheme contains `user:password@`. The texts `127.0.0.1:3306=@name` and
/// `[::1]:5432=/run/a@b`, for example, have an `@` but no password.
fn is_login(text: &str, colon: usize, at: usize) -> bool {
    let behind = &text[at + 1..];
    let is_word =
        !text[..colon].contains([' ', '=', '/', '[']) && !text[..=at].contains("=@") && !text[..at].contains("=/");
    is_word || ["tcp(", "unix("].iter().any(|it| behind.starts_with(it))
}

/// Returns the range of the value of each `name=value` whose name belongs to a secret.
fn in_values(text: &str) -> Vec<Range<usize>> {
    let is_keywords = keywords(text).is_some();
    let equals = text.match_indices('=').map(|(at, _)| at);
    let secret = equals.filter_map(|at| {
        let before = text[..at].trim_end();
        let name_at = before.rfind(['?', '&', ',', ';', ' ', '\t', '\n', '"', '\'', '=']).map_or(0, |it| it + 1);
        let separator = text[..name_at].trim_end().bytes().next_back();
        let is_listed = matches!(separator, Some(b'?' | b'&' | b',' | b';'));
        let name = &before[name_at..];
        let is_one = is_secret(name) || (is_listed && is_key(name));
        is_one.then(|| if is_keywords { keyword_at(text, at + 1) } else { value_at(text, at + 1, separator) })
    });
    secret.collect()
}

/// Returns the range of the value that begins at `start`; the separator before the value's name decides where the
/// value ends.
fn value_at(text: &str, start: usize, separator: Option<u8>) -> Range<usize> {
    let blanks = text[start..].len() - text[start..].trim_start().len();
    let until = |what: &[char]| text[start..].find(what).map_or(text.len(), |at| start + at);
    match separator {
        Some(b'?' | b'&') => start..until(&['&']),
        Some(b',') => start..until(&[',']).max(quoted_end(text, start + blanks)),
        Some(b';') => start..until(&[';']).max(quoted_end(text, start + blanks)),
        // In a keyword string, a value ends at a blank; in a list, the first value ends at `;` or `,`. The text does
        // not show whether it is a keyword string or a list, so the later end is used.
        _ => {
            let word = keyword_at(text, start);
            let listed = text[word.start..].find([';', ',', '&']);
            word.start..word.end.max(listed.map_or(0, |at| word.start + at))
        }
    }
}

/// Returns the range of a libpq keyword's value: a word, or a quoted text.
fn keyword_at(text: &str, start: usize) -> Range<usize> {
    let start = text.len() - text[start..].trim_start().len();
    start..word_end(text, start).max(quoted_end(text, start))
}

/// Returns the end of the word that begins at `start`: the first blank without a backslash before it.
fn word_end(text: &str, start: usize) -> usize {
    let mut is_escaped = false;
    let end = text[start..].find(|c: char| {
        let is_end = !is_escaped && c.is_ascii_whitespace();
        is_escaped = !is_escaped && c == '\\';
        is_end
    });
    end.map_or(text.len(), |at| start + at)
}

/// Returns the end of the quoted text that begins at `start`; returns `start` if the text is not quoted.
fn quoted_end(text: &str, start: usize) -> usize {
    let Some(quote) = text[start..].chars().next().filter(|c| "'\"".contains(*c)) else {
        return start;
    };
    let mut is_escaped = false;
    let end = text[start + 1..].find(|c: char| {
        let is_end = !is_escaped && c == quote;
        is_escaped = !is_escaped && c == '\\';
        is_end
    });
    end.map_or(text.len(), |at| start + 1 + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_left_in_what_is_shown() {
        for (text, expected) in [
            ("mysql://u:se@c/ret@h/d", "mysql://u:****@h/d"),
            ("mysql://root:a@b@127.0.0.1", "mysql://root:****@127.0.0.1"),
            ("redis://secret@/run/r.sock", "redis://****@/run/r.sock"),
            ("redis://:p%40ss@localhost", "redis://:****@localhost"),
            ("u:secret@tcp(h)/d", "u:****@tcp(h)/d"),
            ("u:geheim=@unix(/s)/d", "u:****@unix(/s)/d"),
            ("tcp://h?auth=secret&x=1", "tcp://h?auth=****&x=1"),
            (
                "mongodb://u:x@h/d?authSource=admin&authMechanismProperties=AWS_SESSION_TOKEN:y",
                "mongodb://u:****@h/d?authSource=admin&authMechanismProperties=****",
            ),
            ("h:6379,password=secret,ssl=False", "h:6379,password=****,ssl=False"),
            ("Server=h;Password=\"a;b\";Database=d", "Server=h;Password=****;Database=d"),
            ("postgres://u@h/d?password=secret", "postgres://u@h/d?password=****"),
            ("postgres://u:x@h/d?p%61ssword=y&a=b", "postgres://u:****@h/d?p%61ssword=****&a=b"),
            ("unix://:secret@/s", "unix://:****@/s"),
            ("host=h password = 'a b' user=u", "host=h password = **** user=u"),
            ("host=h password=a,b;c options=a,b", "host=h password=**** options=a,b"),
            ("psql 'host=h password=x'", "psql 'host=h password=****"),
            ("--login=postgres://u@h?password=a,b", "--login=postgres://u@h?password=****"),
            ("env PGPASSWORD=x psql", "env PGPASSWORD=**** psql"),
        ] {
            assert_eq!(masked(text), expected);
        }
    }

    #[test]
    fn what_is_not_secret_stays() {
        for text in [
            "mysql://u@h/d?a=b",
            "mongodb://u@h/d?authSource=admin&authMechanism=SCRAM-SHA-256&authsource=%24external",
            "mysql://root@127.0.0.1:3306/db",
            "private:mariadb",
            "127.0.0.1:3306=@name",
            "[::1]:5432=/run/a@b",
            "/tmp/a:b@c.json",
            "--keys=zipf:0.9",
            "--password=x",
            "key=3",
            "a=b,c=d",
            "",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
