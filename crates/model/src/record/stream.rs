//! JSON lines that looptax prints during a run, one object per line.
//!
//! Made from the events that a run reports to its observer, and from the finished results; see [`StreamLine`]. The
//! command line prints them; programs read them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Estimate, Found, Look, Proof, Record, Tax, Watched};
use crate::stats::range::{Amount, Count, Index, Real, Version};

/// The version of [`StreamLine`]. From the first release on, it is raised when a field changes its meaning or is
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
/// // A type of a later version is no error.
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
    /// The current step, for a person.
    News {
        /// `starting private:redis`.
        words: String,
    },
    /// A comparison of the plan begins.
    Start {
        /// Server, connections, placement and workload.
        title: String,
        /// The pairs of arms that it compares, `[baseline, other]` each.
        pairs: Vec<[String; 2]>,
        /// The step before the first epoch, for a person.
        words: String,
    },
    /// One pair of arms has been measured for one epoch.
    Epoch(StreamEpoch),
    /// Something to know about the run.
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
        /// The address that the arm connected to.
        endpoint: String,
        /// Whether looptax proved of every connection that it uses the transport in `arm`.
        verified: bool,
        /// The result of the proof.
        proof: Proof,
    },
    /// The verdict on an arm of a finished comparison; if later comparisons change it, the changed verdict is in the
    /// result.
    Verdict {
        /// The comparison's index in the result's `comparisons`.
        #[serde(deserialize_with = "Index::read")]
        #[schemars(with = "Index")]
        comparison: u32,
        /// Server, connections, placement and workload, as in `start`.
        title: String,
        /// The verdict with its figures, in the form that it has in the result.
        #[serde(flatten)]
        tax: Box<Tax>,
    },
    /// A placement was run for some seconds, and is not judged.
    Look(Box<Look>),
    /// The record, as `--json` prints it; the last line of a run.
    Result(Box<Record>),
    /// One look of `find --watch --json`.
    Found(Box<Found>),
    /// One look of `watch --json`.
    Watched(Box<Watched>),
    /// A type that a later looptax added; this version never prints it.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Unknown,
}

/// The plan of the measurements.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamPlan {
    /// The plan for a person.
    pub words: String,
    /// Its comparisons in order; empty for whole commands, storms and trials.
    pub steps: Vec<StreamStep>,
    /// The longest time that warming up and measuring can take, in seconds, if known; starting and filling the servers
    /// is not included.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub at_most_s: Option<f64>,
}

/// A comparison of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamStep {
    /// Server, connections and placement.
    pub title: String,
    /// The longest time that it can take, in seconds, if known.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub at_most_s: Option<f64>,
}

/// The measurement of one epoch, and the estimate so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamEpoch {
    /// The pair's index in `pairs` of `start`.
    #[serde(deserialize_with = "Index::read")]
    #[schemars(with = "Index")]
    pub pair: u32,
    /// Name of the pair.
    pub title: String,
    /// Whether the epoch is part of the warm-up and does not count.
    pub is_warm_up: bool,
    /// Number of epochs of this pair so far, this one included; the epochs of the warm-up are counted separately.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_epochs: u64,
    /// The largest number of epochs that the pair can have.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n_epochs_at_most: u64,
    /// Answers (or runs of a command) per second in this epoch, `[baseline, other]`; `null` for an arm without any
    /// time.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "[Option<Amount>; 2]")]
    pub rates_per_s: [Option<f64>; 2],
    /// Throughput lost in this epoch, percent of the baseline's; `null` in a warm-up.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub throughput_pct: Option<f64>,
    /// Throughput lost in all epochs so far: rough, and not adjusted for the fact that it is computed after each epoch.
    pub so_far_pct: Option<Estimate>,
    /// Number of epochs at the next interim analysis; `null` in a warm-up, and when this pair has ended.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub next_look: Option<u64>,
    /// The longest time that can pass until all pairs of this comparison end, in seconds; `null` in a warm-up.
    #[serde(default, deserialize_with = "Amount::read")]
    #[schemars(with = "Option<Amount>")]
    pub left_at_most_s: Option<f64>,
}

super::code::codes! {
    /// The subject of a warning of `--json-stream`.
    WarningCode {
        /// Another looptax was measuring on this machine when this run began.
        OtherRun,
        /// Something that the user requested is not measured.
        NotMeasured,
        /// Answers take long, so slices are longer than planned.
        SlicesLonger,
        /// Answers take long, so slices are longer than planned, and there are fewer epochs, to keep to the planned
        /// time.
        EpochsFewer,
        /// A note on the course of a comparison; its figures are among the diagnostics of the verdicts.
        Comparison,
        /// Measuring took longer than the plan said.
        TookLonger,
        /// The run ended with an error, which is on stderr and in the exit code; the result holds the earlier
        /// measurements.
        Failed,
    }
}
