//! The plan of an experiment: everything that is decided before the first connection.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use looptax_model::record::Client;
use looptax_model::stats::{InterimAnalyses, StopRule};

use crate::Shape;
use crate::budget::Budget;
pub use looptax_model::record::Placement;

/// How the load engine's client waits for an answer. Has a variant for each [`Client`] except the whole command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientModel {
    /// A thread per connection: tries to receive, polls, receives.
    Poll,
    /// A thread per connection: polls, receives.
    PollFirst,
    /// A thread per connection: receives, and sleeps in that call.
    Block,
    /// Few threads, each with an epoll over many connections.
    Event,
}

impl ClientModel {
    pub const ALL: [Self; 4] = [Self::Poll, Self::PollFirst, Self::Block, Self::Event];

    pub fn name(self) -> &'static str {
        Client::from(self).name()
    }
}

impl From<ClientModel> for Client {
    fn from(model: ClientModel) -> Self {
        match model {
            ClientModel::Poll => Self::Poll,
            ClientModel::PollFirst => Self::PollFirst,
            ClientModel::Block => Self::Block,
            ClientModel::Event => Self::Event,
        }
    }
}

impl fmt::Display for ClientModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ClientModel {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|model| model.name() == word)
            .ok_or_else(|| format!("`{word}` is not a client model; expected poll, poll-first, block or event"))
    }
}

/// Which threads or processes of the server serve a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerThreads {
    /// Each connection has a separate thread or process.
    PerConnection,
    Single,
    /// Any thread of the process may serve any connection: Go's scheduler decides.
    Any,
    /// Any process that the worker process has started may serve any connection; the pooler chooses the process. A
    /// connection's worker is the process that starts the other processes.
    Tree,
}

impl ServerThreads {
    /// Returns whether the threads that serve all connections are pinned together, to one core at a time.
    pub(crate) fn are_one(self) -> bool {
        self != Self::PerConnection
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SidePlan {
    pub client: ClientModel,
    /// Busy-waits this many nanoseconds before each send. `Some(0)` runs the same code without waiting; `None` omits
    /// the code.
    pub inject_ns: Option<u64>,
}

/// Two sides that are compared with each other in separate epochs: `[baseline, other]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contrast {
    /// The indexes of the two arms among the arms of the comparison, for the raw data.
    pub pair: [u32; 2],
    pub sides: [SidePlan; 2],
}

/// How long requests run before measuring begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// At least this many epochs.
    pub least_epochs: usize,
    /// At least this long.
    pub least: Duration,
    /// If the rate still changes by over 3 %, the warm-up continues until this time at most.
    pub at_most: Duration,
    /// Number of slices in a warm-up epoch; `None` for as many as a counted epoch has.
    pub n_slices: Option<usize>,
}

impl WarmUp {
    pub const NONE: Self = Self::epochs(0);

    /// Returns a warm-up of exactly `least_epochs` epochs, however long they take.
    pub const fn epochs(least_epochs: usize) -> Self {
        Self { least_epochs, least: Duration::ZERO, at_most: Duration::ZERO, n_slices: None }
    }

    /// Returns a warm-up of at least `least_epochs` epochs and at least the time `least`. If the rate still changes,
    /// the warm-up continues, but not beyond the time `at_most`.
    pub const fn steady(least_epochs: usize, least: Duration, at_most: Duration) -> Self {
        Self { least, at_most, ..Self::epochs(least_epochs) }
    }

    /// Returns whether there is no warm-up.
    pub(crate) fn is_none(self) -> bool {
        self.least_epochs == 0 && self.at_most.is_zero()
    }
}

/// When a contrast ends.
#[derive(Debug, Clone)]
pub struct Stopping {
    /// The numbers of epochs after which interim analyses are made.
    pub analyses: InterimAnalyses,
    /// If set, replaces `analyses` by one analysis after as many epochs as fit into this time. The warm-up shows how
    /// many fit.
    pub time: Option<Duration>,
    pub rule: StopRule,
    /// The largest difference that counts as negligible, as a fraction of throughput; it applies in both directions.
    pub delta: f64,
    /// No epoch begins after this time. `None`: only the interim analyses decide.
    pub deadline: Option<Instant>,
    /// At an interim analysis, a contrast ends if measuring until the next interim analysis would take more than 1.5
    /// times this time in total.
    pub patience: Option<Duration>,
}

impl Stopping {
    /// Returns a rule without a time limit and without a target precision.
    pub fn at(analyses: InterimAnalyses, delta: f64) -> Self {
        Self { analyses, time: None, rule: StopRule { is_precise: false }, delta, deadline: None, patience: None }
    }

