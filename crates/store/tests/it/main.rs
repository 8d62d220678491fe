//! Records are saved completely or not at all, and an error says why a record cannot be read.
//!
//! Every test works in its own folder.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "these are tests, in folders of their own")]

mod history;
mod loading;
mod saving;
mod versions;

use looptax_model::record::{Hex64, Record};

/// A record in which only the id has a meaning for the test.
fn record(id: &str) -> Record {
    Record { seed: Hex64(1), ..Record::begun(id.to_owned(), "2026-01-02T03:04:05Z".to_owned(), "0.1.0") }
}
