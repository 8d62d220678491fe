//! `cargo xtask arrows`: who may depend on whom, between rooms and between the files of one.
//!
//! The map is the table of rooms in ARCHITECTURE.md: each row says which rooms its room sees. It is held against
//! `cargo metadata` both ways, so that an arrow that nobody drew cannot creep in, and none stays that nobody needs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata};

use crate::circles;
use crate::workspace;

/// Programs: nothing points at them, and only they talk to a person.
const PROGRAMS: [&str; 3] = ["cli", "lab", "xtask"];
/// Command line, colours, progress and the error type without variants.
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
/// Rooms that still have circles: none may be added, and a room without one leaves the list.
const WITH_CIRCLES: [&str; 2] = ["redirect", "servers"];

/// A dependency of a package, both by the name of its room or library.
struct Edge {
    from: String,
    to: String,
    is_room: bool,
    is_dev: bool,
}

/// Fails on every arrow that is not on the map, on every one of the map that is not there, and on circles of files.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root()?;
    let path = root.join("ARCHITECTURE.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let metadata = workspace::metadata()?;
    let mut found = findings(&map(&text), &rooms(&metadata), &edges(&metadata));
    found.extend(circles_of_files(&metadata)?);
    workspace::fail_on(&found)
}

/// What each room sees, from the table's rows: room, what it holds, which rooms it sees, what it must not.
fn map(text: &str) -> BTreeMap<String, Vec<String>> {
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.trim_matches('|').split(" | ").collect::<Vec<_>>());
    let row = |cells: Vec<&str>| {
        let [room, _, sees, _] = cells.as_slice() else {
            return None;
        };
        let room = room.trim().trim_matches('`').trim_start_matches("crates/");
        let sees = sees.split(',').map(|it| it.trim().to_owned());
        Some((room.to_owned(), sees.filter(|it| it != "none").collect()))
    };
    cells.filter_map(row).collect()
}

fn room(package: &str) -> &str {
    match package {
        "looptax" => "cli",
        other => other.trim_start_matches("looptax-"),
    }
}

fn rooms(metadata: &Metadata) -> Vec<String> {
    let packages = metadata.workspace_packages();
    let names = packages
        .iter()
        .map(|package| room(&package.name).to_owned());
    names.collect()
}

fn edges(metadata: &Metadata) -> Vec<Edge> {
    let packages = metadata.workspace_packages();
    let of_package = |package: &&cargo_metadata::Package| {
        let edges = package.dependencies.iter().map(|dependency| Edge {
            from: room(&package.name).to_owned(),
            to: room(&dependency.name).to_owned(),
            is_room: dependency.path.is_some(),
            is_dev: dependency.kind == DependencyKind::Development,
        });
        edges.collect::<Vec<_>>()
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
        unused.map(move |to| {
            format!("{from} does not use {to}: ARCHITECTURE.md says that it sees it")
        })
    });
    unknown.chain(wrong).chain(unused).collect()
}

fn objection(map: &BTreeMap<String, Vec<String>>, edge: &Edge) -> Option<String> {
    let Edge {
        from,
        to,
        is_room,
        is_dev,
    } = edge;
    let is_program = PROGRAMS.contains(&from.as_str());
    if TERMINAL_LIBRARIES.contains(&to.as_str()) && !is_program && !is_dev {
        return Some(format!(
            "{from} uses {to}: only {} may",
            PROGRAMS.join(", ")
        ));
    }
    if !is_room {
        return None;
    }
    if PROGRAMS.contains(&to.as_str()) {
        return Some(format!("{from} uses {to}: no arrow points at a program"));
    }
    if *is_dev || map.get(from).is_some_and(|sees| sees.contains(to)) {
        return None;
    }
    Some(format!(
        "{from} uses {to}: this arrow is not on the map in ARCHITECTURE.md"
    ))
}

fn circles_of_files(metadata: &Metadata) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for package in metadata.workspace_packages() {
        let room = room(&package.name);
        let folder = package
            .manifest_path
            .parent()
            .context("a manifest lies in a folder")?;
        let src = folder.join("src").into_std_path_buf();
        let mut files = Vec::new();
        read_below(&src, "", &mut files)?;
        let circles = circles::findings(room, &files);
        match (WITH_CIRCLES.contains(&room), circles.is_empty()) {
            (true, true) => found.push(format!(
                "{room} has no circle of files any more: arrows.rs lists it"
            )),
            (true, false) => {}
            (false, _) => found.extend(circles),
        }
    }
    Ok(found)
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
        Edge {
            from: from.to_owned(),
            to: to.to_owned(),
            is_room: !["clap", "serde"].contains(&to),
            is_dev,
        }
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
        check(
            edge("bench", "cli", true),
            Some("no arrow points at a program"),
        );
        check(
            edge("bench", "clap", false),
            Some("only cli, lab, xtask may"),
        );
        check(edge("cli", "clap", false), None);
        check(edge("bench", "serde", false), None);
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
