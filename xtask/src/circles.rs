//! Finds circles of imports between the files of a room.
//!
//! A file imports another file if one of its paths (in a `use` or elsewhere, but not in tests) leads there. An item
//! that a module re-exports with `pub use` counts as an item of the file that it comes from. Called by `arrows`; pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use syn::visit::{self, Visit};

/// The path of a module below its crate.
type Place = Vec<String>;

/// Returns each circle of a room as the shortest path from a file back to itself. `files` has the paths below `src`,
/// with texts.
pub(crate) fn findings(room: &str, files: &[(String, String)]) -> Vec<String> {
    let modules: Modules = files.iter().filter_map(|(path, text)| Some((place(path), Module::read(text)?))).collect();
    let graph: BTreeMap<&Place, BTreeSet<Place>> =
        { modules.iter() }.map(|(place, module)| (place, imports(&modules, place, module))).collect();
    let mut known: BTreeSet<Place> = BTreeSet::new();
    let mut found = Vec::new();
    for place in modules.keys() {
        let Some(circle) = path_back(&graph, place) else {
            continue;
        };
        // Each circle is reported once, from its first file.
        if known.iter().any(|place| circle.contains(place)) {
            continue;
        }
        let names: Vec<String> = circle.iter().map(name).collect();
        found.push(format!("{room}: a circle of files: {}", names.join(" -> ")));
        known.extend(circle);
    }
    found
}

/// Returns all paths in a file except those in tests, including the paths that the file re-exports.
pub(crate) fn paths(text: &str) -> Vec<Vec<String>> {
    let module = Module::read(text);
    let paths = module.map(|it| it.paths.into_iter().chain(it.passed_on.into_values()));
    paths.into_iter().flatten().collect()
}

type Modules = BTreeMap<Place, Module>;

/// The paths in a file.
struct Module {
    /// Paths that start at the crate, at a parent module, or at a child module.
    paths: Vec<Vec<String>>,
    /// The paths that the file re-exports, by the names under which it re-exports them.
    passed_on: BTreeMap<String, Vec<String>>,
}

impl Module {
    fn read(text: &str) -> Option<Self> {
        let mut reader = Reader::default();
        reader.visit_file(&syn::parse_file(text).ok()?);
        Some(Self { paths: reader.paths, passed_on: reader.passed_on })
    }
}

#[derive(Default)]
struct Reader {
    paths: Vec<Vec<String>>,
    passed_on: BTreeMap<String, Vec<String>>,
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        let is_for_tests = |attribute: &syn::Attribute| {
            attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|it| it == "test")
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        for (path, name) in leaves {
            // A re-exported path is not a use by this file.
            match item.vis {
                syn::Visibility::Inherited => self.paths.push(path),
                _ => {
                    self.passed_on.insert(name, path);
                }
            }
        }
    }

    /// `pub(crate)` contains a path, but imports nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words = path.segments.iter().map(|it| it.ident.to_string());
        self.paths.push(words.collect());
        visit::visit_path(self, path);
    }
}

/// Collects the paths of a `use`, each with the name that it introduces.
fn flatten(tree: &syn::UseTree, above: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, String)>) {
    match tree {
        syn::UseTree::Path(it) => {
            above.push(it.ident.to_string());
            flatten(&it.tree, above, leaves);
            above.pop();
        }
        syn::UseTree::Name(it) if it.ident == "self" => {
            leaves.push((above.clone(), above.last().cloned().unwrap_or_default()));
        }
        syn::UseTree::Name(it) => {
            let name = it.ident.to_string();
            let path = [above.as_slice(), std::slice::from_ref(&name)].concat();
            leaves.push((path, name));
        }
        syn::UseTree::Rename(it) => {
            let path = [above.as_slice(), &[it.ident.to_string()]].concat();
            leaves.push((path, it.rename.to_string()));
        }
        syn::UseTree::Glob(_) => leaves.push((above.clone(), "*".to_owned())),
        syn::UseTree::Group(it) => {
            for tree in &it.items {
                flatten(tree, above, leaves);
            }
        }
    }
}

