//! The texts about a whole run: the number of verdicts, how certain they are, and problems.

use looptax_model::record::{Placement, Record, Tax, Verdict};

use super::storms;
use crate::format::{Text, counted};

/// The sentences about a run, in the order in which they are shown.
#[derive(Debug)]
pub(crate) struct RunWords {
    /// How many verdicts there are and how certain they are; for storms, how many connections fail and what to do.
    pub(crate) verdicts: Vec<String>,
    /// Explanations of the words in the tables.
    pub(crate) explained: Vec<String>,
    /// The problems that did not end the run.
    pub(crate) problems: Vec<String>,
    /// A note, if the run was broken off.
    pub(crate) interrupted: Option<&'static str>,
}

pub(crate) fn run_words(record: &Record, text: Text) -> RunWords {
    let verdicts = match &record.storms {
        Some(found) => vec![storms::verdict(found, text), storms::next(found, text)],
        None => vec![how_many(record)],
    };
    let mut explained = Vec::new();
    if has_judged(record, Placement::Same) && !has_judged(record, Placement::Free) {
        explained.push(
            "`same` pins both ends of a connection to one core, which shows the transport's own cost; --placement free \
             measures the machine as it is, without pinning, and takes some minutes"
                .to_owned(),
        );
    }
    let problems = record.problems.iter();
    RunWords {
        verdicts,
        explained,
        problems: problems.map(|problem| format!("problem: {}", text.clean(problem))).collect(),
        interrupted: record.interrupted.then_some(
            "interrupted: the last comparison may be incomplete, and the comparisons after it were not measured",
        ),
    }
}

/// Returns how many of the requested verdicts were given, and how certain they are together.
fn how_many(record: &Record) -> String {
    let asked = || taxes(record).filter(|tax| tax.verdict != Verdict::Invalid);
    let n_asked = asked().count();
    let n_given = asked().filter(|tax| is_given(tax)).count();
    match (n_given, n_asked) {
        (0, 0) => "no verdict in this run".to_owned(),
        (0, _) => {
            let comparisons = counted(n_asked as u64, "comparison");
            format!("no verdict in this run: {comparisons} undecided")
        }
        (1, 1) => "1 verdict, with a chance of 5 % for a false alarm".to_owned(),
        _ => {
            let verdicts = counted(n_given as u64, "verdict");
            let open = match n_asked - n_given {
                0 => String::new(),
                n_open => format!(" ({n_open} more are undecided)"),
            };
            // Undecided verdicts are included, because their comparisons had the same chance of a false alarm.
            let at_least_one = 100.0 * (1.0 - 0.95_f64.powf(n_asked as f64));
            format!(
                "{verdicts}{open}, each with its own chance of 5 % for a false alarm; the chance of at least one false \
                 alarm is up to {at_least_one:.0} %"
            )
        }
    }
}

/// Whether a tax makes a claim: a verdict, or only which arm loses, without the size.
fn is_given(tax: &Tax) -> bool {
    match tax.verdict {
        Verdict::Difference | Verdict::Negligible | Verdict::Equivalent => true,
        Verdict::Inconclusive => tax.uncertain_size.is_some(),
        Verdict::Invalid => false,
    }
}

fn has_judged(record: &Record, placement: Placement) -> bool {
    let mut comparisons = record.comparisons.iter();
    comparisons.any(|it| it.placement.asked == placement)
}

fn taxes(record: &Record) -> impl Iterator<Item = &Tax> {
    record.comparisons.iter().flat_map(|comparison| &comparison.tax)
}
