//! `cargo xtask arrows`: who may depend on whom.
//!
//! The table is the one in ARCHITECTURE.md, read downwards: a room may use the rooms below it. Edges
//! come from `cargo metadata`, so that an arrow that nobody drew cannot creep in.

use anyhow::Result;
use cargo_metadata::{DependencyKind, Metadata};

use crate::workspace;

/// The rooms that a package may use outside its tests.
const ALLOWED: &[(&str, &[&str])] = &[
    (
        "looptax",
        &[
            "looptax-failure",
            "looptax-dsn",
            "looptax-analysis",
            "looptax-diagnose",
            "looptax-replay",
            "looptax-experiment",
            "looptax-bench",
            "looptax-discover",
            "looptax-advise",
            "looptax-redirect",
            "looptax-store",
            "looptax-report",
            "looptax-path",
            "looptax-servers",
            "looptax-wire",
            "looptax-script",
            "looptax-stats",
            "looptax-record",
        ],
    ),
    ("looptax-bench", DEEP),
    ("looptax-discover", DEEP),
    ("looptax-advise", DEEP),
    ("looptax-redirect", DEEP),
    (
        "looptax-store",
        &["looptax-failure", "looptax-stats", "looptax-record"],
    ),
    ("looptax-report", &["looptax-stats", "looptax-record"]),
    ("looptax-path", GROUND),
    ("looptax-servers", GROUND),
    ("looptax-failure", &[]),
    (
        "looptax-experiment",
        &[
            "looptax-failure",
            "looptax-dsn",
            "looptax-advise",
            "looptax-analysis",
            "looptax-bench",
            "looptax-path",
            "looptax-record",
            "looptax-redirect",
            "looptax-report",
            "looptax-script",
            "looptax-servers",
            "looptax-stats",
            "looptax-store",
            "looptax-wire",
        ],
    ),
    (
        "looptax-diagnose",
        &[
            "looptax-failure",
            "looptax-dsn",
            "looptax-advise",
            "looptax-discover",
            "looptax-path",
            "looptax-record",
            "looptax-redirect",
            "looptax-store",
            "looptax-wire",
        ],
    ),
    (
        "looptax-replay",
        &[
            "looptax-failure",
            "looptax-dsn",
            "looptax-analysis",
            "looptax-bench",
            "looptax-experiment",
            "looptax-path",
            "looptax-record",
            "looptax-servers",
            "looptax-stats",
            "looptax-store",
        ],
    ),
    (
        "looptax-analysis",
        &[
            "looptax-failure",
            "looptax-path",
            "looptax-record",
            "looptax-stats",
        ],
    ),
    ("looptax-dsn", &["looptax-failure"]),
    ("looptax-wire", &["looptax-failure", "looptax-dsn"]),
    ("looptax-script", &[]),
    ("looptax-stats", &[]),
    ("looptax-record", &["looptax-stats"]),
    ("looptax-testkit", &[]),
    ("xtask", &[]),
    (
        "lab",
        // For `peers`, `clients` and `dialects`: servers, what looptax recorded, and intervals of ratios;
        // for `history`: the store that it fills.
        &[
            "looptax-dsn",
            "looptax-store",
            "looptax-path",
            "looptax-servers",
            "looptax-wire",
            "looptax-script",
            "looptax-stats",
            "looptax-record",
        ],
    ),
];
const DEEP: &[&str] = &[
    "looptax-failure",
    "looptax-dsn",
    "looptax-path",
    "looptax-servers",
    "looptax-wire",
    "looptax-script",
    "looptax-stats",
    "looptax-record",
];
const GROUND: &[&str] = &[
    "looptax-failure",
    "looptax-dsn",
    "looptax-wire",
    "looptax-stats",
    "looptax-record",
];

/// Only these talk to a person.
const TERMINAL_PACKAGES: [&str; 3] = ["looptax", "xtask", "lab"];
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

struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    is_dev: bool,
}

/// Fails on every edge that is not allowed.
pub(crate) fn run() -> Result<()> {
    let metadata = workspace::metadata()?;
    let (packages, edges) = workspace_edges(&metadata);
    workspace::fail_on(&findings(&packages, &edges))
}

fn workspace_edges(metadata: &Metadata) -> (Vec<&str>, Vec<Edge<'_>>) {
    let packages = metadata.workspace_packages();
    let edges = packages
        .iter()
        .flat_map(|package| {
            package.dependencies.iter().map(|dependency| Edge {
                from: package.name.as_str(),
                to: dependency.name.as_str(),
                is_dev: dependency.kind == DependencyKind::Development,
            })
        })
        .collect();
    (
        packages
            .iter()
            .map(|package| package.name.as_str())
            .collect(),
        edges,
    )
}

fn findings(packages: &[&str], edges: &[Edge<'_>]) -> Vec<String> {
    let unknown = packages
        .iter()
        .filter(|name| allowed(name).is_none())
        .map(|name| format!("package {name} has no row in xtask/src/arrows.rs"));
    let wrong = edges.iter().filter_map(objection);
    unknown.chain(wrong).collect()
}

fn objection(edge: &Edge<'_>) -> Option<String> {
    let Edge { from, to, is_dev } = *edge;
    if TERMINAL_LIBRARIES.contains(&to) && !TERMINAL_PACKAGES.contains(&from) && !is_dev {
        return Some(format!(
            "{from} uses {to}: only {} may",
            TERMINAL_PACKAGES.join(" and ")
        ));
    }
    if ["looptax", "xtask", "lab"].contains(&to) {
        return Some(format!("{from} uses {to}: no arrow points at a program"));
    }
    let is_room = to.starts_with("looptax-");
    if !is_room || is_dev || allowed(from).is_some_and(|rooms| rooms.contains(&to)) {
        return None;
    }
    Some(match to {
        "looptax-testkit" => format!("{from} uses {to} outside its tests"),
        _ => format!("{from} uses {to}: this arrow is not on the map"),
    })
}

fn allowed(package: &str) -> Option<&'static [&'static str]> {
    ALLOWED
        .iter()
        .find(|(name, _)| *name == package)
        .map(|(_, rooms)| *rooms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, to: &str, is_dev: bool, is_fine: bool) {
        let found = objection(&Edge { from, to, is_dev });
        assert_eq!(found.is_none(), is_fine, "{from} -> {to}: {found:?}");
    }

    #[test]
    fn lets_arrows_point_downwards_only() {
        check("looptax", "looptax-bench", false, true);
        check("looptax-bench", "looptax-stats", false, true);
        check("looptax-path", "looptax-wire", false, true);
        check("looptax-bench", "looptax-script", false, true);
        check("looptax-path", "looptax-script", false, false);
        check("looptax-wire", "looptax-path", false, false);
        check("looptax-record", "looptax-stats", false, true);
        check("looptax-stats", "looptax-record", false, false);
        check("looptax-report", "looptax-wire", false, false);
        check("looptax-path", "looptax-servers", false, false);
        check("looptax-bench", "looptax", false, false);
        check("looptax-testkit", "looptax", true, false);
    }

    #[test]
    fn keeps_the_test_kit_and_the_terminal_out_of_the_rooms() {
        check("looptax-wire", "looptax-testkit", true, true);
        check("looptax-wire", "looptax-testkit", false, false);
        check("looptax-wire", "anyhow", false, false);
        check("looptax-wire", "thiserror", false, true);
        check("looptax", "clap", false, true);
    }

    #[test]
    fn knows_every_package() {
        assert_eq!(findings(&["looptax-attic"], &[]).len(), 1);
        assert_eq!(findings(&["looptax-wire"], &[]), [""; 0]);
    }
}
