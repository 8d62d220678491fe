//! `cargo xtask size`: prints the size of the tree, in tracked lines by room and by kind.
//!
//! A line of Rust belongs to tests if it is in a folder `tests`, in a file `tests.rs`, or in an item with
//! `#[cfg(test)]`. Of the other lines, those that contain only a comment are comments. The other tracked files are
//! prose, data, or generated. Reads the files that git tracks; run by hand.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::ops::{AddAssign, RangeInclusive};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::docs::is_made;
use crate::workspace;

/// The beginning of the paths of the page's script and style, which `cargo xtask web` writes.
const PAGE: &str = "crates/report/assets/page.";
/// How many of the largest files, functions and types are listed.
const N_LARGEST: usize = 10;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Lines {
    code: usize,
    tests: usize,
    comments: usize,
    blank: usize,
    prose: usize,
    data: usize,
    generated: usize,
}

impl Lines {
    fn total(&self) -> usize {
        let rust = self.code + self.tests + self.comments + self.blank;
        rust + self.prose + self.data + self.generated
    }
}

impl AddAssign for Lines {
    fn add_assign(&mut self, other: Self) {
        self.code += other.code;
        self.tests += other.tests;
        self.comments += other.comments;
        self.blank += other.blank;
        self.prose += other.prose;
        self.data += other.data;
        self.generated += other.generated;
    }
}

/// A function or a type, with its number of lines.
type Item = (usize, String);

/// Prints the table, and the largest files, functions and types.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root()?;
    let listed =
        Command::new("git").current_dir(&root).args(["ls-files", "-z"]).output().context("cannot start git")?;
    if !listed.status.success() {
        bail!("git ls-files failed: {}", listed.status);
    }
    let mut rooms: BTreeMap<String, Lines> = BTreeMap::new();
    let (mut files, mut functions, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for path in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let bytes = fs::read(root.join(path)).with_context(|| format!("cannot read {path}"))?;
        // A file that is not UTF-8 is a picture, and is not counted.
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        let lines = lines(path, &text);
        if has_extension(path, "rs") {
            files.push((lines.total(), path.to_owned()));
            items(path, &text, &mut functions, &mut types);
        }
        *rooms.entry(room(path)).or_default() += lines;
    }
    print_rooms(&rooms);
    print_largest("files of Rust", files);
    print_largest("functions", functions);
    print_largest("types", types);
    Ok(())
}

/// Returns the room of a path: a crate, or a folder below the root.
fn room(path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("crates"), Some(room), Some(_)) => format!("crates/{room}"),
        (Some(folder), Some(_), _) => folder.to_owned(),
        _ => "root".to_owned(),
    }
}

fn lines(path: &str, text: &str) -> Lines {
    let n_lines = text.lines().count();
    let mut lines = Lines::default();
    if is_made(path) || path.starts_with(PAGE) {
        lines.generated = n_lines;
    } else if has_extension(path, "rs") {
        return rust_lines(path, text);
    } else if has_extension(path, "md") {
        lines.prose = n_lines;
    } else {
        lines.data = n_lines;
    }
    lines
}

fn has_extension(path: &str, wanted: &str) -> bool {
    Path::new(path).extension().is_some_and(|it| it == wanted)
}

fn rust_lines(path: &str, text: &str) -> Lines {
    let mut lines = Lines::default();
    let tests = test_lines(path, text);
    for (idx, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if tests.iter().any(|it| it.contains(&(idx + 1))) {
            lines.tests += 1;
        } else if line.is_empty() {
            lines.blank += 1;
        } else if line.starts_with("//") {
            lines.comments += 1;
        } else {
            lines.code += 1;
        }
    }
    lines
}

/// Returns the lines, counted from 1, of each part that belongs only to tests. In a file of tests these are all lines.
pub(crate) fn test_lines(path: &str, text: &str) -> Vec<RangeInclusive<usize>> {
    if path.contains("/tests/") || path.ends_with("/tests.rs") {
        return vec![1..=usize::MAX];
    }
    let Ok(file) = syn::parse_file(text) else {
        return Vec::new();
    };
    let of_tests = file.items.iter().filter(|it| is_of_tests(attributes(it)));
    of_tests.map(|it| line_range(it.span())).collect()
}

