//! XML, read by the events of its parser: attributes and texts with their places.
//!
//! `<property name="url" value="…"/>` and `<property name="url">…</property>` become a setting `url` of the element
//! around them, as in Spring, Hibernate and JPA. Every other attribute and text becomes a setting under its own name.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::quotes::Quotes;
use super::setting::{Joins, LineStarts, MOST_SETTINGS, MOST_VALUE_BYTES, Problem, Read, Setting, Value, named};

const MOST_DEPTH: usize = 64;

/// Reads the settings of an XML text. If the text is broken, returns the settings before the error.
pub(crate) fn read(text: &str) -> Read {
    let mut walk = Walk { text, starts: LineStarts::from_text(text), open: Vec::new(), settings: Vec::new() };
    let mut reader = Reader::from_str(text);
    let mut problems = Vec::new();
    loop {
        let before = position(&reader);
        let event = reader.read_event();
        let after = position(&reader);
        let broken = match event {
            Ok(Event::Eof) => break,
            Ok(Event::Start(tag)) => {
                walk.open(&tag, before, after, true);
                None
            }
            Ok(Event::Empty(tag)) => {
                walk.open(&tag, before, after, false);
                None
            }
            Ok(Event::End(_)) => {
                walk.close(before);
                None
            }
            Ok(_) => None,
            Err(_) => Some("the file is not XML from this line on"),
        };
        let is_too_much = walk.open.len() > MOST_DEPTH || walk.settings.len() >= MOST_SETTINGS;
        let too_much = "nested too deeply or too long: the rest is not read";
        if let Some(what) = broken.or(is_too_much.then_some(too_much)) {
            problems.push(Problem { line: Some(walk.starts.line(before)), what: what.to_owned() });
            break;
        }
    }
    (walk.settings, problems)
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

/// An element that is not closed yet.
struct Open {
    /// The name of the element; its settings are below this name.
    name: String,
    content: usize,
    has_children: bool,
}

struct Walk<'a> {
    text: &'a str,
    starts: LineStarts,
    open: Vec<Open>,
    settings: Vec<Setting>,
}

impl Walk<'_> {
    fn open(&mut self, tag: &BytesStart<'_>, before: usize, after: usize, has_content: bool) {
        if let Some(parent) = self.open.last_mut() {
            parent.has_children = true;
        }
        let attributes = self.attributes(before, after);
        let value_of = |name: &str| {
            let found = attributes.iter().find(|it| it.0 == name)?;
            Some(&self.text[found.1..found.2])
        };
        let own = value_of("name").or_else(|| value_of("id")).or_else(|| value_of("key"));
        let tag = tag.local_name().as_ref().to_owned();
        let name = named(own.unwrap_or(&tag));
        let is_property = own.is_some() && value_of("value").is_some();
        for (attribute, from, to) in &attributes {
            let mut path: Vec<String> = self.open.iter().map(|it| it.name.clone()).collect();
            path.push(name.clone());
            if !(is_property && attribute == "value") {
                path.push(named(attribute));
            }
            self.add(path, *from, *to);
        }
        if has_content {
            self.open.push(Open { name, content: after, has_children: false });
        }
    }

    fn close(&mut self, before: usize) {
        let path: Vec<String> = self.open.iter().map(|it| it.name.clone()).collect();
        let Some(open) = self.open.pop().filter(|it| !it.has_children) else {
            return;
        };
        let Some(raw) = self.text.get(open.content..before) else {
            return;
        };
        let from = open.content + raw.len() - raw.trim_start().len();
        if !raw.trim().is_empty() {
            self.add(path, from, from + raw.trim().len());
        }
    }

    /// The name and the value of each attribute of a tag; the value is a range of bytes of the text.
    fn attributes(&self, before: usize, after: usize) -> Vec<(String, usize, usize)> {
        let mut found = Vec::new();
        let mut at = before;
        while let Some(tag) = self.text.get(at..after) {
            let Some(sign) = tag.find('=') else {
                break;
            };
            let name = tag[..sign].trim_end();
            let name = name.rsplit([' ', '\t', '\n', '\r']).next().unwrap_or_default();
            let rest = &tag[sign + 1..];
            let blank = rest.len() - rest.trim_start().len();
            let Some(quote) = rest.trim_start().chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                break;
            };
            let from = at + sign + 1 + blank + 1;
            let Some(bytes) = self.text.get(from..after).and_then(|it| it.find(quote)) else {
                break;
            };
            found.push((name.to_owned(), from, from + bytes));
            at = from + bytes + 1;
        }
        found
    }

    fn add(&mut self, path: Vec<String>, from: usize, to: usize) {
        let raw = &self.text[from..to];
        if raw.len() > MOST_VALUE_BYTES {
            return;
        }
        let is_plain = !raw.contains("${") && !raw.contains("<!") && !raw.contains("{{");
        self.settings.push(Setting {
            path,
            value: unescaped(raw).filter(|_| is_plain).map_or(Value::Hidden, Value::Text),
            doubt: None,
            line: self.starts.line(from),
            start: from,
            item: raw.to_owned(),
            key: 0..0,
            literal: 0..raw.len(),
            quotes: Quotes::Entities,
            doubled: None,
            joins: Joins::Line,
        });
    }
}

/// Replaces the entities in a text; `None` if it has entities that the document itself defines.
fn unescaped(raw: &str) -> Option<String> {
    quick_xml::escape::unescape(raw).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_and_texts_are_settings_with_places() {
        let text = "<?xml version='1.0'?>\n<!-- <a url='x'/> -->\n<Context>\n <Resource name=\"db\" url=\"jdbc:mysql://h/d?a=1&amp;b=2\"/>\n <property name='u' value='v'/><p name='w'> x </p>\n</Context>\n";
        let (settings, problems) = read(text);
        let found: Vec<String> = settings
            .iter()
            .filter(|it| !matches!(it.path.last().map(String::as_str), Some("name")))
            .map(|it| format!("{} {}={:?}", it.line, it.path.join("/"), it.value))
            .collect();
        assert_eq!(
            found,
            [
                "4 Context/db/url=Text(\"jdbc:mysql://h/d?a=1&b=2\")",
                "5 Context/u=Text(\"v\")",
                "5 Context/w=Text(\"x\")",
            ]
        );
        assert!(problems.is_empty());
        assert_eq!(&text[settings[1].place()], "jdbc:mysql://h/d?a=1&amp;b=2");
        assert_eq!(settings[1].with(None, "a&b"), "a&amp;b");
    }

    #[test]
    fn what_is_nested_without_end_or_broken_ends_with_a_problem() {
        for text in ["<a>".repeat(10_000), "<a b='1' ".repeat(9_000), "<a></b>".to_owned()] {
            let (settings, problems) = read(&text);
            assert!(settings.len() <= MOST_SETTINGS && !problems.is_empty());
        }
    }
}
