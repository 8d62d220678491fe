//! The plan of an experiment: everything that is decided before the first connection.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use looptax_model::record::Client;
use looptax_model::stats::{InterimAnalyses, StopRule};

use crate::Shape;
use crate::budget::Budget;
pub use looptax_model::record::Placement;

/// How the load engine's client waits for an answer: a [`Client`] that is not a whole command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientModel {
    /// A thread per connection: try to receive, poll, receive.
    Poll,
    /// A thread per connection: poll, receive.
    PollFirst,
    /// A thread per connection: receive, and sleep in it.
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

/// Who serves a connection inside the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerThreads {
    /// A thread or process of its own per connection.
    PerConnection,
    Single,
    /// Any thread of the process for any connection, as it comes: Go's scheduler deals them.
    Any,
    /// Any process that one has started for any connection, as it comes: a pooler deals them. A connection's worker is the
    /// one that starts them.
    Tree,
}

impl ServerThreads {
    /// Whether all connections are served in one place, which has one core at a time.
    pub(crate) fn are_one(self) -> bool {
        self != Self::PerConnection
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SidePlan {
    pub client: ClientModel,
    /// Busy-waits this many nanoseconds before each send (`Some(0)` runs the same code and waits
    /// for nothing); `None` leaves the code out.
    pub inject_ns: Option<u64>,
}

/// Two sides compared with each other in their own epochs: `[baseline, other]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contrast {
    /// The arms' indexes among those of the comparison, for the raw data.
    pub pair: [u32; 2],
    pub sides: [SidePlan; 2],
}

/// How long everything runs unmeasured first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// At least this many epochs.
    pub least_epochs: usize,
    /// At least so long.
    pub least: Duration,
    /// At most so long, while the rate still moves by over 3 %.
    pub at_most: Duration,
    /// Slices of such an epoch; `None`: as many as a counted one has.
    pub n_slices: Option<usize>,
}

impl WarmUp {
    pub const NONE: Self = Self::epochs(0);

    /// Exactly `least_epochs` epochs, however long they take.
    pub const fn epochs(least_epochs: usize) -> Self {
        Self { least_epochs, least: Duration::ZERO, at_most: Duration::ZERO, n_slices: None }
    }

    /// At least `least_epochs` epochs and `least` time, and at most `at_most` while the rate still moves.
    pub const fn steady(least_epochs: usize, least: Duration, at_most: Duration) -> Self {
        Self { least, at_most, ..Self::epochs(least_epochs) }
    }

    /// Whether nothing is to run unmeasured.
    pub(crate) fn is_none(self) -> bool {
        self.least_epochs == 0 && self.at_most.is_zero()
    }
}

/// When a contrast ends.
#[derive(Debug, Clone)]
pub struct Stopping {
    /// After how many epochs to look.
    pub analyses: InterimAnalyses,
    /// In their place: a single look after as many epochs as this time holds, by the warm-up's measure.
    pub time: Option<Duration>,
    pub rule: StopRule,
    /// Half the width of "no difference worth naming", as a fraction of throughput.
    pub delta: f64,
    /// No epoch begins after it; `None`: only the interim analyses decide.
    pub deadline: Option<Instant>,
    /// An interim analysis that would come later than this by more than half is not waited for: the one before ends it.
    pub patience: Option<Duration>,
}

impl Stopping {
    /// Without a limit of time or a wish for precision.
    pub fn at(analyses: InterimAnalyses, delta: f64) -> Self {
        Self { analyses, time: None, rule: StopRule { is_precise: false }, delta, deadline: None, patience: None }
    }

    /// Whether the time for further epochs is over, when each contrast has had `n_epochs` of them in `spent`.
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
    /// Independent of one another, as those of many users are.
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

/// Requests that are sent when they are due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenLoop {
    /// Requests per second over all connections of a side; above 0.
    pub rate_per_s: f64,
    pub arrivals: Arrivals,
    /// Whether client threads may spin through short waits: only if no other thread needs their core.
    pub may_spin: bool,
}

/// The event that makes a connection send its next request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pacing {
    /// The answer to the one before: a closed loop. After `think` (0 for none), spent asleep.
    Closed {
        /// Pause between an answer and the next request.
        think: Duration,
    },
    Open(OpenLoop),
}

impl Pacing {
    pub const FLAT_OUT: Self = Self::Closed { think: Duration::ZERO };

    /// Whether the rate depends only on the server; otherwise the response time is the measure.
    pub fn is_flat_out(self) -> bool {
        self == Self::FLAT_OUT
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyShare {
    /// Every connection draws from all keys.
    All,
    /// Every connection draws from its own part, so that writers never wait for one another.
    Own,
}

/// How often each key is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    Uniform,
    /// The k-th key as k to the power of minus this, above 0.
    Zipf(f64),
}

/// The keys that requests ask for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeySpace {
    /// They are drawn from 1 to this.
    pub n: u64,
    pub share: KeyShare,
    pub distribution: Distribution,
}

/// When an experiment warms up, looks and ends, whatever fills its slices.
#[derive(Debug, Clone)]
pub struct Course {
    pub seed: u64,
    /// Names of the contrasts, for progress and errors: `unix, tcp`. Each has its own epochs, which are interleaved in
    /// random order.
    pub names: Vec<String>,
    /// Connections per side: requests in flight at a time.
    pub connections: usize,
    /// Slice, guard, slices per epoch.
    pub shape: Shape,
    pub warm_up: WarmUp,
    /// When to end.
    pub stopping: Stopping,
    /// Cap of the latencies kept in memory, in bytes; epochs beyond it keep their counts only.
    pub max_sample_bytes: usize,
}

/// The whole experiment with requests for one number of connections and one placement.
#[derive(Debug, Clone)]
pub struct Plan {
    pub course: Course,
    /// The pairs to compare, in the order of the course's names.
    pub contrasts: Vec<Contrast>,
    /// When requests are sent.
    pub pacing: Pacing,
    /// Where the ends run.
    pub placement: Placement,
    pub server_threads: ServerThreads,
    /// Whether the warm-up may lengthen the slices to fit the latencies seen.
    pub may_adapt_shape: bool,
    /// The time that measuring may take: epochs that do not fit are left out; `None`: as long as they take.
    pub budget: Option<Budget>,
    /// Which keys the requests ask for.
    pub keys: KeySpace,
    /// Whether equal keys get equal answers on both sides: not if the workload writes.
    pub are_comparable: bool,
    /// An answer with less data than this is an error.
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
