//! Whole commands compared with each other: one command per arm, run repeatedly in a random order.
//!
//! An epoch is four runs, ABBA or BAAB by a coin flip. Each run is a slice with one request, so later steps treat the
//! epoch like any other. The crate `experiment` provides the commands, and a [`Watcher`] that observes which transport
//! they use; this module does not depend on what the commands do.

mod commands;
mod once;
mod outlet;
mod process;

pub use commands::{WholePlan, run_commands};
pub use once::run_once;

use looptax_model::record::Sightings;
use looptax_model::stats::Side;

/// One arm's command, ready to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPlan {
    pub arm: String,
    /// The command in a form that may be shown, without passwords.
    pub shown: String,
    /// The program and its arguments; never empty.
    pub words: Vec<String>,
    /// Environment variables to set.
    pub set: Vec<(String, String)>,
    /// Environment variables to remove.
    pub unset: Vec<String>,
}

/// The transports of a running command's connections, seen at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sight {
    pub unix: bool,
    pub tcp: bool,
}

impl Sight {
    fn add(&mut self, other: Self) {
        self.unix |= other.unix;
        self.tcp |= other.tcp;
    }
}

/// Observes which transport a command uses; the crate `experiment` implements this.
pub trait Watcher {
    /// Inspects process `pid` and the processes that it has started, while they run.
    fn watch(&mut self, _side: Side, _pid: u32) -> Sight {
        Sight::default()
    }

    /// Returns what is wrong with a run on `side`. looptax observed `seen` during this run, and `before` during the
    /// earlier runs.
    fn objection(&self, _side: Side, _seen: Sight, _before: Sightings) -> Option<String> {
        None
    }
}
