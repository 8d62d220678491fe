//! Sends the reports of one machine to a collector for many machines, and queries the collector.
//!
//! Data flows in one direction: results of `find` and records → rows of a few tables ([`Batch`]) → a spool → an engine.
//! The spool keeps the rows while a collector cannot be reached. Each table is described once, column by column
//! ([`Table`]); the SQL, the JSON lines and a page of the documentation are generated from this description. A row
//! contains no password and no contents of files, because no column exists for them.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

mod anonymous;
mod batch;
mod column;
mod contribution;
mod engine;
mod error;
mod gathered;
mod identity;
mod lines;
mod overview;
pub mod sent;
mod spool;
mod text;

pub use anonymous::Names;
pub use batch::{Batch, SCHEMA_VERSION, Seen, TABLES};
pub use column::{Column, Kind, Row, Table, Value};
pub use contribution::{ContributionError, contribution, contribution_line, read_contribution};
pub use engine::{
    Access, Collector, Destination, InitOptions, Only, Order, Place, Question, Rows, VIEWS, View, script,
};
pub use error::{FleetError, Refusal};
pub use gathered::Gathered;
pub use identity::host_id;
pub use lines::{from_lines, line_schema, to_lines};
pub use overview::{Answers, Limits, Listed, Machines, Measured, Payer, hosts, machines, overview};
pub use sent::findings::FallenClient;
pub use spool::{Spool, Waiting};
