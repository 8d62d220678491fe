//! Parses the query of a URL; no other file parses queries.

use percent_encoding::percent_decode_str;

use crate::dsn::secret_names::{is_key, is_secret};

/// The query of a URL or of a connection string.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a>(&'a str);

/// One `name=value` of a [`Query`].
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// Name and value as they are written in the query.
    pub text: &'a str,
    name: &'a str,
    value: &'a str,
}

impl Pair<'_> {
    pub fn name(&self) -> String {
        decoded(self.name)
    }

    pub fn value(&self) -> String {
        decoded(self.value)
    }

    /// Returns whether the name is that of a secret.
    pub fn is_secret(&self) -> bool {
        is_secret(self.name) || is_key(self.name)
    }
}

impl<'a> Query<'a> {
    /// Takes the text of a query, without the `?`.
    pub const fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// Takes the part between the first `?` of a text and the `#` after it; empty if the text has no `?`.
    pub fn from_text(text: &'a str) -> Self {
        let query = text.split_once('?').map_or("", |(_, query)| query);
        Self(query.split_once('#').map_or(query, |(query, _)| query))
    }

    /// Returns the query's pairs in order; empty parts are skipped.
    pub fn pairs(self) -> impl Iterator<Item = Pair<'a>> {
        let parts = self.0.split('&').filter(|text| !text.is_empty());
        parts.map(|text| {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            Pair { text, name, value }
        })
    }

    /// Returns the value of the first pair that has one of these names.
    pub fn value(self, names: &[&str]) -> Option<String> {
        let mut pairs = self.pairs();
        pairs.find_map(|pair| names.contains(&&*pair.name()).then(|| pair.value()))
    }
}

/// Decodes the text as in HTML forms, where `+` is a blank.
fn decoded(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}
