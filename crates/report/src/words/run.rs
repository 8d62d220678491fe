//! What holds for a whole run: how many verdicts, how sure, what went wrong.

use looptax_record::{Placement, Record, Tax};

use crate::format::{Text, counted};

/// Sentences about a run, in the order in which they are shown.
#[derive(Debug)]
pub(crate) struct RunWords {
    /// How many verdicts there are, and what to think of them.
    pub(crate) verdicts: Vec<String>,
    /// What the words of the tables mean.
    pub(crate) explained: Vec<String>,
    /// What went wrong without ending the run.
    pub(crate) problems: Vec<String>,
    /// That the run was broken off.
    pub(crate) interrupted: Option<&'static str>,
}

/// What is said of the whole run.
pub(crate) fn run_words(record: &Record, text: Text) -> RunWords {
    let mut verdicts = vec![how_many(taxes(record).count())];
    let n_early = taxes(record).filter(|tax| tax.stopped_early).count();
    if n_early > 0 {
        let early = counted(n_early as u64, "verdict");
        verdicts.push(format!(
            "{early} came early, which makes an estimate lean to the large side; --fixed does not"
        ));
    }
    let mut explained = Vec::new();
    if has_judged(record, Placement::Same) && !has_judged(record, Placement::Free) {
        explained.push(
            "`same` pins both ends of a connection to one core: the transport's own cost. What an untuned machine \
             does is judged by --placement free, in minutes"
                .to_owned(),
        );
    }
    let problems = record.problems.iter();
    RunWords {
        verdicts,
        explained,
        problems: problems
            .map(|problem| format!("problem: {}", text.clean(problem)))
            .collect(),
        interrupted: record.interrupted.then_some(
            "interrupted: the last comparison shown may be incomplete, and nothing after it was measured",
        ),
    }
}

fn how_many(n_verdicts: usize) -> String {
    match n_verdicts {
        0 => "no verdict in this run".to_owned(),
        1 => "1 verdict, with a chance of 5 % for a false alarm".to_owned(),
        _ => {
            let verdicts = counted(n_verdicts as u64, "verdict");
            let at_least_one = 100.0 * (1.0 - 0.95_f64.powf(n_verdicts as f64));
            format!(
                "{verdicts}, each with its own chance of 5 % for a false alarm; of at least one: up to \
                 {at_least_one:.0} %"
            )
        }
    }
}

fn has_judged(record: &Record, placement: Placement) -> bool {
    let mut comparisons = record.comparisons.iter();
    comparisons.any(|it| it.placement.asked == placement)
}

fn taxes(record: &Record) -> impl Iterator<Item = &Tax> {
    record
        .comparisons
        .iter()
        .flat_map(|comparison| &comparison.tax)
}
