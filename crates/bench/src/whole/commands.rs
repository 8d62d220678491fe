//! Whole commands as slices: each slice is one run of its arm's command, counted as one request.
//!
//! Two runs of each arm make an epoch, ABBA or BAAB; before these runs, each arm has one run that does not count.
//! `experiment` has the loop and calls this file. `process` starts the commands, watches them, and waits for them.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use looptax_model::record::{Hex64, Sightings, Slice};
use looptax_model::stats::Side;

use super::process::{self, Bounds, Finished, Looking};
use super::{CommandPlan, Watcher};
use crate::error::{BenchError, CommandError, RunName};
use crate::experiment::{Outcome, run_slices};
use crate::plan::{Course, WarmUp};
use crate::process_tree;
use crate::progress::Observer;
use crate::slices::{FilledSlice, SliceOrder, SliceSource};

/// Pause between two runs. During the pause the server closes the connections of the earlier run, so that this work
/// counts in neither run.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Debug, Clone)]
pub struct WholePlan {
    /// The course of the experiment; its warm-up is [`WholePlan::WARM_UP`].
    pub course: Course,
    /// The commands to run, `[baseline, other]`.
    pub sides: [CommandPlan; 2],
    /// How long a single run may take.
    pub timeout: Duration,
    /// The server that both commands use, if known; its CPU time is read.
    pub server_pid: Option<u32>,
}

impl WholePlan {
    pub const WARM_UP: WarmUp = WarmUp { n_slices: Some(2), ..WarmUp::epochs(1) };
}

/// Runs the commands as `plan` prescribes. Returns the outcome, and the transports that were seen for each arm,
/// `[baseline, other]`.
pub fn run_commands(
    plan: &WholePlan,
    watcher: &mut dyn Watcher,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> (Outcome, [Sightings; 2]) {
    let mut commands = Commands {
        plan,
        watcher,
        stop,
        last_wall: [Duration::ZERO; 2],
        n_started: [0; 2],
        seen: [Sightings::default(); 2],
    };
    let outcome = run_slices(&plan.course, &mut commands, observer, stop);
    (outcome, commands.seen)
}

struct Commands<'a> {
    plan: &'a WholePlan,
    watcher: &'a mut dyn Watcher,
    stop: &'a AtomicBool,
    /// How long the last run of each arm took.
    last_wall: [Duration; 2],
    /// Number of counted runs of each arm that were started.
    n_started: [usize; 2],
    seen: [Sightings; 2],
}

impl SliceSource for Commands<'_> {
    fn fill(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, BenchError> {
        let side = order.side;
        thread::sleep(PAUSE);
        let (name, looking) = if order.counts {
            self.n_started[side.idx()] += 1;
            let number = self.n_started[side.idx()];
            let looking = Looking::Thrice(self.last_wall[side.idx()]);
            (RunName::Counted(number), looking)
        } else {
            (RunName::WarmUp, Looking::Often)
        };
        let before_ns = self.plan.server_pid.and_then(process_tree::cpu_ns);
        let Some(finished) = self.run(side, name, looking)? else {
            return Ok(None);
        };
        let after_ns = self.plan.server_pid.and_then(process_tree::cpu_ns);
        let server_cpu_ns = after_ns.zip(before_ns).map(|(after, before)| after.saturating_sub(before));
        Ok(Some(FilledSlice {
            slice: slice(&finished, server_cpu_ns),
            start_ns: finished.start_ns,
            ..FilledSlice::default()
        }))
    }
}

impl Commands<'_> {
    fn run(&mut self, side: Side, name: RunName, looking: Looking) -> Result<Option<Finished>, BenchError> {
        let command = &self.plan.sides[side.idx()];
        let failed =
            |source| BenchError::Command { arm: command.arm.clone(), run: name, line: command.shown.clone(), source };
        let bounds = Bounds { timeout: self.plan.timeout, looking, stop: self.stop };
        let finished = process::run(command, side, self.watcher, bounds).map_err(failed)?;
        if let Some(finished) = &finished {
            let seen = &mut self.seen[side.idx()];
            let objection = self.watcher.objection(side, finished.sight, *seen);
            seen.n_runs += 1;
            seen.n_unix += u64::from(finished.sight.unix);
            seen.n_tcp += u64::from(finished.sight.tcp);
            if let Some(found) = objection {
                return Err(failed(CommandError::WrongTransport { found }));
            }
            self.last_wall[side.idx()] = Duration::from_nanos(finished.wall_ns);
        }
        Ok(finished)
    }
}

/// Makes a slice from a whole run.
fn slice(finished: &Finished, server_cpu_ns: Option<u64>) -> Slice {
    let used = finished.used;
    Slice {
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
