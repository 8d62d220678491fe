//! `cargo xtask arrows`: checks which rooms may use which rooms, and finds circles between the files of a room.
//!
//! The map of allowed uses is the table of rooms in ARCHITECTURE.md: each row says which rooms its room may use. A room
//! is a package, or a module of a package. The map is compared with the paths in the files in both directions: a use
//! that is missing in the table is a finding, and so is a row's entry that no file needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata};

use crate::circles;
use crate::workspace;

/// Programs: no room may use them, and only they print to a user.
const PROGRAMS: [&str; 3] = ["cli", "lab", "xtask"];
/// Libraries for command lines, colours and progress bars, and the error type that holds any error.
const TERMINAL_LIBRARIES: [&str; 11] = [
    "anstream",
    "anstyle",
    "anyhow",
    "clap",
    "clap_complete",
    "clap_mangen",
    "colored",
    "console",
    "indicatif",
    "owo-colors",
    "rpassword",
];
/// Rooms that still have circles of files. No room may be added, and a room without a circle has to leave this list.
const WITH_CIRCLES: [&str; 2] = ["experiment", "redirect"];

/// A use of a room or a library by a room.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: String,
    to: String,
    is_room: bool,
    is_dev: bool,
}

/// Fails on each use that the map does not list, on each listed use that does not exist, and on circles of rooms or
/// files.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root()?;
    let path = root.join("ARCHITECTURE.md");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let metadata = workspace::metadata()?;
    let modules = modules(&text);
    let packages = packages(&metadata)?;
    let mut edges: Vec<Edge> = edges(&metadata);
    edges.extend(packages.iter().flat_map(|it| it.edges(&modules, &packages)));
    edges.sort();
    edges.dedup();
    let rooms: Vec<String> = packages.iter().flat_map(|it| it.rooms(&modules)).collect();
    let map = map(&text);
    let mut found = findings(&map, &rooms, &edges);
    found.extend(circle_of_rooms(map));
    found.extend(packages.iter().flat_map(Package::circles_of_files));
    workspace::fail_on(&found)
}

/// Returns the rooms of the table, each with its place: `crates/bench`, or `crates/model/src/record` for a module.
fn places(text: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.trim_matches('|').split(" | ").collect::<Vec<_>>());
    cells.filter_map(|cells| {
        let [place, _, _, _] = cells.as_slice() else {
            return None;
        };
        Some((place.trim().trim_matches('`'), cells))
    })
}

/// Returns the modules that are rooms, each with the folder of its package.
fn modules(text: &str) -> BTreeSet<(String, String)> {
    let split = |(place, _): (&str, _)| {
        let (package, module) = place.strip_prefix("crates/")?.split_once("/src/")?;
        Some((package.to_owned(), module.to_owned()))
    };
    places(text).filter_map(split).collect()
}

/// Returns the rooms that each room may use. The cells of a row are: the room, what it holds, which rooms it sees, what
/// it must not do.
fn map(text: &str) -> BTreeMap<String, Vec<String>> {
    let row = |(place, cells): (&str, Vec<&str>)| {
        let room = place.rsplit('/').next()?.to_owned();
        let sees = cells.get(2)?.split(',').map(|it| it.trim().to_owned());
        Some((room, sees.filter(|it| it != "none").collect()))
    };
    places(text).filter_map(row).collect()
}

/// Returns a circle of rooms that use each other, if there is one. The compiler allows such circles between modules.
fn circle_of_rooms(mut map: BTreeMap<String, Vec<String>>) -> Option<String> {
    loop {
        let done = map.iter().find(|(_, sees)| !sees.iter().any(|it| map.contains_key(it)));
        let Some((room, _)) = done else { break };
        let room = room.clone();
        map.remove(&room);
    }
    let left: Vec<String> = map.into_keys().collect();
    (!left.is_empty()).then(|| format!("a circle of rooms among {}", left.join(", ")))
}

fn room(package: &str) -> &str {
    match package {
        "looptax" => "cli",
        other => other.trim_start_matches("looptax-"),
    }
}

/// A package with the texts of the files below its folder `src`.
struct Package {
    name: String,
    files: Vec<(String, String)>,
}

