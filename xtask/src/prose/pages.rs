//! Extracts the prose of a Markdown text: paragraphs, headings, list items and table cells. Called by `prose` for
//! pages, and by `rust` for comments, which are Markdown too; pure.
//!
//! Code, links (their texts are titles), HTML and quotations are left out.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::passage::{Kind, LineStarts, Passage};

/// The character that replaces code.
pub(super) const CODE: char = '~';

/// Splits a text into passages; `first_line` is the line of the file at which the text begins.
pub(super) fn passages(text: &str, first_line: usize, kind: Kind) -> Vec<Passage> {
    let mut reader =
        Reader { kind, done: Vec::new(), current: None, in_code: false, in_link: false, is_heading: false };
    let starts = LineStarts::of(text);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        reader.take(&event, first_line + starts.line(range.start) - 1);
    }
    reader.end();
    reader.done
}

struct Reader {
    kind: Kind,
    done: Vec<Passage>,
    current: Option<Passage>,
    in_code: bool,
    in_link: bool,
    is_heading: bool,
}

impl Reader {
    fn take(&mut self, event: &Event, line: usize) {
        match event {
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => {
                self.add(&CODE.to_string(), line);
                self.in_link = true;
            }
            Event::End(TagEnd::Link | TagEnd::Image) => self.in_link = false,
            Event::Text(_) | Event::Code(_) if self.in_code || self.in_link => {}
            Event::Text(text) => self.add(text, line),
            Event::Code(_) => self.add(&CODE.to_string(), line),
            Event::SoftBreak | Event::HardBreak => self.add(" ", line),
            Event::Start(tag) if !is_inline(tag.to_end()) => {
                self.end();
                self.in_code = matches!(tag, Tag::CodeBlock(_));
                self.is_heading = matches!(tag, Tag::Heading { .. });
            }
            Event::End(tag) if !is_inline(*tag) => {
                self.end();
                self.in_code = false;
                self.is_heading = false;
            }
            _ => {}
        }
    }

    fn add(&mut self, text: &str, line: usize) {
        let (kind, is_heading) = (self.kind, self.is_heading);
        let empty = || Passage { kind, is_heading, text: String::new(), lines: Vec::new() };
        let passage = self.current.get_or_insert_with(empty);
        if passage.lines.last().is_none_or(|(_, last)| *last != line) {
            passage.lines.push((passage.text.len(), line));
        }
        passage.text.push_str(text);
    }

    fn end(&mut self) {
        if let Some(mut passage) = self.current.take() {
            passage.text = without_quotations(&passage.text);
            self.done.push(passage);
        }
    }
}

fn is_inline(tag: TagEnd) -> bool {
    matches!(tag, TagEnd::Link | TagEnd::Image | TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough)
}

/// Returns a text of the same length in which everything between quotation marks or backticks is unreadable.
pub(super) fn without_quotations(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['"', '`']) {
        let mark = &rest[start..=start];
        let Some(length) = rest[start + 1..].find(mark) else { break };
        result.push_str(&rest[..start]);
        result.extend(std::iter::repeat_n(CODE, length + 2));
        rest = &rest[start + 1 + length + 1..];
    }
    result.push_str(rest);
    result
}
