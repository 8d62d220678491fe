//! Puts a comparison of whole commands into the record; its verdict is computed from its raw numbers, as for every
//! comparison.

use looptax_bench::{Outcome, Placement, WholePlan};
use looptax_model::analysis::proved_arm::ProvedArm;
use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;
use looptax_model::record;
use record::{Comparison, Sightings};

use crate::measure::{RecordWriter, judging};
use crate::spec::Experiment;
use crate::spec::exec::{Exec, Given, joined};
use crate::spec::tool::without_passwords;
use crate::target::Target;

/// The level of a run that was cut short between two interim analyses. At this level fewer than ten epochs give no
/// interval: 2/2^10 is just below the level.
const CUT_SHORT_ALPHA: f64 = 0.002;
/// The level of a run with `--fixed` that was cut short; at this level six epochs are enough for an interval.
const CUT_SHORT_FIXED_ALPHA: f64 = 0.05;

/// Adds the comparison to the record, unless it has no epochs.
pub(super) fn add(
    target: Option<&Target>,
    settings: &Experiment,
    exec: &Exec,
    plan: &WholePlan,
    outcome: &mut Outcome,
    seen: [Sightings; 2],
    writer: &mut RecordWriter,
) -> Result<(), Failure> {
    let run = outcome.contrasts.swap_remove(0);
    if run.epochs.is_empty() {
        return Ok(());
    }
    let (server, workload) = what(target, settings);
    let mut comparison = Comparison {
        commands: Some(commands(exec, plan)),
        ..Comparison::unmeasured(
            server,
            workload,
            judging::placement_used(Placement::Free),
            record::Client::Command,
            record::Schedule {
                // 0: the warm-up of whole commands is not a whole epoch.
                warmup_epochs: 0,
                ..judging::schedule(&plan.course, outcome, settings.effort)
            },
        )
    };
    let arms = super::plan::pair_of_arms(settings).into_iter().zip(seen);
    let arms = arms.map(|(arm, seen)| proved(arm, target, seen));
    let arms = arms.collect::<Result<Vec<_>, _>>()?;
    let cut_short = if settings.effort.is_fixed() { CUT_SHORT_FIXED_ALPHA } else { CUT_SHORT_ALPHA };
    let ending = judging::ending_of(&run, cut_short, outcome.failure.as_ref());
    writer.take(&mut comparison, run);
    writer.add(comparison, &arms, &[ending]);
    Ok(())
}

fn what(target: Option<&Target>, settings: &Experiment) -> (record::Target, record::Workload) {
    let nobody =
        record::Target { kind: "none".to_owned(), name: "the commands' own".to_owned(), ..record::Target::default() };
    let rows = target.filter(|target| target.is_private()).map(|_| u64::from(settings.rows));
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
    record::Commands { template, lines: lines.collect(), timeout_s: exec.timeout.as_secs() }
}

/// Makes an arm for the record, with the connections that were seen during its runs. The arm is proved if a connection
/// on its own transport was seen; each run checks that no connection was on the other transport.
fn proved(arm: Arm, target: Option<&Target>, seen: Sightings) -> Result<ProvedArm, Failure> {
    let endpoint = match target {
        Some(target) => target.endpoint(arm)?.to_string(),
        None => "the command's own".to_owned(),
    };
    let (family, n_own) = if arm.is_unix() { ("AF_UNIX", seen.n_unix) } else { ("AF_INET", seen.n_tcp) };
    let is_seen = n_own > 0;
    Ok(ProvedArm {
        name: arm.name().to_owned(),
        endpoint,
        verified: is_seen,
        proof: record::Proof {
            family: if is_seen { family } else { "not seen" }.to_owned(),
            seen: Some(seen),
            ..record::Proof::default()
        },
    })
}
