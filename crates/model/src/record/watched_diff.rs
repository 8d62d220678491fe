//! Two saved looks of `looptax watch` compared: the same clients before and after.
//!
//! Made by the analysis; printed by `diff` and by `switch`. Every name in it comes from another program.

use crate::stats::range::{Amount, Count, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, WatchedEnd, Way};

/// How the requests that are in both looks changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedDiff {
    /// The earlier look.
    pub before: WatchedSpan,
    /// The later look.
    pub after: WatchedSpan,
    /// Clients and servers that are in both looks, the busiest first.
    pub hops: Vec<WatchedChange>,
    /// Hops that are in only one of the looks, and other notes, a sentence each.
    pub notes: Vec<String>,
}

/// A difference of this many percentage points in the processors' time counts as another load.
const OTHER_LOAD_POINTS: f64 = 10.0;

impl WatchedDiff {
    /// How busy the processors were before and after, percent, if the load was not the same.
    pub fn other_load_pct(&self) -> Option<[f64; 2]> {
        let (one, other) = (self.before.busy_pct?, self.after.busy_pct?);
        ((one - other).abs() > OTHER_LOAD_POINTS).then_some([one, other])
    }
}

/// When a look was made, and how busy the machine was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedSpan {
    /// The name that the user gave the look, or its file; `null` if `switch` made it.
    pub name: Option<String>,
    /// When the look ended, with the offset to UTC.
    pub at: String,
    /// Length of the look in seconds.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub over_s: f64,
    /// Percent of the processors' time in which something ran; `null` if the kernel does not report it.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub busy_pct: Option<f64>,
}

/// The requests from one service to another, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedChange {
    /// The service that sends the requests; `null` for clients that are not on this machine.
    pub client: Option<WatchedEnd>,
    /// The service that answers.
    pub server: Option<WatchedEnd>,
    /// The kind of server, if known: `mariadb`.
    pub kind: Option<String>,
    /// The earlier look.
    pub before: WatchedSide,
    /// The later look.
    pub after: WatchedSide,
    /// Change of the mean time of a request, percent.
    pub mean_pct: Figure,
    /// Change of the median time of a request, percent. Its interval includes the uncertainty from the width of the
    /// buckets.
    pub p50_pct: Figure,
    /// Change of the 99th percentile of the times, percent; its interval is made like that of `p50_pct`.
    pub p99_pct: Figure,
    /// Probability of such a change of the mean or a larger one if there is no change, corrected by Holm over all hops.
    #[serde(default, deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
    /// Other differences between the two looks, a sentence each.
    pub notes: Vec<String>,
}

/// The figures of one look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedSide {
    /// The way that most of the requests took.
    pub way: Way,
    /// The address of that way.
    pub address: String,
    /// Requests, over all ways.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// Requests per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Connections that were opened per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub opened_per_s: f64,
    /// Mean time of a request, µs: the geometric mean over the looks.
    pub mean_us: Figure,
    /// Median time, µs: the geometric mean over the looks.
    pub p50_us: Figure,
    /// 99th percentile of the times, µs: the geometric mean over the looks.
    pub p99_us: Figure,
}