fn place(path: &str) -> Place {
    let bare = path.trim_end_matches(".rs");
    let words = bare.split('/').map(str::to_owned);
    let mut place: Place = words.collect();
    if matches!(place.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        place.pop();
    }
    place
}

fn name(place: &Place) -> String {
    if place.is_empty() { "the crate's root".to_owned() } else { place.join("::") }
}

fn imports(modules: &Modules, from: &Place, module: &Module) -> BTreeSet<Place> {
    let paths = module.paths.iter();
    let places = paths.filter_map(|path| resolved(modules, from, path, 0));
    places.filter(|place| place != from).collect()
}

/// Returns the file that a path leads to; `None` if the path leads out of the crate.
fn resolved(modules: &Modules, from: &Place, path: &[String], depth: usize) -> Option<Place> {
    let (first, rest) = path.split_first()?;
    let (mut at, mut rest) = match first.as_str() {
        "crate" => (Place::new(), rest),
        "self" => (from.clone(), rest),
        "super" => {
            let n_up = path.iter().take_while(|it| *it == "super").count();
            let at = from[..from.len().checked_sub(n_up)?].to_vec();
            (at, &path[n_up..])
        }
        _ => {
            let below = [from.as_slice(), std::slice::from_ref(first)].concat();
            modules.contains_key(&below).then_some(())?;
            (below, rest)
        }
    };
    while let Some((word, further)) = rest.split_first() {
        let below = [at.as_slice(), std::slice::from_ref(word)].concat();
        if modules.contains_key(&below) {
            (at, rest) = (below, further);
            continue;
        }
        // Re-exports that form a circle lead to no file, so the depth is limited.
        let passed_on = modules.get(&at).filter(|_| depth < 8);
        if let Some(path) = passed_on.and_then(|it| it.passed_on.get(word)) {
            let path = [path.as_slice(), further].concat();
            return resolved(modules, &at, &path, depth + 1).or(Some(at));
        }
        break;
    }
    Some(at)
}

/// Returns the shortest path from a file back to itself; the path contains this file at both ends.
fn path_back(graph: &BTreeMap<&Place, BTreeSet<Place>>, start: &Place) -> Option<Vec<Place>> {
    let mut paths: VecDeque<Vec<Place>> = VecDeque::from([vec![start.clone()]]);
    let mut seen: BTreeSet<Place> = BTreeSet::new();
    while let Some(path) = paths.pop_front() {
        for next in graph.get(path.last()?).into_iter().flatten() {
            let longer = || [path.as_slice(), std::slice::from_ref(next)].concat();
            if next == start {
                return Some(longer());
            }
            if seen.insert(next.clone()) {
                paths.push_back(longer());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<_> = { files.iter() }.map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        assert_eq!(findings("room", &files), expected);
    }

    #[test]
    fn two_files_that_need_each_other_are_a_circle() {
        check(
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::B; pub struct A(B);"),
                ("b.rs", "pub struct B; fn f() { crate::a::g() }"),
            ],
            &["room: a circle of files: a -> b -> a"],
        );
    }

    #[test]
    fn a_file_and_the_one_that_declares_it_are_a_circle_when_both_import() {
        check(
            &[("a/mod.rs", "mod b; use b::B; pub struct A;"), ("a/b.rs", "use super::A; pub struct B(A);")],
            &["room: a circle of files: a -> a::b -> a"],
        );
        check(
            &[
                ("a/mod.rs", "mod b; pub use c::A; mod c; use b::B;"),
                ("a/b.rs", "use super::A; pub struct B(A);"),
                ("a/c.rs", "pub struct A;"),
            ],
            &[],
        );
    }

    #[test]
    fn tests_may_import_what_they_test() {
        check(
            &[
                ("a.rs", "use crate::b::B; pub fn a(_: B) {}"),
                ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::a; }"),
            ],
            &[],
        );
    }
}