    /// Returns whether the time for measuring is over. So far, each contrast has had `n_epochs` epochs, which took the
    /// time `spent` in total.
    #[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
    pub(crate) fn is_over(&self, n_epochs: usize, spent: Duration) -> bool {
        let is_past = |deadline| Instant::now() >= deadline;
        let next = self.analyses.after(n_epochs);
        let next = next.filter(|_| self.analyses.due(n_epochs).is_some());
        let is_too_late = next.zip(self.patience).is_some_and(|(next, patience)| {
            let next_s = spent.as_secs_f64() * next.n_epochs as f64 / n_epochs as f64;
            next_s > 1.5 * patience.as_secs_f64()
        });
        is_too_late || self.deadline.is_some_and(is_past)
    }
}

/// How the times between the requests of an open loop are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Independent of one another, like the requests of many users.
    Poisson,
    Fixed,
}

impl Arrivals {
    pub fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Fixed => "fixed",
        }
    }
}

/// Requests that are sent when they are due, whether earlier answers have arrived or not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenLoop {
    /// Requests per second over all connections of a side; must be above 0.
    pub rate_per_s: f64,
    pub arrivals: Arrivals,
    /// Whether client threads may spin during short waits; true only if no other thread needs their cores.
    pub may_spin: bool,
}

/// The event that makes a connection send its next request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pacing {
    /// A closed loop: the event is the answer to the previous request. Between that answer and the next request, the
    /// thread sleeps for `think` (0 for no pause).
    Closed {
        /// Pause between an answer and the next request.
        think: Duration,
    },
    Open(OpenLoop),
}

impl Pacing {
    pub const FLAT_OUT: Self = Self::Closed { think: Duration::ZERO };

    /// Returns whether the rate depends only on the server. Otherwise the response times are compared, and not the
    /// rates.
    pub fn is_flat_out(self) -> bool {
        self == Self::FLAT_OUT
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyShare {
    /// Every connection draws from all keys.
    All,
    /// Every connection draws from a separate part of the keys, so writers never wait for each other.
    Own,
}

/// How often each key is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    Uniform,
    /// The k-th key has the weight 1 / k^s. This value is s, which is above 0.
    Zipf(f64),
}

/// The keys that requests use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeySpace {
    /// Keys are drawn from 1 to this number.
    pub n: u64,
    pub share: KeyShare,
    pub distribution: Distribution,
}

/// The course of an experiment, for any load: its warm-up, its interim analyses and its end.
#[derive(Debug, Clone)]
pub struct Course {
    pub seed: u64,
    /// The contrasts' names for progress and errors: `unix, tcp`. Each contrast has separate epochs, which are
    /// interleaved in random order.
    pub names: Vec<String>,
    /// Connections per side, and so the number of simultaneous requests.
    pub connections: usize,
    /// Slice, guard, slices per epoch.
    pub shape: Shape,
    pub warm_up: WarmUp,
    pub stopping: Stopping,
    /// Highest number of bytes of latencies that are kept in memory; later epochs keep only their counts.
    pub max_sample_bytes: usize,
}

/// The whole experiment with requests for one number of connections and one placement.
#[derive(Debug, Clone)]
pub struct Plan {
    pub course: Course,
    /// The pairs to compare, in the order of the course's names.
    pub contrasts: Vec<Contrast>,
    pub pacing: Pacing,
    /// The cores that the two ends of a connection run on.
    pub placement: Placement,
    pub server_threads: ServerThreads,
    /// Whether the warm-up may lengthen the slices to fit the measured latencies.
    pub may_adapt_shape: bool,
    /// The time that measuring may take; epochs that do not fit are left out. `None` if measuring may take as long as
    /// all epochs need.
    pub budget: Option<Budget>,
    pub keys: KeySpace,
    /// Whether equal keys get equal answers on both sides; false if the workload writes.
    pub are_comparable: bool,
    /// An answer with fewer bytes of data than this is an error.
    pub least_data_bytes: usize,
    /// How long one answer may take.
    pub io_limit: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_as_what_they_name() {
        for model in ClientModel::ALL {
            assert_eq!(model.name().parse(), Ok(model));
        }
        assert!("command".parse::<ClientModel>().is_err());
    }

    #[test]
    fn an_interim_analysis_that_would_come_too_late_is_not_waited_for() {
        let stopping =
            Stopping { patience: Some(Duration::from_secs(20)), ..Stopping::at(InterimAnalyses::quick(), 0.01) };
        let is_over = |n_epochs, ms| stopping.is_over(n_epochs, Duration::from_millis(ms));
        assert!(!is_over(20, 15_000));
        assert!(is_over(20, 15_100));
        assert!(!is_over(19, 100_000), "none is due");
        assert!(!is_over(40, 100_000), "none follows");
        assert!(!is_over(0, 0));
    }
}
