//! Whole commands held against each other: one line per arm, run again and again in a drawn order.
//!
//! An epoch is four runs, ABBA or BAAB by a coin; each run is a slice with one request in it, so that
//! everything after this room takes it as it takes any epoch. The command line gives the commands and
//! a [`Watcher`] that sees which transport they use; what they do is none of this room's business.

mod experiment;
mod once;
mod outlet;
mod process;

pub use experiment::{Length, WholeOutcome, WholePlan, run_commands};
pub use once::{OneRun, run_once};

use looptax_model::stats::Side;

/// One arm's command, ready to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPlan {
    /// The arm, for errors.
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

/// What a look at a running command saw of its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sight {
    /// One over a Unix socket.
    pub unix: bool,
    /// One over TCP.
    pub tcp: bool,
}

/// In how many runs of an arm what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Runs that ended well, the warm-up's included.
    pub n_runs: u64,
    /// Of these, seen on a Unix socket.
    pub n_unix: u64,
    /// Of these, seen on TCP.
    pub n_tcp: u64,
}

impl Sight {
    fn add(&mut self, other: Self) {
        self.unix |= other.unix;
        self.tcp |= other.tcp;
    }
}

impl Tally {
    fn add(&mut self, sight: Sight) {
        self.n_runs += 1;
        self.n_unix += u64::from(sight.unix);
        self.n_tcp += u64::from(sight.tcp);
    }
}

/// Sees which transport a command uses: the command line's part.
pub trait Watcher {
    /// Looks at process `pid` and what it has started, while they run.
    fn watch(&mut self, side: Side, pid: u32) -> Sight;

    /// What is wrong with a run on `side` in which this was seen, after runs in which that was.
    fn objection(&self, side: Side, seen: Sight, before: Tally) -> Option<String>;
}
