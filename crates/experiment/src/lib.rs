//! From a typed [`Experiment`] to a record: servers are started or inspected, arms opened and proved, slices run, and
//! each comparison is judged and kept.
//!
//! [`spec`] has the user's request, and [`comparison`] makes a record of it, `target` makes a server ready, `connector`
//! opens and proves its connections for the load engine, `measure` measures requests and `exec` whole commands;
//! [`doctor`] checks whether this machine allows honest verdicts. The crate shows nothing: it reports beginnings and
//! ends to an [`observer::Observer`].
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

mod alone;
mod arms;
pub mod comparison;
mod connector;
pub mod doctor;
mod exec;
mod host;
mod measure;
pub mod minute;
pub mod observer;
pub mod reproduction;
mod script;
pub mod servers;
pub mod spec;
pub mod storm;
mod target;
pub mod trial;
pub mod why;

pub use alone::Claim;
pub use arms::Machine;
pub use connector::TargetConnector;
pub use host::host;
pub use measure::{RecordWriter, plan};
pub use observer::Observer;
pub use spec::Experiment;
pub use target::workloads::list as list_workloads;
pub use target::{AskPassword, Host, Target, ask_nobody};
