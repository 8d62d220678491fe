//! Turns a record into text for people. Pure: the same record gives the same bytes.
//!
//! Reads no file, no clock and no terminal: the caller passes the width and the abilities of the terminal. Strings of a
//! record may come from a hostile server, and are cleaned in this crate. Called by the command line.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

mod benchmark;
mod chains;
mod client;
mod csv;
mod figures;
mod format;
mod heading;
pub mod html;
pub mod live;
mod load;
mod markdown;
mod openmetrics;
mod openmetrics_found;
mod openmetrics_watched;
mod sarif;
pub mod terminal;
mod words;

pub use benchmark::benchmark_json;
pub use chains::{Chain, folded, pprof};
pub use csv::csv;
pub use markdown::{markdown, reproduction_markdown};
pub use openmetrics::openmetrics;
pub use openmetrics_found::found_openmetrics;
pub use openmetrics_watched::{WatchedTotals, watched_openmetrics};
pub use sarif::{SarifLog, sarif};
