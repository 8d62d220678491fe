//! `doctor`: checks whether verdicts from this machine can be trusted.

use looptax_experiment::doctor::{self, Spec};
use looptax_experiment::spec::target::{self, TargetSpec};
use looptax_experiment::spec::{new_seed, seed};
use looptax_model::record::{Doctor, DoctorAnswer};
use looptax_report::terminal as report;

use crate::args::{DoctorArgs, Test};
use crate::failure::{Exit, Failure};
use crate::outputs::{self, Outputs};
use crate::signals::stop_flag;
use crate::sys;
use crate::terminal::stage::Stage;
use crate::terminal::{Terminal, claim};

pub(crate) fn run(args: &DoctorArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let spec = spec(args)?;
    Outputs::default().writes("--json", args.json.path())?;
    sys::require_measurable()?;
    let stop = stop_flag()?;
    terminal.words(&plan(&spec));
    let _alone = claim(terminal, args.turn.wait, &stop);
    let mut stage = Stage::line(terminal);
    let found = doctor::run(&spec, &mut stage, &stop)?;
    drop(stage);
    let Some(found) = found else {
        terminal.words("interrupted: no answer about this machine");
        return Ok(Exit::Interrupted);
    };
    show(&found, args, terminal)?;
    Ok(match found.answer {
        DoctorAnswer::Failed => Exit::No,
        DoctorAnswer::Unanswered | DoctorAnswer::Busy => Exit::Invalid,
        DoctorAnswer::SomeOpen | DoctorAnswer::NoGrossError | DoctorAnswer::Believable => Exit::Done,
    })
}

fn plan(spec: &Spec) -> String {
    let tests = [
        (spec.has_aa, format!("A/A runs per arm: {}", spec.n_runs)),
        (spec.has_inject, "runs with a known delay of 1, 3 and 10 %".to_owned()),
        (spec.has_slices, "runs with two slice lengths".to_owned()),
    ];
    let chosen: Vec<String> = tests.into_iter().filter_map(|(is_chosen, words)| is_chosen.then_some(words)).collect();
    let n = spec.n_epochs;
    format!("plan: {}; {n} epochs of half a second in each run (--tests chooses the tests)", chosen.join("; "))
}

fn spec(args: &DoctorArgs) -> Result<Spec, Failure> {
    let TargetSpec::Private(kind) = target::parse(&args.target)? else {
        return Err(Failure::usage("doctor runs only on private servers", "for example looptax doctor private:redis"));
    };
    let client = args.client.parse();
    Ok(Spec {
        kind,
        client: client.map_err(|error| Failure::usage(error, "poll is the default"))?,
        seed: args.seed.as_deref().map_or_else(new_seed, seed)?,
        n_epochs: args.fixed,
        n_runs: args.runs,
        has_aa: args.tests.contains(&Test::Aa),
        has_inject: args.tests.contains(&Test::Inject),
        has_slices: args.tests.contains(&Test::Slices),
    })
}

fn show(found: &Doctor, args: &DoctorArgs, terminal: Terminal) -> Result<(), Failure> {
    outputs::show(found, &args.json, || report::doctor(found, terminal.style()))
}

#[cfg(test)]
mod tests {
    use looptax_model::dsn::Kind;

    use super::*;

    #[test]
    fn the_plan_names_only_the_chosen_tests() {
        let spec = |has_aa, has_inject| Spec {
            kind: Kind::Echo,
            client: "poll".parse().unwrap(),
            seed: 1,
            n_epochs: 20,
            n_runs: 3,
            has_aa,
            has_inject,
            has_slices: false,
        };
        let end = "20 epochs of half a second in each run (--tests chooses the tests)";
        assert_eq!(plan(&spec(true, false)), format!("plan: A/A runs per arm: 3; {end}"));
        assert_eq!(plan(&spec(false, true)), format!("plan: runs with a known delay of 1, 3 and 10 %; {end}"));
    }
}
