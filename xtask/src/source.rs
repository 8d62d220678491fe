//! What `tidy` looks for inside one Rust file, found in its syntax tree.
//!
//! A tree and not a search for words, so that comments, strings and tests do not count. Called by
//! `tidy` alone; pure.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::places::{PRINTING, RESERVED};

/// Longest function, in lines: what still fits a screen and a half.
const MAX_FUNCTION_LINES: usize = 80;
/// Names that say nothing about what is inside.
pub(crate) const EMPTY_NAMES: [&str; 6] = ["util", "utils", "misc", "helper", "helpers", "common"];
const UNFINISHED_MACROS: [&str; 3] = ["dbg", "todo", "unimplemented"];
const PRINT_MACROS: [&str; 4] = ["print", "println", "eprint", "eprintln"];

/// Everything to object to in one file, as `path:line: words`. `is_test` says that the whole file is
/// compiled for tests only.
pub(crate) fn findings(path: &str, text: &str, is_test: bool) -> Vec<String> {
    let file = match syn::parse_file(text) {
        Ok(file) => file,
        Err(error) => return vec![format!("{path}: cannot be parsed: {error}")],
    };
    let mut reader = Reader {
        path,
        n_tests: usize::from(is_test),
        found: Vec::new(),
    };
    reader.visit_file(&file);
    reader.found
}

/// The files that this one declares by `#[cfg(test)] mod name;`, each as a path without `.rs`: the
/// module is that file or the folder of that name.
pub(crate) fn test_modules(path: &str, text: &str) -> Vec<String> {
    let Ok(file) = syn::parse_file(text) else {
        return Vec::new();
    };
    let is_folder_head = ["lib.rs", "main.rs", "mod.rs"]
        .iter()
        .any(|name| path.ends_with(name));
    let folder = if is_folder_head {
        path.rsplit_once('/').map_or("", |(folder, _)| folder)
    } else {
        path.trim_end_matches(".rs")
    };
    let is_test_declaration = |item: &syn::Item| match item {
        syn::Item::Mod(item) if item.content.is_none() && is_for_tests(&item.attrs) => {
            Some(format!("{folder}/{}", item.ident))
        }
        _ => None,
    };
    file.items.iter().filter_map(is_test_declaration).collect()
}

struct Reader<'a> {
    path: &'a str,
    /// How many enclosing items are compiled for tests only.
    n_tests: usize,
    found: Vec<String>,
}

