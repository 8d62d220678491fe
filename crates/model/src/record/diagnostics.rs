//! Diagnostics of the data of a comparison.
//!
//! Diagnostics help a reader decide whether to trust a verdict. `null` means that a diagnostic was not computed, for
//! example because there were too few epochs. All diagnostics can be computed again from the epochs.

use crate::stats::range::{Amount, Probability, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Diagnostics of one arm compared with the baseline. θ is ln(baseline's throughput / arm's throughput).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostics {
    /// Half the difference between θ in epochs that start with one arm and θ in epochs that start with the other arm.
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
    /// Variance of an arm's numbers of requests per slice, divided by the mean of these numbers.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub dispersion: Option<f64>,
    /// The smallest half width of the tax's interval, in percentage points, that any design could reach in the same
    /// time.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub sampling_floor_pct: Option<f64>,
    /// Number of epochs that are not used for the tax.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub n_epochs_left_out: u32,
    /// Whether the totals, which include stalls, contradict the estimate.
    pub totals_disagree: Option<bool>,
    /// CPU time that the hypervisor gave to other machines, percent of all CPU time.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub steal_pct: Option<f64>,
    /// CPU time of processes that are neither looptax nor the server, percent of all CPU time.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub foreign_pct: Option<f64>,
    /// Number of requests in flight (by Little's law), divided by the number of connections, `[baseline, other]`; 1 is
    /// correct.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<[Real; 2]>")]
    pub littles_law_ratio: Option<[f64; 2]>,
    /// Rate in the first 10 ms of the windows divided by the rate in the rest of the windows, `[baseline, other]`; 1
    /// if the guard was long enough.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<[Real; 2]>")]
    pub guard_transient_ratio: Option<[f64; 2]>,
    /// Arms whose rate jumps between two levels.
    #[serde(default)]
    pub modes: Vec<RateModes>,
    /// θ with short slices minus θ with long slices, in percentage points, if it was measured.
    pub slice_invariance_pct: Option<crate::record::Figure>,
    /// Arms whose rate was limited by the client, not by the server, each with the reason.
    #[serde(default)]
    pub client_limits: Vec<ClientLimit>,
}

/// An arm in which the client is the bottleneck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientLimit {
    /// The arm.
    pub arm: String,
    /// The observation that shows that the client is the bottleneck.
    pub cause: ClientLimitCause,
}

/// An observation that shows that the client is the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClientLimitCause {
    /// The client's own code uses most of the CPU time that a request needs at both ends together.
    OwnCode {
        /// The client's user CPU time, percent of the CPU time of both ends.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        share_pct: f64,
    },
    /// The cores that only the client uses are almost fully busy.
    BusyCores {
        /// The client's CPU time, percent of the time of these cores.
        #[serde(deserialize_with = "Real::read")]
        #[schemars(with = "Real")]
        busy_pct: f64,
    },
    /// The client sent requests of an open loop late, and this delay is a large part of the latency's p99. The delay
    /// was caused by the client itself.
    Late {
        /// The 99th percentile of this delay, µs; median over epochs.
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
    /// The statistic's two-sided p-value.
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
