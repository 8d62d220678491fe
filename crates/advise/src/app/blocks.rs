//! Settings in blocks: `name {`, `name = {` or `a.b {`, with `key = value`, `key => value` or `key: value` inside the
//! block. Files of Bacula, `FreeRADIUS`, Sphinx, Logstash, Play and Lua programs have this form.
//!
//! The text is read line by line; a line that holds a whole block is left out. Settings inside a branch (`if`, `else`,
//! `for`, `while`) are marked as doubtful, because they may not take effect.

use std::ops::Range;

use super::lines::{Lines, expanded};
use super::quotes::{Bare, Dialect, Quotes};
use super::setting::{Joins, MOST_SETTINGS, MOST_VALUE_BYTES, Read, Setting, Value, named};

const MOST_DEPTH: usize = 64;

/// Reads the settings in blocks of a text. If `is_program`, an unquoted word is a variable of the program.
pub(crate) fn read(text: &str, is_program: bool) -> Read {
    let mut walk = Walk { is_program, open: Vec::new(), n_unnamed: 0, waiting: None, settings: Vec::new() };
    let mut start = 0;
    let mut comment_end = None;
    for (idx, whole) in text.split_inclusive('\n').enumerate() {
        let line_start = start;
        start += whole.len();
        if walk.settings.len() >= MOST_SETTINGS || walk.open.len() > MOST_DEPTH {
            break;
        }
        if let Some(end) = comment_end {
            comment_end = (!whole.contains(end)).then_some(end);
            continue;
        }
        let opened = [("--[[", "]]"), ("/*", "*/")];
        let opened = opened.iter().find(|it| whole.trim_start().starts_with(it.0));
        if let Some((_, end)) = opened {
            comment_end = (!whole.contains(end)).then_some(*end);
            continue;
        }
        let line = without_comment(whole);
        if line.trim().len() <= MOST_VALUE_BYTES {
            walk.line(line, idx + 1, line_start);
        }
    }
    join_optional(&mut walk.settings);
    (walk.settings, Vec::new())
}

/// Returns a line without its comment (`#`, `//` or `--`). A comment sign in quotes or inside a word is not a comment.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open && before != '\\' => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None => {
                let rest = &line[at..];
                let is_comment = ["#", "//", "--"].iter().any(|it| rest.starts_with(it));
                if is_comment && (before.is_whitespace() || matches!(before, ',' | ';')) {
                    return &line[..at];
                }
            }
        }
        before = c;
    }
    line
}

struct Walk {
    is_program: bool,
    /// The open blocks: for each block its names, and whether the block is a branch.
    open: Vec<(Vec<String>, bool)>,
    n_unnamed: usize,
    /// The head of a block whose brace is on a later line, and the number of settings read before this head.
    waiting: Option<(String, usize)>,
    settings: Vec<Setting>,
}

impl Walk {
    fn line(&mut self, line: &str, number: usize, line_start: usize) {
        let mut trimmed = line.trim();
        while let Some(rest) = trimmed.strip_prefix('}') {
            self.open.pop();
            trimmed = rest.trim_start_matches([',', ';', ')']).trim_start();
        }
        if trimmed.is_empty() {
            return;
        }
        if let Some(head) = trimmed.strip_suffix('{') {
            let waiting = self.waiting.take().filter(|_| head.trim().is_empty());
            let head = match waiting {
                Some((head, n_settings)) => {
                    self.settings.truncate(n_settings);
                    head
                }
                None => head.trim().to_owned(),
            };
            self.open_block(&head);
            return;
        }
        self.waiting = Some((trimmed.to_owned(), self.settings.len()));
        let start = line.len() - line.trim_start().len();
        let is_templated = trimmed.contains("{{") || trimmed.contains("${");
        if !trimmed.contains(['{', '}']) || trimmed.contains(['"', '\'']) || is_templated {
            let found = setting(&line[start..], self.is_program);
            let path = self.open.iter().flat_map(|it| it.0.clone());
            let is_branch = self.open.iter().any(|it| it.1);
            self.settings.extend(found.map(|it| Setting {
                path: path.chain(it.path).collect(),
                doubt: is_branch.then(|| format!("set under a condition (line {number})")),
                line: number,
                start: line_start + start,
                ..it
            }));
        }
    }

    fn open_block(&mut self, head: &str) {
        let is_value = head.ends_with(['=', ':', '>']);
        let head = head.trim_end_matches(['=', ':', '>', '(', ' ', '\t']);
        let head = head.strip_prefix("local ").unwrap_or(head);
        let mut words = head.split([' ', '\t']);
        let first = words.next().unwrap_or_default();
        // A module of FreeRADIUS may occur several times; a module without its own name has the name of its kind.
        if first == "sql" && !is_value && !self.is_program && self.open.is_empty() {
            let name = words.next().unwrap_or(first);
            self.open.push((vec![named(&format!("{first} {name}"))], false));
            return;
        }
        // Icinga writes `object IdoMysqlConnection "name"`.
        let first = words.next().filter(|_| first == "object").unwrap_or(first);
        let is_branch = matches!(first, "if" | "else" | "elseif" | "elsif" | "for" | "while");
        let mut names: Vec<String> = first
            .split('.')
            .map(|it| named(it.trim_matches(['"', '\'', '[', ']'])))
            .filter(|it| !it.is_empty() && it != "return")
            .collect();
        if is_branch || names.is_empty() && first != "return" {
            names = vec![self.n_unnamed.to_string()];
            self.n_unnamed += 1;
        }
        self.open.push((names, is_branch));
    }
}

