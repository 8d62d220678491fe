//! Records go to disk whole or not at all, and what cannot be read says why.
//!
//! Every test works in a folder of its own.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "these are tests, in folders of their own"
)]

mod history;
mod loading;
mod samples;
mod saving;
mod versions;

use looptax_record::{Hex64, Host, METHOD_VERSION, Record, SCHEMA_VERSION};

/// A record in which only the id is worth looking at.
fn record(id: &str) -> Record {
    Record {
        schema_version: SCHEMA_VERSION,
        method_version: METHOD_VERSION,
        looptax_version: "0.1.0".to_owned(),
        id: id.to_owned(),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        finished_at: None,
        command: Vec::new(),
        seed: Hex64(1),
        host: Host::default(),
        comparisons: Vec::new(),
        looks: Vec::new(),
        samples: None,
        remedies: Vec::new(),
        problems: Vec::new(),
        interrupted: false,
    }
}
