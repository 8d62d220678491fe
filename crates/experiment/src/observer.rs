//! The events of a run for an onlooker while it lasts; the command line shows them.

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

/// The unit that the numbers of a comparison count.
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
    /// The work before the first epoch.
    pub news: String,
    pub unit: Unit,
    /// Processes beside ours that a request needs, without those that come from them.
    pub processes: Vec<(Doer, u32)>,
}

/// The role of a process in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doer {
    Client,
    Server,
    /// Passes bytes on.
    Proxy,
    /// Passes requests on over its own connections.
    Pooler,
    /// Puts a socket in a connection's place.
    Supervisor,
}

/// Sees a run from outside and changes nothing in it; [`looptax_bench::Observer`] reports each epoch.
pub trait Observer: looptax_bench::Observer {
    fn say(&mut self, news: &str);

    /// The next comparison of the plan begins.
    fn begin(&mut self, scene: Scene);

    /// Gets the measurement before it is judged: takes out the epochs that it has disturbed itself.
    ///
    /// # Errors
    /// A failure that ends the run.
    fn sift(&mut self, _contrasts: &mut [ContrastRun]) -> Result<(), Failure> {
        Ok(())
    }

    /// Adds to the comparison of some of these contrasts what it saw in them.
    fn add(&mut self, _contrasts: Range<usize>, _comparison: &mut Comparison) {}

    fn end(&mut self);

    /// Gets the record now that a comparison is in it.
    fn kept(&mut self, _record: &Record) {}
}

impl Observer for looptax_bench::Silent {
    fn say(&mut self, _news: &str) {}
    fn begin(&mut self, _scene: Scene) {}
    fn end(&mut self) {}
}
