//! The JSON lines that looptax prints during a run, one object per line.
//!
//! The lines are made from the events that a run reports to its observer, and from the finished results; see
//! [`StreamLine`]. The command line prints them, and other programs read them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Estimate, Found, Look, Proof, Record, Tax, Watched};
use crate::stats::range::{Amount, Count, Index, Real, Version};

/// The version of [`StreamLine`]. From the first release on, it is raised if a field changes its meaning or is
/// removed.
pub const STREAM_VERSION: u32 = 1;

/// A line of `--json-stream`, `find --watch --json` or `watch --json`.
///
/// ```
/// use looptax_model::record::{StreamEvent, StreamLine};
///
/// let text = r#"{"version":1,"type":"news","words":"starting private:redis","added_later":true}"#;
/// let line: StreamLine = serde_json::from_str(text)?;
/// assert_eq!(line.event, StreamEvent::News { words: "starting private:redis".to_owned() });
/// // The `type` of a later version is not an error.
/// let later: StreamLine = serde_json::from_str(r#"{"version":1,"type":"weather"}"#)?;
/// assert_eq!(later.event, StreamEvent::Unknown);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamLine {
    /// Version of this form: [`STREAM_VERSION`].
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub version: u32,
    /// The event, by its `type`.
    #[serde(flatten)]
    pub event: StreamEvent,
}

impl From<StreamEvent> for StreamLine {
    fn from(event: StreamEvent) -> Self {
        Self { version: STREAM_VERSION, event }
    }
}

/// The event that a line reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The plan of the measurements; the first line of a run.
    Plan(StreamPlan),
    /// A message about the current step, for a person.
    News {
        /// The message: `starting private:redis`.
        words: String,
    },
    /// A comparison of the plan begins.
    Start {
        /// The comparison's server, connections, placement and workload.
        title: String,
        /// The pairs of arms that the comparison compares, each as `[baseline, other]`.
        pairs: Vec<[String; 2]>,
        /// A message about the step before the first epoch, for a person.
        words: String,
    },
    /// An epoch of one pair of arms has been measured.
    Epoch(StreamEpoch),
    /// A warning about the run.
    Warning {
        /// The warning, as a code for programs.
        code: WarningCode,
        /// The warning, for a person.
        what: String,
    },
    /// The address to which an arm of a finished comparison connected, and the proof of its transport.
    Arm {
        /// The comparison's index in the result's `comparisons`.
        #[serde(deserialize_with = "Index::read")]
        #[schemars(with = "Index")]
        comparison: u32,
        /// `unix`, `tcp`, ….
        arm: String,
        /// The address to which the arm connected.
        endpoint: String,
        /// Whether looptax proved, for every connection, that the connection uses the transport in `arm`.
        verified: bool,
        /// The result of the proof.
        proof: Proof,
    },
    /// The verdict on an arm of a finished comparison. Later comparisons may change this verdict; the result then has
    /// the changed verdict.
    Verdict {
        /// The comparison's index in the result's `comparisons`.
        #[serde(deserialize_with = "Index::read")]
        #[schemars(with = "Index")]
        comparison: u32,
        /// The comparison's server, connections, placement and workload, as in `start`.
        title: String,
        /// The verdict with its figures, in the same form as in the result.
        #[serde(flatten)]
        tax: Box<Tax>,
    },
    /// A placement that was measured for some seconds, without a verdict.
    Look(Box<Look>),
    /// The record, as `--json` prints it; the last line of a run.
    Result(Box<Record>),
    /// A snapshot of `find --watch --json`.
    Found(Box<Found>),
    /// A snapshot of `watch --json`.
    Watched(Box<Watched>),
    /// A type of event that a later version of looptax added; this version never prints it.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Unknown,
}

/// The plan of the measurements.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamPlan {
    /// A description of the plan, for a person.
    pub words: String,
    /// The planned comparisons in order; empty for commands that are measured as a whole, for storms, and for trials.
    pub steps: Vec<StreamStep>,
    /// Upper limit of the time for warming up and measuring, in seconds; `null` if it is not known. The time to start
    /// and fill the servers is not included.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub at_most_s: Option<f64>,
}

/// A planned comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamStep {
    /// The comparison's server, connections and placement.
    pub title: String,
    /// Upper limit of the comparison's time, in seconds; `null` if it is not known.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub at_most_s: Option<f64>,
}

/// The figures of one epoch, and the estimate from all epochs so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamEpoch {
    /// The pair's index in `pairs` of `start`.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub pair: u32,
    /// The name of the pair.
    pub title: String,
    /// Whether the epoch is part of the warm-up; such an epoch does not count.
    pub is_warm_up: bool,
    /// Number of epochs of this pair so far, including this epoch; the epochs of the warm-up have a separate count.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_epochs: u64,
    /// Maximum number of epochs that may be measured for this pair.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_epochs_at_most: u64,
    /// Number of answers (or runs of a command) per second in this epoch, `[baseline, other]`; `null` if no time was
    /// measured for the arm.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "[Option<Amount>; 2]")]
    pub rates_per_s: [Option<f64>; 2],
    /// Throughput lost in this epoch, percent of the baseline's throughput; `null` in a warm-up.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub throughput_pct: Option<f64>,
    /// Throughput lost, from all epochs so far. This estimate is rough: it is computed after each epoch, and not
    /// adjusted for these repeated computations.
    pub so_far_pct: Option<Estimate>,
    /// Number of epochs at which the next interim analysis takes place; `null` in a warm-up, and after the pair's last
    /// epoch.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub next_look: Option<u64>,
    /// Upper limit of the time until all pairs of this comparison end, in seconds; `null` in a warm-up.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub left_at_most_s: Option<f64>,
}

super::code::codes! {
    /// The reason for a warning of `--json-stream`.
    WarningCode {
        /// Another looptax was measuring on this machine when this run began.
        OtherRun,
        /// Something that the user requested is not measured.
        NotMeasured,
        /// Answers take long, so slices are longer than planned.
        SlicesLonger,
        /// Answers take long, so slices are longer than planned, and fewer epochs are measured so that the planned
        /// time is kept.
        EpochsFewer,
        /// A note about a comparison while it runs; its figures are among the diagnostics of the verdicts.
        Comparison,
        /// The measurements took longer than planned.
        TookLonger,
        /// The run ended with an error, which is on stderr and in the exit code; the result holds the earlier
        /// measurements.
        Failed,
    }
}
