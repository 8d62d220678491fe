//! The values that a dialect cannot write: its grammar has no escape for them, or its driver misreads them.

use serde::Deserialize;

use crate::template::Fields;

/// A rule of the table: which values the dialect cannot write.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cannot {
    part: Part,
    /// The rule applies to values that contain any of these characters. If neither `with` nor `beyond` is given, the
    /// rule applies to every value.
    with: Option<String>,
    beyond: Option<Beyond>,
    why: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    User,
    Password,
    Database,
    Socket,
    Page,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Beyond {
    Ascii,
    /// Characters that are more than one unit in UTF-16, such as most emoji.
    Bmp,
    Lowercase,
}

impl Cannot {
    pub(crate) fn applies(&self, fields: &Fields) -> bool {
        let value = match self.part {
            Part::User => fields.user.as_deref(),
            Part::Password => fields.password.as_deref(),
            Part::Database => fields.database.as_deref(),
            Part::Socket => Some(fields.socket.as_str()),
            Part::Page => fields.page.as_deref(),
        };
        let Some(value) = value else {
            return false;
        };
        let holds = |set: &String| value.contains(|c| set.contains(c));
        let exceeds = |set: Beyond| match set {
            Beyond::Ascii => !value.is_ascii(),
            Beyond::Bmp => value.chars().any(|c| c > '\u{ffff}'),
            Beyond::Lowercase => value.chars().any(char::is_uppercase),
        };
        match (&self.with, self.beyond) {
            (None, None) => true,
            (with, beyond) => with.as_ref().is_some_and(holds) || beyond.is_some_and(exceeds),
        }
    }

    pub(crate) fn why(&self) -> &str {
        &self.why
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cannot: &str, user: &str, expected: bool) {
        let cannot: Cannot = toml::from_str(&format!("why = \"\"\n{cannot}")).unwrap();
        let fields = Fields { user: (!user.is_empty()).then(|| user.to_owned()), ..Fields::default() };
        assert_eq!(cannot.applies(&fields), expected, "{user}");
    }

    #[test]
    fn it_applies_where_the_part_holds_what_cannot_be_written() {
        check("part = 'user'", "u", true);
        check("part = 'user'", "", false);
        check("part = 'user'\nwith = ':@'", "a@b", true);
        check("part = 'user'\nwith = ':@'", "ab", false);
        check("part = 'password'\nwith = ':@'", "a@b", false);
        check("part = 'user'\nbeyond = 'ascii'", "ü", true);
        check("part = 'user'\nbeyond = 'bmp'", "ü", false);
        check("part = 'user'\nbeyond = 'bmp'", "🔑", true);
        check("part = 'user'\nbeyond = 'lowercase'", "ü🔑_1", false);
        check("part = 'user'\nbeyond = 'lowercase'", "üserÜ", true);
    }
}
