//! A case: the peer, its work, the number of connections, and the requirements for looptax.
//!
//! This file contains only types; the table is in `cases.toml`, and `driver` measures the cases.

use looptax_model::dsn::{Arm, Kind};
use serde::Deserialize;

use super::tool::Tool;
use super::tools;
use super::work::Work;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    #[serde(deserialize_with = "tools::named")]
    pub(crate) tool: &'static Tool,
    pub(crate) work: Work,
    pub(crate) connections: u32,
    pub(crate) place: Place,
    /// Whether each request has its own connection.
    #[serde(default)]
    pub(crate) reconnects: bool,
    /// A server to use instead of the usual one for this work.
    pub(crate) server: Option<Kind>,
    /// Arguments of looptax in addition to target, connections, placement and length.
    pub(crate) looptax: String,
    pub(crate) wanted: Wanted,
    /// Whether the case is only for the comparison with `looptax watch`.
    #[serde(default)]
    pub(crate) is_for_eyes: bool,
    /// Highest number of rounds, if more rounds would only take time.
    pub(crate) most_rounds: Option<u32>,
    /// Whether the short run includes this case.
    #[serde(default)]
    pub(crate) is_short: bool,
}

/// The cores on which server and load generator run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Place {
    /// Server and load generator on one core.
    OneCore,
    /// The server on one core, the load generator on another.
    Split,
    Free,
}

/// The requirements for looptax. Each figure is a ratio: looptax's result divided by the peer's.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    pub(crate) throughput: Throughput,
    /// Highest ratio of the client CPU time in user mode per request.
    pub(crate) user_cpu: Option<f64>,
    /// Highest ratio of the peak memory of the process.
    pub(crate) memory: Option<f64>,
    /// Highest ratio of the median latency.
    pub(crate) p50: Option<f64>,
}

/// The requirement for the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Throughput {
    /// The ratio is shown, but there is no requirement.
    Shown,
    /// No ratio, because the scheduler determines it: the ranges of the rates over 1 s are shown side by side.
    Ranges,
    /// The ratio must be at least this.
    #[serde(untagged)]
    AtLeast(f64),
}

impl Case {
    /// Returns the kind of the private server that both looptax and the peer load; `None` if each has its own server,
    /// or if both load nginx.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.server.or_else(|| self.work.kind())
    }

    /// Returns the arms that the peer supports.
    pub(crate) fn arms(&self) -> &'static [Arm] {
        self.tool.arms
    }

    pub(crate) fn options(&self) -> impl Iterator<Item = &str> {
        self.looptax.split(' ')
    }
}

impl Place {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::OneCore => "one core",
            Self::Split => "two cores",
            Self::Free => "free",
        }
    }
}
