//! How a value is written in a file: the quotes around it, and the escapes for characters with a special meaning.

use looptax_model::dsn::masked;

/// How a value is written in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// Between these quotes. Characters that would end the value or have a special meaning are escaped by the rules of
    /// the dialect.
    Around(char, Dialect),
    /// Without quotes; the value cannot contain a character that would end it.
    Bare(Bare),
    /// XML: characters that would end the value become entities.
    Entities,
    /// YAML: a new value after the colon of a key that has no value yet.
    Behind,
    /// Kubernetes: a value that replaces `valueFrom`.
    Instead,
    /// `.env`, YAML and PHP's INI: in quotes if the value would otherwise be cut off or have another meaning.
    AsNeeded(Dialect),
}

/// The end of a value without quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bare {
    Line,
    Ini,
    /// A blank ends the value, and quotes have a special meaning.
    Word,
    /// The value is a part of another value.
    Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// In PHP, a dollar begins a variable between double quotes.
    Php,
    /// In Ruby, `#{` begins an expression between double quotes.
    Ruby,
    /// In JavaScript, `${` begins an expression between backticks.
    Script,
    /// Only the quote and the backslash have a special meaning.
    Plain,
    /// Between single quotes, a single quote is doubled, and a backslash stands for itself.
    Yaml,
    /// Shells and parsers of `.env`: between single quotes every character except the single quote stands for itself.
    Shell,
    /// INI and similar formats, whose parsers disagree about escapes.
    Ini,
}

impl Quotes {
    /// Writes `value` as a literal.
    pub(crate) fn around(self, value: &str) -> String {
        match self {
            Self::Bare(_) => value.to_owned(),
            Self::Entities => quick_xml::escape::escape(value).into_owned(),
            Self::Around(quote, dialect) => dialect.quoted(value, quote),
            Self::Behind => format!(" {}", Self::AsNeeded(Dialect::Yaml).around(value)),
            // Kubernetes accepts only strings, and a number without quotes is not a string.
            Self::Instead => format!("value: {}", Dialect::Yaml.quoted(value, '"')),
            Self::AsNeeded(dialect) if is_plain(value, dialect) => value.to_owned(),
            Self::AsNeeded(dialect) => dialect.quoted(value, '"'),
        }
    }

    /// Whether a program that reads the literal gets this value back.
    pub(super) fn can_hold(self, value: &str) -> bool {
        let has = |signs: &str| value.contains(|sign| signs.contains(sign));
        match self {
            Self::Bare(Bare::Line) => !has("\\\n"),
            Self::Bare(Bare::Ini) => {
                let is_cut = [" #", " ;", "\t#", "\t;"].iter().any(|it| value.contains(it));
                !has("\\\n") && !value.starts_with(['"', '\'']) && !is_cut
            }
            Self::Bare(Bare::Word) => !has(" \t\n\"'\\"),
            Self::Bare(Bare::Part) => !has(" \t\n\"'\\;`$<>,"),
            Self::Around(quote, Dialect::Ini) => !value.contains(quote) && !has("\\$\n"),
            Self::AsNeeded(Dialect::Ini) => !has("\"\\$\n"),
            Self::Instead => !has("\n") && masked(value) == value,
            Self::Entities | Self::Behind | Self::Around(..) | Self::AsNeeded(_) => !has("\n"),
        }
    }
}

impl Dialect {
    fn quoted(self, value: &str, quote: char) -> String {
        let signs = match (self, quote) {
            (Self::Yaml, '\'') => return format!("'{}'", value.replace('\'', "''")),
            (Self::Ini, _) => "",
            (Self::Shell, _) => {
                // Parsers of `.env` disagree about escapes.
                let means_something = value.contains(['\\', '"', '$', '`']);
                let single = quote == '\'' || means_something;
                if single && !value.contains('\'') {
                    return format!("'{value}'");
                }
                return around(value, '"', "\\\"$`");
            }
            (Self::Php, '"') => "\\\"$",
            (Self::Ruby, '"') => "\\\"#",
            (Self::Script, '`') => "\\`$",
            (_, '"') => "\\\"",
            (_, _) => "\\'",
        };
        around(value, quote, signs)
    }
}

/// Returns the value in quotes, with a backslash before each of the characters in `signs`.
fn around(value: &str, quote: char, signs: &str) -> String {
    let mut text = String::from(quote);
    for sign in value.chars() {
        if signs.contains(sign) {
            text.push('\\');
        }
        text.push(sign);
    }
    text.push(quote);
    text
}

/// Whether the value can be written without quotes.
fn is_plain(value: &str, dialect: Dialect) -> bool {
    // PHP calculates values that have no quotes.
    let is_calculated = |c: char| !c.is_ascii_alphanumeric() && !"/._:@-".contains(c);
    let is_expression = dialect == Dialect::Ini && value.contains(is_calculated);
    !value.is_empty()
        && !is_expression
        && value.chars().all(|c| c.is_alphanumeric() || "/._-:@+?=%&~*".contains(c))
        && !value.starts_with(['*', '&', '%', '@', '-', '?', ':'])
        && !value.ends_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_quoted_as_its_place_wants_it() {
        let around = |quote, dialect, value: &str| Quotes::Around(quote, dialect).around(value);
        assert_eq!(around('\'', Dialect::Plain, "it's\\"), "'it\\'s\\\\'");
        assert_eq!(around('"', Dialect::Plain, "a\"b$"), "\"a\\\"b$\"");
        assert_eq!(around('"', Dialect::Php, "a$b"), "\"a\\$b\"");
        assert_eq!(around('"', Dialect::Ruby, "#{b}"), "\"\\#{b}\"");
        assert_eq!(around('`', Dialect::Script, "${b}"), "`\\${b}`");
        assert_eq!(around('\'', Dialect::Yaml, "it's\\"), "'it''s\\'");
        assert_eq!(around('"', Dialect::Shell, "a$b"), "'a$b'");
        assert_eq!(around('\'', Dialect::Shell, "it's"), "\"it's\"");
        let as_needed = |value: &str| Quotes::AsNeeded(Dialect::Yaml).around(value);
        assert_eq!(as_needed("/run/a.sock"), "/run/a.sock");
        assert_eq!(as_needed("/run/a b"), "\"/run/a b\"");
        assert_eq!(as_needed(""), "\"\"");
        let in_ini = |value: &str| Quotes::AsNeeded(Dialect::Ini).around(value);
        assert_eq!(in_ini("mysql://r:p@127.0.0.1/a-b"), "mysql://r:p@127.0.0.1/a-b");
        assert_eq!(in_ini("unix(/a)?b=c&d"), "\"unix(/a)?b=c&d\"");
    }

    #[test]
    fn what_would_be_cut_off_is_not_written() {
        let holds = |bare, value: &str| Quotes::Bare(bare).can_hold(value);
        assert!(holds(Bare::Line, "a b") && !holds(Bare::Line, "a\\b"));
        assert!(holds(Bare::Ini, "a#b") && !holds(Bare::Ini, "a #b"));
        assert!(holds(Bare::Word, "a#b") && !holds(Bare::Word, "a b"));
        assert!(holds(Bare::Part, "/a-b") && !holds(Bare::Part, "/a;b"));
        assert!(!Quotes::Around('"', Dialect::Ini).can_hold("a\"b"));
        let in_ini = |value: &str| Quotes::AsNeeded(Dialect::Ini).can_hold(value);
        assert!(in_ini("a;b=(c)") && !in_ini("a\"b") && !in_ini("a$b") && !in_ini("a\\b"));
    }
}
