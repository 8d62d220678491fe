//! One comparison of a part: a command line of `compare`, and how long it may take.

use std::time::Duration;

use looptax_bench::Placement;
use looptax_dsn::Kind;
use looptax_experiment::Experiment;
use looptax_experiment::spec::exec::joined;
use looptax_experiment::spec::target::TargetSpec;
use looptax_experiment::spec::{Effort, new_seed};
use looptax_failure::Failure;
use looptax_path::Arm;

/// Tests do not depend on time.
const TEST_BUDGET: Duration = Duration::from_mins(10);

/// How much is measured.
#[derive(Debug, Clone, Default)]
pub struct Amounts {
    /// Fewer epochs and points.
    pub is_quick: bool,
    /// Share of the published amounts of data; `None` for what fits the time.
    pub scale: Option<f64>,
    /// For tests: epochs of every comparison.
    pub epochs: Option<u32>,
    /// For tests: length of a slice.
    pub slice_ms: Option<u32>,
    /// For tests: most connections of a sweep.
    pub users: Option<u32>,
}

impl Amounts {
    /// One of two, for a quick run or a usual one.
    pub fn either<T>(&self, quick: T, usual: T) -> T {
        if self.is_quick { quick } else { usual }
    }

    /// Of a published number as many as `scale` says, or `default`; at least `least`.
    pub fn of(&self, published: u64, default: u64, least: u64) -> u64 {
        let scaled = self.scale.map(|scale| (published as f64 * scale) as u64);
        scaled.unwrap_or(default).max(least)
    }
}

/// One comparison, of several workloads maybe.
#[derive(Debug, Clone)]
pub struct Step {
    /// A word for the record's file.
    pub name: &'static str,
    /// What is compared, for a person.
    pub what: String,
    /// What is measured, with each of its workloads.
    experiment: Experiment,
    workloads: Vec<&'static str>,
    /// It is broken off after that much measuring, and keeps what it has.
    pub budget: Duration,
}

impl Step {
    /// The workloads of a comparison, with the number of epochs left out.
    pub fn new(
        name: &'static str,
        what: impl Into<String>,
        (experiment, workloads): (Experiment, &[&'static str]),
        budget_s: u64,
    ) -> Self {
        Self {
            name,
            what: what.into(),
            experiment,
            workloads: workloads.to_vec(),
            budget: Duration::from_secs(budget_s),
        }
    }

    /// One interim analysis after so many epochs; tests want fewer and shorter ones.
    #[must_use]
    pub fn epochs(mut self, amounts: &Amounts, n: u64) -> Self {
        let n = amounts.epochs.map_or(n, u64::from);
        if amounts.epochs.is_some() {
            self.budget = TEST_BUDGET;
        }
        self.experiment.effort = Effort::Epochs(n as usize);
        self
    }

    /// A short warm-up, and slices of a length, where one is given, or as tests want them: not for whole commands.
    #[must_use]
    pub fn requests(mut self, amounts: &Amounts, slice_ms: Option<u32>) -> Self {
        let warm_up_s = u64::from(amounts.epochs.is_none());
        self.experiment.warm_up = Some(Duration::from_secs(warm_up_s));
        let slice_ms = amounts.slice_ms.or(slice_ms);
        self.experiment.slice = slice_ms.map(|ms| Duration::from_millis(u64::from(ms)));
        self
    }

    /// The experiments, one for each workload, with a seed of their own.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub fn experiments(&self) -> Result<Vec<Experiment>, Failure> {
        let seed = new_seed()?;
        let with = |workload: Option<&str>| {
            let mut experiment = self.experiment.clone();
            experiment.requests.workload = workload.map(str::to_owned);
            experiment.seed = seed;
            experiment
        };
        Ok(if self.workloads.is_empty() {
            vec![with(None)]
        } else {
            self.workloads.iter().map(|it| with(Some(it))).collect()
        })
    }

    /// The command line that anybody can repeat it with.
    pub fn command(&self) -> Vec<String> {
        let mut experiment = self.experiment.clone();
        experiment.requests.workload =
            (!self.workloads.is_empty()).then(|| self.workloads.join(","));
        experiment.command_without_seed()
    }

    /// The same as one line for a shell.
    pub fn line(&self) -> String {
        joined(&self.command())
    }
}

/// Two arms and more of a private server, both ends of a connection on one core.
pub(crate) fn on_one_core(kind: Kind, arms: &[Arm], connections: &[u32]) -> Experiment {
    Experiment {
        arms: arms.to_vec(),
        connections: Some(connections.to_vec()),
        placements: Some(vec![Placement::Same]),
        ..Experiment::new(TargetSpec::Private(kind), 0)
    }
}
