//! The experiment with whole commands: warm-up, epochs of four runs, interim analyses, the end.
//!
//! The counterpart of `run` for the load engine, with the same coins, the same interim analyses and the same form
//! of raw data.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use looptax_model::record::{Hex64, Slice};
use looptax_model::stats::{Epoch, InterimAnalyses, Side, StopRule};

use super::process::{self, Bounds, Finished, Looking};
use super::{CommandPlan, Tally, Watcher};
use crate::clock::now_ns;
use crate::epoch::{MeasuredEpoch, raw_epoch};
use crate::error::{BenchError, CommandError, RunName};
use crate::experiment::{ContrastRun, decide, rough_theta};
use crate::machine::Snapshot;
use crate::plan::Stopping;
use crate::process_tree;
use crate::progress::{Observer, Phase, Progress};
use crate::schedule::EpochDraw;
use crate::sys::process_cpu_ns;

/// Runs of an epoch: two of each arm.
const RUNS_PER_EPOCH: usize = 4;
/// The longest random pause before an epoch, so that none keeps step with housekeeping timers.
const LONGEST_JITTER: Duration = Duration::from_millis(20);
/// Between two runs: the server closes the last one's connections, which belongs to neither.
const PAUSE: Duration = Duration::from_millis(5);
/// Fewer epochs have no interval at the level of a single interim analysis.
const LEAST_EPOCHS: usize = 6;
/// A time that would hold more epochs than this ends earlier.
const MOST_EPOCHS: usize = 10_000;
/// The warm-up's coin has a number of its own, so that measured epochs repeat by seed.
const WARM_UP: u64 = 1 << 32;

/// How long to go on.
#[derive(Debug, Clone, PartialEq)]
pub enum Length {
    /// Until an interim analysis decides.
    Planned(InterimAnalyses),
    /// One interim analysis after as many epochs as this time holds, by the warm-up's measure.
    Time(Duration),
}

/// Two commands to be held against each other.
#[derive(Debug, Clone)]
pub struct WholePlan {
    /// Everything random comes from this.
    pub seed: u64,
    /// For progress: `unix, tcp`.
    pub name: String,
    /// What runs, `[baseline, other]`.
    pub sides: [CommandPlan; 2],
    /// How long a single run may take.
    pub timeout: Duration,
    /// How long to go on.
    pub length: Length,
    /// What an interim analysis decides.
    pub rule: StopRule,
    /// Half the width of "no difference worth naming", as a fraction of throughput.
    pub delta: f64,
    /// No epoch begins after it.
    pub deadline: Option<Instant>,
    /// The server that both talk to, for its CPU time, where known.
    pub server_pid: Option<u32>,
}

/// What the experiment gave.
#[derive(Debug)]
pub struct WholeOutcome {
    /// The counted epochs and the interim analysis that ended them.
    pub contrast: ContrastRun,
    /// The interim analyses that were planned.
    pub analyses: InterimAnalyses,
    /// What was seen of each arm, `[baseline, other]`.
    pub seen: [Tally; 2],
    /// Whether somebody asked us to stop.
    pub is_interrupted: bool,
    /// What went wrong, when something did; the contrast holds the epochs before it.
    pub failure: Option<BenchError>,
}

