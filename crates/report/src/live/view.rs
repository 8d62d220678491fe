//! The state of a run in progress: its comparisons, and the arms of the running comparison.
//!
//! The command line fills in the state; the other files of `live` draw it.

use hdrhistogram::Histogram;
use looptax_model::record::Estimate;

const LONGEST_NS: u64 = 100_000_000_000;

#[derive(Debug, Default)]
pub struct View {
    /// The comparisons of the whole run, in order; those before [`View::at`] are finished.
    pub steps: Vec<Step>,
    pub at: usize,
    /// Server, workload and number of connections of the running comparison.
    pub title: String,
    /// The current work other than measuring: a server is starting, or an interim analysis is running.
    pub news: String,
    pub unit: Unit,
    pub pairs: Vec<Pair>,
    /// Maximum time in seconds until the comparison ends, estimated from the last epoch.
    pub left_s: Option<f64>,
    /// Whether pressing a key has an effect.
    pub has_keys: bool,
    /// Whether the user has asked looptax to end the run.
    pub is_ending: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub label: String,
    /// The longest time in seconds that the comparison can take, if it is known.
    pub at_most_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    #[default]
    Requests,
    Runs,
}

/// Two arms that are compared.
#[derive(Debug)]
pub struct Pair {
    /// The name that distinguishes the pair from the other pairs: `unix, tcp, poll`.
    pub name: String,
    pub arms: [ArmView; 2],
    pub is_warming_up: bool,
    /// The number of finished epochs.
    pub n_epochs: usize,
    pub n_epochs_at_most: usize,
    /// The number of epochs at the next interim analysis; `None` if there will be no further one.
    pub next_look: Option<usize>,
    /// The tax so far, in percent, without the corrections that a verdict makes.
    pub tax_pct: Option<Estimate>,
    pub taxes_pct: Vec<f64>,
}

#[derive(Debug)]
pub struct ArmView {
    /// `unix`, `tcp` …
    pub name: String,
    /// Requests (or runs of a command) per second in each epoch.
    pub rates_per_s: Vec<f64>,
    /// Latencies so far, in nanoseconds.
    pub latencies_ns: Histogram<u64>,
}

impl ArmView {
    /// Makes an arm without any data yet.
    ///
    /// # Panics
    /// Never: the bounds of the histogram are valid.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rates_per_s: Vec::new(),
            latencies_ns: Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are constants"),
        }
    }
}

impl Pair {
    /// Makes a pair before its first epoch.
    pub fn new(name: &str, arms: [&str; 2]) -> Self {
        Self {
            name: name.to_owned(),
            arms: arms.map(ArmView::new),
            is_warming_up: true,
            n_epochs: 0,
            n_epochs_at_most: 0,
            next_look: None,
            tax_pct: None,
            taxes_pct: Vec::new(),
        }
    }
}
