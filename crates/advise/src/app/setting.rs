//! One setting of a file: its name and its value, each with its place.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use super::quotes::{Bare, Quotes};
use super::url;

/// A value, as far as the file shows the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    /// An environment variable, and the value that is used if the variable is not set.
    Variable {
        name: String,
        fallback: Option<String>,
    },
    /// An expression that only the program itself can evaluate.
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The name of the setting, part by part: `databases`, `default`, `default`, `host`.
    pub(crate) path: Vec<String>,
    pub(crate) value: Value,
    /// Why another value may take effect: `set under a condition`. In messages, the words `it is` precede this text.
    pub(crate) doubt: Option<String>,
    /// The line on which the setting begins, counted from 1.
    pub(crate) line: usize,
    /// The byte of the text at which `item` begins.
    pub(crate) start: usize,
    /// Name and value as written in the file, without the rest of the line.
    pub(crate) item: String,
    /// The place of the last part of the name, without quotes: a range of bytes in `item`.
    pub(crate) key: Range<usize>,
    /// The range in `item` of the value, with its quotes.
    pub(crate) literal: Range<usize>,
    /// How a new value has to be quoted at this place.
    pub(crate) quotes: Quotes,
    /// A character that is written twice in the value, because the single character begins a variable.
    pub(crate) doubled: Option<char>,
    /// How another setting is added next to this one.
    pub(crate) joins: Joins,
}

/// How another setting is added next to a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joins {
    /// On a separate line below.
    Line,
    /// In a separate item below, as in Kubernetes' variables: `- name: NAME`, `value: VALUE`.
    Pair,
    /// In the container's own environment, because other containers may also read the place of this setting.
    Apart,
    /// After the setting, with this separator.
    With(&'static str),
}

/// A part of a file that looptax could not read, in words for a person.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, counted from 1; `None` if the problem concerns the whole file.
    pub line: Option<usize>,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// The settings of a file, and the parts that looptax could not read.
pub(crate) type Read = (Vec<Setting>, Vec<Problem>);

/// Maximum number of settings in a file. A part of a YAML file that is merged several times counts each time.
pub(crate) const MOST_SETTINGS: usize = 5_000;
/// Maximum length of a part of a name, in bytes. No program has longer names, and each setting below such a part holds
/// a copy of it.
const MOST_NAME_BYTES: usize = 128;
/// Maximum length of a stored value, in bytes. Merged parts of a YAML file hold copies of their values.
pub(crate) const MOST_VALUE_BYTES: usize = 4 << 10;

/// The character that replaces an unknown part of a text.
pub(crate) const UNKNOWN: char = '\u{fffc}';

/// Returns a part of a name, or `…` if it is too long.
pub(crate) fn named(name: &str) -> String {
    if name.len() > MOST_NAME_BYTES {
        return "…".to_owned();
    }
    name.to_owned()
}

impl Setting {
    /// Makes a setting from a part of this setting's value: `host=…` in a longer text.
    pub(crate) fn part(&self, name: &str, value: &str, at: Range<usize>, key_bytes: usize, joins: Joins) -> Self {
        let start = self.start + at.start;
        let item = self.item[at].to_owned();
        let value_at = item.len() - value.len();
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Self {
            path,
            value: Value::Text(value.to_owned()),
            doubt: self.doubt.clone(),
            line: self.line,
            start,
            key: 0..key_bytes,
            literal: value_at..item.len(),
            item,
            quotes: match self.quotes {
                Quotes::Entities => Quotes::Entities,
                _ => Quotes::Bare(Bare::Part),
            },
            doubled: self.doubled,
            joins: if self.joins == Joins::Apart { Joins::Apart } else { joins },
        }
    }

    /// Replaces each doubled `sign` in the value by one `sign`. If the value also has a `sign` that is not doubled, the
    /// value is an expression that only the program can evaluate.
    pub(crate) fn read_doubled(&mut self, sign: char) {
        let twice = format!("{sign}{sign}");
        if let Value::Text(text) = &self.value {
            let plain = text.replace(&twice, "");
            self.value =
                if plain.contains(sign) { Value::Hidden } else { Value::Text(text.replace(&twice, &sign.to_string())) };
        }
        self.doubled = Some(sign);
    }

