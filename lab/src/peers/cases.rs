//! The table of cases, from `cases.toml`. A new comparison is a line there.

use std::sync::LazyLock;

use serde::Deserialize;

use super::case::Case;

/// All cases, in the order in which they are measured.
pub(crate) static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Cases {
        case: Vec<Case>,
    }
    let cases: Cases = toml::from_str(include_str!("cases.toml")).expect("a test reads it");
    cases.case
});

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
