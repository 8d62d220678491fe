//! The result of `looptax doctor`: whether verdicts from this machine can be trusted.
//!
//! A JSON form separate from records of runs.

use crate::stats::range::{Count, Real, SmallCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Hex64;

/// The checks of a machine, and the conclusion from these checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// The server that was measured.
    pub target: String,
    /// The server's version.
    pub version: String,
    /// Seed of the first run.
    pub seed: Hex64,
    /// Number of epochs in each run.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub epochs_per_run: u32,
    /// Number of runs that were requested for each check.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub runs: u32,
    /// How the client waited for answers.
    pub client: String,
    /// CPU time that other processes used during the checks, percent; `null` if it is not known.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub foreign_pct: Option<f64>,
    /// CPU time that the hypervisor took during the checks, percent; `null` if it is not known.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub steal_pct: Option<f64>,
    /// Whether other processes and the hypervisor used too much CPU time.
    pub is_busy: bool,
    /// The result of each check.
    pub checks: Vec<DoctorResult>,
    /// The conclusion from the checks.
    pub answer: DoctorAnswer,
}

/// The conclusion from all checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DoctorAnswer {
    /// At least one check failed: verdicts from this machine cannot be trusted.
    Failed,
    /// None of the checks gave a result.
    Unanswered,
    /// The machine was busy during the checks, so the checks show nothing about the machine.
    Busy,
    /// No check failed, but at least one check gave no result.
    SomeOpen,
    /// No check failed, but with so few runs only large errors would be found.
    NoGrossError,
    /// Verdicts from this machine can be trusted.
    Believable,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "check", rename_all = "lowercase")]
pub enum DoctorResult {
    /// An arm that is compared with itself must show no difference.
    Aa(AaCheck),
    /// An injected delay of known length must show in the tax.
    Inject(InjectCheck),
    /// Slices of different lengths must give the same tax.
    Slices(SlicesCheck),
}

impl DoctorResult {
    /// Returns whether the check passed; `None` if it gave no result.
    pub const fn passed(&self) -> Option<bool> {
        match self {
            Self::Aa(check) => check.passed,
            Self::Inject(check) => check.passed,
            Self::Slices(check) => check.passed,
        }
    }
}

/// An arm compared with itself, with separate connections for each side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AaCheck {
    /// The arm.
    pub arm: String,
    /// Whether the check passed; `null` if it gave no result.
    pub passed: Option<bool>,
    /// Number of runs that were made.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub runs: u64,
    /// Number of runs that report a difference between the arm and itself.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub alarms: u64,
    /// Maximum number of alarms that chance explains.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub accepted: u64,
    /// Number of alarms whose verdict is a difference.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub of_which_difference: u64,
    /// Mean tax, percent.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub mean_tax_pct: f64,
    /// Mean θ in standard errors; `null` with fewer than two runs.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub mean_theta_z: Option<f64>,
    /// How many p-values are below each of four levels.
    pub p_values_below: PValuesBelow,
    /// Half width of the widest interval, percentage points; `null` if an interval is unbounded.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub half_width_points: Option<f64>,
    /// θ of each run.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Vec<Real>")]
    pub thetas: Vec<f64>,
}

/// Number of p-values below each of four levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PValuesBelow {
    /// Number of p-values below 0.01.
    #[serde(rename = "0.01", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub p01: u64,
    /// Number of p-values below 0.05.
    #[serde(rename = "0.05", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub p05: u64,
    /// Number of p-values below 0.25.
    #[serde(rename = "0.25", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub p25: u64,
    /// Number of p-values below 0.5.
    #[serde(rename = "0.5", deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub p50: u64,
}

/// The check with a busy wait of known length before each send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectCheck {
    /// The arm.
    pub arm: String,
    /// Whether the check passed; `null` if it gave no result.
    pub passed: Option<bool>,
    /// The result; `null` if the scheduler could not be made to run the two ends in turns.
    #[serde(flatten)]
    pub delay: Option<InjectedDelay>,
    /// Why the check gave no result; `null` if there is a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The result for one delay, with the two ends scheduled in turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedDelay {
    /// The delay as a percentage of a request's time.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub part_pct: f64,
    /// The delay, ns.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub delay_ns: f64,
    /// Number of runs that were made.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub runs: u64,
    /// Number of runs whose interval contains the delay.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub covered: u64,
    /// Minimum number of intervals that must contain the delay.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub least: u64,
    /// Half width of the typical interval, percentage points; `null` if there are no runs.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub half_width_points: Option<f64>,
    /// The interval of each run.
    pub intervals: Vec<InjectedRun>,
    /// An additional run with normal scheduling; it is printed but not judged.
    pub normal_scheduling: Option<InjectedRun>,
}

/// One run with a delay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectedRun {
    /// The tax that the delay causes by calculation, percent.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub truth_pct: f64,
    /// The measured tax, percent: the value and the two ends of its interval.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Option<Real>; 3]")]
    pub tax_pct: [Option<f64>; 3],
    /// Number of times per request that the scheduler took the core away from the client: without the delay, and with
    /// it.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Option<Real>; 2]")]
    pub client_switches_forced_per_request: [Option<f64>; 2],
}

/// The check that compares slices of 50 ms with slices of 500 ms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlicesCheck {
    /// Whether the check passed; `null` if it gave no result.
    pub passed: Option<bool>,
    /// The result; `null` if one of the runs gave no estimate.
    #[serde(flatten)]
    pub taxes: Option<SliceTaxes>,
    /// Why the check gave no result; `null` if there is a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The taxes with short and with long slices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceTaxes {
    /// The tax with slices of 50 ms, percent: the value and the two ends of its interval.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Option<Real>; 3]")]
    pub tax_50ms_pct: [Option<f64>; 3],
    /// The tax with slices of 500 ms, percent: the value and the two ends of its interval.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Option<Real>; 3]")]
    pub tax_500ms_pct: [Option<f64>; 3],
    /// The difference of the two taxes, percentage points: the value and the two ends of its interval.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "[Option<Real>; 3]")]
    pub difference_points: [Option<f64>; 3],
}