fn line_range(span: proc_macro2::Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Fn(it) => &it.attrs,
        syn::Item::Mod(it) => &it.attrs,
        syn::Item::Impl(it) => &it.attrs,
        syn::Item::Use(it) => &it.attrs,
        syn::Item::Const(it) => &it.attrs,
        syn::Item::Struct(it) => &it.attrs,
        _ => &[],
    }
}

fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|it| {
        let word = it.parse_args::<syn::Path>();
        it.path().is_ident("cfg") && word.is_ok_and(|it| it.is_ident("test"))
    })
}

fn items(path: &str, text: &str, functions: &mut Vec<Item>, types: &mut Vec<Item>) {
    if let Ok(file) = syn::parse_file(text) {
        let mut finder = Finder { path, functions, types };
        finder.visit_file(&file);
    }
}

struct Finder<'a> {
    path: &'a str,
    functions: &'a mut Vec<Item>,
    types: &'a mut Vec<Item>,
}

impl Finder<'_> {
    fn item(&self, name: &syn::Ident, span: proc_macro2::Span) -> Item {
        let lines = line_range(span);
        let n_lines = lines.end() - lines.start() + 1;
        (n_lines, format!("{name} ({}:{})", self.path, lines.start()))
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, it: &'ast syn::ItemFn) {
        self.functions.push(self.item(&it.sig.ident, it.span()));
        visit::visit_item_fn(self, it);
    }

    fn visit_impl_item_fn(&mut self, it: &'ast syn::ImplItemFn) {
        self.functions.push(self.item(&it.sig.ident, it.span()));
        visit::visit_impl_item_fn(self, it);
    }

    fn visit_item_struct(&mut self, it: &'ast syn::ItemStruct) {
        self.types.push(self.item(&it.ident, it.span()));
    }

    fn visit_item_enum(&mut self, it: &'ast syn::ItemEnum) {
        self.types.push(self.item(&it.ident, it.span()));
    }
}

fn print_rooms(rooms: &BTreeMap<String, Lines>) {
    let heads = ["code", "tests", "comments", "blank", "prose", "data", "generated", "all"];
    println!("{}", row("room", &heads));
    let mut all = Lines::default();
    let mut shipped = Lines::default();
    for (room, lines) in rooms {
        print_row(room, lines);
        all += *lines;
        if room.starts_with("crates/") && room != "crates/testkit" {
            shipped += *lines;
        }
    }
    print_row("shipped crates", &shipped);
    print_row("all", &all);
}

fn print_row(name: &str, it: &Lines) {
    let numbers = [it.code, it.tests, it.comments, it.blank, it.prose, it.data, it.generated, it.total()];
    println!("{}", row(name, &numbers));
}

fn row(name: &str, cells: &[impl Display]) -> String {
    let start = format!("{name:<18}");
    cells.iter().fold(start, |row, it| format!("{row}{it:>10}"))
}

fn print_largest(what: &str, mut items: Vec<Item>) {
    items.sort_by(|a, b| b.cmp(a));
    println!("\nlargest {what}");
    for (n_lines, name) in items.iter().take(N_LARGEST) {
        println!("{n_lines:>6}  {name}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let text = "//! Words.\n\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    // of tests\n}\n";
        let expected = Lines { code: 1, tests: 4, comments: 1, blank: 2, ..Lines::default() };
        assert_eq!(lines("crates/x/src/a.rs", text), expected);
        assert_eq!(lines("crates/x/tests/it/a.rs", text).tests, 8);
        assert_eq!(lines("docs/man/looptax.1", "a\nb\n").generated, 2);
        assert_eq!(lines("docs/x.schema.json", "{}\n").generated, 1);
        assert_eq!(lines("README.md", "a\n").prose, 1);
        assert_eq!(lines("crates/x/data/a.toml", "a\n").data, 1);
    }

    #[test]
    fn a_room_is_a_crate_or_a_folder() {
        assert_eq!(room("crates/x/src/a.rs"), "crates/x");
        assert_eq!(room("lab/src/a.rs"), "lab");
        assert_eq!(room("README.md"), "root");
    }
}
