//! A case: which peer does which work over how many connections, and the requirements for looptax.
//!
//! Types only; the table is in `cases.toml`, what is done with it in `driver`.

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
    /// Whether each request has a separate connection.
    #[serde(default)]
    pub(crate) reconnects: bool,
    /// Another server than the usual one of this work.
    pub(crate) server: Option<Kind>,
    /// The arguments of looptax beside target, connections, placement and length.
    pub(crate) looptax: String,
    pub(crate) wanted: Wanted,
    /// Whether only `looptax watch` is compared with it.
    #[serde(default)]
    pub(crate) is_for_eyes: bool,
    /// Enough rounds, where more would only take time.
    pub(crate) most_rounds: Option<u32>,
    /// Whether the short run has it.
    #[serde(default)]
    pub(crate) is_short: bool,
}

/// Where server and load generator run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Place {
    /// Both on one core.
    OneCore,
    /// The server on one core, the load generator on another.
    Split,
    Free,
}

/// The requirements for looptax; every figure is looptax's over the peer's.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    pub(crate) throughput: Throughput,
    /// Client CPU time in user mode per request, at most.
    pub(crate) user_cpu: Option<f64>,
    /// Peak memory of the process, at most.
    pub(crate) memory: Option<f64>,
    /// Median latency, at most.
    pub(crate) p50: Option<f64>,
}

/// The requirement for the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Throughput {
    /// A ratio that is shown and not judged.
    Shown,
    /// No ratio, because the scheduler decides: the ranges of rates over 1 s, side by side.
    Ranges,
    /// At least this ratio.
    #[serde(untagged)]
    AtLeast(f64),
}

impl Case {
    /// The private server that both ask; `None` where each has its own, or nginx is asked.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.server.or_else(|| self.work.kind())
    }

    /// The ways that the peer knows.
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
