//! A comparison of whole commands for the record, judged from its own raw numbers as any other.

use looptax_bench::{Placement, Tally, WholeOutcome, WholePlan};
use looptax_model::analysis::proved_arm::ProvedArm;
use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;
use looptax_model::record;
use record::{Comparison, Hex64};

use crate::measure::judging;
use crate::measure::plan::DELTA;
use crate::spec::exec::{Exec, Given, joined};
use crate::spec::tool::without_passwords;
use crate::spec::{Effort, Experiment};
use crate::target::Target;

/// The level of a run that was cut short before a planned interim analysis: the largest at which fewer than ten
/// epochs have no interval (2/2^10 is just below it).
const CUT_SHORT_ALPHA: f64 = 0.002;
/// With `--fixed` six are enough.
const CUT_SHORT_FIXED_ALPHA: f64 = 0.05;

/// The whole comparison.
pub(super) fn comparison(
    target: Option<&Target>,
    settings: &Experiment,
    exec: &Exec,
    plan: &WholePlan,
    outcome: &WholeOutcome,
) -> Result<Comparison, Failure> {
    let mut comparison = skeleton(target, settings, exec, plan, outcome);
    let epochs = outcome.contrast.epochs.iter();
    comparison.raw.epochs = epochs.map(|epoch| epoch.raw.clone()).collect();
    let mut arms = Vec::with_capacity(2);
    for (arm, seen) in super::plan::pair_of_arms(settings)
        .into_iter()
        .zip(outcome.seen)
    {
        arms.push(proved(arm, target, seen)?);
    }
    let cut_short = if is_fixed(settings) {
        CUT_SHORT_FIXED_ALPHA
    } else {
        CUT_SHORT_ALPHA
    };
    let ending = judging::ending_of(&outcome.contrast, cut_short, outcome.failure.as_ref());
    looptax_model::analysis::judge(&mut comparison, &arms, &[ending], &mut |_| Vec::new());
    Ok(comparison)
}

fn is_fixed(settings: &Experiment) -> bool {
    matches!(settings.effort, Effort::Epochs(_) | Effort::Time(_))
}

fn skeleton(
    target: Option<&Target>,
    settings: &Experiment,
    exec: &Exec,
    plan: &WholePlan,
    outcome: &WholeOutcome,
) -> Comparison {
    let (server, workload) = what(target, settings);
    let schedule = record::Schedule {
        // A run is as long as it is.
        slice_ms: 0.0,
        guard_ms: 0.0,
        octets_per_epoch: 0,
        looks: judging::planned_looks(&outcome.analyses),
        fixed: is_fixed(settings),
        precise: settings.effort == Effort::Precise,
        delta_pct: DELTA * 100.0,
        warmup_epochs: 0,
        seed: Hex64(plan.seed),
    };
    let placement = judging::placement_used(Placement::Free);
    Comparison {
        commands: Some(commands(exec, plan)),
        ..Comparison::unmeasured(
            server,
            workload,
            placement,
            record::Client::Command,
            schedule,
        )
    }
}

fn what(target: Option<&Target>, settings: &Experiment) -> (record::Target, record::Workload) {
    let nobody = record::Target {
        kind: "none".to_owned(),
        name: "the commands' own".to_owned(),
        ..record::Target::default()
    };
    let rows = target
        .filter(|target| target.is_private())
        .map(|_| u64::from(settings.rows));
    let server = target.map_or(nobody, |target| judging::what(target, settings).0);
    let workload = record::Workload {
        name: "command".to_owned(),
        statements: 1,
        pipeline: 1,
        rows,
        ..record::Workload::default()
    };
    (server, workload)
}

fn commands(exec: &Exec, plan: &WholePlan) -> record::Commands {
    let template = match &exec.given {
        Given::Template(template) => Some(joined(&without_passwords(&template.words))),
        Given::PerArm { .. } => None,
    };
    let lines = plan.sides.iter().map(|side| record::CommandLine {
        arm: side.arm.clone(),
        line: side.shown.clone(),
        variables: side.set.iter().map(|(name, _)| name.clone()).collect(),
    });
    record::Commands {
        template,
        lines: lines.collect(),
        timeout_s: exec.timeout.as_secs(),
    }
}

/// An arm with what was seen of its runs. Proved when one was seen on its own transport: that none
/// was seen on another is checked run by run.
fn proved(arm: Arm, target: Option<&Target>, seen: Tally) -> Result<ProvedArm, Failure> {
    let endpoint = match target {
        Some(target) => target.endpoint(arm)?.to_string(),
        None => "the command's own".to_owned(),
    };
    let (family, n_own) = if arm.is_unix() {
        ("AF_UNIX", seen.n_unix)
    } else {
        ("AF_INET", seen.n_tcp)
    };
    let is_seen = n_own > 0;
    Ok(ProvedArm {
        name: arm.name().to_owned(),
        endpoint,
        verified: is_seen,
        proof: record::Proof {
            family: if is_seen { family } else { "not seen" }.to_owned(),
            seen: Some(record::Sightings {
                n_runs: seen.n_runs,
                n_unix: seen.n_unix,
                n_tcp: seen.n_tcp,
            }),
            ..record::Proof::default()
        },
    })
}