/// Returns the setting of a line `key = value`; `None` if more text follows the value.
fn setting(body: &str, is_program: bool) -> Option<Setting> {
    let at = body.find(['=', ':'])?;
    let key = body[..at].trim_end_matches([' ', '\t', '+']);
    let key = key.strip_prefix("local ").unwrap_or(key);
    let bare = key.trim_matches(['"', '\'', '[', ']']);
    let is_part = |c: char| c.is_alphanumeric() || "_.- ".contains(c);
    if bare.is_empty() || !bare.chars().all(is_part) {
        return None;
    }
    let after = body[at + 1..].trim_start_matches('>');
    let value_at = body.len() - after.trim_start().len();
    let raw = body[value_at..].trim_end().trim_end_matches([',', ';']).trim_end();
    let key_at = body.find(bare)?;
    let (value, quotes) = value(raw, is_program)?;
    Some(Setting {
        path: vec![named(bare)],
        value,
        doubt: None,
        line: 0,
        start: 0,
        item: body[..value_at + raw.len()].to_owned(),
        key: Range { start: key_at, end: key_at + bare.len() },
        literal: value_at..value_at + raw.len(),
        quotes,
        doubled: None,
        joins: Joins::Line,
    })
}

fn value(raw: &str, is_program: bool) -> Option<(Value, Quotes)> {
    let quote = raw.chars().next().filter(|it| matches!(it, '"' | '\''));
    if let Some(quote) = quote {
        let inside = raw[1..].strip_suffix(quote);
        let inside = inside.filter(|it| !it.contains([quote, '\\']));
        let known = inside.filter(|it| !is_templated(it));
        let value = known.map_or(Value::Hidden, |it| expanded(it.to_owned(), Lines::Pairs));
        return Some((value, Quotes::Around(quote, Dialect::Ini)));
    }
    let quotes = Quotes::Bare(Bare::Word);
    let is_number = raw.starts_with(|c: char| c.is_ascii_digit());
    let is_bool = matches!(raw, "true" | "false");
    let value = match raw {
        "" | "nil" | "undef" | "null" => return None,
        _ if is_program && !is_number && !is_bool => Value::Hidden,
        _ if is_templated(raw) || raw.contains(['(', '{']) && !raw.starts_with("${") => Value::Hidden,
        _ => expanded(raw.to_owned(), Lines::Pairs),
    };
    Some((value, quotes))
}

/// Whether another program fills in a part of the text.
fn is_templated(text: &str) -> bool {
    ["%{", "{{", "#{", "$ENV{", "%%"].iter().any(|it| text.contains(it))
}

/// Joins two settings of Play with the same key. `key = ${?NAME}` takes effect if the variable is set. If the variable
/// is not set, the earlier value of the key takes effect.
fn join_optional(settings: &mut Vec<Setting>) {
    let mut joined: Vec<Setting> = Vec::new();
    for mut setting in std::mem::take(settings) {
        let Value::Variable { name, .. } = &setting.value else {
            joined.push(setting);
            continue;
        };
        let Some(name) = name.strip_prefix('?').map(str::to_owned) else {
            joined.push(setting);
            continue;
        };
        let before = joined.iter_mut().rev().find(|it| it.path == setting.path);
        let fallback = match before.as_ref().map(|it| &it.value) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let value = Value::Variable { name, fallback };
        if let Some(before) = before {
            before.value = value;
        } else {
            setting.value = value;
            joined.push(setting);
        }
    }
    *settings = joined;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_program: bool, expected: &[&str]) {
        let (settings, _) = read(text, is_program);
        let found: Vec<String> = settings
            .iter()
            .map(|it| {
                let value = match &it.value {
                    Value::Text(text) => text.clone(),
                    Value::Variable { name, fallback } => {
                        format!("${name} {}", fallback.as_deref().unwrap_or("-"))
                    }
                    Value::Hidden => "?".to_owned(),
                };
                let doubt = if it.doubt.is_some() { " !" } else { "" };
                format!("{} {}={value}{doubt}", it.line, it.path.join("/"))
            })
            .collect();
        assert_eq!(found, expected, "{text}");
        for setting in &settings {
            assert_eq!(&text[setting.place()], setting.item);
        }
    }

    #[test]
    fn blocks_are_read_in_each_of_their_forms() {
        check(
            "Catalog {\n  DB Address = h # x\n  Name = \"a # b\"\n}\nsource s\n{\n\ttype\t= mysql\n}\n",
            false,
            &["2 Catalog/DB Address=h", "3 Catalog/Name=a # b", "7 source/type=mysql"],
        );
        check(
            "input {\n  redis {\n    host => \"h\"\n  }\n}\noutput {\n  if [a] {\n    x => 1\n  } else {\n    x => 2\n  }\n}\n",
            false,
            &["3 input/redis/host=h", "8 output/0/x=1 !", "10 output/1/x=2 !"],
        );
        check(
            "a.b {\n  url = \"x\"\n  url = ${?U}\n  c = ${?V}\n  d = ${W}\n}\n",
            false,
            &["2 a/b/url=$U x", "4 a/b/c=$V -", "5 a/b/d=$W -"],
        );
    }

    #[test]
    fn a_program_has_variables() {
        check(
            "--[[ a = 1\nb = 2 ]]\nlocal c = {}\nc.redis = {\n  host = \"h\", -- x\n  port = 1,\n  db = other,\n}\nreturn\n{\n  m =\n  {\n    k = os.getenv(\"K\");\n  }\n}\n",
            true,
            &["5 c/redis/host=h", "6 c/redis/port=1", "7 c/redis/db=?", "13 m/k=?"],
        );
    }

    #[test]
    fn what_is_nested_without_end_ends() {
        let (settings, _) = read(&"a {\n".repeat(50_000), false);
        assert!(settings.is_empty());
    }
}
