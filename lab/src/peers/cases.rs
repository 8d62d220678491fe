//! The table of cases, from `cases.toml`. To add a comparison, add a line there.

use std::sync::LazyLock;

use serde::Deserialize;

use looptax_model::dsn::Kind;

use super::case::{Case, Place, Throughput, Wanted};
use super::tool::Tool;
use super::tools;
use super::work::Work;

/// All cases, in the order in which they are measured.
pub(crate) static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Cases {
        case: Vec<Case>,
        watched: Vec<Watched>,
    }
    let cases: Cases = toml::from_str(include_str!("cases.toml")).expect("a test reads it");
    cases.case.into_iter().chain(cases.watched.iter().flat_map(Watched::cases)).collect()
});

/// A server whose requests `looptax watch` counts, with several numbers of connections, long-lived and one-shot.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Watched {
    name: String,
    #[serde(deserialize_with = "tools::named")]
    tool: &'static Tool,
    work: Work,
    server: Option<Kind>,
    connections: Vec<u32>,
    reconnects: Vec<bool>,
}

impl Watched {
    /// Returns the cases, named as in `mysql-16`; with a connection for each request, as in `mysql-short-16`.
    fn cases(&self) -> Vec<Case> {
        let each =
            |reconnects: bool| self.connections.iter().map(move |connections| self.case(*connections, reconnects));
        self.reconnects.iter().copied().flat_map(each).collect()
    }

    fn case(&self, connections: u32, reconnects: bool) -> Case {
        let short = if reconnects { "short-" } else { "" };
        Case {
            name: format!("{}-{short}{connections}", self.name),
            tool: self.tool,
            work: self.work,
            connections,
            place: Place::Free,
            reconnects,
            server: self.server,
            looptax: String::new(),
            wanted: Wanted { throughput: Throughput::Shown, user_cpu: None, memory: None, p50: None },
            is_for_eyes: true,
            most_rounds: None,
            is_short: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tools::TOOLS;

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<_> = CASES.iter().map(|case| &case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }

    #[test]
    fn every_peer_is_in_the_table_and_some_are_in_the_short_run() {
        for tool in TOOLS {
            assert!(CASES.iter().any(|case| case.tool.name == tool.name));
        }
        let n_short = CASES.iter().filter(|case| case.is_short).count();
        assert!((2..=5).contains(&n_short), "{n_short}");
    }
}
