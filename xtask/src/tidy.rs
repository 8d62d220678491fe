//! `cargo xtask tidy`: the rules of style that no lint knows.
//!
//! Walks the files of the checkout and looks at each as text; what needs the syntax of Rust is in
//! `source`, what leads from one file to another in `links`. Every rule is data or a function of paths and
//! texts, so that it can be tested.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::{links, source, workspace};

/// Largest Rust file, in lines.
const MAX_FILE_LINES: usize = 600;
/// Longest line of prose, in characters: a sentence has a line of its own, and this is a long one.
const MAX_PROSE_CHARS: usize = 400;
/// Not ours, or not text.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];
/// Folders that exist on one machine only, spelt apart so that this file does not find itself.
const MACHINE_FOLDERS: [&str; 3] = [
    concat!("/", "work/"),
    concat!("/", "root/"),
    concat!("/", "home/"),
];

/// Fails on every finding in the checkout.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root()?;
    let mut paths = Vec::new();
    collect(&root, "", &mut paths)?;
    paths.sort();
    let all = paths.clone();
    // What is not UTF-8 is not text.
    let read = |path: String| {
        fs::read_to_string(root.join(&path))
            .ok()
            .map(|text| (path, text))
    };
    let files: Vec<(String, String)> = paths.into_iter().filter_map(read).collect();
    let rust_files = files.iter().filter(|(path, _)| is_rust(path));
    let test_modules: Vec<String> = rust_files
        .flat_map(|(path, text)| source::test_modules(path, text))
        .collect();
    let mut found = Vec::new();
    for (path, text) in &files {
        found.extend(findings(path, text, is_test_file(path, &test_modules)));
    }
    found.extend(links::findings(&all, &files));
    workspace::fail_on(&found)
}

fn collect(root: &Path, folder: &str, paths: &mut Vec<String>) -> Result<()> {
    let full = root.join(folder);
    let entries = fs::read_dir(&full).with_context(|| format!("cannot list {}", full.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        let kind = entry.file_type()?;
        // In a second work tree `.git` is a file.
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            collect(root, &path, paths)?;
        } else if kind.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

fn is_rust(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

/// Files that hold nothing but tests and examples.
fn is_test_file(path: &str, test_modules: &[String]) -> bool {
    let is_test_folder = ["/tests/", "/examples/", "/benches/"]
        .iter()
        .any(|part| path.contains(part));
    let is_declared = |module: &String| {
        path.strip_prefix(module.as_str())
            .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    is_test_folder || test_modules.iter().any(is_declared)
}

fn findings(path: &str, text: &str, is_test: bool) -> Vec<String> {
    // Records of one's own runs lie in the root, ignored by git, and name this machine.
    if path.starts_with("looptax-") {
        return Vec::new();
    }
    let mut found = machine_paths(path, text);
    if is_rust(path) {
        found.extend(rust_file(path, text));
        found.extend(source::findings(path, text, is_test));
    } else if Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "md")
    {
        found.extend(prose(path, text));
    }
    found
}

fn rust_file(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !text.starts_with("//!") {
        found.push(format!(
            "{path}:1: does not open with `//!`: what it holds and who calls it"
        ));
    }
    let n_lines = text.lines().count();
    if n_lines > MAX_FILE_LINES {
        found.push(format!(
            "{path}: has {n_lines} lines, more than {MAX_FILE_LINES}"
        ));
    }
    let parts = path.trim_end_matches(".rs").split('/');
    for part in parts.filter(|part| source::EMPTY_NAMES.contains(part)) {
        found.push(format!(
            "{path}: the name `{part}` says nothing about the content"
        ));
    }
    found
}

fn machine_paths(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (line_idx, line) in text.lines().enumerate() {
        for folder in MACHINE_FOLDERS {
            if line
                .match_indices(folder)
                .any(|(at, _)| starts_a_path(&line[..at]))
            {
                found.push(format!(
                    "{path}:{}: names {folder}, a path of one machine",
                    line_idx + 1
                ));
            }
        }
    }
    found
}

/// A slash after a name continues a relative path or an address, and is none of our business.
fn starts_a_path(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "._-/$~*}>".contains(c))
}

fn prose(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (line_idx, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let n_chars = line.chars().count();
        if !is_code && n_chars > MAX_PROSE_CHARS {
            let place = line_idx + 1;
            found.push(format!(
                "{path}:{place}: {n_chars} characters: one sentence per line"
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let found = findings(path, text, false);
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (finding, words) in found.iter().zip(expected) {
            assert!(
                finding.contains(words),
                "`{finding}` does not contain `{words}`"
            );
        }
    }

    #[test]
    fn wants_a_head_in_every_rust_file() {
        check(
            "crates/wire/src/lib.rs",
            "fn f() {}",
            &["does not open with `//!`"],
        );
        check("crates/wire/src/lib.rs", "//! A room.\nfn f() {}", &[]);
        check("README.md", "fn f() {}", &[]);
    }

    #[test]
    fn knows_test_files_by_folder_and_by_declaration() {
        let declared = ["crates/stats/src/vectors".to_owned()];
        for (path, expected) in [
            ("crates/stats/src/vectors.rs", true),
            ("crates/stats/src/vectors/first.rs", true),
            ("crates/stats/src/vectors_of.rs", false),
            ("crates/stats/tests/it/main.rs", true),
            ("crates/stats/src/lib.rs", false),
        ] {
            assert_eq!(is_test_file(path, &declared), expected, "{path}");
        }
    }

    #[test]
    fn limits_files_and_lines() {
        let long = format!("//! A room.{}", "\n// a line".repeat(MAX_FILE_LINES));
        check("crates/wire/src/lib.rs", &long, &["601 lines"]);
        let sentence = "x".repeat(MAX_PROSE_CHARS + 1);
        check("README.md", &sentence, &["401 characters"]);
        check("README.md", &format!("```\n{sentence}\n```"), &[]);
    }

    #[test]
    fn finds_paths_of_one_machine() {
        let [work, ..] = MACHINE_FOLDERS;
        check("Makefile", &format!("cat {work}x"), &["Makefile:1: names"]);
        check(
            "Makefile",
            &format!("cat a{work}x https://example.org{work}"),
            &[],
        );
        check("looptax-2026.json", &format!("\"{work}x\""), &[]);
    }

    #[test]
    fn finds_empty_names_in_paths() {
        check(
            "crates/wire/src/util.rs",
            "//! A room.",
            &["the name `util`"],
        );
        check(
            "crates/wire/src/common/mod.rs",
            "//! A room.",
            &["the name `common`"],
        );
    }
}
