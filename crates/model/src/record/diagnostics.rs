//! Diagnostics of the data of a comparison.
//!
//! None of it decides; it helps to judge whether to believe. `null` = not computed, with too few
//! epochs for instance. All of it can be computed again from the epochs.

use crate::stats::range::{Amount, Probability, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Diagnostics of one arm compared with the baseline.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostics {
    /// Half the difference in θ between epochs that start with the one and with the other arm.
    pub order_effect: Option<Tested>,
    /// Rank correlation of θ with time.
    pub trend: Option<Tested>,
    /// Lag-1 autocorrelation of θ over epochs.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub lag1_autocorrelation: Option<f64>,
    /// Robust standard deviation of θ between epochs.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub theta_sd: Option<f64>,
    /// Variance over mean of slice counts within an arm.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub dispersion: Option<f64>,
    /// Half-width in points that no design beats in the same time.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub sampling_floor_pct: Option<f64>,
    /// Epochs that do not count for the tax, if there are any.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_epochs_left_out: u32,
    /// Whether the totals, stalls included, contradict the estimate.
    pub totals_disagree: Option<bool>,
    /// CPU time that the hypervisor gave to others, percent of all.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub steal_pct: Option<f64>,
    /// CPU time of processes that are neither ours nor the server, percent of all.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub foreign_pct: Option<f64>,
    /// Requests in flight by Little's law over connections, `[baseline, other]`; 1 when all is well.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<[Real; 2]>")]
    pub littles_law_ratio: Option<[f64; 2]>,
    /// Rate in the first 10 ms of the windows over that of the rest, `[baseline, other]`; 1 when the
    /// guard was long enough.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<[Real; 2]>")]
    pub guard_transient_ratio: Option<[f64; 2]>,
    /// Arms whose rate jumps between two levels.
    #[serde(default)]
    pub modes: Vec<RateModes>,
    /// θ with short minus θ with long slices, in points, where it was measured.
    pub slice_invariance_pct: Option<crate::record::Figure>,
    /// Arms whose pace the client set and not the server, each with its cause.
    #[serde(default)]
    pub client_limits: Vec<ClientLimit>,
}

/// The client is the bottleneck of an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientLimit {
    /// The arm.
    pub arm: String,
    /// How it shows.
    pub cause: ClientLimitCause,
}

/// How it shows that the client is the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClientLimitCause {
    /// Its own code takes most of all CPU time per request, that of both ends.
    OwnCode {
        /// Its user CPU time, percent of all.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        share_pct: f64,
    },
    /// The cores that it has for itself are all but full.
    BusyCores {
        /// Its CPU time, percent of theirs.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        busy_pct: f64,
    },
    /// An open loop's requests went out late by its own doing, for much of the latency's p99.
    Late {
        /// The 99th percentile of it, µs; median over epochs.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        by_us: f64,
    },
}

/// A statistic with its p-value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tested {
    /// The statistic.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub value: f64,
    /// Its two-sided p-value.
    #[serde(deserialize_with = "Probability::read")]
    #[schemars(with = "Probability")]
    pub p_value: f64,
}

/// Two levels between which an arm's rate jumps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateModes {
    /// The arm.
    pub arm: String,
    /// The lower level.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub low_per_s: f64,
    /// The upper level.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub high_per_s: f64,
}