fn packages(metadata: &Metadata) -> Result<Vec<Package>> {
    let packages = metadata.workspace_packages();
    let read = |package: &&cargo_metadata::Package| {
        let folder = package.manifest_path.parent();
        let folder = folder.context("a manifest lies in a folder")?;
        let mut files = Vec::new();
        read_below(folder.join("src").as_std_path(), "", &mut files)?;
        let name = room(&package.name).to_owned();
        Ok(Package { name, files })
    };
    packages.iter().map(read).collect()
}

impl Package {
    /// Returns the room of an item below the package's root, from the first word of the item's path.
    fn room(&self, first: &str, modules: &BTreeSet<(String, String)>) -> String {
        let module = (self.name.clone(), first.to_owned());
        if modules.contains(&module) { module.1 } else { self.name.clone() }
    }

    fn room_of_file(&self, file: &str, modules: &BTreeSet<(String, String)>) -> String {
        let folder = file.split_once('/').map_or("", |(folder, _)| folder);
        self.room(folder, modules)
    }

    /// Returns the rooms of this package. A package whose root only declares rooms is not a room itself.
    fn rooms(&self, modules: &BTreeSet<(String, String)>) -> BTreeSet<String> {
        let files = self.files.iter().filter(|it| it.0 != "lib.rs");
        files.map(|it| self.room_of_file(&it.0, modules)).collect()
    }

    /// Returns which rooms of this package use which rooms.
    fn edges(&self, modules: &BTreeSet<(String, String)>, all: &[Self]) -> Vec<Edge> {
        let mut found = Vec::new();
        for (file, text) in self.files.iter().filter(|it| it.0 != "lib.rs") {
            let from = self.room_of_file(file, modules);
            for path in circles::paths(text) {
                let package = match path[0].as_str() {
                    "crate" => Some(self),
                    other => {
                        { other.strip_prefix("looptax_") }.and_then(|it| all.iter().find(|package| package.name == it))
                    }
                };
                let Some(package) = package else { continue };
                let to = package.room(path.get(1).map_or("", |it| it), modules);
                if to != from {
                    let (from, is_room, is_dev) = (from.clone(), true, false);
                    found.push(Edge { from, to, is_room, is_dev });
                }
            }
        }
        found
    }

    fn circles_of_files(&self) -> Vec<String> {
        let circles = circles::findings(&self.name, &self.files);
        match (WITH_CIRCLES.contains(&&*self.name), circles.is_empty()) {
            (true, true) => {
                vec![format!("{} has no circle of files any more: remove it from the list in arrows.rs", self.name)]
            }
            (true, false) => Vec::new(),
            (false, _) => circles,
        }
    }
}

/// Returns the uses of libraries, and the uses of rooms by tests only, from the manifests.
fn edges(metadata: &Metadata) -> Vec<Edge> {
    let packages = metadata.workspace_packages();
    let of_package = |package: &&cargo_metadata::Package| {
        let edges = package.dependencies.iter().map(|dependency| Edge {
            from: room(&package.name).to_owned(),
            to: room(&dependency.name).to_owned(),
            is_room: dependency.path.is_some(),
            is_dev: dependency.kind == DependencyKind::Development,
        });
        // Other uses of rooms are read from the files.
        edges.filter(|it| it.is_dev || !it.is_room).collect::<Vec<_>>()
    };
    packages.iter().flat_map(of_package).collect()
}

fn findings(map: &BTreeMap<String, Vec<String>>, rooms: &[String], edges: &[Edge]) -> Vec<String> {
    let unknown = rooms
        .iter()
        .filter(|room| !map.contains_key(*room))
        .map(|room| format!("{room} has no row in ARCHITECTURE.md's table of rooms"));
    let wrong = edges.iter().filter_map(|edge| objection(map, edge));
    let has = |from: &String, to: &String| {
        let mut edges = edges.iter();
        edges.any(|edge| !edge.is_dev && edge.from == *from && edge.to == *to)
    };
    let unused = map.iter().flat_map(|(from, sees)| {
        let unused = sees.iter().filter(move |to| !has(from, to));
        unused.map(move |to| format!("{from} does not use {to}: ARCHITECTURE.md claims that it does"))
    });
    unknown.chain(wrong).chain(unused).collect()
}

