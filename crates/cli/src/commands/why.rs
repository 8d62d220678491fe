//! `why`: runs a comparison and samples the CPU time of its requests.

mod two_records;

use std::time::Duration;

use looptax_bench::Placement;
use looptax_experiment::comparison::measure_all;
use looptax_experiment::comparison::parts::Asked;
use looptax_experiment::spec::Effort;
use looptax_experiment::spec::target::{self, TargetSpec};
use looptax_experiment::why::Watch;
use looptax_model::failure::Failure;

use super::compare;
use crate::args::WhyArgs;
use crate::failure::Exit;
use crate::settings;
use crate::terminal::Terminal;

/// How long the comparison takes by default.
const USUAL: Duration = Duration::from_secs(40);

pub(crate) fn run(args: &WhyArgs, terminal: Terminal) -> Result<Exit, Failure> {
    if let Some(exit) = two_records::run(args, terminal)? {
        return Ok(exit);
    }
    let asked = asked(args)?;
    compare::measure(&asked, &args.compare, terminal, |parts, ask, writer, stage, stop| {
        let mut watch = Watch::new(parts[0].settings.seed, stage)?;
        measure_all(parts, ask, writer, &mut watch, stop)
    })
}

/// Returns the experiments that `compare` would run with these arguments; the default is one connection, with both ends
/// on one core.
fn asked(args: &WhyArgs) -> Result<Asked, Failure> {
    let compare = &args.compare;
    let unsuitable = [
        (compare.remedies, "--remedies"),
        (compare.list, "--list"),
        (compare.exec.exec.is_some() || compare.exec.exec_unix.is_some(), "--exec"),
    ];
    if let Some((_, option)) = unsuitable.iter().find(|(is_typed, _)| *is_typed) {
        return Err(Failure::usage(
            format!("{option} does not work with `why`, because `why` samples requests"),
            "use this option with `looptax compare`",
        ));
    }
    for word in &compare.targets {
        target::parse(word).map_err(or_records)?;
    }
    let mut asked = settings::asked(compare)?;
    let says_how_long = compare.fixed.is_some() || compare.quick || compare.precise;
    for (_, experiment) in &mut asked.all {
        experiment.connections.get_or_insert_with(|| vec![1]);
        experiment.inject_ns = args.inject_ns;
        experiment.is_sampled = true;
        if compare.placement.is_empty() && experiment.targets.iter().all(is_private) {
            experiment.placements = Some(vec![Placement::Same]);
        }
        if !says_how_long {
            experiment.effort = Effort::Time(USUAL);
        }
    }
    Ok(asked)
}

/// Extends the failure's hint: a word that does not name a server may have been meant as a record.
fn or_records(failure: Failure) -> Failure {
    let hint = failure.hint().unwrap_or_default();
    let hint = format!("{hint}; or pass two records of `why`, the earlier record first");
    failure.with_hint(hint)
}

fn is_private(target: &TargetSpec) -> bool {
    matches!(target, TargetSpec::Private(_))
}
