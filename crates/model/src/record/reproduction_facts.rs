//! Reasons why a claim and its measurement differ, and the conclusions from the rows: figures, not sentences.
//!
//! The report makes the sentences.

use std::collections::BTreeMap;

use crate::stats::range::{AtLeastOne, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Estimate, Withheld};

/// Why a claim and its measurement differ, or what a reader should know about them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReproductionReason {
    /// A reason that is known before anything is measured.
    Known {
        /// The sentence, in which braces hold names of figures: `{rate_per_s}`.
        words: String,
        /// The figures in the sentence, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "Real::read")]
        #[schemars(with = "BTreeMap<String, Real>")]
        figures: BTreeMap<String, f64>,
    },
    /// The interval holds both the published figure and a difference of zero.
    HoldsNoDifference,
    /// The interval holds the published figure, and also effects of less than half or more than twice its size.
    HoldsFarEffects,
    /// The measurement gave no figure.
    NoFigure {
        /// The reason why there is no figure.
        na: String,
    },
    /// `compare` withholds the verdict.
    Withheld(Withheld),
    /// `compare` gives a warning.
    Warned {
        /// The warning.
        warning: String,
    },
    /// The measurement ended before a planned look.
    Ended {
        /// Whether the user interrupted it; if not, its time was over.
        interrupted: bool,
        /// Number of epochs measured.
        #[serde(deserialize_with = "SmallCount::read")]
        #[schemars(with = "SmallCount")]
        n_epochs: u32,
        /// Number of epochs planned.
        #[serde(deserialize_with = "SmallCount::read")]
        #[schemars(with = "SmallCount")]
        planned: u32,
    },
    /// The program between the published port and the server.
    PortProxy {
        /// The program.
        program: String,
    },
    /// The pages come from these programs; nothing is pinned.
    PageVersions {
        /// WordPress's version.
        wordpress: String,
        /// PHP's version.
        php: String,
        /// MariaDB's version.
        mariadb: String,
    },
    /// The figure for only as many of the measured pages as the article had.
    FirstPages {
        /// Percent that TCP adds to the time that these pages spend in queries.
        added_pct: Estimate,
    },
}

/// The conclusion from a part's rows together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReproductionFinding {
    /// The highest throughput that each arm served in a sweep, baseline first.
    MostServed {
        /// Requests per second.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "[Real; 2]")]
        per_s: [f64; 2],
        /// Number of connections at which each arm served it.
        #[serde(deserialize_with = "AtLeastOne::read")]
        #[schemars(with = "[AtLeastOne; 2]")]
        connections: [u32; 2],
    },
    /// The point of a sweep with the largest difference between the arms, among the points that show a difference.
    LargestTax {
        /// Percent of throughput that TCP loses at that point.
        tax_pct: Estimate,
        /// Number of connections at that point.
        #[serde(deserialize_with = "AtLeastOne::read")]
        #[schemars(with = "AtLeastOne")]
        connections: u32,
    },
    /// Functions were sampled by a timer, not by a counter of cycles.
    SampledByTimer,
    /// How the time that a published port adds is divided.
    ShareOfPort {
        /// The workload.
        what: String,
        /// The time that the published port adds to a request, µs.
        in_all_us: Estimate,
        /// The shares of loopback TCP, the bridge and the port proxy in that time.
        shares: [PortShare; 3],
    },
    /// Attempts that come close to a published time.
    Near {
        /// The published figure, µs per message over TCP.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        published_us: f64,
        /// The attempts that come close; empty if there are none.
        trials: Vec<String>,
    },
    /// The effect of a transport on a page of a web site.
    Page {
        /// Number of queries per page.
        #[serde(deserialize_with = "SmallCount::read")]
        #[schemars(with = "SmallCount")]
        queries: u32,
        /// Time of a page over TCP, µs.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        page_us: f64,
        /// Percent of that time spent in queries.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        share_pct: f64,
        /// Percent that TCP adds to the whole page.
        added_pct: Estimate,
    },
}

/// The share of one step in the time that a published port adds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PortShare {
    /// Time of this step, µs.
    pub us: Estimate,
    /// Percent of the time that the published port adds.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub pct: f64,
}