fn objection(map: &BTreeMap<String, Vec<String>>, edge: &Edge) -> Option<String> {
    let Edge { from, to, is_room, is_dev } = edge;
    let is_program = PROGRAMS.contains(&from.as_str());
    if TERMINAL_LIBRARIES.contains(&to.as_str()) && !is_program && !is_dev {
        return Some(format!("{from} uses {to}: only {} may", PROGRAMS.join(", ")));
    }
    if !is_room {
        return None;
    }
    if PROGRAMS.contains(&to.as_str()) {
        return Some(format!("{from} uses {to}: no room may use a program"));
    }
    if *is_dev || map.get(from).is_some_and(|sees| sees.contains(to)) {
        return None;
    }
    Some(format!("{from} uses {to}: this arrow is not on the map in ARCHITECTURE.md"))
}

fn read_below(src: &Path, folder: &str, files: &mut Vec<(String, String)>) -> Result<()> {
    for entry in fs::read_dir(src.join(folder))? {
        let entry = entry?;
        let path = format!("{folder}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_below(src, &format!("{path}/"), files)?;
        } else if Path::new(&path).extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(entry.path())?;
            files.push((path, text));
        }
    }
    files.sort();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
| room | holds | sees | must not |
|---|---|---|---|
| `crates/cli` | the program | bench, record | measure |
| `crates/bench` | the engine | record | print |
| `crates/record` | what is saved | none | have behaviour |
";

    fn edge(from: &str, to: &str, is_dev: bool) -> Edge {
        Edge { from: from.to_owned(), to: to.to_owned(), is_room: !["clap", "serde"].contains(&to), is_dev }
    }

    #[track_caller]
    fn check(one_more: Edge, expected: Option<&str>) {
        let rooms = ["cli", "bench", "record"].map(str::to_owned);
        let drawn = [("cli", "bench"), ("cli", "record"), ("bench", "record")];
        let mut edges: Vec<Edge> = drawn.map(|(from, to)| edge(from, to, false)).into();
        edges.push(one_more);
        let found = findings(&map(TABLE), &rooms, &edges);
        match expected {
            None => assert_eq!(found, [""; 0]),
            Some(words) => assert!(found.len() == 1 && found[0].contains(words), "{found:?}"),
        }
    }

    #[test]
    fn only_arrows_of_the_map_are_let_through() {
        check(edge("cli", "bench", false), None);
        check(edge("record", "bench", false), Some("not on the map"));
        check(edge("bench", "testkit", true), None);
        check(edge("bench", "testkit", false), Some("not on the map"));
        check(edge("bench", "cli", true), Some("no room may use a program"));
        check(edge("bench", "clap", false), Some("only cli, lab, xtask may"));
        check(edge("cli", "clap", false), None);
        check(edge("bench", "serde", false), None);
    }

    #[test]
    fn a_module_is_a_room_of_its_own_and_no_circle_goes_through_several() {
        let table = "| `crates/x/src/a` | it | b | be |\n| `crates/x/src/b` | it | a | be |\n";
        let modules = modules(table);
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let package = Package {
            name: "x".to_owned(),
            files: vec![
                file("lib.rs", "pub mod a; pub mod b;"),
                file("a/mod.rs", "use crate::b::B; use crate::a::c::C;"),
                file("b/mod.rs", "fn f() -> looptax_x::a::A { loop {} }"),
            ],
        };
        let found = package.edges(&modules, std::slice::from_ref(&package));
        let found: Vec<_> = found.iter().map(|it| (&*it.from, &*it.to)).collect();
        assert_eq!(found, [("a", "b"), ("b", "a")]);
        assert_eq!(package.rooms(&modules).len(), 2);
        assert!(circle_of_rooms(map(table)).is_some());
        assert_eq!(circle_of_rooms(map(TABLE)), None);
    }

    #[test]
    fn a_room_without_a_row_and_an_arrow_that_nobody_needs_are_found() {
        let rooms = ["attic".to_owned()];
        let found = findings(&BTreeMap::new(), &rooms, &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        let found = findings(&map(TABLE), &[], &[]);
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
