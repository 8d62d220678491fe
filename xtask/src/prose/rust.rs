//! Extracts the prose of a Rust file: its comments, and its strings except those in tests. Called by `prose`; pure.

use std::ops::Range;

use anyhow::{Result, anyhow};
use proc_macro2::{TokenStream, TokenTree};

use super::pages;
use super::passage::{Kind, LineStarts, Passage};
use crate::size;

/// Returns the comments and the strings of a file. Comments on neighbouring lines are one passage.
pub(super) fn passages(path: &str, text: &str) -> Result<Vec<Passage>> {
    let tokens: TokenStream = text.parse().map_err(|error| anyhow!("{error}"))?;
    let mut ranges = Vec::new();
    collect(tokens, &mut ranges);
    let tests = size::test_lines(path, text);
    let mut found = Vec::new();
    let mut comments = Comments { text, starts: LineStarts::of(text), done: Vec::new(), open: None };
    let mut end = 0;
    for range in ranges {
        // A doc comment consists of several tokens at the same position.
        if range.start < end {
            continue;
        }
        comments.add_between(end..range.start);
        let source = &text[range.clone()];
        if source.starts_with("//") {
            comments.add_between(range.clone());
        } else if source.starts_with(['"', 'r'])
            && let Ok(literal) = syn::parse_str::<syn::LitStr>(source)
        {
            let line = comments.starts.line(range.start);
            if !tests.iter().any(|it| it.contains(&line)) {
                let text = pages::without_quotations(&without_placeholders(&literal.value()));
                found.push(Passage { kind: Kind::Strings, is_heading: false, text, lines: vec![(0, line)] });
            }
        }
        end = range.end;
    }
    comments.add_between(end..text.len());
    comments.end();
    found.extend(comments.done);
    found.sort_by_key(|it| it.line(0));
    Ok(found)
}

fn collect(tokens: TokenStream, ranges: &mut Vec<Range<usize>>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                ranges.push(group.span_open().byte_range());
                collect(group.stream(), ranges);
                ranges.push(group.span_close().byte_range());
            }
            other => ranges.push(other.span().byte_range()),
        }
    }
}

/// Returns the text of a format string in which the names and formats of its arguments are unreadable.
fn without_placeholders(text: &str) -> String {
    let mut depth = 0_u32;
    let shown = |c: char| {
        depth += u32::from(c == '{');
        let is_shown = depth == 0;
        depth = depth.saturating_sub(u32::from(c == '}'));
        if is_shown { c } else { pages::CODE }
    };
    text.chars().map(shown).collect()
}

/// The comments so far; further lines may belong to the last of them.
struct Comments<'a> {
    text: &'a str,
    starts: LineStarts,
    done: Vec<Passage>,
    /// The last comment, if it is not complete: its first line, its comment mark and its text.
    open: Option<(usize, &'static str, String)>,
}

impl Comments<'_> {
    /// Adds the comments in a part of the file that contains only comments and blanks.
    fn add_between(&mut self, range: Range<usize>) {
        let first_line = self.starts.line(range.start);
        for (idx, line) in self.text[range].lines().enumerate() {
            let marks = ["///", "//!", "//"];
            let Some(mark) = marks.into_iter().find(|it| line.trim_start().starts_with(it)) else { continue };
            let body = line.trim_start().trim_start_matches(mark);
            self.add(first_line + idx, mark, body.strip_prefix(' ').unwrap_or(body));
        }
    }

    fn add(&mut self, line: usize, mark: &'static str, body: &str) {
        if let Some((first, open_mark, text)) = &mut self.open
            && *open_mark == mark
            && *first + text.matches('\n').count() == line
        {
            text.push_str(body);
            text.push('\n');
            return;
        }
        self.end();
        self.open = Some((line, mark, format!("{body}\n")));
    }

    fn end(&mut self) {
        if let Some((line, _, text)) = self.open.take() {
            self.done.extend(pages::passages(&text, line, Kind::Comments));
        }
    }
}
