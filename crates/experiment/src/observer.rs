//! The events of a run, which are reported to an observer during the run; the command line displays them.

use std::ops::Range;

use looptax_bench::ContrastRun;
use looptax_model::failure::Failure;
use looptax_model::record::{Comparison, Record};

#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    pub label: String,
    /// Maximum time that the comparison takes, in seconds, if it is known.
    pub at_most_s: Option<f64>,
}

/// The things that a comparison counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Requests,
    Runs,
}

#[derive(Debug, Clone)]
pub struct Scene {
    pub title: String,
    /// The arms of the comparison's contrasts, in the plan's order.
    pub arms: Vec<[String; 2]>,
    /// A description of the work before the first epoch.
    pub news: String,
    pub unit: Unit,
    /// Processes other than looptax that take part in a request; their child processes are not listed.
    pub processes: Vec<(Doer, u32)>,
}

/// The role of a process in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doer {
    Client,
    Server,
    /// Copies bytes between two connections.
    Proxy,
    /// Forwards requests over its own connections to the server.
    Pooler,
    /// Replaces a TCP connection by a socket connection.
    Supervisor,
}

/// Observes a run without changing it; [`looptax_bench::Observer`] also gets each epoch.
pub trait Observer: looptax_bench::Observer {
    fn say(&mut self, news: &str);

    /// Reports that the next comparison of the plan begins.
    fn begin(&mut self, scene: Scene);

    /// Receives the measurement before it is judged, and removes the epochs that the observer itself has disturbed.
    ///
    /// # Errors
    /// A failure that ends the run.
    fn sift(&mut self, _contrasts: &mut [ContrastRun]) -> Result<(), Failure> {
        Ok(())
    }

    /// Adds to the comparison the observations that were made during these contrasts.
    fn add(&mut self, _contrasts: Range<usize>, _comparison: &mut Comparison) {}

    fn end(&mut self);

    /// Receives the record after a comparison was added to it.
    fn kept(&mut self, _record: &Record) {}
}

impl Observer for looptax_bench::Silent {
    fn say(&mut self, _news: &str) {}
    fn begin(&mut self, _scene: Scene) {}
    fn end(&mut self) {}
}
