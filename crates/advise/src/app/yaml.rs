//! YAML, read by the events of its parser: no tree is built, and aliases are copied only once and up to a limit.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::lines::{Lines, depth_after, expanded};
use super::quotes::{Dialect, Quotes};
use super::setting::{Joins, MOST_SETTINGS, MOST_VALUE_BYTES, Problem, Read, Setting, Value, named};
use super::shell::pods::is_of_pod;

const MOST_DEPTH: usize = 64;

const MOST_COPIES: usize = 1_000;

/// Reads the settings of a YAML text. Lines that contain only ERB are left out. If the text is broken, returns the
/// settings before the error.
pub(crate) fn read(text: &str) -> Read {
    let (text, is_within) = without_control_lines(text);
    let plain = with_words_for_templates(&text);
    let mut walk = Walk {
        text: &text,
        is_within,
        bytes: plain.char_indices().map(|(at, _)| at).chain([plain.len()]).collect(),
        frames: Vec::new(),
        anchors: HashMap::new(),
        n_copied: 0,
        settings: Vec::new(),
    };
    let mut problems = Vec::new();
    for event in Parser::new_from_str(&plain) {
        match event {
            Ok((event, span)) => {
                if walk.frames.len() > MOST_DEPTH || walk.settings.len() >= MOST_SETTINGS {
                    problems.push(Problem {
                        line: Some(span.start.line()),
                        what: "nested too deeply or too long: the rest is not read".to_owned(),
                    });
                    break;
                }
                walk.event(event, span);
            }
            Err(error) => {
                problems.push(Problem {
                    line: Some(error.marker().line()),
                    what: "the file is not YAML from this line on".to_owned(),
                });
                break;
            }
        }
    }
    started_only(&mut walk.settings);
    (walk.settings, problems)
}

/// Drops receivers of `OpenTelemetry`'s collector that no pipeline of the file uses, if the file has pipelines.
fn started_only(settings: &mut Vec<Setting>) {
    let in_pipeline = |it: &Setting| match (it.path.as_slice(), &it.value) {
        ([service, pipelines, _, receivers, _], Value::Text(name))
            if service == "service" && pipelines == "pipelines" && receivers == "receivers" =>
        {
            Some(name.clone())
        }
        _ => None,
    };
    let started: BTreeSet<String> = settings.iter().filter_map(in_pipeline).collect();
    let is_idle = |it: &Setting| match it.path.as_slice() {
        [receivers, name, ..] => receivers == "receivers" && !started.contains(name),
        _ => false,
    };
    settings.retain(|it| started.is_empty() || !is_idle(it));
}

/// Replaces each template expression by a word of the same length: Go's templates are not YAML until they are filled
/// in.
fn with_words_for_templates(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let line_end = rest[start..].find('\n').map_or(rest.len(), |it| start + it);
        // An expression has to end on the line on which it begins.
        let Some(end) = rest[start..line_end].find("}}").map(|it| start + it + 2) else {
            plain.push_str(&rest[..line_end]);
            rest = &rest[line_end..];
            continue;
        };
        plain.push_str(&rest[..start]);
        plain.push_str(&"x".repeat(end - start));
        rest = &rest[end..];
    }
    plain.push_str(rest);
    plain
}

/// Returns the text with blanks in place of lines that contain only control statements of ERB or Jinja, so that the
/// other lines keep their places. Also returns, for each line, whether it is in a branch.
fn without_control_lines(text: &str) -> (String, Vec<bool>) {
    let mut plain = String::with_capacity(text.len());
    let mut is_within = Vec::new();
    let mut depth = 0;
    let mut is_open = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        // The line is only a template expression: Helm's `{{- if … }}`, or an expression that inserts whole lines.
        let is_alone = trimmed.starts_with("{{") && trimmed.find("}}").is_some_and(|at| at + 2 == trimmed.len());
        let is_control = is_open
            || is_alone
            || trimmed.starts_with("{%")
            || trimmed.starts_with("<%") && !trimmed.starts_with("<%=");
        if is_control {
            is_open = !is_alone && !trimmed.contains("%>") && !trimmed.contains("%}");
            depth = depth_after(trimmed, depth);
            let body = line.trim_end_matches(['\n', '\r']);
            plain.push_str(&" ".repeat(body.len()));
            plain.push_str(&line[body.len()..]);
        } else {
            plain.push_str(line);
        }
        is_within.push(depth > 0);
    }
    (plain, is_within)
}

/// Returns a quoted scalar without the text after its closing quote, which the parser includes.
pub(super) fn quoted(raw: &str, quote: char) -> &str {
    let mut chars = raw.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        let is_doubled = chars.peek().is_some_and(|(_, next)| *next == quote) && quote == '\'';
        if c == '\\' && quote == '"' || c == quote && is_doubled {
            chars.next();
        } else if c == quote {
            return &raw[..=at];
        }
    }
    raw
}

