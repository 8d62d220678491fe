//! The settings in a server's file, line by line, and the place where a setting is written.

use std::ops::Range;

use looptax_model::record::Edit;

use crate::app::Rewrite;

/// The syntax of a server's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `unixsocket /run/redis/redis-server.sock`
    Words,
    /// `-s /run/memcached/memcached.sock`: each line has one option of the command line.
    Options,
    /// `socket = /run/mysqld/mysqld.sock` below `[mysqld]`.
    Sections(&'static [&'static str]),
    /// `unix_socket_directories = '/run/postgresql'`
    Assignments,
    /// `Environment=FERRETDB_LISTEN_UNIX=/run/ferretdb/ferretdb.sock` in the section `[Service]` of a unit.
    Unit,
}

impl Form {
    /// The sections that the server reads; `None` if files of this syntax have no sections.
    fn sections(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Sections(names) => Some(names),
            Self::Unit => Some(&["Service"]),
            Self::Words | Self::Options | Self::Assignments => None,
        }
    }
}

/// The word with which a unit sets a variable.
const ENVIRONMENT: &str = "Environment=";

/// The changes, in the form that is written and in the form that is shown.
#[derive(Debug, Default)]
pub struct Written {
    pub rewrites: Vec<Rewrite>,
    pub edits: Vec<Edit>,
}

/// A setting on a line.
#[derive(Debug)]
pub(super) struct Setting<'a> {
    pub(super) key: &'a str,
    /// The value, without its quotes.
    pub(super) value: String,
    is_active: bool,
    /// The bytes of the value in the file, with its quotes.
    at: Range<usize>,
    line_idx: usize,
}

/// The lines of a file, and the settings in them.
pub(super) struct Lines<'a> {
    form: Form,
    text: &'a str,
    /// The bytes of each line, without its line break.
    places: Vec<Range<usize>>,
    settings: Vec<Setting<'a>>,
    /// The indexes of the lines that begin a section which the server reads.
    heads: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn read(form: Form, text: &'a str) -> Self {
        let mut all = Self { form, text, places: Vec::new(), settings: Vec::new(), heads: Vec::new() };
        let mut is_ours = form.sections().is_none();
        let mut start = 0;
        for (line_idx, line) in text.split_inclusive('\n').enumerate() {
            let bare = line.trim_end_matches(['\n', '\r']);
            all.places.push(start..start + bare.len());
            let word = bare.trim();
            if let (Some(names), true) = (form.sections(), word.starts_with('[')) {
                let name = word.trim_start_matches('[').split(']').next().unwrap_or_default();
                is_ours = names.contains(&name.trim());
                if is_ours {
                    all.heads.push(line_idx);
                }
            } else if is_ours && let Some(setting) = setting(form, bare, start, line_idx) {
                all.settings.push(setting);
            }
            start += line.len();
        }
        all
    }

    pub(super) fn settings(&self) -> impl Iterator<Item = &Setting<'a>> {
        self.settings.iter().filter(|it| it.is_active)
    }

    /// The active setting with one of these names. If there are several, returns the last, which takes effect.
    pub(super) fn active(&self, keys: &[&str]) -> Option<&Setting<'a>> {
        self.settings.iter().rfind(|it| it.is_active && self.is_one_of(it.key, keys))
    }

    pub(super) fn commented(&self, keys: &[&str]) -> Option<&Setting<'a>> {
        self.settings.iter().rfind(|it| !it.is_active && self.is_one_of(it.key, keys))
    }

    fn is_one_of(&self, key: &str, keys: &[&str]) -> bool {
        // In a command line, a letter and its capital are different options.
        let is_same = |own: &&str| if self.form == Form::Options { key == *own } else { key.eq_ignore_ascii_case(own) };
        keys.iter().any(is_same)
    }

    /// Writes a setting: in place of its old value, below a comment that proposes the setting, or at the end of the
    /// file or section.
    pub(super) fn set(&self, keys: &[&str], value: &str, written: &mut Written) {
        let value = match self.form {
            Form::Assignments => format!("'{value}'"),
            Form::Words if value.contains([' ', '"', '\'']) => format!("\"{value}\""),
            Form::Words | Form::Options | Form::Sections(_) | Form::Unit => value.to_owned(),
        };
        if let Some(old) = self.active(keys) {
            let place = &self.places[old.line_idx];
            let line = &self.text[place.clone()];
            let (start, end) = (old.at.start - place.start, old.at.end - place.start);
            // If the old value is empty, the separator before the value may be missing, too.
            let space = if start == end && !line[..start].ends_with([' ', '=', '\t']) { " " } else { "" };
            let value = format!("{space}{value}");
            let after = format!("{}{value}{}", &line[..start], &line[end..]);
            written.edits.push(Edit {
                line: Some(old.line_idx + 1),
                before: Some(line.to_owned()),
                after: Some(after),
            });
            written.rewrites.push(Rewrite { at: old.at.clone(), text: value });
            return;
        }
        // If the setting has several names, a comment shows the name for the server's version.
        let key = self.commented(keys).map_or(keys[0], |it| it.key);
        let line = match self.form {
            Form::Words | Form::Options => format!("{key} {value}"),
            Form::Sections(_) | Form::Assignments => format!("{key} = {value}"),
            Form::Unit if key.bytes().all(|it| it.is_ascii_uppercase() || it == b'_') => {
                format!("{ENVIRONMENT}{key}={value}")
            }
            Form::Unit => format!("{key}={value}"),
        };
        let below = { self.commented(keys).map(|it| it.line_idx) }.or_else(|| self.last_line());
        let head =
            || self.form.sections().map_or_else(String::new, |names| format!("[{}]{}", names[0], self.line_end()));
        let (at, text) = match below {
            Some(idx) => {
                let end = self.places[idx].end;
                // If the last line has no line break, a line break is written before the new line, and none after it.
                let is_cut = end == self.text.len();
                let at = if is_cut { end } else { end + self.text[end..].find('\n').map_or(0, |it| it + 1) };
                let lacks_head = self.form.sections().is_some() && self.heads.is_empty();
                let line = if lacks_head { format!("{}{line}", head()) } else { line.clone() };
                let end = self.line_end();
                (at, if is_cut { format!("{end}{line}") } else { format!("{line}{end}") })
            }
            None => (self.text.len(), format!("{}{line}{}", head(), self.line_end())),
        };
        written.edits.push(Edit { line: below.map(|it| it + 1), before: None, after: Some(line) });
        written.rewrites.push(Rewrite { at: at..at, text });
    }

    /// The index of the line below which a new setting takes effect: the last line of the last section that the server
    /// reads, or of the file.
    fn last_line(&self) -> Option<usize> {
        let Some(head) = self.heads.last() else {
            return self.places.len().checked_sub(1);
        };
        let own = self.settings.iter().filter(|it| it.line_idx > *head && it.is_active);
        Some(own.map(|it| it.line_idx).max().unwrap_or(*head))
    }

    fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }
}