/// Runs both commands once for nothing, then epochs of four until an interim analysis ends it, `stop` is set or a
/// command fails.
pub fn run_commands(
    plan: &WholePlan,
    watcher: &mut dyn Watcher,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> WholeOutcome {
    let analyses = match &plan.length {
        Length::Planned(analyses) => analyses.clone(),
        // Known after the warm-up.
        Length::Time(_) => InterimAnalyses::fixed(LEAST_EPOCHS),
    };
    let mut experiment = Experiment {
        plan,
        watcher,
        stop,
        run_start_ns: now_ns(),
        last_wall: [Duration::ZERO; 2],
        least_left: Duration::MAX,
        n_started: [0; 2],
        numbers: Vec::new(),
        outcome: WholeOutcome {
            contrast: ContrastRun {
                epochs: Vec::new(),
                stopped: None,
            },
            analyses,
            seen: [Tally::default(); 2],
            is_interrupted: false,
            failure: None,
        },
    };
    if let Err(failure) = experiment.measure(observer) {
        experiment.outcome.failure = Some(failure);
    }
    experiment.outcome.is_interrupted = stop.load(Ordering::Relaxed);
    experiment.outcome
}

struct Experiment<'a> {
    plan: &'a WholePlan,
    watcher: &'a mut dyn Watcher,
    stop: &'a AtomicBool,
    run_start_ns: u64,
    /// How long the last run of each arm took.
    last_wall: [Duration; 2],
    /// The least time left that was told: a bound does not grow.
    least_left: Duration,
    /// Counted runs of each arm that were started.
    n_started: [usize; 2],
    /// The counts of the epochs, for the interim analyses.
    numbers: Vec<Epoch>,
    outcome: WholeOutcome,
}

