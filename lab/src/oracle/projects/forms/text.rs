//! Values in the syntax of each format, and the other content that such files usually have.

use looptax_model::dsn::Kind;
use std::fmt::Write as _;

use super::super::draw::{End, one_in, pick};
use crate::coin::Coin;

/// Percent-encodes a text, except for the characters that RFC 3986 leaves unchanged.
pub(super) fn encoded(text: &str) -> String {
    let byte = |it: u8| match it {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(it).to_string(),
        _ => format!("%{it:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Returns the host as it is written before a port.
pub(super) fn in_brackets(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Returns the host with its port; sometimes without the port, if it is the usual one.
pub(super) fn place(end: &End, coin: &mut Coin) -> String {
    let host = in_brackets(&end.host);
    if end.is_usual_port() && one_in(coin, 2) { host } else { format!("{host}:{}", end.port) }
}

/// Returns a URL for the server, with this query at its end.
pub(super) fn url(scheme: &str, end: &End, query: &str, coin: &mut Coin) -> String {
    let place = place(end, coin);
    let login = if end.user.is_empty() && end.password.is_empty() {
        String::new()
    } else {
        format!("{}:{}@", encoded(&end.user), encoded(&end.password))
    };
    let is_bare = end.kind == Kind::Redis && end.database == "0" && one_in(coin, 2);
    let database = if is_bare { String::new() } else { format!("/{}", encoded(&end.database)) };
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    format!("{scheme}://{login}{place}{database}{query}")
}

pub(super) fn php(text: &str, coin: &mut Coin) -> String {
    if one_in(coin, 4) && !text.contains(['$', '"', '\\']) {
        return format!("\"{text}\"");
    }
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

pub(super) fn python(text: &str, coin: &mut Coin) -> String {
    let quote = if coin.flip() { '"' } else { '\'' };
    format!("{quote}{}{quote}", text.replace('\\', "\\\\").replace(quote, &format!("\\{quote}")))
}

pub(super) fn yaml(text: &str, coin: &mut Coin) -> String {
    let is_plain = text.chars().all(|it| it.is_ascii_alphanumeric() || "._-".contains(it));
    let is_word = text.starts_with(|it: char| it.is_ascii_alphabetic());
    if is_plain && is_word && coin.flip() {
        return text.to_owned();
    }
    if coin.flip() { format!("'{}'", text.replace('\'', "''")) } else { format!("\"{text}\"") }
}

/// Makes a `.env` with these pairs, other pairs, and the comments that such files usually have.
pub(super) fn dotenv(pairs: Vec<(&str, String)>, noise: &[(&str, &str)], coin: &mut Coin) -> String {
    let mut pairs: Vec<(String, String)> = pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let mut head = Vec::new();
    if one_in(coin, 12) {
        by_variable(&mut pairs, &mut head);
    }
    let noise = noise.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let (before, behind): (Vec<_>, Vec<_>) = noise.partition(|_| coin.flip());
    if one_in(coin, 4) {
        pairs = coin.shuffled(pairs);
    }
    let mut text = String::new();
    if one_in(coin, 3) {
        text.push_str("# Settings of this machine; see .env.example\n\n");
    }
    for (name, value) in before.into_iter().chain(head) {
        text += &assignment(&name, &value, coin);
    }
    for (name, value) in &pairs {
        if one_in(coin, 10) {
            let _ = writeln!(text, "# {name}=10.1.2.3");
        }
        if one_in(coin, 25) {
            // If a name occurs twice, the last line counts.
            let _ = writeln!(text, "{name}=unused");
        }
        text += &assignment(name, value, coin);
    }
    if coin.flip() {
        text.push('\n');
    }
    for (name, value) in behind {
        text += &assignment(&name, &value, coin);
    }
    with_line_ends(text, coin)
}

/// Moves the host of the first pair that contains one to a separate variable.
fn by_variable(pairs: &mut [(String, String)], head: &mut Vec<(String, String)>) {
    for host in ["127.0.0.1", "db.internal", "localhost"] {
        if let Some((_, value)) = pairs.iter_mut().find(|(_, value)| value.contains(host)) {
            *value = value.replacen(host, "${MAIN_HOST}", 1);
            head.push(("MAIN_HOST".to_owned(), host.to_owned()));
            return;
        }
    }
}

fn assignment(name: &str, value: &str, coin: &mut Coin) -> String {
    let export = if one_in(coin, 20) { "export " } else { "" };
    let is_plain = value.chars().all(|it| it.is_ascii_alphanumeric() || "._-/:@%+=,&?[]()${}".contains(it));
    let value = match coin.number() % 4 {
        0 if !value.contains("${") => format!("'{value}'"),
        1 | 2 if is_plain => value.to_owned(),
        _ => format!("\"{value}\""),
    };
    let comment = if one_in(coin, 12) { " # see the wiki" } else { "" };
    format!("{export}{name}={value}{comment}\n")
}

/// Sometimes replaces the line ends by those of Windows.
pub(super) fn with_line_ends(text: String, coin: &mut Coin) -> String {
    if one_in(coin, 12) { text.replace('\n', "\r\n") } else { text }
}

/// Returns one of several equivalent texts.
pub(super) fn one_of(coin: &mut Coin, ways: &[&'static str]) -> &'static str {
    pick(coin, ways)
}
