//! `gate`: for continuous integration, whether an arm loses more than it may.

use std::fmt::Write;

use looptax_record::{Comparison, Estimate, Reason, Tax, Verdict};
use looptax_report::terminal::cleaned;

use crate::args::GateArgs;
use crate::failure::{Exit, Failure};
use crate::past::record_of;
use crate::terminal::{self, Terminal};

/// What one figure says of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// The whole interval is within it.
    Within,
    /// It lies inside the interval, or there is no figure to believe.
    Open,
    /// The whole interval is beyond it.
    Exceeded,
}

/// Runs `gate`.
pub(crate) fn run(args: &GateArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let (record, _) = record_of(&args.record)?;
    let mut worst = None;
    let mut text = String::new();
    for comparison in &record.comparisons {
        for tax in &comparison.tax {
            if args.arm.as_ref().is_some_and(|arm| *arm != tax.arm) {
                continue;
            }
            let answer = answer(tax, args.max_tax);
            worst = worst.max(Some(answer));
            let _ = writeln!(text, "{}", line(comparison, tax, answer, args.max_tax));
        }
    }
    let Some(worst) = worst else {
        return Err(Failure::usage(
            "the record holds no comparison of that arm",
            "`looptax analyze RECORD` shows what it holds",
        ));
    };
    terminal::data(&cleaned(&text, terminal.style()))?;
    Ok(match worst {
        Answer::Within => Exit::Done,
        Answer::Open => Exit::Invalid,
        Answer::Exceeded => Exit::No,
    })
}

fn answer(tax: &Tax, max_pct: f64) -> Answer {
    let Some(pct) = figure(tax) else {
        return Answer::Open;
    };
    let lo = pct.lo.unwrap_or(f64::NEG_INFINITY);
    let hi = pct.hi.unwrap_or(f64::INFINITY);
    if lo > max_pct {
        Answer::Exceeded
    } else if hi <= max_pct {
        Answer::Within
    } else {
        Answer::Open
    }
}

/// The figure, where it may be believed: a wide interval may still be beyond every doubt about the limit,
/// one that was disturbed may not.
fn figure(tax: &Tax) -> Option<&Estimate> {
    let is_believed = match tax.verdict {
        Verdict::Invalid => false,
        Verdict::Inconclusive => matches!(
            tax.reason,
            Reason::TooWide { .. } | Reason::TooFewEpochs { .. }
        ),
        Verdict::Difference | Verdict::Negligible | Verdict::Equivalent => true,
    };
    tax.throughput_pct.known().filter(|_| is_believed)
}

fn line(comparison: &Comparison, tax: &Tax, answer: Answer, max_pct: f64) -> String {
    let answer = match answer {
        Answer::Within => "within",
        Answer::Open => "not known to be within or beyond",
        Answer::Exceeded => "beyond",
    };
    let end = |end: Option<f64>| end.map_or_else(|| "?".to_owned(), |end| format!("{end:.1}"));
    let figure = match figure(tax) {
        Some(it) => format!("{:.1} % [{}, {}]", it.value, end(it.lo), end(it.hi)),
        None => "no figure to believe".to_owned(),
    };
    format!(
        "{} {}, -c {}, {}: {} loses {figure} of {}'s throughput, {answer} {max_pct} %",
        comparison.target.kind,
        comparison.workload.name,
        comparison.connections,
        comparison.placement.asked,
        tax.arm,
        tax.baseline,
    )
}
