//! Makes a record from a typed [`Experiment`]: starts or inspects servers, opens and proves arms, runs slices, and
//! judges and saves each comparison.
//!
//! [`spec`] holds the user's request, and [`comparison`] turns a request into a record. `target` makes a server ready,
//! `connector` opens and proves its connections for the load engine, `measure` measures requests, and `exec` measures
//! whole commands; [`doctor`] checks whether verdicts on this machine can be trusted. The crate prints nothing: it
//! reports the beginning and the end of each step to an [`observer::Observer`].
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
