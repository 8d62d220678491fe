//! How a value is escaped depending on where it is written: between a language's quotes, in a URL, in a shell.
//!
//! The quotes themselves are in the templates.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are escaped in every part of a URL: all except letters, digits and `-._~`.
const URL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Characters that are escaped in the path of a URL: those in `URL`, except for the slash.
const PATH: &AsciiSet = &URL.remove(b'/');
/// Characters that are escaped in a query that may be between quotes. The parts of the query are already
/// percent-encoded, so `%` and the separators of the parts are not escaped.
const QUERY: &AsciiSet =
    &PATH.remove(b'%').remove(b'&').remove(b'=').remove(b'+').remove(b':').remove(b',').remove(b';');

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    Raw,
    /// Percent-encoded.
    Url,
    /// Percent-encoded, except for slashes.
    Path,
    /// A query with percent-encoded parts. Characters that would break quotes around the query are encoded, too.
    Query,
    /// In double quotes: JSON, JavaScript, YAML, Java.
    Json,
    /// In single quotes: PHP, Ruby. Only the quote and the backslash have a special meaning.
    Single,
    Python,
    /// A whole Python literal, for a driver that encodes strings as Latin-1.
    PythonBytes,
    /// A whole Python literal, for a driver that accepts no bytes: a string whose Latin-1 encoding gives the right
    /// bytes.
    PythonLatin,
    Conninfo,
    Shell,
    /// In double quotes in an option file of MySQL.
    OptionFile,
    /// In double quotes in which `$` begins a variable: PHP, `.env`.
    Dollar,
    /// PDO: a semicolon ends a value, and a doubled semicolon stands for itself.
    Pdo,
    /// A value of an ADO.NET connection string, with quotes if necessary.
    AdoNet,
}

impl Escape {
    /// Finds an escape by its name in the templates.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Some(match word {
            "raw" | "go" => Self::Raw,
            "url" | "urlgo" => Self::Url,
            "path" => Self::Path,
            "query" => Self::Query,
            "json" => Self::Json,
            "php" | "rb" => Self::Single,
            "py" => Self::Python,
            "pybytes" => Self::PythonBytes,
            "pylatin" => Self::PythonLatin,
            "conninfo" => Self::Conninfo,
            "sh" => Self::Shell,
            "cnf" => Self::OptionFile,
            "phpd" | "dotenv" => Self::Dollar,
            "pdo" => Self::Pdo,
            "adonet" => Self::AdoNet,
            _ => return None,
        })
    }

    pub(crate) fn apply(self, value: &str) -> String {
        match self {
            Self::Raw => value.to_owned(),
            Self::Url => utf8_percent_encode(value, URL).to_string(),
            Self::Path => utf8_percent_encode(value, PATH).to_string(),
            Self::Query => utf8_percent_encode(value, QUERY).to_string(),
            Self::Json => escaped(value, &['"', '\\'], |c| format!("\\u{:04x}", c as u32)),
            Self::Python => escaped(value, &['\'', '\\'], |c| format!("\\x{:02x}", c as u32)),
            Self::PythonBytes => python(value, ".encode()"),
            Self::PythonLatin => python(value, ".encode().decode('latin-1')"),
            Self::Single | Self::Conninfo => escaped(value, &['\'', '\\'], String::from),
            Self::Shell => value.replace('\'', "'\\''"),
            Self::OptionFile => escaped(value, &['"', '\\'], option_file_control),
            // Laravel's parser rejects a backslash before a backtick.
            Self::Dollar => escaped(value, &['"', '\\', '$'], String::from),
            Self::Pdo => value.replace(';', ";;"),
            Self::AdoNet => ado_net(value),
        }
    }
}

/// Returns the value with a backslash before each of the `special` characters; `control` converts control characters.
fn escaped(value: &str, special: &[char], control: impl Fn(char) -> String) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        if special.contains(&c) {
            text.push('\\');
            text.push(c);
        } else if c.is_ascii_control() {
            text.push_str(&control(c));
        } else {
            text.push(c);
        }
    }
    text
}

/// Returns a whole Python literal, followed by `beyond_ascii` if the value has characters that are not ASCII.
fn python(value: &str, beyond_ascii: &str) -> String {
    let quoted = Escape::Python.apply(value);
    let end = if value.is_ascii() { "" } else { beyond_ascii };
    format!("'{quoted}'{end}")
}

/// Escapes a line break, which would end the value. A control character without an escape stays unchanged.
fn option_file_control(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        other => other.to_string(),
    }
}

fn ado_net(value: &str) -> String {
    let is_plain = !value.is_empty() && !value.contains([';', '"', '\'', '=', '{', '}']) && value.trim() == value;
    if is_plain {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(escape: &str, expected: &str) {
        let escape = Escape::named(escape).unwrap();
        assert_eq!(escape.apply("a'b\"c\\d$e;f @/:%?#ü"), expected);
    }

    #[test]
    fn each_place_has_its_own_way() {
        check("raw", "a'b\"c\\d$e;f @/:%?#ü");
        check("url", "a%27b%22c%5Cd%24e%3Bf%20%40%2F%3A%25%3F%23%C3%BC");
        check("path", "a%27b%22c%5Cd%24e%3Bf%20%40/%3A%25%3F%23%C3%BC");
        check("query", "a%27b%22c%5Cd%24e;f%20%40/:%%3F%23%C3%BC");
        check("json", "a'b\\\"c\\\\d$e;f @/:%?#ü");
        check("php", "a\\'b\"c\\\\d$e;f @/:%?#ü");
        check("py", "a\\'b\"c\\\\d$e;f @/:%?#ü");
        check("pybytes", "'a\\'b\"c\\\\d$e;f @/:%?#ü'.encode()");
        check("pylatin", "'a\\'b\"c\\\\d$e;f @/:%?#ü'.encode().decode('latin-1')");
        check("phpd", "a'b\\\"c\\\\d\\$e;f @/:%?#ü");
        check("conninfo", "a\\'b\"c\\\\d$e;f @/:%?#ü");
        check("sh", "a'\\''b\"c\\d$e;f @/:%?#ü");
        check("cnf", "a'b\\\"c\\\\d$e;f @/:%?#ü");
        check("dotenv", "a'b\\\"c\\\\d\\$e;f @/:%?#ü");
        check("pdo", "a'b\"c\\d$e;;f @/:%?#ü");
        check("adonet", "\"a'b\"\"c\\d$e;f @/:%?#ü\"");
        let bytes = Escape::named("pybytes").unwrap();
        assert_eq!(bytes.apply("secret"), "'secret'");
        let dotenv = Escape::named("dotenv").unwrap();
        assert_eq!(dotenv.apply("a`b"), "a`b");
        let option_file = Escape::named("cnf").unwrap();
        assert_eq!(option_file.apply("a\nb"), "a\\nb");
        assert_eq!(Escape::named("nonsense"), None);
    }
}
