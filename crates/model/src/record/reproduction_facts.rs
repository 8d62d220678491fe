//! Why a claim and what was measured differ, and what follows from the rows: figures, not sentences.
//!
//! The sentences are the report's.

use std::collections::BTreeMap;

use crate::stats::range::{AtLeastOne, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Estimate, Withheld};

/// Why a claim and what was measured differ, or what a reader should know of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReproductionReason {
    /// It is known of the two before anything is measured.
    Known {
        /// The sentence, with names of figures in braces: `{rate_per_s}`.
        words: String,
        /// Those figures, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "Real::read")]
        #[schemars(with = "BTreeMap<String, Real>")]
        figures: BTreeMap<String, f64>,
    },
    /// The interval holds the published figure and no difference at all.
    HoldsNoDifference,
    /// The interval holds the published figure, and also less than half or more than twice of that effect.
    HoldsFarEffects,
    /// Nothing came of the measurement.
    NoFigure {
        /// Why.
        na: String,
    },
    /// `compare` gives no separate verdict.
    Withheld(Withheld),
    /// `compare` warns of something.
    Warned {
        /// Its warning.
        warning: String,
    },
    /// It ended before a planned look.
    Ended {
        /// Whether somebody broke it off; else its time was over.
        interrupted: bool,
        /// Epochs there are.
        #[serde(deserialize_with = "SmallCount::read")]
        #[schemars(with = "SmallCount")]
        n_epochs: u32,
        /// Epochs that were planned.
        #[serde(deserialize_with = "SmallCount::read")]
        #[schemars(with = "SmallCount")]
        planned: u32,
    },
    /// The program between the published port and the server.
    PortProxy {
        /// The program.
        program: String,
    },
    /// Pages are made by these; nothing is pinned.
    PageVersions {
        /// WordPress's version.
        wordpress: String,
        /// PHP's.
        php: String,
        /// MariaDB's.
        mariadb: String,
    },
    /// As many pages as were published, of what was measured.
    FirstPages {
        /// Percent that TCP adds to their time in queries.
        added_pct: Estimate,
    },
}

/// The conclusion from a part's rows together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReproductionFinding {
    /// The most that each way served in a sweep, baseline first.
    MostServed {
        /// Requests per second.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "[Real; 2]")]
        per_s: [f64; 2],
        /// Connections at which that was.
        #[serde(deserialize_with = "AtLeastOne::read")]
        #[schemars(with = "[AtLeastOne; 2]")]
        connections: [u32; 2],
    },
    /// The point of a sweep at which the arms differ most, of the points at which they do.
    LargestTax {
        /// Percent of throughput that TCP loses there.
        tax_pct: Estimate,
        /// Connections at which that was.
        #[serde(deserialize_with = "AtLeastOne::read")]
        #[schemars(with = "AtLeastOne")]
        connections: u32,
    },
    /// Functions were sampled by a timer, not by a counter of cycles.
    SampledByTimer,
    /// The parts of a published port's time.
    ShareOfPort {
        /// The work.
        what: String,
        /// The published port's addition to it, µs.
        in_all_us: Estimate,
        /// The shares of loopback TCP, the bridge and the port proxy in it.
        shares: [PortShare; 3],
    },
    /// Attempts that come near a published time.
    Near {
        /// The published figure, µs per message over TCP.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        published_us: f64,
        /// The attempts; empty if none does.
        trials: Vec<String>,
    },
    /// The effect of a transport on a page of a web site.
    Page {
        /// Its queries.
        #[serde(deserialize_with = "SmallCount::read")]
        #[schemars(with = "SmallCount")]
        queries: u32,
        /// Its time over TCP, µs.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        page_us: f64,
        /// Percent of that in queries.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        share_pct: f64,
        /// Percent that TCP adds to the whole page.
        added_pct: Estimate,
    },
}

/// The share of one step in the addition of a published port.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PortShare {
    /// Its time, µs.
    pub us: Estimate,
    /// Percent of the whole.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub pct: f64,
}
