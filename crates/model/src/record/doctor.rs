//! The result of `looptax doctor`: whether this machine allows honest verdicts.
//!
//! Its own JSON, apart from records of runs.

use crate::stats::range::{Count, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Hex64;

/// The checks of one machine, and what follows from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// The server that was used.
    pub target: String,
    /// Its version.
    pub version: String,
    /// Seed of the first run.
    pub seed: Hex64,
    /// Epochs of each run.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub epochs_per_run: u32,
    /// Runs that were asked for of each check.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub runs: u32,
    /// How the client waited.
    pub client: String,
    /// CPU time that other processes took meanwhile, percent; `null` where unknown.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub foreign_pct: Option<f64>,
    /// CPU time that the hypervisor took meanwhile, percent; `null` where unknown.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub steal_pct: Option<f64>,
    /// Whether that is too much.
    pub is_busy: bool,
    /// Check by check.
    pub checks: Vec<DoctorResult>,
    /// The conclusion from them.
    pub answer: DoctorAnswer,
}

/// The conclusion from all checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DoctorAnswer {
    /// A check failed: verdicts of this machine are not honest.
    Failed,
    /// No check gave an answer.
    Unanswered,
    /// The machine was busy meanwhile: nothing is known about it.
    Busy,
    /// No check failed, and some gave no answer.
    SomeOpen,
    /// No check failed, in so few runs that only gross errors would show.
    NoGrossError,
    /// Verdicts of this machine can be believed.
    Believable,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "check", rename_all = "lowercase")]
pub enum DoctorResult {
    /// The same arm on both sides must show no difference.
    Aa(AaCheck),
    /// A known delay must come out.
    Inject(InjectCheck),
    /// The length of the slices must not matter.
    Slices(SlicesCheck),
}

impl DoctorResult {
    /// Whether it passed; `None` where it gave no answer.
    pub const fn passed(&self) -> Option<bool> {
        match self {
            Self::Aa(check) => check.passed,
            Self::Inject(check) => check.passed,
            Self::Slices(check) => check.passed,
        }
    }
}

/// An arm against itself, with separate connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AaCheck {
    /// The arm.
    pub arm: String,
    /// Whether it passed; `null`: no answer.
    pub passed: Option<bool>,
    /// Runs that were made.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub runs: u64,
    /// Runs that say the arm differs from itself.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub alarms: u64,
    /// How many of these are chance.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub accepted: u64,
    /// Alarms with a verdict of difference.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub of_which_difference: u64,
    /// Mean tax, percent.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub mean_tax_pct: f64,
    /// Mean θ in standard errors; `null` below two runs.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub mean_theta_z: Option<f64>,
    /// How many p-values are below some levels.
    pub p_values_below: PValuesBelow,
    /// Half the width of the widest interval, points; `null` where that is unbounded.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub half_width_points: Option<f64>,
    /// θ of each run.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Vec<Real>")]
    pub thetas: Vec<f64>,
}

/// How many p-values are below a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PValuesBelow {
    /// Below 0.01.
    #[serde(rename = "0.01", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub p01: u64,
    /// Below 0.05.
    #[serde(rename = "0.05", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub p05: u64,
    /// Below 0.25.
    #[serde(rename = "0.25", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub p25: u64,
    /// Below 0.5.
    #[serde(rename = "0.5", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub p50: u64,
}

/// A busy wait of known length before each send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectCheck {
    /// The arm.
    pub arm: String,
    /// Whether it passed; `null`: no answer.
    pub passed: Option<bool>,
    /// The result; `null` if both ends could not be scheduled in turns.
    #[serde(flatten)]
    pub delay: Option<InjectedDelay>,
    /// Why there is no answer; `null` where something came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The result of one delay, with both ends scheduled in turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedDelay {
    /// The delay as a part of a request, percent.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub part_pct: f64,
    /// The delay, ns.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub delay_ns: f64,
    /// Runs that were made.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub runs: u64,
    /// Intervals that cover the delay.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub covered: u64,
    /// How many have to.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub least: u64,
    /// Half the width of the typical interval, points; `null` without runs.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub half_width_points: Option<f64>,
    /// Run by run.
    pub intervals: Vec<InjectedRun>,
    /// One more run, scheduled as programs are: shown, not judged.
    pub normal_scheduling: Option<InjectedRun>,
}

/// One run with a delay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedRun {
    /// The tax as it must come out, percent.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub truth_pct: f64,
    /// The tax as it came out, percent: value and interval.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Option<Real>; 3]")]
    pub tax_pct: [Option<f64>; 3],
    /// How often per request the client lost the core to others: without and with the delay.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Option<Real>; 2]")]
    pub client_switches_forced_per_request: [Option<f64>; 2],
}

/// Slices of 50 ms against slices of 500 ms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlicesCheck {
    /// Whether it passed; `null`: no answer.
    pub passed: Option<bool>,
    /// The result; `null` if a run gave no estimate.
    #[serde(flatten)]
    pub taxes: Option<SliceTaxes>,
    /// Why nothing came out; `null` where something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The result of slices of either length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceTaxes {
    /// The tax with slices of 50 ms, percent: value and interval.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Option<Real>; 3]")]
    pub tax_50ms_pct: [Option<f64>; 3],
    /// The tax with slices of 500 ms, percent: value and interval.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Option<Real>; 3]")]
    pub tax_500ms_pct: [Option<f64>; 3],
    /// How far they are apart, points: value and interval.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Option<Real>; 3]")]
    pub difference_points: [Option<f64>; 3],
}