struct Frame {
    is_mapping: bool,
    /// The key whose value is read next, and the place of the key.
    key: Option<(String, Range<usize>)>,
    n_items: usize,
}

struct Walk<'a> {
    text: &'a str,
    /// For each line, whether it is in a branch of a template.
    is_within: Vec<bool>,
    /// The byte at which each character begins.
    bytes: Vec<usize>,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Vec<String>>,
    n_copied: usize,
    settings: Vec<Setting>,
}

impl Walk<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) {
        match event {
            Event::MappingStart(anchor, _) => self.open(true, anchor),
            Event::SequenceStart(anchor, _) => self.open(false, anchor),
            Event::MappingEnd | Event::SequenceEnd => {
                self.frames.pop();
                self.done();
            }
            Event::Scalar(text, style, _, _) => self.scalar(&text, style, &span),
            Event::Alias(anchor) => {
                self.copy(anchor);
                self.done();
            }
            _ => {}
        }
    }

    fn open(&mut self, is_mapping: bool, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, self.path());
        }
        self.frames.push(Frame { is_mapping, key: None, n_items: 0 });
    }

    /// The path of the next setting.
    fn path(&self) -> Vec<String> {
        let parts = self.frames.iter().map(|frame| match &frame.key {
            Some((key, _)) => key.clone(),
            None => frame.n_items.to_string(),
        });
        parts.collect()
    }

    /// Moves on to the next item, when the value of a key or an item is complete.
    fn done(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.key = None;
            frame.n_items += 1;
        }
    }

    fn range(&self, span: &Span) -> Range<usize> {
        let byte = |at: usize| self.bytes.get(at).copied().unwrap_or(self.text.len());
        byte(span.start.index())..byte(span.end.index())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: &Span) {
        let at = self.range(span);
        if let Some(frame) = self.frames.last_mut()
            && frame.is_mapping
            && frame.key.is_none()
        {
            // Ruby's symbols can be keys: `:url:`.
            let symbol = text.strip_prefix(':').filter(|_| style == ScalarStyle::Plain);
            let from = at.start + usize::from(symbol.is_some());
            frame.key = Some((named(symbol.unwrap_or(text)), from..at.end));
            return;
        }
        let path = self.path();
        let key = self.frames.last().and_then(|frame| frame.key.as_ref());
        let key_at = key.map_or(at.start..at.start, |(_, at)| at.clone());
        // A missing value gets the place after the colon.
        let colon = self.text[key_at.end..].find(':').filter(|_| text.is_empty() && at.is_empty());
        let is_missing = colon.filter(|it| self.text[key_at.end..][..*it].trim_matches(['"', '\'', ' ']).is_empty());
        let at = is_missing.map_or(at, |it| key_at.end + it + 1..key_at.end + it + 1);
        let raw = self.text.get(at.clone()).unwrap_or_default();
        let raw = match style {
            ScalarStyle::SingleQuoted => quoted(raw, '\''),
            ScalarStyle::DoubleQuoted => quoted(raw, '"'),
            _ => raw.trim_end(),
        };
        let start = key_at.start.min(at.start);
        let end = at.start + raw.len();
        let quotes = match style {
            ScalarStyle::SingleQuoted => Quotes::Around('\'', Dialect::Yaml),
            ScalarStyle::DoubleQuoted => Quotes::Around('"', Dialect::Yaml),
            _ if is_missing.is_some() => Quotes::Behind,
            _ => Quotes::AsNeeded(Dialect::Yaml),
        };
        let bare = self.text.get(key_at.clone()).unwrap_or_default();
        let is_quoted = bare.starts_with(['"', '\'']) && bare.len() > 1;
        let pad = usize::from(is_quoted);
        let value = match text {
            "~" | "null" if style == ScalarStyle::Plain => Value::Text(String::new()),
            _ if raw.contains("{{") => Value::Hidden,
            // Kubernetes does not replace variables of the form `$NAME`. If the command is a shell, the shell replaces
            // them.
            _ if is_of_pod(&path) => Value::Text(text.to_owned()),
            _ => expanded(text.to_owned(), Lines::Dotenv),
        };
        let item = self.text.get(start..end);
        if let Some(item) = item.filter(|it| it.len() <= MOST_VALUE_BYTES) {
            self.settings.push(Setting {
                path,
                value,
                doubt: self
                    .is_within
                    .get(span.start.line() - 1)
                    .filter(|it| **it)
                    .map(|_| format!("set under a condition (line {})", span.start.line())),
                line: span.start.line(),
                start,
                item: item.to_owned(),
                key: key_at.start - start + pad..(key_at.end - start).saturating_sub(pad),
                literal: at.start - start..end - start,
                quotes,
                doubled: None,
                joins: self.joins(start),
            });
        }
        self.done();
    }

    /// How another setting is added next to this one. In a block each setting has its own line; between braces a comma
    /// separates the settings.
    fn joins(&self, start: usize) -> Joins {
        let before = self.text[..start].rsplit('\n').next().unwrap_or_default();
        // The first setting of a list item follows the dash.
        if before.chars().all(|it| it == '-' || it.is_whitespace()) { Joins::Line } else { Joins::With(", ") }
    }

    /// Copies the settings of an anchor to the place of `<<: *name` or `key: *name`.
    fn copy(&mut self, anchor: usize) {
        self.n_copied += 1;
        let Some(from) = self.anchors.get(&anchor).cloned() else {
            return;
        };
        if self.n_copied > MOST_COPIES {
            return;
        }
        let mut to = self.path();
        if to.last().is_some_and(|it| it == "<<") {
            to.pop();
        }
        let room = MOST_SETTINGS.saturating_sub(self.settings.len());
        let is_inside = |it: &&Setting| it.path.len() > from.len() && it.path.starts_with(&from);
        let copies: Vec<Setting> = self
            .settings
            .iter()
            .filter(is_inside)
            .take(room)
            .map(|setting| {
                let mut copy = setting.clone();
                copy.path = to.iter().chain(&setting.path[from.len()..]).cloned().collect();
                copy
            })
            .collect();
        self.settings.extend(copies);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let (settings, _) = read(text);
        let found: Vec<String> = settings
            .iter()
            .map(|it| match &it.value {
                Value::Text(text) => format!("{} {}={text}", it.line, it.path.join("/")),
                other => format!("{} {}={other:?}", it.line, it.path.join("/")),
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_value_is_put_where_none_stands() {
        let put = |text: &str| {
            let (settings, _) = read(text);
            let own = settings.iter().find(|it| it.path == ["a", "port"]).unwrap();
            let mut new = text.to_owned();
            new.replace_range(own.start..own.start + own.item.len(), &own.with(None, "5432"));
            new
        };
        assert_eq!(put("a:\n  port:\n  host: x\n"), "a:\n  port: 5432\n  host: x\n");
        assert_eq!(put("a:\n  port: \n  host: x\n"), "a:\n  port: 5432 \n  host: x\n");
        assert_eq!(put("a:\n  \"port\" :   # usual\n  host: x\n"), "a:\n  \"port\" : 5432   # usual\n  host: x\n");
        assert_eq!(put("a: { port: , host: x }\n"), "a: { port: 5432 , host: x }\n");
        assert_eq!(put("a:\n  port: ''\n"), "a:\n  port: '5432'\n");
        assert_eq!(put("a:\n  port: ~\n"), "a:\n  port: 5432\n");
    }

    #[test]
    fn merged_parts_count_where_they_are_merged() {
        check(
            "default: &d\n  host: 127.0.0.1\n  pool: <%= ENV['N'] %>\ndev:\n  <<: *d\n  database: x\n",
            &[
                "2 default/host=127.0.0.1",
                "3 default/pool=Variable { name: \"N\", fallback: None }",
                "2 dev/host=127.0.0.1",
                "3 dev/pool=Variable { name: \"N\", fallback: None }",
                "6 dev/database=x",
            ],
        );
        check(
            "a: {{ .V.a | quote }}\n{{- if .V.b }}\nb: \"r://{{ .V.c \"x\" }}/0\"\n{{- end }}\nc: d\n",
            &["1 a=Hidden", "3 b=Hidden", "5 c=d"],
        );
        check("<% if x %>\na: [b, {c: 'd'}]\n<% end %>\n", &["2 a/0=b", "2 a/1/c=d"]);
    }

    #[test]
    fn a_value_is_changed_where_it_stands() {
        let (settings, _) = read("ä: 'ü'\n\"host\": '127.0.0.1' # x\n");
        assert_eq!(settings[1].item, "\"host\": '127.0.0.1'");
        assert_eq!(settings[1].with(Some("socket"), "/s"), "\"socket\": '/s'");
    }

    #[test]
    fn bombs_and_depths_end_with_a_problem() {
        let mut bomb = String::from("a0: &a0 [x, y, z, x, y, z, x, y, z]\n");
        for n in 1..12 {
            let before = n - 1;
            let aliases = vec![format!("*a{before}"); 6].join(", ");
            writeln!(bomb, "a{n}: &a{n} [{aliases}]").unwrap();
        }
        let (settings, problems) = read(&bomb);
        assert!(settings.len() <= MOST_SETTINGS && !problems.is_empty());
        for text in ["[".repeat(10_000), "{a: ".repeat(10_000), "- ".repeat(10_000)] {
            let (_, problems) = read(&text);
            assert!(!problems.is_empty());
        }
    }
}
