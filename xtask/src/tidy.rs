//! `cargo xtask tidy`: checks the rules of style that no lint checks.
//!
//! Reads the files of the checkout and checks each as text; `links` checks the links between files. Every rule is a
//! function of paths and texts, so that it can be tested. Rules that need the syntax of Rust are left to clippy.

use std::path::Path;

use anyhow::Result;

use crate::{links, workspace};

const MAX_FILE_LINES: usize = 600;
/// Longest line of prose, in characters: each sentence is on a separate line, and this is the length of a long
/// sentence.
const MAX_PROSE_CHARS: usize = 400;
/// Folders that exist only on one machine; split so that this file does not match itself.
const MACHINE_FOLDERS: [&str; 3] = [concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/")];
/// Names of files and modules that say nothing about what is inside.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "misc", "helper", "helpers", "common"];

/// Fails on every finding in the checkout.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root()?;
    let (paths, texts) = workspace::texts(&root)?;
    let each = texts.iter().flat_map(|(path, text)| findings(path, text));
    let mut found: Vec<String> = each.collect();
    found.extend(links::findings(&paths, &texts));
    workspace::fail_on(&found)
}

/// Returns all findings in one file, as `path:line: words`.
fn findings(path: &str, text: &str) -> Vec<String> {
    // Records of the user's own runs are in the root folder, are ignored by git, and contain names of this machine.
    if path.starts_with("looptax-") {
        return Vec::new();
    }
    let extension = Path::new(path).extension().unwrap_or_default();
    let (is_rust, is_prose) = (extension == "rs", extension == "md");
    let mut found = Vec::new();
    if is_rust {
        found.extend(rust_file(path, text));
    }
    let mut is_code = false;
    for (line_idx, line) in text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        let mut words = Vec::new();
        for folder in MACHINE_FOLDERS {
            let mut places = line.match_indices(folder);
            if places.any(|(at, _)| starts_a_path(&line[..at])) {
                words.push(format!("names {folder}, a path of one machine"));
            }
        }
        let n_chars = line.chars().count();
        if is_prose && !is_code && n_chars > MAX_PROSE_CHARS {
            words.push(format!("{n_chars} characters: one sentence per line"));
        }
        if is_rust && line.trim_start().starts_with("#[ignore") {
            words.push("an ignored test: make it a chore of the lab or delete it".to_owned());
        }
        let line_number = line_idx + 1;
        found.extend(words.iter().map(|it| format!("{path}:{line_number}: {it}")));
    }
    found
}

fn rust_file(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !text.starts_with("//!") {
        found.push(format!("{path}:1: does not open with `//!` that says what the file holds and who calls it"));
    }
    let n_lines = text.lines().count();
    if n_lines > MAX_FILE_LINES {
        found.push(format!("{path}: has {n_lines} lines, more than {MAX_FILE_LINES}"));
    }
    let parts = path.trim_end_matches(".rs").split('/');
    for part in parts.filter(|part| EMPTY_NAMES.contains(part)) {
        found.push(format!("{path}: the name `{part}` says nothing about the content"));
    }
    found
}

/// A slash after a name belongs to a relative path or a URL, which is not a finding.
fn starts_a_path(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "._-/$~*}>".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let found = findings(path, text);
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (finding, words) in found.iter().zip(expected) {
            assert!(finding.contains(words), "`{finding}` does not contain `{words}`");
        }
    }

    #[test]
    fn judges_files_by_name_and_text() {
        const RUST: &str = "crates/wire/src/lib.rs";
        let long_file = format!("//! A room.{}", "\n// a line".repeat(MAX_FILE_LINES));
        let long_line = "x".repeat(MAX_PROSE_CHARS + 1);
        let quoted = format!("```\n{long_line}\n```");
        let [work, ..] = MACHINE_FOLDERS;
        let named = format!("all:\n cat {work}x");
        let continued = format!("cat a{work}x https://example.org{work}");
        for (path, text, expected) in [
            (RUST, "fn f() {}", &["does not open with `//!`"] as &[_]),
            (RUST, "//! A room.\nfn f() {}", &[]),
            (RUST, &long_file, &["601 lines"]),
            (RUST, "//! A room.\n    #[ignore = \"slow\"]", &["lib.rs:2: an ignored test"]),
            ("crates/wire/src/util.rs", "//! A room.", &["the name `util`"]),
            ("crates/wire/src/common/mod.rs", "//! A room.", &["the name `common`"]),
            ("README.md", "fn f() {}", &[]),
            ("README.md", &long_line, &["README.md:1: 401 characters"]),
            ("README.md", &quoted, &[]),
            ("Makefile", &named, &["Makefile:2: names"]),
            ("Makefile", &continued, &[]),
            ("looptax-2026.json", &named, &[]),
        ] {
            check(path, text, expected);
        }
    }
}
