//! How a value is written in a file of each language.
//!
//! Pure. Written from the languages' own manuals, not with looptax's quoting, which is compared with them.

use anyhow::{Result, bail};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Escape {
    /// As it is.
    Raw,
    /// Single quotes as PHP, Python and Ruby have them.
    Php,
    /// Single quotes that are doubled inside.
    Yaml,
    /// Single quotes with backslashes, of libpq's keywords.
    Libpq,
    /// As JSON and JavaScript have it.
    Json,
    /// As it is, with double quotes where it is not plain.
    Dotenv,
    /// Each byte that is not a letter, digit, dot or dash as `%XX`.
    Url,
    /// The same, except for slashes.
    Path,
    /// As the host of a URL: a name, an address and a port as they are, anything else as [`Self::Url`] has it.
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
