//! Fills in a dialect's text.
//!
//! `«field|escape|escape»` is a field, with the escapes applied in order. A section `‹…›` is left out if the value of a
//! field directly inside it is missing. In `‹…¦…›`, if such a value is missing, the second half is used instead of the
//! first half. Sections may be nested.

use crate::escape::Escape;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    pub user: Option<String>,
    /// The password, or the text to show in its place.
    pub password: Option<String>,
    pub database: Option<String>,
    pub socket: String,
    pub folder: String,
    /// The port; for PostgreSQL it is part of the socket's name.
    pub port: u16,
    /// `MongoDB`: the options of a driver as a query, still percent-encoded.
    pub options: Option<String>,
    /// Path and query of an HTTP page, if the address contains more than the root.
    pub page: Option<String>,
}

impl Fields {
    fn value(&self, field: &str) -> Result<Option<String>, TemplateError> {
        Ok(match field {
            "user" => self.user.clone(),
            "password" => self.password.clone(),
            "database" => self.database.clone(),
            "options" => self.options.clone(),
            "page" => self.page.clone(),
            "socket" => Some(self.socket.clone()),
            "folder" => Some(self.folder.clone()),
            "port" => Some(self.port.to_string()),
            "db" => Some(self.database.clone().unwrap_or_else(|| "0".to_owned())),
            _ => return Err(TemplateError::Field(field.to_owned())),
        })
    }
}

/// An invalid template: a mistake in the table. A test finds such mistakes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    #[error("there is no field `{0}`")]
    Field(String),
    #[error("there is no escape function named `{0}`")]
    Escape(String),
    #[error("a bracket is not closed, or closes nothing")]
    Bracket,
}

/// A section whose end has not been reached yet.
#[derive(Default)]
struct Section {
    text: String,
    /// Whether the value of a field in the section is missing.
    is_lacking: bool,
    /// The first half of the section, once the second half has begun.
    first: Option<Box<Self>>,
}

impl Section {
    fn chosen(self) -> String {
        match self.first {
            Some(first) if !first.is_lacking => first.text,
            _ if self.is_lacking => String::new(),
            _ => self.text,
        }
    }
}

pub(crate) fn filled(template: &str, fields: &Fields) -> Result<String, TemplateError> {
    let mut open = vec![Section::default()];
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let innermost = open.last_mut().ok_or(TemplateError::Bracket)?;
        match c {
            '‹' => open.push(Section::default()),
            '¦' => {
                let first = std::mem::take(innermost);
                innermost.first = Some(Box::new(first));
            }
            '›' => {
                let section = open.pop().ok_or(TemplateError::Bracket)?;
                let outer = open.last_mut().ok_or(TemplateError::Bracket)?;
                outer.text.push_str(&section.chosen());
            }
            '«' => {
                let (inside, after) = rest.split_once('»').ok_or(TemplateError::Bracket)?;
                rest = after;
                match field(inside, fields)? {
                    Some(value) => innermost.text.push_str(&value),
                    None => innermost.is_lacking = true,
                }
            }
            _ => innermost.text.push(c),
        }
    }
    match open.pop() {
        Some(whole) if open.is_empty() && whole.first.is_none() => Ok(whole.text),
        _ => Err(TemplateError::Bracket),
    }
}

/// The value of a field, escaped; `inside` is for example `user|pdo|php`.
fn field(inside: &str, fields: &Fields) -> Result<Option<String>, TemplateError> {
    let mut words = inside.split('|');
    let name = words.next().unwrap_or_default();
    let Some(mut value) = fields.value(name)? else {
        return Ok(None);
    };
    for word in words {
        let escape = Escape::named(word).ok_or_else(|| TemplateError::Escape(word.to_owned()))?;
        value = escape.apply(&value);
    }
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields {
        Fields { password: Some("it's".to_owned()), socket: "/run/a b.sock".to_owned(), ..Fields::default() }
    }

    #[track_caller]
    fn check(template: &str, expected: &str) {
        assert_eq!(filled(template, &fields()).unwrap(), expected);
    }

    #[test]
    fn fields_are_escaped_and_what_is_not_known_is_left_out() {
        check("x:«socket|url»", "x:%2Frun%2Fa%20b.sock");
        check("'«password|php»'‹, '«user|php»'›", "'it\\'s'");
        check("‹‹«user|url»›:«password|url»@›h", ":it%27s@h");
        check("‹«user|url»‹:«password|url»›@›h", "h");
        check("«db|raw»", "0");
        check("f(‹'«user|php»'¦null›)", "f(null)");
        check("f(‹'«password|php»'¦null›)", "f('it\\'s')");
        check("‹«user|raw»¦‹«database|raw»¦‹«password|raw»›››", "it's");
    }

    #[test]
    fn a_broken_template_is_refused() {
        for template in ["‹", "›", "¦", "«user", "«nobody|raw»", "«socket|nonsense»"] {
            assert!(filled(template, &fields()).is_err(), "{template}");
        }
    }
}