fn setting(form: Form, line: &str, start: usize, line_idx: usize) -> Option<Setting<'_>> {
    let body = line.trim_start();
    let is_active = !body.starts_with(['#', ';']);
    let body = body.trim_start_matches(['#', ';']).trim_start();
    let body = if form == Form::Unit { body.strip_prefix(ENVIRONMENT).unwrap_or(body) } else { body };
    let ends_key = |c: char| c.is_whitespace() || c == '=';
    let key = body.split(ends_key).next().filter(|it| !it.is_empty())?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !key.chars().all(is_key) {
        return None;
    }
    let rest = &body[key.len()..];
    let value = rest.trim_start();
    let has_sign = value.starts_with('=');
    let value = match form {
        Form::Assignments | Form::Sections(_) | Form::Unit if has_sign => value[1..].trim_start(),
        Form::Options => value.trim_start_matches('=').trim_start(),
        // PostgreSQL also accepts a setting without an equals sign. In a comment, such a line is a sentence.
        Form::Assignments if is_active => value,
        Form::Words => value,
        Form::Assignments | Form::Sections(_) | Form::Unit => return None,
    };
    // In a Redis file, a comment that proposes a setting has one word after the key. A sentence has more words.
    if !is_active && matches!(form, Form::Words | Form::Options) && value.split_whitespace().count() != 1 {
        return None;
    }
    let raw = match value.chars().next() {
        Some(quote @ ('\'' | '"')) => value[1..].find(quote).map_or(value, |end| &value[..end + 2]),
        _ if matches!(form, Form::Words | Form::Unit) => value.trim_end(),
        _ => value.split(['#', ';']).next().unwrap_or_default().trim_end(),
    };
    let at = start + line.len() - value.len();
    let bare = raw.trim_matches(['\'', '"']);
    Some(Setting { key, value: bare.to_owned(), is_active, at: at..at + raw.len(), line_idx })
}
