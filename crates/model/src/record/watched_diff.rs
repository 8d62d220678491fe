//! Two saved looks of `looptax watch` compared: the same clients before and after.
//!
//! Made by the analysis; printed by `diff` and by `switch`. Every name in it comes from another program.

use crate::stats::range::{Amount, Count, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, WatchedEnd, Way};

/// The changes of the requests that both have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedDiff {
    /// The earlier one.
    pub before: WatchedSpan,
    /// The later one.
    pub after: WatchedSpan,
    /// Clients and servers that are in both, the busiest first.
    pub hops: Vec<WatchedChange>,
    /// Hops that are only in one of them, and other notes, a sentence each.
    pub notes: Vec<String>,
}

/// A change of the processors' time by this many points is another load.
const OTHER_LOAD_POINTS: f64 = 10.0;

impl WatchedDiff {
    /// How busy the processors were before and after, percent, if that was not the same load.
    pub fn other_load_pct(&self) -> Option<[f64; 2]> {
        let (one, other) = (self.before.busy_pct?, self.after.busy_pct?);
        ((one - other).abs() > OTHER_LOAD_POINTS).then_some([one, other])
    }
}

/// When it was counted, and how busy the machine was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedSpan {
    /// The name that its user gave it, or its file; `null` if `switch` counted.
    pub name: Option<String>,
    /// When it ended, with the offset to UTC.
    pub at: String,
    /// Seconds that it counted.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub over_s: f64,
    /// Of the processors' time meanwhile, percent that anything ran in; `null` where the kernel does not say.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub busy_pct: Option<f64>,
}

/// The requests of one service to another, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedChange {
    /// Who asks; `null` for clients that are not on this machine.
    pub client: Option<WatchedEnd>,
    /// Who answers.
    pub server: Option<WatchedEnd>,
    /// The kind of server, where it is known: `mariadb`.
    pub kind: Option<String>,
    /// The earlier look.
    pub before: WatchedSide,
    /// The later one.
    pub after: WatchedSide,
    /// Change of the mean time of a request, percent.
    pub mean_pct: Figure,
    /// Change of the time that half of the requests took less than, percent. Its interval holds what the width of the
    /// buckets leaves open.
    pub p50_pct: Figure,
    /// Change of the time that 99 % took less than, percent, as `p50_pct`.
    pub p99_pct: Figure,
    /// Probability of such a change of the mean or a larger one if there is none, corrected by Holm over all hops.
    #[serde(default, deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
    /// Other differences between the two, a sentence each.
    pub notes: Vec<String>,
}

/// The result of one look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedSide {
    /// The way that most of the requests took.
    pub way: Way,
    /// Its address.
    pub address: String,
    /// Requests, over all ways.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// Those per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Connections that were opened per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub opened_per_s: f64,
    /// Mean time of a request, µs: the geometric mean over the looks.
    pub mean_us: Figure,
    /// Half of them took less, µs; likewise.
    pub p50_us: Figure,
    /// 99 % took less, µs; likewise.
    pub p99_us: Figure,
}
