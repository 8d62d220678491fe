//! `why`: a comparison whose requests are sampled while it lasts.

use std::time::Duration;

use looptax_analysis::diff;
use looptax_bench::Placement;
use looptax_experiment::comparison::measure_all;
use looptax_experiment::comparison::parts::Asked;
use looptax_experiment::spec::Effort;
use looptax_experiment::spec::target::TargetSpec;
use looptax_failure::Failure;
use looptax_report::terminal as report;
use looptax_why::Watch;

use super::compare;
use crate::args::WhyArgs;
use crate::earlier_runs::{is_record_file, record_of};
use crate::failure::Exit;
use crate::outputs::show;
use crate::settings;
use crate::terminal::Terminal;

/// How long is measured where nothing is said.
const USUAL: Duration = Duration::from_secs(40);

/// Runs `why`.
pub(crate) fn run(args: &WhyArgs, terminal: Terminal) -> Result<Exit, Failure> {
    if let [before, after] = &args.compare.targets[..]
        && [before, after].iter().all(|it| is_record_file(it))
    {
        return two_records([before, after], args, terminal);
    }
    let asked = asked(args)?;
    compare::measure(
        &asked,
        &args.compare,
        terminal,
        |parts, ask, writer, stage, stop| {
            let mut watch = Watch::new(parts[0].settings.seed, stage)?;
            measure_all(parts, ask, writer, &mut watch, stop)
        },
    )
}

/// Holds the layers of two earlier runs against each other.
fn two_records(words: [&String; 2], args: &WhyArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let [before, after] = words.map(|word| record_of(word));
    let (before, after) = (before?.0, after?.0);
    for (record, word) in [&before, &after].into_iter().zip(words) {
        if record.comparisons.iter().all(|it| it.why.is_empty()) {
            return Err(Failure::usage(
                format!("`{word}` holds no samples"),
                "`looptax why TARGET -o FILE` takes them; `looptax diff` holds everything else against each other",
            ));
        }
    }
    let mut diff = diff(&before, &after)?;
    diff.pairs.retain(|it| !it.layers.is_empty());
    for pair in &mut diff.pairs {
        pair.taxes.clear();
        pair.arms.clear();
    }
    show(&diff, &args.compare.result.json, || {
        report::diff(&diff, terminal.style())
    })?;
    Ok(Exit::Done)
}

/// What `compare` would measure with these arguments, on one connection and one core unless others are asked for.
fn asked(args: &WhyArgs) -> Result<Asked, Failure> {
    let compare = &args.compare;
    let unsuitable = [
        (compare.remedies, "--remedies"),
        (compare.list, "--list"),
        (
            compare.exec.exec.is_some() || compare.exec.exec_unix.is_some(),
            "--exec",
        ),
    ];
    if let Some((_, option)) = unsuitable.iter().find(|(is_typed, _)| *is_typed) {
        return Err(Failure::usage(
            format!("{option} does not go with `why`, which samples requests"),
            "`looptax compare` takes it",
        ));
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

fn is_private(target: &TargetSpec) -> bool {
    matches!(target, TargetSpec::Private(_))
}
