//! Tests of the report as a user reads it.
//!
//! Snapshots check the layout as a whole; separate tests check single rules.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod commands;
mod formats;
mod found;
mod found_brief;
mod found_chains;
mod html;
mod made_up;
mod minute;
mod reproduction;
mod rules;
mod table;
mod trial;
mod watched;
mod whole;
mod why;

use looptax_report::terminal::Beside;

/// Prints everything that is known; the record has no name.
const VERBOSE: Beside<'_> = Beside { record: None, at_per_s: None, is_verbose: true };

/// Prints everything that is known of a record with this name.
fn verbose(name: &str) -> Beside<'_> {
    Beside { record: Some(name), ..VERBOSE }
}
