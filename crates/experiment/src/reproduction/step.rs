//! A comparison of a part: its command line for `compare`, and its time limit.

use std::time::Duration;

use crate::Experiment;
use crate::spec::exec::{Exec, joined};
use crate::spec::load::{Load, Rate};
use crate::spec::target::TargetSpec;
use crate::spec::{Clients, Effort, ROWS, new_seed};
use looptax_bench::Arrivals;
use looptax_model::failure::Failure;

use super::part::Part;
use super::publication::{Publication, Rows, StepPlan};

/// The time limit of a step in tests: generous, because tests must not depend on time.
const TEST_BUDGET: Duration = Duration::from_secs(10 * 60);
/// The lowest and highest number of epochs of a comparison whose amount of data follows from a published amount.
const EPOCHS: [u64; 2] = [8, 10_000];
const LEAST_ROWS: u64 = 100;

#[derive(Debug, Clone, Default)]
pub struct Amounts {
    pub is_quick: bool,
    /// Share of the published amounts of data; `None` for the amount that fits the time.
    pub scale: Option<f64>,
    /// For tests: number of epochs of every comparison.
    pub epochs: Option<u32>,
    /// For tests: length of a slice.
    pub slice_ms: Option<u32>,
    /// For tests: maximum number of connections in a sweep.
    pub users: Option<u32>,
}

impl Amounts {
    /// Returns the value for a quick run or for a usual run.
    pub fn either<T>(&self, quick: T, usual: T) -> T {
        if self.is_quick { quick } else { usual }
    }

    /// Returns the published number multiplied by `scale`, or `default` if there is no scale. The result is never below
    /// `least`.
    pub fn scaled(&self, published: u64, default: u64, least: u64) -> u64 {
        let share = self.scale.map(|scale| (published as f64 * scale) as u64);
        share.unwrap_or(default).max(least)
    }

    pub(crate) fn rows(&self, rows: &Rows) -> u64 {
        let [quick, usual] = rows.usual.unwrap_or([rows.published; 2]);
        self.scaled(rows.published, self.either(quick, usual), LEAST_ROWS)
    }

    /// Returns the number of connections at the last point of a sweep.
    pub(crate) fn most(&self, [quick, usual]: [u32; 2]) -> u32 {
        self.users.unwrap_or_else(|| self.either(quick, usual))
    }
}

/// A comparison that is measured for a part, once for each of its workloads.
#[derive(Debug, Clone)]
pub struct Step {
    /// The part of the record's file name that names the step.
    pub name: &'static str,
    /// A description of the comparison for the user.
    pub what: String,
    /// The experiment, which is run once for each of its workloads.
    experiment: Experiment,
    workloads: &'static [String],
    /// The time limit for measuring. When this time is over, the step is ended, and the results of the step so far are
    /// kept.
    pub budget: Duration,
}

impl Step {
    pub(crate) fn new(plan: &'static StepPlan, amounts: &Amounts) -> Self {
        let rows = plan.rows.as_ref().map(|rows| amounts.rows(rows));
        let rows = rows.unwrap_or(u64::from(ROWS));
        let most = plan.sweep_to.map(|ends| amounts.most(ends));
        let program = plan.program().or(plan.programs.first().map(String::as_str));
        let program = program.unwrap_or_default();
        let (epochs, least_s) = amount(plan, amounts, rows);
        let budget_s = amounts.either(plan.budget_s[0], plan.budget_s[1]);
        let line = plan.exec.as_ref();
        let mut experiment = Experiment {
            arms: plan.arms.clone(),
            connections: most.map(sweep_to).or(plan.connections.clone()),
            is_sweep: most.is_some(),
            placements: (!plan.placement.is_empty()).then(|| plan.placement.clone()),
            clients: (!plan.client.is_empty()).then(|| Clients::Models(plan.client.clone())),
            rows: rows as u32,
            effort: Effort::Epochs(amounts.epochs.map_or(epochs, u64::from) as usize),
            exec: line.map(|line| exec(&line.replace("{program}", program))),
            ..Experiment::new(TargetSpec::Private(plan.target), 0)
        };
        ask(&mut experiment, plan);
        if experiment.exec.is_none() {
            shorten(&mut experiment, plan, amounts);
        }
        let what = plan.what.replace("{program}", program);
        let what = what.replace("{rows}", &rows.to_string());
        Self {
            name: &plan.name,
            what: what.replace("{most}", &most.unwrap_or_default().to_string()),
            experiment,
            workloads: &plan.workloads,
            budget: match amounts.epochs {
                Some(_) => TEST_BUDGET,
                None => Duration::from_secs(budget_s.max(least_s)),
            },
        }
    }