    /// Replaces the text `sign` in the value by the name of the setting's section.
    pub(crate) fn read_section(&mut self, sign: &str) {
        if let ([section, _, ..], Value::Text(text)) = (&*self.path, &mut self.value) {
            *text = text.replace(sign, section);
        }
    }

    /// Whether a program that reads the file would get this value back if the value were written at this place.
    pub(crate) fn can_hold(&self, value: &str) -> bool {
        self.quotes.can_hold(value)
    }

    /// The bytes of the text at which the setting is written.
    pub(crate) fn place(&self) -> Range<usize> {
        self.start..self.start + self.item.len()
    }

    /// Returns the setting's text with another value, and with another name if `key` is given.
    pub(crate) fn with(&self, key: Option<&str>, value: &str) -> String {
        let mut text = self.item.clone();
        let value = match self.doubled {
            Some(sign) => value.replace(sign, &format!("{sign}{sign}")),
            None => value.to_owned(),
        };
        text.replace_range(self.literal.clone(), &self.quotes.around(&value));
        if let Some(key) = key {
            text.replace_range(self.key.clone(), key);
        }
        text
    }
}

/// Marks two kinds of settings as doubtful. The first kind is set twice with different values, and only the program
/// decides which value takes effect. The second kind is a URL in which the end of the login is not clear.
pub(crate) fn doubt_unclear(settings: &mut [Setting]) {
    for setting in settings.iter_mut() {
        if matches!(&setting.value, Value::Text(text) if is_unencoded(text)) {
            setting.doubt.get_or_insert_with(|| UNENCODED.to_owned());
        }
    }
    let mut first: HashMap<Vec<String>, usize> = HashMap::new();
    for idx in 0..settings.len() {
        let before = *first.entry(settings[idx].path.clone()).or_insert(idx);
        if settings[before].value == settings[idx].value {
            continue;
        }
        let lines = [settings[before].line, settings[idx].line];
        for idx in [before, idx] {
            let what = format!("set in line {} and again in line {}", lines[0], lines[1]);
            settings[idx].doubt.get_or_insert(what);
        }
    }
}

const UNENCODED: &str = "ambiguous: the URL may contain a login with a `/`, `?` or `#` that is not percent-encoded";

/// Whether the password in a server's URL may contain a character that ends the authority of a URL. If so, the text
/// that a driver uses as the host may be a part of the password.
fn is_unencoded(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://").filter(|it| url::kind_of_scheme(it.0).is_some()) else { return false };
    let Some((place, behind)) = rest.find(['/', '?', '#']).map(|end| rest.split_at(end)) else { return false };
    let is_login = |it: &str| !it.contains(['=', '{', '$']);
    place.contains(':') && behind.split_once('@').is_some_and(|it| is_login(it.0))
}

/// The bytes at which the lines of a text begin.
pub(crate) struct LineStarts(Vec<usize>);

impl LineStarts {
    pub(crate) fn from_text(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(ends).collect())
    }

    /// The byte at which a line begins.
    pub(crate) fn start_of(&self, line: usize) -> usize {
        self.0[line - 1]
    }

    /// The line that contains byte `at`, counted from one.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_with_a_sign_that_ends_it_is_found() {
        for (text, expected) in [
            ("mysql://app:abc@retPw4/x@127.0.0.1:3306/shop", true),
            ("redis://:pa/ss@127.0.0.1:6379/0", true),
            ("postgres://app:s?cret@127.0.0.1/db", true),
            ("jdbc:mysql://app:p#w@127.0.0.1/db", true),
            ("mysql://app:p%2Fw@127.0.0.1/db", false),
            ("redis://127.0.0.1:6379?password=a@b", false),
            ("redis://unix:/run/redis.sock", false),
            ("unix://app:pw@/run/redis.sock?db=1", false),
            ("postgres://a:b@h1:5432,h2/db?options=x@y", false),
            ("http://127.0.0.1:3000/@scope/x", false),
        ] {
            assert_eq!(is_unencoded(text), expected, "{text}");
        }
    }

    #[test]
    fn a_byte_is_in_the_line_that_began_before_it() {
        let starts = LineStarts::from_text("a\nbc\n\nd");
        let lines: Vec<usize> = [0, 1, 2, 4, 5, 6].map(|at| starts.line(at)).into();
        assert_eq!(lines, [1, 1, 2, 2, 3, 4]);
    }
}
