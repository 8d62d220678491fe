//! The state of a run while it lasts: its comparisons, and the arms of the one that runs.
//!
//! The command line fills it in; the other files of `live` draw it.

use hdrhistogram::Histogram;
use looptax_model::record::Estimate;

const LONGEST_NS: u64 = 100_000_000_000;

#[derive(Debug, Default)]
pub struct View {
    /// Comparisons of the whole run, in order; those before [`View::at`] are over.
    pub steps: Vec<Step>,
    pub at: usize,
    /// Server, workload and connections of the one that runs.
    pub title: String,
    /// The current work besides measuring: a server starts, a look is taken.
    pub news: String,
    pub unit: Unit,
    pub pairs: Vec<Pair>,
    /// Longest time until it ends, in seconds, as the last epoch took it.
    pub left_s: Option<f64>,
    /// Whether a key would be heard.
    pub has_keys: bool,
    /// Whether somebody asked for the end.
    pub is_ending: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub label: String,
    /// The longest that it can take, in seconds, where that is known.
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
    /// The name that distinguishes it from the other pairs: `unix, tcp, poll`.
    pub name: String,
    pub arms: [ArmView; 2],
    pub is_warming_up: bool,
    /// Epochs done, and their number at most.
    pub n_epochs: usize,
    /// See `n_epochs`.
    pub n_epochs_at_most: usize,
    /// Epochs at its next look; `None` where none comes.
    pub next_look: Option<usize>,
    /// The tax so far in percent, without the corrections of a verdict.
    pub tax_pct: Option<Estimate>,
    /// The tax of each epoch in percent.
    pub taxes_pct: Vec<f64>,
}

#[derive(Debug)]
pub struct ArmView {
    /// `unix`, `tcp` …
    pub name: String,
    /// Answers (or runs) per second in each epoch.
    pub rates_per_s: Vec<f64>,
    /// Latencies so far, in nanoseconds.
    pub latencies_ns: Histogram<u64>,
}

impl ArmView {
    /// An arm of which nothing is known.
    ///
    /// # Panics
    /// Never: the bounds are possible.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rates_per_s: Vec::new(),
            latencies_ns: Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are constants"),
        }
    }
}

impl Pair {
    /// A pair before its first epoch.
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
