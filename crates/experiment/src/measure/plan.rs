//! Which comparisons a run consists of, how long they take, and the plan as it is printed.

mod load;
mod text;

use std::time::Duration;

use looptax_bench::{
    Contrast, Placement, Plan, ServerThreads, Shape, SidePlan, Stopping, WarmUp, allowed_cores,
};
use looptax_dsn::Arm;
use looptax_failure::Failure;
use looptax_stats::{Looks, StopRule};

use crate::arms::{Machine, Missing, choose};
use crate::exec::plan as exec_plan;
use crate::observer::PlannedStep;
use crate::spec::target::TargetSpec;
use crate::spec::waits::Waits;
use crate::spec::{Effort, Experiment, Requests};
use crate::target::{Target, connections, private_workload};
pub use load::CaseLoad;
use text::{at_most, steps, text};
pub use text::{case_name, minutes, target_line};

/// Half the width of "no difference worth naming": 1 % of throughput.
pub const DELTA: f64 = 0.01;
/// How long the default run looks at free placement: two settled spells of each arm.
const FREE_LOOK: Duration = Duration::from_secs(10);
/// How long it looks at split cores: enough for a factor, not for a verdict.
const SPLIT_LOOK: Duration = Duration::from_secs(4);
/// `--precise` measures again with slices ten times as long.
const LONG_SLICE: Duration = Duration::from_millis(500);
/// Epochs of that: some 80 s, in which an interval comes down to a point or two.
const LONG_SLICE_EPOCHS: usize = 20;
/// How long one answer may take.
const IO_LIMIT: Duration = Duration::from_secs(10);
/// How long a whole dump may take.
const DUMP_LIMIT: Duration = Duration::from_mins(10);
/// Most connections per arm on a running server that is not declared our own.
const MOST_ON_RUNNING: u32 = 8;

/// What is done in one go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// Epochs until a verdict.
    Judge,
    /// A short look at the range of rates.
    Glimpse(Duration),
}

/// One number of connections under one placement.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The baseline first.
    pub arms: Vec<Arm>,
    /// Connections per arm.
    pub connections: u32,
    /// Where the two ends of each run.
    pub placement: Placement,
    /// How the client waits, a contrast each.
    pub clients: Vec<Waits>,
    /// Whether it is judged.
    pub doing: Doing,
    /// What makes connections send.
    pub load: CaseLoad,
    /// Slices of another length than usual: the second half of a check that it does not matter.
    pub slice: Option<Duration>,
}

/// The whole run.
pub struct Overview {
    /// The plan in words.
    pub text: String,
    /// By target; none for whole commands.
    pub targets: Vec<TargetPlan>,
    /// Its comparisons in order.
    pub steps: Vec<PlannedStep>,
    /// Measuring and warming up; starting and filling servers apart.
    pub at_most: Duration,
}

/// What is done with one target.
pub struct TargetPlan {
    /// Without a password.
    name: String,
    /// The baseline first.
    pub arms: Vec<Arm>,
    /// The one among them that was not asked for and is left out where the server does not have it.
    pub unsure: Option<Arm>,
    /// Arms that were asked for and cannot be had.
    missing: Vec<Missing>,
    /// In the order of measuring.
    pub cases: Vec<Case>,
}

impl TargetPlan {
    /// Its comparisons of these arms alone: those that turned out to be there.
    pub fn only(&self, arms: &[Arm]) -> Vec<Case> {
        let mut cases = self.cases.clone();
        for case in &mut cases {
            case.arms.retain(|it| arms.contains(it));
        }
        cases
    }
}

impl Overview {
    /// What was asked for and is not measured, a sentence each.
    pub fn missing(&self) -> impl Iterator<Item = String> {
        self.targets.iter().flat_map(|target| {
            let name = &target.name;
            let missing = target.missing.iter();
            missing.map(move |Missing { arm, why }| format!("{name}: {arm} is not measured: {why}"))
        })
    }
}

/// Lays out the run.
pub fn of(settings: &Experiment, machine: &Machine) -> Result<Overview, Failure> {
    if let Some(exec) = &settings.exec {
        let text = exec_plan::text(settings, exec)?;
        return Ok(Overview {
            text,
            targets: Vec::new(),
            steps: exec_plan::steps(settings, exec),
            at_most: Duration::ZERO,
        });
    }
    let n_cores = allowed_cores()?.len();
    let planned = |spec: &TargetSpec| -> Result<TargetPlan, Failure> {
        let (asked, unsure) = settings.arms_for(spec);
        let (arms, missing) = choose(settings, &asked, spec, machine)?;
        Ok(TargetPlan {
            name: spec.name(),
            cases: cases(settings, spec, &arms, n_cores)?,
            arms,
            unsure,
            missing,
        })
    };
    let targets: Vec<TargetPlan> = settings
        .targets
        .iter()
        .map(planned)
        .collect::<Result<_, _>>()?;
    Ok(Overview {
        text: text(settings, &targets),
        steps: steps(settings, &targets),
        at_most: at_most(settings, &targets),
        targets,
    })
}

