//! The report as a person reads it.
//!
//! The look of the whole is held by snapshots; single rules by separate tests.
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

/// All that is known, of a record without a name.
const VERBOSE: Beside<'_> = Beside { record: None, at_per_s: None, is_verbose: true };

/// All that is known of the record with this name.
fn verbose(name: &str) -> Beside<'_> {
    Beside { record: Some(name), ..VERBOSE }
}
