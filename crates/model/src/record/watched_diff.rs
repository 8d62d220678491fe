//! The comparison of two saved snapshots of `looptax watch`: the same clients before and after a change.
//!
//! Made by the analysis; printed by `diff` and by `switch`. All names in the comparison come from outside looptax.

use crate::stats::range::{Amount, Count, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, WatchedEnd, Way};

/// How requests changed between two snapshots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedDiff {
    /// The earlier snapshot.
    pub before: WatchedSpan,
    /// The later snapshot.
    pub after: WatchedSpan,
    /// Pairs of client and server that are in both snapshots, the busiest first.
    pub hops: Vec<WatchedChange>,
    /// Hops that only one of the snapshots has, and other notes; each of them is a sentence.
    pub notes: Vec<String>,
}

/// If the processors' busy time differs by more than this number of percentage points, the load is considered
/// different.
const OTHER_LOAD_POINTS: f64 = 10.0;

impl WatchedDiff {
    /// Returns how busy the processors were before and after, percent, if the load was different.
    pub fn other_load_pct(&self) -> Option<[f64; 2]> {
        let (one, other) = (self.before.busy_pct?, self.after.busy_pct?);
        ((one - other).abs() > OTHER_LOAD_POINTS).then_some([one, other])
    }
}

/// The time of a snapshot, and how busy the machine was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedSpan {
    /// The name that the user gave to the snapshot, or its file; `null` if `switch` took the snapshot.
    pub name: Option<String>,
    /// Time at which the snapshot ended, with the offset to UTC.
    pub at: String,
    /// Length of the snapshot in seconds.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub over_s: f64,
    /// How busy the processors were, in percent of their time; `null` if the kernel does not report it.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub busy_pct: Option<f64>,
}

/// The requests from one service to another, in the two snapshots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedChange {
    /// The service that sends the requests; `null` for clients on other machines.
    pub client: Option<WatchedEnd>,
    /// The service that answers.
    pub server: Option<WatchedEnd>,
    /// The kind of server, if it is known: `mariadb`.
    pub kind: Option<String>,
    /// The figures of the earlier snapshot.
    pub before: WatchedSide,
    /// The figures of the later snapshot.
    pub after: WatchedSide,
    /// Change of the mean time of a request, percent.
    pub mean_pct: Figure,
    /// Change of the median time of a request, percent. Its interval includes the uncertainty from the width of the
    /// buckets.
    pub p50_pct: Figure,
    /// Change of the 99th percentile of the times, percent. Its interval includes the uncertainty from the width of
    /// the buckets.
    pub p99_pct: Figure,
    /// p-value of the change of the mean: the probability of a change of this size or larger if there is in fact no
    /// change. Corrected by Holm's method for the number of hops.
    #[serde(default, deserialize_with = "Probability::read")]
    #[schemars(with = "Option<Probability>")]
    pub p: Option<f64>,
    /// Other differences between the two snapshots, each as a sentence.
    pub notes: Vec<String>,
}

/// The figures of one snapshot. Intervals come from the differences between looks, which are parts of the snapshot's
/// time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedSide {
    /// The transport that most of the requests used.
    pub way: Way,
    /// The address to which these requests were sent.
    pub address: String,
    /// Number of requests, over all transports.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_requests: u64,
    /// Number of requests per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub requests_per_s: f64,
    /// Number of connections that were opened per second.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub opened_per_s: f64,
    /// Mean time of all requests, µs; its interval is computed from the variation between looks.
    pub mean_us: Figure,
    /// Median time of all requests, µs; its interval is computed from the variation between looks.
    pub p50_us: Figure,
    /// 99th percentile of the times of all requests, µs; its interval is computed from the variation between looks.
    pub p99_us: Figure,
}
