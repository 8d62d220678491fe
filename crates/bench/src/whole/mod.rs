//! Whole commands compared with each other: one line per arm, run again and again in a drawn order.
//!
//! An epoch is four runs, ABBA or BAAB by a coin; each run is a slice with one request in it, so that everything after
//! this room takes it as it takes any epoch. The command line gives the commands and a [`Watcher`] that sees which
//! transport they use; this room does not care what they do.

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
    /// How the command may be shown: without passwords.
    pub shown: String,
    /// Program and arguments; at least the program.
    pub words: Vec<String>,
    /// Variables to set in its environment.
    pub set: Vec<(String, String)>,
    /// Variables to take out of it.
    pub unset: Vec<String>,
}

/// The connections of a running command in one look.
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

/// Sees which transport a command uses: the command line's part.
pub trait Watcher {
    /// Looks at process `pid` and what it has started, while they run.
    fn watch(&mut self, _side: Side, _pid: u32) -> Sight {
        Sight::default()
    }

    /// Returns what is wrong with a run on `side` in which `seen` was seen, after runs in which `before` was.
    fn objection(&self, _side: Side, _seen: Sight, _before: Sightings) -> Option<String> {
        None
    }
}
