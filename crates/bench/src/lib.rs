//! The experiment: when each connection runs, the loop that drives the connections, and the raw numbers.
//!
//! [`run_slices`] is the one loop of an experiment. [`run()`] lets the load engine fill the slices, over connections
//! that a [`Connector`] opens and proves. [`run_commands`] fills the slices with whole commands, and [`pages`] requests
//! the pages of a web application. Other crates may fill slices with other loads.
//!
//! This crate reads the measuring clock; other crates time an action with [`timed`]. Verdicts come from
//! `looptax_model::stats`; this crate uses them only to decide when to stop.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

mod arrivals;
mod budget;
mod clock;
mod connect;
mod cores;
mod cpu_group;
mod error;
mod experiment;
mod glimpse;
mod keys;
mod load;
mod machine;
pub mod pages;
pub mod path;
mod patterns;
mod plan;
mod process_tree;
mod progress;
mod requests;
mod schedule;
pub mod script;
mod server_cpu;
mod shape;
mod slices;
mod sys;
mod turns;
mod whole;

pub use budget::{Budget, Replanned};
pub use clock::{Timed, timed};
pub use connect::{
    ConnectError, Connector, Helper, OneShotCalls, OneShotClient, OneShotClients, Origin, Origins, Records, Wired,
    Worker,
};
pub use cores::allowed_cores;
pub use cpu_group::CpuGroup;
pub use error::{BenchError, CommandError, LoadError, RunName, Stage};
pub use experiment::{ContrastRun, Outcome, run_slices};
pub use glimpse::{GlimpseData, glimpse};
pub use machine::cpu_ticks;
pub use patterns::{MESSAGE_BYTES, Pattern, PatternRun, run_pattern};
pub use plan::{
    Arrivals, ClientModel, Contrast, Course, Distribution, KeyShare, KeySpace, OpenLoop, Pacing, Placement, Plan,
    ServerThreads, SidePlan, Stopping, WarmUp,
};
pub use process_tree::{cpu_ns as process_tree_cpu_ns, descendants_cpu_ns};
pub use progress::{Observer, Phase, Progress, Silent};
pub use requests::run;
pub use shape::{REQUESTS_PER_SLICE, Shape};
pub use slices::{EpochOrder, FilledSlice, MeasuredEpoch, SliceOrder, SliceSource};
pub use turns::InTurns;
pub use whole::{CommandPlan, Sight, Watcher, WholePlan, run_commands, run_once};
