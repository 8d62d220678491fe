//! Plans the comparisons of a run, estimates how long they take, and prints the plan.

mod bench;
mod case;
mod text;

use std::time::Duration;

use looptax_bench::{Placement, allowed_cores};
use looptax_host::rights::may_place_threads;
use looptax_model::dsn::{Arm, Protocol};
use looptax_model::failure::Failure;

use crate::arms::{Machine, Missing, choose};
use crate::exec::plan as exec_plan;
use crate::observer::PlannedStep;
use crate::spec::load::Load;
use crate::spec::target::TargetSpec;
use crate::spec::{Effort, Experiment, Requests};
use crate::target::{connections, private_workload};
pub use bench::{bench, interim_analyses};
use case::Hold;
pub use case::{Case, Doing, TargetPlan};
use text::{at_most, steps, text};
pub use text::{case_name, minutes, target_line};

/// Length of the glimpse with free placement in the default run: each arm runs twice, for about two seconds after the
/// scheduler has settled.
const FREE_LOOK: Duration = Duration::from_secs(10);
/// Length of the glimpse with split cores in the default run: enough for a rough factor, not for a verdict.
const SPLIT_LOOK: Duration = Duration::from_secs(4);
/// Length of the slices when `--precise` measures again: ten times the usual length.
const LONG_SLICE: Duration = Duration::from_millis(500);
/// Maximum number of connections per arm to a running server, unless the user has declared that the server is their
/// own.
const MOST_ON_RUNNING: u32 = 8;

pub struct Overview {
    pub text: String,
    /// The plan for each target; empty for whole commands.
    pub targets: Vec<TargetPlan>,
    /// The comparisons in order.
    pub steps: Vec<PlannedStep>,
    /// The longest time for measuring and warming up, without the time for starting and filling servers.
    pub at_most: Duration,
}

impl Overview {
    /// Returns one sentence for each requested arm that is not measured.
    pub fn missing(&self) -> impl Iterator<Item = String> {
        self.targets.iter().flat_map(|target| {
            let name = &target.name;
            let missing = target.missing.iter();
            missing.map(move |Missing { arm, why }| format!("{name}: {arm} is not measured: {why}"))
        })
    }
}

pub fn lay_out(settings: &Experiment, machine: &Machine) -> Result<Overview, Failure> {
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
        let (arms, missing) = choose(&asked, spec, machine)?;
        let hold = hold_on(spec, settings.is_own_server);
        let cases = cases(settings, spec, &arms, n_cores, hold)?;
        Ok(TargetPlan { name: spec.name(), cases, arms, unsure, missing, hold })
    };
    let targets: Vec<TargetPlan> = settings.targets.iter().map(planned).collect::<Result<_, _>>()?;
    Ok(Overview {
        text: text(settings, &targets),
        steps: steps(settings, &targets),
        at_most: at_most(settings, &targets),
        targets,
    })
}

/// Returns how the server's threads that serve looptax's connections can be placed on cores, as far as this is known
/// before the server is queried.
fn hold_on(spec: &TargetSpec, is_own_server: bool) -> Hold {
    let TargetSpec::Running(running) = spec else {
        return Hold::Pinned;
    };
    match running.protocol {
        Protocol::Mysql | Protocol::Postgres if may_place_threads() => Hold::Pinned,
        Protocol::Redis if is_own_server && may_place_threads() => Hold::Pinned,
        Protocol::Mysql | Protocol::Postgres | Protocol::Redis => Hold::Followed,
        _ => Hold::Unknown,
    }
}

fn cases(
    settings: &Experiment,
    spec: &TargetSpec,
    arms: &[Arm],
    n_cores: usize,
    hold: Hold,
) -> Result<Vec<Case>, Failure> {
    let is_private = matches!(spec, TargetSpec::Private(_));
    if let TargetSpec::Private(kind) = spec {
        private_workload(*kind, settings)?;
    }
    let numbers = connections(settings, is_private);
    let placements = settings
        .placements
        .clone()
        .unwrap_or_else(|| vec![hold.usual(n_cores, settings.load.is_flat_out() && numbers == [1])]);
    check_placements(&placements, hold, n_cores)?;
    if !is_private && !settings.is_own_server {
        check_load(&numbers, &settings.requests)?;
    }
    let loads = settings.load.each();
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
                load: load.clone(),
                slice: None,
            }));
        }
    }
    let is_flat_out = settings.load.is_flat_out();
    let has_slices = is_flat_out && !settings.requests.are_dumps();
    if settings.effort == Effort::Precise && settings.slice.is_none() && has_slices {
        let again = |case: &Case| Case { slice: Some(LONG_SLICE), ..case.clone() };
        let pinned = cases.iter().filter(|case| case.placement != Placement::Free);
        let long: Vec<Case> = pinned.map(again).collect();
        cases.extend(long);
    }
    let most = numbers.iter().copied().max().unwrap_or(1);
    let looks: &[_] = match is_private {
        true if most > 1 => &[(Placement::Free, FREE_LOOK), (Placement::Split, SPLIT_LOOK)],
        false if hold == Hold::Pinned => &[(Placement::Split, SPLIT_LOOK)],
        _ => &[],
    };
    if settings.placements.is_none() && n_cores > 1 && is_flat_out {
        for &(placement, length) in looks {
            let clients = settings.clients_for(spec.kind(), most)?;
            let clients = clients.into_iter().take(1).collect();
            cases.push(Case {
                arms: arms.to_vec(),
                connections: most,
                placement,
                clients,
                doing: Doing::Glimpse(length),
                load: Load::flat_out(),
                slice: None,
            });
        }
    }
    Ok(cases)
}

fn check_placements(placements: &[Placement], hold: Hold, n_cores: usize) -> Result<(), Failure> {
    for placement in placements {
        match placement {
            Placement::Split if n_cores < 2 => {
                return Err(Failure::usage(
                    "split placement needs two cores, but this process may use only one",
                    "use --placement same",
                ));
            }
            Placement::Same | Placement::Split if hold == Hold::Unknown => {
                return Err(Failure::usage(
                    format!(
                        "the placement `{placement}` needs to know which of the server's threads serve looptax's \
                         connections, but this server does not report these threads"
                    ),
                    "use --placement client-pinned or free",
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
            "`dump` reads a whole table again and again: too much for a server that other programs use",
            "pass --own-server if no other program uses it",
        ));
    }
    if requests.are_connects() {
        return Err(Failure::usage(
            "`connect` opens thousands of connections per second: too much for a server that other programs use",
            "pass --own-server if no other program uses it",
        ));
    }
    match numbers.iter().find(|n| **n > MOST_ON_RUNNING) {
        Some(n) => Err(Failure::usage(
            format!("{n} connections per arm are too many for a server that other programs use"),
            format!("use at most {MOST_ON_RUNNING}, or add --own-server if no other program uses the server"),
        )),
        None => Ok(()),
    }
}
