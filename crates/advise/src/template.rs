//! A dialect's text, filled in.
//!
//! `«field|escape|escape»` is a field, escaped once after the other; `‹…›` is left out when a field
//! that stands directly in it is not known. Sections may be nested.

use crate::escape::Escape;

/// What a template can be filled with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// User.
    pub user: Option<String>,
    /// Password, or what is shown in its place.
    pub password: Option<String>,
    /// Database.
    pub database: Option<String>,
    /// The socket's file.
    pub socket: String,
    /// PostgreSQL's folder of sockets.
    pub folder: String,
    /// Port: part of the socket's name for PostgreSQL.
    pub port: u16,
}

impl Fields {
    fn value(&self, field: &str) -> Result<Option<String>, TemplateError> {
        Ok(match field {
            "user" => self.user.clone(),
            "password" => self.password.clone(),
            "database" => self.database.clone(),
            "socket" => Some(self.socket.clone()),
            "folder" => Some(self.folder.clone()),
            "port" => Some(self.port.to_string()),
            "db" => Some(self.database.clone().unwrap_or_else(|| "0".to_owned())),
            _ => return Err(TemplateError::Field(field.to_owned())),
        })
    }
}

/// A template that is wrong in itself: a mistake in the table, which a test finds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    /// No such field.
    #[error("there is no field `{0}`")]
    Field(String),
    /// No such way to escape.
    #[error("there is no way to escape called `{0}`")]
    Escape(String),
    /// Brackets do not match.
    #[error("a bracket has no other half")]
    Bracket,
}

/// Fills a template in; `absent` stands for what is left out.
pub(crate) fn filled(
    template: &str,
    fields: &Fields,
    absent: &str,
) -> Result<String, TemplateError> {
    // The text of each open section, and whether all of its fields are known.
    let mut open: Vec<(String, bool)> = vec![(String::new(), true)];
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '‹' => open.push((String::new(), true)),
            '›' => {
                let (text, is_known) = open.pop().ok_or(TemplateError::Bracket)?;
                let (outer, _) = open.last_mut().ok_or(TemplateError::Bracket)?;
                outer.push_str(if is_known { &text } else { absent });
            }
            '«' => {
                let (inside, after) = rest.split_once('»').ok_or(TemplateError::Bracket)?;
                rest = after;
                let value = field(inside, fields)?;
                let (text, is_known) = open.last_mut().ok_or(TemplateError::Bracket)?;
                match value {
                    Some(value) => text.push_str(&value),
                    None => *is_known = false,
                }
            }
            _ => {
                let (text, _) = open.last_mut().ok_or(TemplateError::Bracket)?;
                text.push(c);
            }
        }
    }
    match open.pop() {
        Some((text, _)) if open.is_empty() => Ok(text),
        _ => Err(TemplateError::Bracket),
    }
}

/// `user|pdo|php`: a field's value, escaped.
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
        Fields {
            password: Some("it's".to_owned()),
            socket: "/run/a b.sock".to_owned(),
            ..Fields::default()
        }
    }

    #[track_caller]
    fn check(template: &str, expected: &str) {
        assert_eq!(filled(template, &fields(), "").unwrap(), expected);
    }

    #[test]
    fn fields_are_escaped_and_what_is_not_known_is_left_out() {
        check("x:«socket|url»", "x:%2Frun%2Fa%20b.sock");
        check("'«password|php»'‹, '«user|php»'›", "'it\\'s'");
        check("‹‹«user|url»›:«password|url»@›h", ":it%27s@h");
        check("‹«user|url»‹:«password|url»›@›h", "h");
        check("«db|raw»", "0");
        assert_eq!(
            filled("f(‹'«user|php»'›)", &fields(), "null").unwrap(),
            "f(null)"
        );
    }

    #[test]
    fn a_broken_template_is_refused() {
        for template in ["‹", "›", "«user", "«nobody|raw»", "«socket|nonsense»"] {
            assert!(filled(template, &fields(), "").is_err(), "{template}");
        }
    }
}
