//! The first result for a new user: measures as many of the installed kinds of server as fit into half a minute, over
//! one connection with both ends on one core.
//!
//! The kinds are measured one after the other, so that no server is started during a measurement; kinds that start
//! quickly come first. Called if `looptax` is run without arguments.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::servers::{find_binary, unfit};
use looptax_bench::Placement;
use looptax_model::dsn::Kind;
use looptax_model::failure::Failure;

use crate::arms::Machine;
use crate::comparison::measure_all;
use crate::comparison::parts::{Asked, planned};
use crate::measure::RecordWriter;
use crate::observer::Observer;
use crate::spec::target::TargetSpec;
use crate::spec::{Effort, Experiment, new_seed};
use crate::target::ask_nobody;

/// Time limit for the whole run, including the inspection of running servers and the text at the end.
const LIMIT: Duration = Duration::from_secs(29);
const WARM_UP: Duration = Duration::from_millis(300);
/// Minimum length of each measurement after the first: enough for six epochs of eight slices, with some time to spare.
/// If less time is left, no further server is started.
const SHORTEST: Duration = Duration::from_secs(2);
/// Maximum length of a measurement: a longer measurement makes the interval only a little narrower, and the user has to
/// wait.
const LONGEST: Duration = Duration::from_secs(4);
/// Length of the first measurement: short, because the user sees no result before it ends.
const FIRST: Duration = Duration::from_millis(1_350);
const FIRST_WARM_UP: Duration = Duration::from_millis(150);
/// Length of a slice: half the usual length, so that twice as many epochs fit into the same time.
const SLICE: Duration = Duration::from_millis(20);

/// The measurements that are still to be made, and the time for them.
pub struct Minute {
    began: Instant,
    left: Vec<Kind>,
    is_first: bool,
    seed: u64,
}

pub enum Step {
    /// The server was measured. Unless the user stopped the run early, the last comparison of the record is the
    /// comparison of this server.
    Measured,
    /// The time was over before this server was measured.
    LeftOut,
    /// The server could not be started, or ended while it was measured.
    Failed(Failure),
}

impl Minute {
    /// Prepares a run that began at `began`.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub fn new(began: Instant) -> Result<Self, Failure> {
        let mut left = installed_by_start();
        left.reverse();
        Ok(Self { began, left, is_first: true, seed: new_seed()? })
    }

    /// Returns the kinds that are still to be measured, in order.
    pub fn left(&self) -> impl Iterator<Item = Kind> {
        self.left.iter().rev().copied()
    }

    /// Moves these kinds, in this order, before the other kinds. The very first kind stays first, because it starts
    /// fastest.
    pub fn prefer(&mut self, kinds: &[&str]) {
        let Some(first) = self.left.pop() else { return };
        let rank = |kind: &Kind| kinds.iter().position(|it| *it == kind.name()).unwrap_or(kinds.len());
        // The list is in reverse order: its last kind is measured next.
        self.left.sort_by_key(|kind| std::cmp::Reverse(rank(kind)));
        self.left.push(first);
    }

    /// Returns the experiment that describes the whole run in the record, without the servers.
    pub fn experiment(&self) -> Experiment {
        Experiment {
            connections: Some(vec![1]),
            placements: Some(vec![Placement::Same]),
            warm_up: Some(WARM_UP),
            effort: Effort::Time(LONGEST),
            slice: Some(SLICE),
            ..Experiment::new(TargetSpec::Private(Kind::Echo), self.seed)
        }
    }

    /// Measures the next kind, and adds the result to the record; `None` if no kind is left.
    pub fn measure_next(
        &mut self,
        writer: &mut RecordWriter,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Option<(Kind, Step)> {
        let time = self.time_for_next();
        let is_first = std::mem::take(&mut self.is_first);
        let (time, warm_up) = if is_first { (time.map(|it| it.min(FIRST)), FIRST_WARM_UP) } else { (time, WARM_UP) };
        let kind = self.left.pop()?;
        let Some(time) = time else {
            return Some((kind, Step::LeftOut));
        };
        let experiment = Experiment {
            targets: vec![TargetSpec::Private(kind)],
            warm_up: Some(warm_up),
            effort: Effort::Time(time),
            ..self.experiment()
        };
        let measured = measure(experiment, writer, observer, stop);
        Some((kind, measured.map_or_else(Step::Failed, |()| Step::Measured)))
    }

    /// Returns the time for the next server; `None` if the measurement no longer fits. First the starts and warm-ups of
    /// all remaining servers are subtracted from the remaining time. Each server then gets an equal share of the rest.
    #[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
    fn time_for_next(&self) -> Option<Duration> {
        let beside: Duration = self.left.iter().map(|kind| start_of(*kind) + WARM_UP).sum();
        let left = LIMIT.checked_sub(self.began.elapsed())?;
        let share = left.saturating_sub(beside) / self.left.len().max(1) as u32;
        let time = share.clamp(SHORTEST, LONGEST);
        // If the shares are too small, the kinds at the end of the order are not measured.
        let alone = left.checked_sub(start_of(*self.left.last()?) + WARM_UP)?;
        (time <= alone).then_some(time)
    }
}

/// Returns how long a server of this kind takes to start on a slow machine.
fn start_of(kind: Kind) -> Duration {
    Duration::from_secs(match kind {
        // Servers of these kinds first make a data folder and fill a table.
        Kind::Mariadb | Kind::Mysql | Kind::Postgres => 4,
        Kind::Echo => 0,
        _ => 1,
    })
}

/// Returns one installed server per protocol: first the servers that start quickly, and last echo, which measures only
/// the transport. The list also has kinds whose only installed program cannot be started, so that the failure is
/// reported.
fn installed_by_start() -> Vec<Kind> {
    let is_there = |kind: &Kind| kind.is_usual() && find_binary(*kind).is_some();
    let there: Vec<Kind> = Kind::ALL.into_iter().filter(is_there).collect();
    let is_wanted = |kind: &&Kind| match kind {
        Kind::Mysql => !there.contains(&Kind::Mariadb),
        Kind::Valkey => !there.contains(&Kind::Redis),
        _ => true,
    };
    let mut kinds: Vec<Kind> = there.iter().filter(is_wanted).copied().collect();
    kinds.extend(unfit().into_iter().map(|(kind, _)| kind));
    kinds.sort_by_key(|kind| (*kind == Kind::Echo, start_of(*kind)));
    kinds
}

fn measure(
    experiment: Experiment,
    writer: &mut RecordWriter,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let asked = Asked::workloads(vec![experiment]);
    let machine = Machine::make(&asked.all[0].1);
    let parts = planned(&asked, &machine)?;
    measure_all(&parts.all, (machine, ask_nobody), writer, observer, stop)
}