impl Experiment<'_> {
    fn measure(&mut self, observer: &mut dyn Observer) -> Result<(), BenchError> {
        if self.warm_up(observer)?.is_none() {
            return Ok(());
        }
        let stopping = Stopping {
            analyses: self.outcome.analyses.clone(),
            rule: self.plan.rule,
            delta: self.plan.delta,
            deadline: self.plan.deadline,
        };
        while self.outcome.contrast.stopped.is_none() && !stopping.is_over() {
            let n_epochs = self.numbers.len();
            let Some(data) = self.epoch(n_epochs as u64)? else {
                return Ok(());
            };
            self.numbers.push(data.raw.counts());
            self.outcome.contrast.epochs.push(data);
            if let Some(analysis) = stopping.analyses.due(n_epochs + 1) {
                let cause = decide(&stopping, &self.numbers, 1, analysis);
                self.outcome.contrast.stopped = cause.map(|cause| (analysis, cause));
            }
            self.tell(Phase::Measuring, observer);
        }
        Ok(())
    }

    /// One run of each arm that does not count; `None` when told to stop.
    fn warm_up(&mut self, observer: &mut dyn Observer) -> Result<Option<()>, BenchError> {
        let draw = EpochDraw::new(self.plan.seed, 0, WARM_UP, LONGEST_JITTER);
        for side in draw.order(2) {
            self.tell(Phase::WarmUp, observer);
            if self.run(side, RunName::WarmUp, Looking::Often)?.is_none() {
                return Ok(None);
            }
        }
        if let Length::Time(time) = self.plan.length {
            let n_epochs = time.div_duration_f64(self.epoch_time()) as usize;
            self.outcome.analyses =
                InterimAnalyses::fixed(n_epochs.clamp(LEAST_EPOCHS, MOST_EPOCHS));
        }
        Ok(Some(()))
    }

    /// Four runs; `None` when told to stop.
    fn epoch(&mut self, epoch: u64) -> Result<Option<MeasuredEpoch>, BenchError> {
        let draw = EpochDraw::new(self.plan.seed, 0, epoch, LONGEST_JITTER);
        thread::sleep(draw.jitter);
        let own_start_ns = process_cpu_ns(std::process::id());
        let machine = Snapshot::read();
        let order = draw.order(RUNS_PER_EPOCH);
        let mut slices = Vec::with_capacity(RUNS_PER_EPOCH);
        for side in order.iter().copied() {
            thread::sleep(PAUSE);
            self.n_started[side.idx()] += 1;
            let name = RunName::Counted(self.n_started[side.idx()]);
            let looking = Looking::Thrice(self.last_wall[side.idx()]);
            let before_ns = self.plan.server_pid.and_then(process_tree::cpu_ns);
            let Some(finished) = self.run(side, name, looking)? else {
                return Ok(None);
            };
            let after_ns = self.plan.server_pid.and_then(process_tree::cpu_ns);
            let server_ns = after_ns
                .zip(before_ns)
                .map(|(after, before)| after.saturating_sub(before));
            slices.push(slice(side, &finished, self.run_start_ns, server_ns));
        }
        let own_ns = process_cpu_ns(std::process::id())
            .zip(own_start_ns)
            .map(|(now, then)| now.saturating_sub(then));
        let children_ns: u64 = slices.iter().filter_map(|slice| slice.client_cpu_ns).sum();
        let own_ns = own_ns.map(|own| own + children_ns);
        let machine = Snapshot::read().since(machine);
        let mut raw = raw_epoch([0, 1], order, slices, machine, own_ns);
        // What a command prints is not looked at: its exit code is its answer.
        raw.answers_agree = true;
        Ok(Some(MeasuredEpoch {
            raw,
            ..MeasuredEpoch::default()
        }))
    }

    fn run(
        &mut self,
        side: Side,
        name: RunName,
        looking: Looking,
    ) -> Result<Option<Finished>, BenchError> {
        let command = &self.plan.sides[side.idx()];
        let failed = |source| BenchError::Command {
            arm: command.arm.clone(),
            run: name,
            line: command.shown.clone(),
            source,
        };
        let bounds = Bounds {
            timeout: self.plan.timeout,
            looking,
            stop: self.stop,
        };
        let finished = process::run(command, side, self.watcher, bounds).map_err(failed)?;
        if let Some(finished) = &finished {
            let tally = &mut self.outcome.seen[side.idx()];
            let objection = self.watcher.objection(side, finished.sight, *tally);
            tally.add(finished.sight);
            if let Some(found) = objection {
                return Err(failed(CommandError::WrongTransport { found }));
            }
            self.last_wall[side.idx()] = Duration::from_nanos(finished.wall_ns);
        }
        Ok(finished)
    }

    fn epoch_time(&self) -> Duration {
        let runs: Duration = self.last_wall.iter().sum();
        runs * 2 + PAUSE * 4 + LONGEST_JITTER / 2
    }

    fn tell(&mut self, phase: Phase, observer: &mut dyn Observer) {
        let n_epochs = self.numbers.len();
        let n_epochs_at_most = self.outcome.analyses.n_max();
        let is_over = self.outcome.contrast.stopped.is_some();
        let n_left = if is_over {
            0
        } else {
            n_epochs_at_most.saturating_sub(n_epochs)
        };
        let next_analysis = self
            .outcome
            .analyses
            .after(n_epochs)
            .map(|analysis| analysis.n_epochs);
        let mut left_at_most = self.epoch_time() * u32::try_from(n_left).unwrap_or(u32::MAX);
        if phase == Phase::Measuring {
            left_at_most = left_at_most.min(self.least_left);
            self.least_left = left_at_most;
        }
        observer.epoch_ended(&Progress {
            contrast: &self.plan.name,
            contrast_idx: 0,
            phase,
            n_epochs,
            n_epochs_at_most,
            epoch: self.outcome.contrast.epochs.last(),
            epoch_theta: self.numbers.last().and_then(Epoch::theta),
            next_analysis: next_analysis.filter(|_| !is_over),
            theta: rough_theta(&self.numbers),
            left_at_most,
        });
    }
}

/// A whole run as a slice with one request in it.
fn slice(side: Side, finished: &Finished, run_start_ns: u64, server_cpu_ns: Option<u64>) -> Slice {
    let used = finished.used;
    Slice {
        arm_idx: side.idx() as u32,
        start_ns: finished.start_ns - run_start_ns,
        active_ns: finished.wall_ns,
        completions: 1,
        requests: 1,
        latency_sum_ns: finished.wall_ns,
        client_cpu_ns: Some(used.user_ns + used.system_ns),
        client_user_ns: Some(used.user_ns),
        client_voluntary_switches: Some(used.voluntary),
        client_involuntary_switches: Some(used.involuntary),
        server_cpu_ns,
        checksum: Some(Hex64(0)),
        ..Slice::default()
    }
}
