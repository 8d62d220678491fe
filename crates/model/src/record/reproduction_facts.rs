//! The reasons why a claim and its measurement differ, and the conclusions from the rows, as figures.
//!
//! The report makes sentences from these figures.

use std::collections::BTreeMap;

use crate::stats::range::{AtLeastOne, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Estimate, Withheld};

/// A reason why a claim and its measurement differ, or a fact about them that a reader should know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReproductionReason {
    /// A reason that was known before the measurement.
    Known {
        /// The sentence, with placeholders in braces for the figures: `{rate_per_s}`.
        words: String,
        /// The figures in the sentence, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "Real::read")]
        #[schemars(with = "BTreeMap<String, Real>")]
        figures: BTreeMap<String, f64>,
    },
    /// The interval contains both the published figure and a difference of zero.
    HoldsNoDifference,
    /// The interval contains the published figure, but also effects of less than half or more than twice the published
    /// effect.
    HoldsFarEffects,
    /// The measurement gave no figure.
    NoFigure {
        /// Why there is no figure.
        na: String,
    },
    /// The comparison's verdict is inconclusive or invalid.
    Withheld(Withheld),
    /// The comparison has a warning.
    Warned {
        /// The warning.
        warning: String,
    },
    /// The measurement ended before a planned interim analysis.
    Ended {
        /// Whether the user interrupted the measurement. If not, the measurement ended because its time was over.
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
    /// The program that passes data between the published port and the server.
    PortProxy {
        /// The program.
        program: String,
    },
    /// The versions of the programs that make the pages; none of these programs is pinned to cores.
    PageVersions {
        /// WordPress's version.
        wordpress: String,
        /// PHP's version.
        php: String,
        /// MariaDB's version.
        mariadb: String,
    },
    /// The figure for only the first of the measured pages: as many pages as the article had.
    FirstPages {
        /// Percent that TCP adds to the time which these pages spend in queries.
        added_pct: Estimate,
    },
}

/// A conclusion from all claims of a publication together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReproductionFinding {
    /// The highest throughput of each arm in a sweep over numbers of connections, baseline first.
    MostServed {
        /// Requests per second.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "[Real; 2]")]
        per_s: [f64; 2],
        /// Number of connections at which each arm reached this throughput.
        #[serde(deserialize_with = "AtLeastOne::read")]
        #[schemars(with = "[AtLeastOne; 2]")]
        connections: [u32; 2],
    },
    /// The point of a sweep with the largest difference between the arms; only points that show a difference are
    /// considered.
    LargestTax {
        /// Percent of throughput that TCP loses at that point.
        tax_pct: Estimate,
        /// Number of connections at that point.
        #[serde(deserialize_with = "AtLeastOne::read")]
        #[schemars(with = "AtLeastOne")]
        connections: u32,
    },
    /// The functions were sampled by a timer, not by a counter of CPU cycles.
    SampledByTimer,
    /// The parts of the time that a published port adds.
    ShareOfPort {
        /// The name of the workload.
        what: String,
        /// The time that the published port adds to a request, µs.
        in_all_us: Estimate,
        /// How `in_all_us` is divided between loopback TCP, the bridge and the port proxy.
        shares: [PortShare; 3],
    },
    /// The attempts whose result is near a published time.
    Near {
        /// The published figure, µs per message over TCP.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        published_us: f64,
        /// The attempts whose result is near the published figure; empty if there are none.
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
        /// Percent of this time that is spent in queries.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        share_pct: f64,
        /// Percent that TCP adds to the time of the whole page.
        added_pct: Estimate,
    },
}

/// How much one step contributes to the time that a published port adds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PortShare {
    /// Time that this step adds, µs.
    pub us: Estimate,
    /// `us` as a percentage of the time that the published port adds.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub pct: f64,
}
