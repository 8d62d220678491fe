//! The form of a finished run on disk: versioned serde types and their JSON schema.
//!
//! Holds the results of other crates and modules, one file per object. This module contains no logic, except that it
//! makes figures from numbers and gives raw counts to the statistics. No field can hold a password. The experiment
//! fills the epochs, and the command line fills the rest; the store saves records, and the report reads them. A field
//! that may be `null` may also be missing.

mod arm;
mod bill;
mod chain;
mod checked;
mod client_like;
mod code;
mod commands;
mod comparison;
mod consistent;
mod contribution;
mod counts;
mod diagnostics;
mod diff;
mod doctor;
mod figure;
mod finding;
mod fleet;
mod found;
mod hex;
mod history;
mod host;
mod look;
mod mixture;
mod raw;
mod remedies;
mod reported;
mod reproduction;
mod reproduction_facts;
mod run;
mod schedule;
mod spelling;
mod storm;
mod stream;
mod switched;
mod tax;
mod trial;
mod watched;
mod watched_diff;
mod way;
mod why;
mod withheld;
mod words;

pub use arm::{Arm, Cpu, Latency, Pooled, Proof, Sightings, Syscalls};
pub use bill::{Bill, BillStep};
pub use chain::{FoundChain, FoundHop};
pub use checked::{Change, Checked, CheckedConnection, Edit, Outcome, Point, Step, StepPlace, SwitchVerdict, Topic};
pub use client_like::ClientLike;
pub use code::{NoteCode, PointCode, StepCode};
pub use commands::{CommandLine, Commands};
pub use comparison::{
    Comparison, Load, Meetings, PlacementUsed, ServerCount, Stall, Stream, Target, TimeWait, Workload,
};
pub use consistent::MOST_SAMPLES;
pub use contribution::{CONTRIBUTION_SCHEMA_VERSION, ContributedMachine, ContributedResult, Contribution};
pub use counts::letter;
pub use diagnostics::{ClientLimit, ClientLimitCause, Diagnostics, RateModes, Tested};
pub use diff::{Condition, Diff, DiffArm, DiffLayer, DiffLayers, DiffPair, DiffTax};
pub use doctor::{
    AaCheck, Doctor, DoctorAnswer, DoctorResult, InjectCheck, InjectedDelay, InjectedRun, PValuesBelow, SliceTaxes,
    SlicesCheck,
};
pub use figure::{Estimate, Figure, Missing};
pub use finding::{Finding, FindingLevel, Region, Replacement, SourceFile, TextPlace};
pub use fleet::{
    FLEET_SCHEMA_VERSION, Fleet, FleetCondition, FleetEffects, FleetFallen, FleetFinding, FleetGroup, FleetHost,
    FleetList, FleetLost, FleetMachine, FleetMeasured, FleetMove, FleetMover, FleetMovers, FleetPair, FleetShared,
    FleetSilent, FleetUnlike, FleetUnmeasured,
};
pub use found::{
    CostSource, CountedBy, EndpointTransport, FILE_GONE, FILE_REPLACED, FILE_UNSEEN, FOUND_SCHEMA_VERSION, Found,
    FoundClient, FoundEndpoint, FoundListener, FoundPeer, FoundServer, HowKnown, Note,
};
pub use hex::Hex64;
pub use history::{PastRun, PastVerdict};
pub use host::Host;
pub use look::{Look, LookArm, RateRange};
pub use mixture::mixed;
pub use raw::{CpuTicks, Epoch, Raw, Samples, Seats, Slice, TICK_NS};
pub use remedies::{GainRange, Remedies, Remedy, RemedyKind};
pub use reported::{CollectorTables, Reported};
pub use reproduction::{
    Article, HotFunction, Published, REPRODUCTION_SCHEMA_VERSION, Reproduction, ReproductionPages, ReproductionPart,
    ReproductionPoint, ReproductionProof, ReproductionRow, ReproductionSide, ReproductionStep, ReproductionTrial,
    ReproductionUnit, ReproductionVerdict, SideUnit, reproduction_schema,
};
pub use reproduction_facts::{PortShare, ReproductionFinding, ReproductionReason};
pub use run::Record;
pub use schedule::{PlannedLook, Schedule};
pub use spelling::{Proved, Spelling, Takes};
pub use storm::{Storm, StormArm, StormFailure, StormSize, Storms};
pub use stream::{STREAM_VERSION, StreamEpoch, StreamEvent, StreamLine, StreamPlan, StreamStep, WarningCode};
pub use switched::{
    FileHolds, FileRemark, FileRemarkCode, ListedFile, ListedSwitch, SwitchConnection, SwitchFate, SwitchFile,
    SwitchOutcome, SwitchProof, SwitchStanding, SwitchStep, Switched,
};
pub use tax::{CpuTax, Disturbance, Tax};
pub use trial::{
    Trial, TrialArm, TrialBill, TrialConnections, TrialCount, TrialDesign, TrialPage, TrialPart, TrialServer,
};
pub use withheld::Withheld;
pub use words::{Client, Placement};

pub use crate::stats::{Direction, Parts, Reason, SizeCause, UncertainSize, Verdict};

/// The version of the saved form. From the first release on, it is raised if a field changes its meaning or is
/// removed.
pub const SCHEMA_VERSION: u32 = 1;

/// The version of the method. From the first release on, it is raised by every change that can change a reported
/// number.
pub const METHOD_VERSION: u32 = 1;

/// Returns the JSON Schema (draft 2020-12) of a saved [`Record`].
pub fn schema() -> serde_json::Value {
    schema_of::<Record>()
}

/// Returns the JSON Schema (draft 2020-12) of a form that is saved or printed.
pub fn schema_of<T: schemars::JsonSchema>() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
pub use watched::{
    WATCHED_SCHEMA_VERSION, Watched, WatchedCpu, WatchedEnd, WatchedHop, WatchedLook, WatchedQueue, WatchedTimes,
};
pub use watched_diff::{WatchedChange, WatchedDiff, WatchedSide, WatchedSpan};
pub use way::Way;
pub use why::{CountedEpoch, EPOCHS_PER_UNSAMPLED, SampledEpoch, SampledPart, Sampling, Stacks, Why, WhyRow};
