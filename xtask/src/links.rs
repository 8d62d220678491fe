//! Checks links between the files of the checkout: the linked file exists, and so does the heading.
//!
//! Checks links in Markdown, comments that name a heading of a Markdown file, and the book's list of pages. Called by
//! `tidy`; pure.

use std::collections::BTreeMap;
use std::path::Path;

use crate::docs::is_made;

/// The text between file and heading in a comment that names both; split so that this file does not match itself.
const NAMES_A_HEADING: &str = concat!(".md", ", \"");
const BOOK: &str = "docs/src/";

/// Lists every link and every heading that does not exist. `paths` has all files, `texts` only the text files.
pub(crate) fn findings(paths: &[String], texts: &[(String, String)]) -> Vec<String> {
    let pages: BTreeMap<&str, &str> = texts
        .iter()
        .filter(|(path, _)| Path::new(path).extension().is_some_and(|it| it == "md"))
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let mut found = Vec::new();
    for (path, text) in &pages {
        found.extend(missing_includes(paths, path, text));
        let lines = expanded(&pages, path);
        for (target, place) in lines.iter().flat_map(|(line, place)| links(line, place)) {
            let object = objection(&pages, paths, path, target);
            found.extend(object.map(|words| format!("{place}: {words}")));
        }
    }
    for (path, text) in texts {
        found.extend(named_headings(&pages, path, text));
    }
    found.extend(unlisted(&pages));
    found
}

/// Returns the prose of a page and of the files that it includes, each line with its place; code is left out.
fn expanded<'a>(pages: &BTreeMap<&str, &'a str>, path: &str) -> Vec<(&'a str, String)> {
    let mut lines = Vec::new();
    let mut is_code = false;
    let text = pages.get(path).copied().unwrap_or_default();
    for (line_idx, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let place = format!("{path}:{}", line_idx + 1);
        match included(line) {
            Some(target) if !is_code => {
                let target = resolved(path, target);
                let inner = expanded(pages, &target).into_iter();
                lines.extend(inner.map(|(line, inner)| (line, format!("{inner}, in {path}"))));
            }
            _ if !is_code => lines.push((line, place)),
            _ => {}
        }
    }
    lines
}

fn included(line: &str) -> Option<&str> {
    let inner = line.trim().strip_prefix("{{#include ")?;
    inner.strip_suffix("}}").map(str::trim)
}

/// Lists files that a page includes but that do not exist, also in code blocks.
fn missing_includes(paths: &[String], from: &str, text: &str) -> Vec<String> {
    let targets = text.lines().filter_map(included);
    let targets = targets.map(|target| resolved(from, target));
    let missing = targets.filter(|target| !paths.contains(target) && !is_made(target));
    let words = missing.map(|target| format!("{from}: includes {target}, which does not exist"));
    words.collect()
}

/// Returns the targets of the links in a line, without links in code spans.
fn links<'a>(line: &'a str, place: &str) -> Vec<(&'a str, String)> {
    // Every second piece between backticks is code. If a link's text contains code spans, the end of the link is still
    // outside.
    let prose = line.split('`').step_by(2);
    let targets = prose.flat_map(|piece| piece.split("](").skip(1));
    let target = |rest: &'a str| rest.split_once(')').map(|(target, _)| (target, place.to_owned()));
    targets.filter_map(target).collect()
}

fn objection(pages: &BTreeMap<&str, &str>, paths: &[String], from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let to = if file.is_empty() { from.to_owned() } else { resolved(from, file) };
    if is_made(&to) {
        return None;
    }
    if from.starts_with(BOOK) && !to.starts_with(BOOK) {
        return Some(format!("links to {to}, which is outside the book"));
    }
    let folder = format!("{to}/");
    if !paths.iter().any(|path| *path == to || path.starts_with(&folder)) {
        return Some(format!("links to {to}, which does not exist"));
    }
    let is_there = heading.is_empty() || headings(pages, &to).any(|it| anchor(it) == heading);
    (!is_there).then(|| format!("links to #{heading}, but {to} has no such heading"))
}