fn cases(
    settings: &Experiment,
    spec: &TargetSpec,
    arms: &[Arm],
    n_cores: usize,
) -> Result<Vec<Case>, Failure> {
    let is_private = matches!(spec, TargetSpec::Private(_));
    if let TargetSpec::Private(kind) = spec {
        private_workload(*kind, settings)?;
    }
    let numbers = connections(settings, is_private);
    let placements = settings.placements.clone().unwrap_or_else(|| {
        vec![if is_private {
            Placement::Same
        } else {
            Placement::ClientPinned
        }]
    });
    check_placements(&placements, is_private, n_cores)?;
    if !is_private && !settings.is_own_server {
        check_load(&numbers, &settings.requests)?;
    }
    let loads = CaseLoad::all(&settings.load);
    let mut cases = Vec::new();
    for connections in &numbers {
        let clients = settings.clients_for(spec.kind(), *connections)?;
        for placement in &placements {
            cases.extend(loads.iter().map(|load| Case {
                arms: arms.to_vec(),
                connections: *connections,
                placement: *placement,
                clients: clients.clone(),
                doing: Doing::Judge,
                load: *load,
                slice: None,
            }));
        }
    }
    let is_flat_out = settings.load.is_flat_out();
    let has_slices = is_flat_out && !settings.requests.are_dumps();
    if settings.effort == Effort::Precise && settings.slice.is_none() && has_slices {
        let again = |case: &Case| Case {
            slice: Some(LONG_SLICE),
            ..case.clone()
        };
        let pinned = cases
            .iter()
            .filter(|case| case.placement != Placement::Free);
        let long: Vec<Case> = pinned.map(again).collect();
        cases.extend(long);
    }
    let most = numbers.iter().copied().max().unwrap_or(1);
    if settings.placements.is_none() && is_private && most > 1 && n_cores > 1 && is_flat_out {
        for (placement, length) in [(Placement::Free, FREE_LOOK), (Placement::Split, SPLIT_LOOK)] {
            let clients = settings.clients_for(spec.kind(), most)?;
            let clients = clients.into_iter().take(1).collect();
            cases.push(Case {
                arms: arms.to_vec(),
                connections: most,
                placement,
                clients,
                doing: Doing::Glimpse(length),
                load: CaseLoad::Closed {
                    think: Duration::ZERO,
                },
                slice: None,
            });
        }
    }
    Ok(cases)
}