    /// Returns the experiments, one for each workload, all with the same new seed.
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

    /// Returns the command line with which anyone can repeat the step.
    pub fn command(&self) -> Vec<String> {
        let mut experiment = self.experiment.clone();
        experiment.requests.workload = (!self.workloads.is_empty()).then(|| self.workloads.join(","));
        experiment.command_without_seed()
    }

    /// Returns the command line as one line for a shell.
    pub fn line(&self) -> String {
        joined(&self.command())
    }
}

impl Part {
    pub fn steps(self, amounts: &Amounts) -> Vec<Step> {
        let plans = Publication::for_part(self).steps.iter();
        plans.map(|plan| Step::new(plan, amounts)).collect()
    }
}

/// Returns the number of epochs, and the minimum time for these epochs in seconds.
fn amount(plan: &StepPlan, amounts: &Amounts, rows: u64) -> (u64, u64) {
    let epochs = amounts.either(plan.epochs[0], plan.epochs[1]);
    let Some(amount) = &plan.amount else {
        let s_per_million = plan.rows.as_ref().map_or(0, |it| it.s_per_million);
        return (epochs, s_per_million * rows / 1_000_000);
    };
    let all = amounts.scaled(amount.published, epochs * amount.per_epoch, 1);
    let epochs = all.div_ceil(amount.per_epoch).clamp(EPOCHS[0], EPOCHS[1]);
    (epochs, epochs * amount.s_per_epoch)
}

fn sweep_to(most: u32) -> Vec<u32> {
    let powers = (0..32).map(|power| 1_u32 << power);
    powers.filter(|n| *n < most).chain([most]).collect()
}

fn exec(line: &str) -> Exec {
    Exec::one_line(line, "10m").expect("the line has a program that looptax knows")
}

/// Sets the options of the requests, and the rates if the plan has any.
fn ask(experiment: &mut Experiment, plan: &StepPlan) {
    let requests = &mut experiment.requests;
    requests.pipeline = plan.pipeline.unwrap_or(requests.pipeline);
    requests.value_bytes = plan.value_bytes;
    requests.echo.request_bytes = plan.message_bytes;
    requests.echo.reply_bytes = plan.message_bytes;
    requests.echo.stream_bytes = plan.stream_bytes;
    requests.echo.write_bytes = plan.write_bytes;
    requests.echo.is_nodelay = plan.nodelay;
    if plan.is_text {
        requests.send_as_text();
    }
    if !plan.rates_pct.is_empty() {
        let rates = plan.rates_pct.iter().copied().map(Rate::OfCapacity);
        experiment.load = Load::Open { rates: rates.collect(), arrivals: Arrivals::Poisson };
    }
}

/// Sets a short warm-up. Except for whole commands, also sets the length of slices if the plan or a test specifies one.
fn shorten(experiment: &mut Experiment, plan: &StepPlan, amounts: &Amounts) {
    let warm_up_s = u64::from(amounts.epochs.is_none());
    experiment.warm_up = Some(Duration::from_secs(warm_up_s));
    let slice_ms = amounts.slice_ms.or(plan.slice_ms);
    experiment.slice = slice_ms.map(|ms| Duration::from_millis(u64::from(ms)));
}
