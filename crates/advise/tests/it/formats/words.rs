//! Unusual words, and how each language writes them.

use std::fmt::Write;

use looptax_testkit::dice::Dice;

/// The parts of a connection, and the value of another setting, which must not change.
#[derive(Debug, Clone)]
pub(super) struct Words {
    pub(super) user: String,
    pub(super) password: String,
    pub(super) database: String,
    pub(super) other: String,
    pub(super) socket: &'static str,
}

const SIGNS: [&str; 32] = [
    "a", "B9", "'", "\"", "\\", "$", "$x", "${Y}", "#", " ", "%", "%s", ";", "=", "é", "日", "{", "}", "`", "@", "/",
    ":", "&", "!", "\\n", "#{z}", "\\q", "%%", "*", "~", "<", ">",
];

const SOCKETS: [&str; 6] = [
    "/run/mysqld/mysqld.sock",
    "/srv/my sql/s.sock",
    "/srv/o'neil/s.sock",
    "/srv/a$b/s.sock",
    "/srv/ü/s.sock",
    "/srv/a#b/s.sock",
];

impl Words {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        Self {
            user: word(dice, 1),
            password: word(dice, 5),
            database: word(dice, 0),
            other: word(dice, 4),
            socket: dice.one(&SOCKETS),
        }
    }
}

/// A word: a letter, random signs, and a letter at its end, since some formats trim values.
fn word(dice: &mut Dice, n_signs: usize) -> String {
    let n_signs = dice.below(n_signs + 1);
    let signs: Vec<&str> = (0..n_signs).map(|_| dice.one(&SIGNS)).collect();
    format!("{}{}z", dice.one(&["w", "Q", "m7"]), signs.concat())
}

fn escaped(text: &str, signs: &str) -> String {
    let mut out = String::new();
    for sign in text.chars() {
        if signs.contains(sign) {
            out.push('\\');
        }
        out.push(sign);
    }
    out
}

/// Escapes a text. In half of the cases, a backslash that has no meaning before the next character is not escaped.
fn lazily(dice: &mut Dice, text: &str, quote: char) -> String {
    let signs = format!("\\{quote}");
    if dice.below(2) == 0 {
        return escaped(text, &signs);
    }
    let parts = text.split("\\q").map(|it| escaped(it, &signs));
    let mut joined = String::new();
    for part in parts {
        if !joined.is_empty() {
            // After another backslash, a single backslash would be escaped by it.
            joined.push_str(if joined.ends_with('\\') { "\\\\q" } else { "\\q" });
        }
        joined.push_str(&part);
    }
    joined
}

pub(super) fn php(dice: &mut Dice, text: &str) -> String {
    if dice.below(2) == 0 {
        return format!("'{}'", lazily(dice, text, '\''));
    }
    let double = lazily(dice, text, '"').replace('$', "\\$");
    format!("\"{double}\"")
}

pub(super) fn python(dice: &mut Dice, text: &str) -> String {
    match dice.below(5) {
        0 => format!("'{}'", lazily(dice, text, '\'')),
        1 => format!("\"{}\"", lazily(dice, text, '"')),
        2 => format!("'''{}'''", escaped(text, "\\'")),
        3 if !text.contains('\'') => format!("r'{text}'"),
        _ => format!("u\"{}\"", escaped(text, "\\\"")),
    }
}

pub(super) fn ruby(dice: &mut Dice, text: &str) -> String {
    match dice.below(2) {
        0 => format!("'{}'", lazily(dice, text, '\'')),
        _ => format!("\"{}\"", escaped(text, "\\\"#")),
    }
}

pub(super) fn script(dice: &mut Dice, text: &str) -> String {
    match dice.below(3) {
        0 => format!("'{}'", escaped(text, "\\'")),
        1 => format!("\"{}\"", escaped(text, "\\\"")),
        _ => format!("`{}`", escaped(text, "\\`$")),
    }
}

pub(super) fn json(_: &mut Dice, text: &str) -> String {
    format!("\"{}\"", escaped(text, "\\\""))
}

pub(super) fn yaml(dice: &mut Dice, text: &str) -> String {
    let is_plain = text.chars().all(char::is_alphanumeric);
    match dice.below(3) {
        0 if is_plain => text.to_owned(),
        1 => format!("\"{}\"", escaped(text, "\\\"")),
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}

pub(super) fn shell(dice: &mut Dice, text: &str) -> String {
    let is_plain = text.chars().all(char::is_alphanumeric);
    match dice.below(3) {
        0 if is_plain => text.to_owned(),
        1 if !text.contains('\'') => format!("'{text}'"),
        _ => format!("\"{}\"", escaped(text, "\\\"$`")),
    }
}

/// Encodes a word as a part of a URL.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").unwrap();
        }
    }
    out
}
