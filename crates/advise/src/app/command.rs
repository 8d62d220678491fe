//! Command lines in systemd's units, Supervisor's files and Procfiles: `ExecStart=/usr/bin/gunicorn --bind
//! 127.0.0.1:8000 app`.
//!
//! Each option of a known program becomes a setting: `gunicorn`, `--bind`. No shell expansion is done.

use std::ops::Range;

use super::lines::{Lines, expanded};
use super::quotes::{Bare, Quotes};
use super::setting::{Joins, MOST_SETTINGS, MOST_VALUE_BYTES, Setting, Value};

/// Programs with options for the address at which they listen or to which they connect.
const PROGRAMS: [&str; 5] = ["gunicorn", "uvicorn", "puma", "uwsgi", "celery"];

/// Reads the settings in the command lines of a text.
pub(super) fn read(text: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut start = 0;
    let mut goes_on = None;
    for (idx, line) in text.split_inclusive('\n').enumerate() {
        let line_start = start;
        start += line.len();
        let body = line.trim_end_matches(['\n', '\r']);
        let head = head_of(body);
        // A continuation line belongs to the program of the line before it.
        let (program, from) = match (goes_on.take(), head) {
            (Some(program), _) => (Some(program), 0),
            (None, Some(head)) => (None, head),
            (None, None) => continue,
        };
        if body.len() > MOST_VALUE_BYTES || settings.len() >= MOST_SETTINGS {
            continue;
        }
        let words = words(body, from);
        let program = program.or_else(|| program_of(body, &words));
        let Some(program) = program else { continue };
        options(body, &words, program, [idx + 1, line_start], &mut settings);
        goes_on = body.ends_with('\\').then_some(program);
    }
    settings
}

/// The byte of a line at which the command begins: after `ExecStart=`, `command=`, or `web:`.
fn head_of(line: &str) -> Option<usize> {
    if let Some((name, _)) = line.split_once('=')
        && matches!(name.trim_end(), "ExecStart" | "command")
    {
        return Some(name.len() + 1);
    }
    let (name, _) = line.split_once(": ")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars().all(is_name).then_some(name.len() + 1)
}

/// The byte ranges of a line's words, without their quotes.
fn words(line: &str, from: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = from;
    while let Some(sign) = line[at..].chars().next() {
        let is_quote = matches!(sign, '"' | '\'');
        if sign.is_whitespace() || sign == '\\' {
            at += sign.len_utf8();
            continue;
        }
        let start = at + usize::from(is_quote);
        let ends = |c: char| {
            if is_quote { c == sign } else { c.is_whitespace() }
        };
        let end = line[start..].find(ends).map_or(line.len(), |it| start + it);
        found.push(start..end);
        at = (end + usize::from(is_quote)).min(line.len());
    }
    found
}

/// The first word that is one of [`PROGRAMS`], as in `bundle exec puma` or `python3 -m gunicorn`.
fn program_of(line: &str, words: &[Range<usize>]) -> Option<&'static str> {
    words.iter().find_map(|word| {
        let name = line[word.clone()].rsplit('/').next()?;
        let name = name.trim_start_matches(['-', '@', ':', '+', '!']);
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        PROGRAMS.into_iter().find(|it| *it == base)
    })
}

/// Reads the options `--name value`, `--name=value` and `-n value`.
fn options(
    line: &str,
    words: &[Range<usize>],
    program: &str,
    [number, line_start]: [usize; 2],
    settings: &mut Vec<Setting>,
) {
    for (idx, word) in words.iter().enumerate() {
        let text = &line[word.clone()];
        if !text.starts_with('-') {
            continue;
        }
        let (name, value) = match text.split_once('=') {
            Some((name, _)) => (name, word.start + name.len() + 1..word.end),
            None => match words.get(idx + 1) {
                Some(next) => (text, next.clone()),
                None => continue,
            },
        };
        let value_text = line[value.clone()].to_owned();
        let mut setting = Setting {
            path: vec![program.to_owned(), name.to_owned()],
            value: match expanded(value_text, Lines::Pairs) {
                // A shell variable is part of the value.
                Value::Text(text) if text.contains('$') => Value::Hidden,
                value => value,
            },
            doubt: None,
            line: number,
            start: line_start + word.start,
            item: line[word.start..value.end].to_owned(),
            key: 0..name.len(),
            literal: value.start - word.start..value.end - word.start,
            quotes: Quotes::Bare(Bare::Part),
            doubled: None,
            joins: Joins::With(" "),
        };
        setting.read_doubled('%');
        settings.push(setting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_known_programs_are_settings_wherever_the_line_goes_on() {
        let text = "[Service]\nExecStart=/srv/venv/bin/python3 -m gunicorn --workers 2 \\\n  --bind=127.0.0.1:8000 \"app:make\"\n\
                    ExecStart=/bin/other --bind x\nweb: bundle exec puma -b tcp://0.0.0.0:$PORT -p ${PORT:-3000}\n";
        let found = read(text);
        let shown: Vec<String> =
            found.iter().map(|it| format!("{} {} {:?}", it.line, it.path.join("/"), it.value)).collect();
        assert_eq!(
            shown,
            [
                "2 gunicorn/-m Text(\"gunicorn\")",
                "2 gunicorn/--workers Text(\"2\")",
                "3 gunicorn/--bind Text(\"127.0.0.1:8000\")",
                "5 puma/-b Hidden",
                "5 puma/-p Variable { name: \"PORT\", fallback: Some(\"3000\") }",
            ]
        );
        for setting in &found {
            assert_eq!(&text[setting.place()], setting.item);
        }
        assert_eq!(found[2].with(None, "unix:/s"), "--bind=unix:/s");
    }
}
