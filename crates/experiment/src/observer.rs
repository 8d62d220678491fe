//! What an onlooker is told of a run while it lasts; the command line shows it.

use std::ops::Range;

use looptax_bench::ContrastRun;
use looptax_model::failure::Failure;
use looptax_model::record::{Comparison, Record};

#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    pub label: String,
    /// The longest that it can take, in seconds, where that is known.
    pub at_most_s: Option<f64>,
}

/// What the numbers of a comparison count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Requests,
    Runs,
}

#[derive(Debug, Clone)]
pub struct Scene {
    pub title: String,
    /// The arms of its contrasts, in the plan's order.
    pub arms: Vec<[String; 2]>,
    /// What happens before the first epoch.
    pub news: String,
    pub unit: Unit,
    /// Processes beside ours that a request needs, without those that come from them.
    pub processes: Vec<(Doer, u32)>,
}

/// What a process does for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doer {
    Client,
    Server,
    /// Passes bytes on.
    Proxy,
    /// Passes requests on over connections of its own.
    Pooler,
    /// Puts a socket in a connection's place.
    Supervisor,
}

/// Sees a run from outside and changes nothing in it; each epoch is told by [`looptax_bench::Observer`].
pub trait Observer: looptax_bench::Observer {
    fn say(&mut self, news: &str);

    /// The next comparison of the plan begins.
    fn begin(&mut self, scene: Scene);

    /// What was measured, before it is judged: takes out the epochs that it has disturbed itself.
    ///
    /// # Errors
    /// What ends the run.
    fn sift(&mut self, _contrasts: &mut [ContrastRun]) -> Result<(), Failure> {
        Ok(())
    }

    /// Adds to the comparison of some of these contrasts what it saw in them.
    fn add(&mut self, _contrasts: Range<usize>, _comparison: &mut Comparison) {}

    fn end(&mut self);

    /// What the record has now that a comparison is in it.
    fn kept(&mut self, _record: &Record) {}
}

impl Observer for looptax_bench::Silent {
    fn say(&mut self, _news: &str) {}
    fn begin(&mut self, _scene: Scene) {}
    fn end(&mut self) {}
}
