//! libpq's keyword form: `host=127.0.0.1 user=u password='my secret'`.
//!
//! # Source
//! `conninfo_parse` of PostgreSQL's `fe-connect.c`.

use crate::dsn::libpq::PARAMETERS;
use crate::dsn::secret_names::is_secret;

/// Parses a libpq keyword string; returns `None` if the text is not a keyword string. The result has names and values
/// in order, without quotes and backslashes.
pub(crate) fn keywords(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=')?;
        let name = name.trim_end();
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let (value, behind) = value(behind.trim_start())?;
        found.push((name.to_owned(), value));
        rest = behind.trim_start();
    }
    // The first keyword distinguishes a keyword string from any other text that contains a `=`.
    let first = &found.first()?.0;
    let is_first_known = PARAMETERS.iter().any(|it| it.name == first);
    is_first_known.then_some(found)
}

/// Returns the value at the beginning of the text, and the rest of the text; `None` if a quote is not closed.
fn value(text: &str) -> Option<(String, &str)> {
    let (body, is_quoted) = match text.strip_prefix('\'') {
        Some(body) => (body, true),
        None => (text, false),
    };
    let mut value = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            '\'' if is_quoted => return Some((value, &body[at + 1..])),
            c if c.is_whitespace() && !is_quoted => return Some((value, &body[at..])),
            c => value.push(c),
        }
    }
    (!is_quoted).then_some((value, ""))
}

/// Makes a keyword string without the secrets.
pub fn without_secrets(pairs: &[(String, String)]) -> String {
    let is_shown = |(name, _): &&(String, String)| !is_secret(name);
    let words = pairs.iter().filter(is_shown).map(|(name, value)| {
        if value.is_empty() || value.contains([' ', '\t', '\n', '\'', '\\']) {
            let value = value.replace('\\', "\\\\").replace('\'', "\\'");
            format!("{name}='{value}'")
        } else {
            format!("{name}={value}")
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
