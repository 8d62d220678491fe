//! How a value is written in a file of each language.
//!
//! This file does no I/O. It is written from the languages' own manuals and does not use looptax's quoting, which is
//! compared with it.

use anyhow::{Result, bail};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Escape {
    /// The value is not changed.
    Raw,
    /// Single quotes, as in PHP, Python and Ruby.
    Php,
    /// Single quotes; quotes inside are doubled.
    Yaml,
    /// Single quotes with backslashes, as in libpq's keyword strings.
    Libpq,
    /// Double quotes, as in JSON and JavaScript.
    Json,
    /// Not changed if plain; otherwise in double quotes.
    Dotenv,
    /// Each byte that is not a letter, digit, dot or dash becomes `%XX`.
    Url,
    /// Like [`Self::Url`], but slashes are not changed.
    Path,
    /// The host of a URL: a name, or an address with a port, is not changed; anything else is written like
    /// [`Self::Url`].
    Authority,
}

impl Escape {
    pub(crate) fn parse(word: &str) -> Result<Self> {
        Ok(match word {
            "raw" => Self::Raw,
            "php" => Self::Php,
            "yaml" => Self::Yaml,
            "libpq" => Self::Libpq,
            "json" => Self::Json,
            "dotenv" => Self::Dotenv,
            "url" => Self::Url,
            "path" => Self::Path,
            "authority" => Self::Authority,
            _ => bail!("there is no way to write a value called `{word}`"),
        })
    }

    pub(crate) fn around(self, value: &str) -> String {
        match self {
            Self::Php | Self::Libpq => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'")),
            Self::Yaml => format!("'{}'", value.replace('\'', "''")),
            Self::Json => serde_json::Value::from(value).to_string(),
            Self::Dotenv if value.chars().all(|it| it.is_ascii_alphanumeric() || "./:-_@,[]%+".contains(it)) => {
                value.to_owned()
            }
            Self::Dotenv => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
            Self::Url => encoded(value, ""),
            Self::Path => encoded(value, "/"),
            Self::Authority if value.contains(['/', '@', ' ', '%']) => encoded(value, ""),
            Self::Authority | Self::Raw => value.to_owned(),
        }
    }
}

fn encoded(value: &str, kept: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte) || kept.as_bytes().contains(&byte);
    let one = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    value.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_their_language_has_them() {
        let check = |escape: Escape, value: &str, expected: &str| assert_eq!(escape.around(value), expected);
        check(Escape::Php, r"a'b\", r"'a\'b\\'");
        check(Escape::Yaml, "a'b", "'a''b'");
        check(Escape::Json, "a\"b", r#""a\"b""#);
        check(Escape::Dotenv, "/a:b", "/a:b");
        check(Escape::Dotenv, "/a b", "\"/a b\"");
        check(Escape::Path, "/a b%", "/a%20b%25");
        check(Escape::Url, "/a", "%2Fa");
        check(Escape::Authority, "[::1]:3", "[::1]:3");
        check(Escape::Authority, "/a", "%2Fa");
    }
}
