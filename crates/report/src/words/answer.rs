//! The result in one line per server: how much each arm loses. This line is shown before tables and statistics.
//!
//! The line repeats figures of the tables; if a server has many verdicts, the line shows only the first and the last
//! verdict.

use looptax_model::record::{Comparison, Record, Tax};

use super::row::{Judged, judged};
use super::{Tone, sentence};
use crate::format::Text;
use crate::heading;

/// Maximum number of verdicts that are all shown; if there are more, only the first and the last are shown.
const MOST_PARTS: usize = 4;

/// The result of a server with a workload.
#[derive(Debug)]
pub(crate) struct Answer {
    /// `MariaDB 10.11.19, point-select`.
    pub(crate) server: String,
    pub(crate) parts: Vec<Part>,
}

#[derive(Debug)]
pub(crate) struct Part {
    /// `1 connection, same: tcp is slower, 16.3 % [15.0, 17.7]`.
    pub(crate) words: String,
    pub(crate) tone: Tone,
}

/// Returns the results of all servers, in the order of measuring.
pub(crate) fn answers(record: &Record, text: Text) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::new();
    for comparison in &record.comparisons {
        let server = server(comparison, text);
        let parts = comparison.tax.iter().map(|tax| part(comparison, tax, text));
        match answers.iter_mut().find(|it| it.server == server) {
            Some(known) => known.parts.extend(parts),
            None => answers.push(Answer { server, parts: parts.collect() }),
        }
    }
    answers.retain(|it| !it.parts.is_empty());
    for answer in &mut answers {
        let n_more = answer.parts.len().saturating_sub(2);
        if answer.parts.len() > MOST_PARTS {
            let words = format!("{n_more} more below");
            answer.parts.splice(1..=n_more, [Part { words, tone: Tone::Unsure }]);
        }
    }
    answers
}

fn server(comparison: &Comparison, text: Text) -> String {
    if comparison.commands.is_some() {
        return "whole command".to_owned();
    }
    if comparison.trial.is_some() {
        return text.clean(&comparison.target.name);
    }
    let workload = text.clean(&comparison.workload.name.replace('-', " "));
    format!("{}, {workload}", heading::server(&comparison.target, text))
}

fn part(comparison: &Comparison, tax: &Tax, text: Text) -> Part {
    let Judged { tax, verdict, tone, .. } = judged(tax, comparison, text);
    Part { words: format!("{}: {verdict}, {tax}", sentence::place(comparison, text)), tone }
}