fn named_headings(pages: &BTreeMap<&str, &str>, path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (line_idx, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices(NAMES_A_HEADING) {
            let start = line[..at].rfind(|c: char| !is_of_a_path(c)).map_or(0, |it| it + 1);
            let file = format!("{}.md", &line[start..at]);
            let heading = &line[at + NAMES_A_HEADING.len()..];
            let heading = heading.split('"').next().unwrap_or_default();
            if !headings(pages, &file).any(|it| it == heading) {
                let place = line_idx + 1;
                found.push(format!("{path}:{place}: \"{heading}\" is not a heading of {file}"));
            }
        }
    }
    found
}

fn is_of_a_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/._-".contains(c)
}

/// Lists pages that are missing in the book's list of pages.
fn unlisted(pages: &BTreeMap<&str, &str>) -> Vec<String> {
    let summary = format!("{BOOK}SUMMARY.md");
    let Some(list) = pages.get(summary.as_str()) else {
        return Vec::new();
    };
    let listed: Vec<String> =
        list.lines().flat_map(|line| links(line, "")).map(|(target, _)| resolved(&summary, target)).collect();
    let is_left_out =
        |path: &&&str| path.starts_with(BOOK) && **path != summary && !listed.iter().any(|it| it == **path);
    let left_out = pages.keys().filter(is_left_out);
    left_out.map(|path| format!("{path}: is not in {summary}")).collect()
}

fn headings<'a>(pages: &BTreeMap<&str, &'a str>, path: &str) -> impl Iterator<Item = &'a str> {
    let heading = |(line, _): (&'a str, String)| {
        let text = line.strip_prefix('#')?.trim_start_matches('#');
        text.strip_prefix(' ').map(str::trim)
    };
    expanded(pages, path).into_iter().filter_map(heading)
}

/// Returns the anchor of a heading in links, by the rule of GitHub and mdBook.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        _ if c.is_whitespace() => Some('-'),
        _ if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Converts a path relative to a file into a path relative to the root.
fn resolved(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        let texts: Vec<(String, String)> = files.iter().map(own).collect();
        assert_eq!(findings(&paths, &texts), expected);
    }

    #[test]
    fn follows_links_to_files_folders_and_headings() {
        check(
            &[
                (
                    "docs/a.md",
                    "# One `two`, three\n[`x` y](../B.md#the-bill) [z](#one-two-three) [f](b) [w](https://a.b/c)\n\
                     ```\n[code](nowhere)\n```\n`[code](nowhere)`\n",
                ),
                ("B.md", "## The bill\n"),
                ("docs/b/c.txt", ""),
            ],
            &[],
        );
        check(
            &[("docs/a.md", "\n[x](gone.md) [y](#no)\n")],
            &[
                "docs/a.md:2: links to docs/gone.md, which does not exist",
                "docs/a.md:2: links to #no, but docs/a.md has no such heading",
            ],
        );
    }

    #[test]
    fn reads_what_a_page_includes_as_that_page() {
        let book = ("docs/book.md", "{{#include ../M.md}}\n");
        let other = ("docs/other.md", "[x](book.md#the-bill)\n");
        check(&[("M.md", "# The bill\n"), book, other], &[]);
        check(
            &[("M.md", "# The bill\n[x](M.md)\n"), book, other],
            &["M.md:2, in docs/book.md: links to docs/M.md, which does not exist"],
        );
        check(&[("a.md", "```\n{{#include b.json}}\n```\n")], &["a.md: includes b.json, which does not exist"]);
    }

    #[test]
    fn finds_headings_that_comments_name() {
        let comment = |heading: &str| format!("//! A room; M{NAMES_A_HEADING}{heading}\", has it.\n");
        let page = ("M.md", "## The bill\n");
        check(&[page, ("a.rs", &comment("The bill"))], &[]);
        check(&[page, ("a.rs", &comment("The tax"))], &["a.rs:1: \"The tax\" is not a heading of M.md"]);
    }

    #[test]
    fn a_page_of_the_book_stays_in_the_book() {
        let summary = ("docs/src/SUMMARY.md", "- [A](a.md)\n");
        check(
            &[summary, ("docs/src/a.md", "[x](../../M.md)\n"), ("M.md", "")],
            &["docs/src/a.md:1: links to M.md, which is outside the book"],
        );
    }

    #[test]
    fn finds_pages_that_the_book_leaves_out() {
        let summary = ("docs/src/SUMMARY.md", "- [A](a.md)\n");
        check(
            &[summary, ("docs/src/a.md", ""), ("docs/src/b.md", "")],
            &["docs/src/b.md: is not in docs/src/SUMMARY.md"],
        );
    }
}