fn check_placements(
    placements: &[Placement],
    is_private: bool,
    n_cores: usize,
) -> Result<(), Failure> {
    for placement in placements {
        match placement {
            Placement::Split if n_cores < 2 => {
                return Err(Failure::usage(
                    "split placement needs two cores, this process may use one",
                    "--placement same",
                ));
            }
            Placement::Same | Placement::Split if !is_private => {
                return Err(Failure::usage(
                    format!(
                        "`{placement}` pins the server's threads, which are not ours on a running server"
                    ),
                    "--placement client-pinned or free",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_load(numbers: &[u32], requests: &Requests) -> Result<(), Failure> {
    if requests.are_dumps() {
        return Err(Failure::usage(
            "`dump` reads a whole table again and again: too much for a server that others use",
            "--own-server says that nobody else uses it",
        ));
    }
    if requests.are_connects() {
        return Err(Failure::usage(
            "`connect` opens thousands of connections per second: too much for a server that others use",
            "--own-server says that nobody else uses it",
        ));
    }
    match numbers.iter().find(|n| **n > MOST_ON_RUNNING) {
        Some(n) => Err(Failure::usage(
            format!("{n} connections per arm is much for a server that others use"),
            format!("at most {MOST_ON_RUNNING}; --own-server says that nobody else uses it"),
        )),
        None => Ok(()),
    }
}

/// Most epochs of one contrast, with the shape that it starts with.
fn most_epochs(settings: &Experiment, case: &Case) -> usize {
    looks(settings, case).n_max()
}

fn shape(settings: &Experiment, case: &Case) -> Shape {
    if settings.requests.are_dumps() {
        return Shape::whole();
    }
    let shape = match (case.placement, case.load) {
        (Placement::Free, _) => Shape::settling(),
        (_, load) if load.is_open() => Shape::open(),
        _ => Shape::short(),
    };
    settings
        .slice
        .map_or(shape, |slice| shape.with_slice(slice))
}

/// When to look, from the effort and the placement.
pub fn looks(settings: &Experiment, case: &Case) -> Looks {
    let is_running = settings
        .targets
        .iter()
        .any(|it| matches!(it, TargetSpec::Running(_)));
    if case.slice.is_some() {
        return Looks::fixed(LONG_SLICE_EPOCHS);
    }
    match (settings.effort, case.placement) {
        (Effort::Epochs(n), _) => Looks::fixed(n),
        (Effort::Time(time), _) => {
            Looks::fixed((time.div_duration_f64(shape(settings, case).epoch()) as usize).max(6))
        }
        // Two runs per arm in an epoch leave no room for a spoilt one: more epochs than that say little.
        (Effort::Full, _) if settings.requests.are_dumps() => Looks::quick(),
        (_, Placement::Free) if !settings.requests.are_dumps() => Looks::free(),
        (Effort::Quick, _) => Looks::quick(),
        // 40 epochs take 20 s: the most that somebody else's server is kept busy.
        _ if is_running && !settings.is_own_server => Looks::quick(),
        _ => Looks::full(),
    }
}

/// The load engine's plan for a case.
///
/// `capacity_per_s` is the slower arm's, where the case's rate is a share of it.
pub fn bench(
    settings: &Experiment,
    target: &Target,
    case: &Case,
    seed: u64,
    capacity_per_s: Option<f64>,
) -> Plan {
    let n_others = case.arms.len() - 1;
    let contrasts = case
        .clients
        .iter()
        .flat_map(|client| (0..n_others).map(move |other| (client, other)))
        .map(|(client, other)| Contrast {
            name: format!("{}, {}, {client}", case.arms[0], case.arms[other + 1]),
            pair: [0, other as u32 + 1],
            sides: [case.arms[0], case.arms[other + 1]].map(|arm| SidePlan {
                client: client.on(arm),
                inject_ns: None,
            }),
        })
        .collect();
    Plan {
        seed,
        connections: case.connections as usize,
        contrasts,
        pacing: case.load.pacing(case.placement, capacity_per_s),
        placement: case.placement,
        // Nobody knows beforehand which thread will serve a new connection: all of them are placed.
        server_threads: if settings.requests.are_connects() {
            ServerThreads::Single
        } else {
            target.threads
        },
        shape: shape(settings, case),
        // Latencies of an open loop grow without end at a rate that cannot be kept.
        may_adapt_shape: case.slice.or(settings.slice).is_none()
            && !case.load.is_open()
            && !settings.requests.are_dumps(),
        warm_up: warm_up_of(settings, case, target.has_load_limits),
        stopping: Stopping {
            looks: looks(settings, case),
            rule: StopRule {
                is_precise: settings.effort == Effort::Precise,
            },
            delta: DELTA,
            deadline: settings.deadline,
        },
        keys: target.keys(),
        are_comparable: !target.workload.writes(),
        least_data_bytes: target.workload.least_data_bytes(),
        max_sample_bytes: settings.sample_bytes,
        io_limit: if settings.requests.are_dumps() {
            DUMP_LIMIT
        } else {
            IO_LIMIT
        },
    }
}

/// What was asked for, or what fits the server and the placement.
fn warm_up_of(settings: &Experiment, case: &Case, has_load_limits: bool) -> WarmUp {
    match settings.warm_up {
        _ if has_load_limits || settings.requests.are_dumps() => short_warm_up(),
        Some(length) => WarmUp {
            least_epochs: 2,
            least: length,
            at_most: length,
        },
        None => warm_up(case.placement),
    }
}

/// `free` warms up for two of its long epochs; pinned placements for 2 to 10 s.
pub fn warm_up(placement: Placement) -> WarmUp {
    match placement {
        Placement::Free => WarmUp {
            least_epochs: 2,
            least: Duration::ZERO,
            at_most: Duration::ZERO,
        },
        _ => WarmUp {
            least_epochs: 4,
            least: Duration::from_secs(2),
            at_most: Duration::from_secs(10),
        },
    }
}

/// One epoch: a running server is warm, and is kept busy for 20 s at most.
fn short_warm_up() -> WarmUp {
    WarmUp {
        least_epochs: 1,
        least: Duration::ZERO,
        at_most: Duration::ZERO,
    }
}
