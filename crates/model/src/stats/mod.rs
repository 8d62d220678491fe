//! The statistics: numbers in, estimates and verdicts out, without I/O, clock or randomness.
//!
//! The same input gives the same `f64`, bit for bit: every loop runs in the order of its input, no map is iterated, and
//! nothing runs in parallel. The experiment passes its epochs to [`judge()`], and [`StopRule`] decides whether the run
//! continues; `judge` and `StopRule` use everything else in this module.
//!
//! In every metric, a positive figure means that the other arm loses compared with the baseline.

mod bill;
mod diagnostics;
mod distributions;
mod epoch;
mod estimate;
pub mod hodges_lehmann;
mod holm;
mod independent;
mod judge;
pub mod meta;
mod mixture;
mod moments;
mod per_request;
mod quantile;
pub mod range;
pub mod rank_sum;
pub mod selfcheck;
mod sequential;
mod serial;
mod share;
pub mod signed_rank;
mod times;
pub mod totals;
#[cfg(test)]
mod vectors;
mod verdict;

pub use bill::{Blocks, Cost};
pub use diagnostics::{
    Diagnostics, EARLY_NS, GuardTransient, NoiseShares, OrderEffect, RateModes, SamplingFloor, Stall, Trend,
    disturbed_epochs, guard_transient, lag1_autocorrelation, littles_law, mad_sd, noise_shares, noisy_epochs,
    order_effect, rate_modes, sampling_floor, stalls, totals_disagree, trend,
};
pub use epoch::{Epoch, Noise, Response, Side, Slice, ln_cost, ln_ns_per_request, rate_per_s};
pub use estimate::{Estimate, tax_pct};
pub use holm::holm;
pub use independent::{difference, tested_difference};
pub use judge::{
    CpuTax, Disturbance, Input, Judgement, Metric, Percentile, Primary, Secondary, SideSummary, Warning, dearer_by_cpu,
    judge, primary,
};
pub use mixture::{InPlacement, mixture};
pub use moments::{deviation, mean, median, variance};
pub use per_request::{
    Difference, LEAST_OCCURRENCES, per_request, per_request_difference, per_request_difference_of_occurrences,
    per_request_of_occurrences,
};
pub use quantile::{
    Comparison as QuantileComparison, Quantile, QuantileTax, blocks, compare, compare_whole, nearest_rank,
    order_statistic_ranks, pooled_us, quantile_of,
};
pub use sequential::{Decision, InterimAnalyses, InterimAnalysis, StopCause, StopRule};
pub use serial::{LEAST_LOOKS, serial_mean};
pub use share::share_of_groups;
pub use times::{N_TIME_BUCKETS, Times, TimesForm};
pub use verdict::{Direction, Parts, Reason, SizeCause, UncertainSize, Verdict, classify, direction};