impl Reader<'_> {
    fn object(&mut self, span: Span, words: &str) {
        self.found
            .push(format!("{}:{}: {words}", self.path, span.start().line));
    }

    fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let n_lines = block.span().end().line + 1 - first;
        if n_lines > MAX_FUNCTION_LINES {
            let name = &signature.ident;
            let words = format!("fn {name} has {n_lines} lines, more than {MAX_FUNCTION_LINES}");
            self.object(signature.span(), &words);
        }
    }

    fn is_test(&self) -> bool {
        self.n_tests > 0
    }

    fn reserved(&mut self, path: &syn::Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|part| part.ident.to_string())
            .collect();
        let [.., owner, call] = names.as_slice() else {
            return;
        };
        for rule in RESERVED {
            let is_hit = rule.calls.contains(&(owner.as_str(), call.as_str()));
            if is_hit && !rule.places.iter().any(|place| place.holds(self.path)) {
                let places: Vec<&str> = rule.places.iter().map(|place| place.start).collect();
                let (what, places) = (rule.what, places.join(", "));
                let words = format!("`{owner}::{call}` {what} which only these may: {places}");
                self.object(path.span(), &words);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        if EMPTY_NAMES.contains(&name.as_str()) {
            self.object(
                item.ident.span(),
                &format!("module `{name}` says nothing about its content"),
            );
        }
        let is_test = usize::from(is_for_tests(&item.attrs));
        self.n_tests += is_test;
        visit::visit_item_mod(self, item);
        self.n_tests -= is_test;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.measure(&item.sig, &item.block);
        let is_test = usize::from(is_for_tests(&item.attrs));
        self.n_tests += is_test;
        visit::visit_item_fn(self, item);
        self.n_tests -= is_test;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.measure(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("ignore") {
            self.object(
                attribute.span(),
                "an ignored test: make it an xtask target or delete it",
            );
        }
        visit::visit_attribute(self, attribute);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let name = item
            .path
            .segments
            .last()
            .map(|part| part.ident.to_string())
            .unwrap_or_default();
        if UNFINISHED_MACROS.contains(&name.as_str()) {
            self.object(item.span(), &format!("`{name}!` is left over"));
        }
        let is_place = PRINTING.iter().any(|place| self.path.starts_with(place));
        if PRINT_MACROS.contains(&name.as_str()) && !is_place && !self.is_test() {
            self.object(
                item.span(),
                &format!("`{name}!` outside of {}", PRINTING.join(", ")),
            );
        }
        visit::visit_macro(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "unwrap" && call.args.is_empty() && !self.is_test() {
            self.object(
                call.method.span(),
                "`.unwrap()` outside of tests: say why with `expect`",
            );
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if !self.is_test() {
            self.reserved(&path.path);
        }
        visit::visit_expr_path(self, path);
    }
}

/// `#[test]`, or a `#[cfg(…)]` that asks for it.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().is_ident("test") {
            return true;
        }
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|path| path.is_ident("test"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let found = findings(path, text, path.contains("/tests/"));
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (finding, words) in found.iter().zip(expected) {
            assert!(
                finding.contains(words),
                "`{finding}` does not contain `{words}`"
            );
        }
    }

    #[test]
    fn leaves_strings_and_comments_alone() {
        check(
            "crates/wire/src/lib.rs",
            "//! todo!()\nconst A: &str = \"x.unwrap() dbg!\";",
            &[],
        );
    }

    #[test]
    fn finds_unwrap_outside_of_tests_only() {
        let text =
            "fn f() { Some(1).unwrap(); }\n#[cfg(test)] mod tests { fn g() { Some(1).unwrap(); } }";
        check(
            "crates/wire/src/lib.rs",
            text,
            &["crates/wire/src/lib.rs:1: `.unwrap()`"],
        );
        check("crates/wire/tests/it/main.rs", text, &[]);
    }

    #[test]
    fn follows_test_modules_into_their_files() {
        let text = "#[cfg(test)] mod vectors; mod plain; #[cfg(test)] mod tests {}";
        let found = |path| test_modules(path, text);
        assert_eq!(
            found("crates/stats/src/lib.rs"),
            ["crates/stats/src/vectors"]
        );
        assert_eq!(
            found("crates/stats/src/holm.rs"),
            ["crates/stats/src/holm/vectors"]
        );
    }

    #[test]
    fn finds_what_is_unfinished_or_ignored() {
        let text = "#[test] #[ignore] fn f() { todo!(); dbg!(1); }";
        check(
            "crates/wire/src/lib.rs",
            text,
            &["ignored", "`todo!`", "`dbg!`"],
        );
    }

    #[test]
    fn reserves_clock_files_and_terminal() {
        let clock = "fn f() { let _ = std::time::Instant::now(); }";
        check("crates/stats/src/lib.rs", clock, &["Instant::now"]);
        check("crates/path/src/deadline.rs", clock, &[]);
        check("crates/bench/src/engine.rs", clock, &[]);
        let passed_on = "fn f() { run(SystemTime::now) }";
        check("crates/report/src/lib.rs", passed_on, &["SystemTime::now"]);
        let write = "fn f() { std::fs::write(a, b); }";
        check("crates/report/src/lib.rs", write, &["fs::write"]);
        let print = "fn f() { println!(); }";
        check("crates/cli/src/main.rs", print, &["`println!` outside"]);
        check("crates/cli/src/terminal/mod.rs", print, &[]);
    }

    #[test]
    fn measures_functions_and_names() {
        let body = "\n".repeat(MAX_FUNCTION_LINES);
        check(
            "crates/wire/src/lib.rs",
            &format!("fn f() {{{body}}}"),
            &["fn f has 81 lines"],
        );
        check(
            "crates/wire/src/lib.rs",
            &format!("fn f() {{{}}}", &body[1..]),
            &[],
        );
        check(
            "crates/wire/src/lib.rs",
            "mod helpers;",
            &["module `helpers`"],
        );
    }
}
