//! `gate`: for continuous integration, checks whether an arm loses more than it may.

use std::fmt::Write;

use looptax_model::failure::Failure;
use looptax_model::record::{Comparison, Estimate, Reason, Tax, Verdict};
use looptax_report::terminal::{Style, cleaned, percent, why_withheld};

use crate::args::GateArgs;
use crate::earlier_runs::record_of;
use crate::failure::Exit;
use crate::terminal::{self, Terminal};

/// The relation of a figure to the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// The whole interval is within the limit.
    Within,
    /// The limit is inside the interval, or there is no reliable figure.
    Open,
    /// The whole interval is beyond the limit.
    Exceeded,
}

/// The value that must not be exceeded.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// Limit of the throughput that the arm loses, in percent of the baseline's throughput.
    Tax(f64),
    /// Limit of the additional time for a page, in percent of the time that the page takes over the baseline.
    PageTime(f64),
}

impl Limit {
    fn of_args(args: &GateArgs) -> Self {
        match (args.max_page_time, args.max_tax) {
            (Some(pct), _) => Self::PageTime(pct),
            (None, pct) => Self::Tax(pct.unwrap_or_default()),
        }
    }

    fn pct(self) -> f64 {
        match self {
            Self::Tax(pct) | Self::PageTime(pct) => pct,
        }
    }

    /// Converts a tax to the unit of this limit. For example, if an arm loses a fifth of the throughput, a page over
    /// this arm takes a quarter longer.
    fn measure(self, tax_pct: f64) -> f64 {
        match self {
            Self::Tax(_) => tax_pct,
            Self::PageTime(_) => 100.0 * tax_pct / (100.0 - tax_pct),
        }
    }

    fn is_about(self, comparison: &Comparison) -> bool {
        match self {
            Self::Tax(_) => true,
            Self::PageTime(_) => comparison.trial.is_some(),
        }
    }
}

pub(crate) fn run(args: &GateArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let judged = record_of(&args.record)?;
    let record = &judged.record;
    let mut worst = None;
    let mut text = String::new();
    let limit = Limit::of_args(args);
    let comparisons = record.comparisons.iter();
    for comparison in comparisons.filter(|it| limit.is_about(it)) {
        for tax in &comparison.tax {
            if args.arm.as_ref().is_some_and(|arm| *arm != tax.arm) {
                continue;
            }
            // If the summary differs from the counts, one of them was changed, and looptax cannot know which.
            let answer = if judged.untrue.is_empty() { answer(tax, limit) } else { Answer::Open };
            worst = worst.max(Some(answer));
            let _ = writeln!(text, "{}", line(comparison, tax, (answer, limit), terminal.style()));
        }
    }
    let Some(worst) = worst else {
        let of_arm = args.arm.as_ref().map_or_else(String::new, |arm| format!(" of arm `{arm}`"));
        let what = match limit {
            Limit::Tax(_) => format!("the record has no comparison{of_arm}"),
            Limit::PageTime(_) => format!("the record has no pages{of_arm}"),
        };
        return Err(Failure::usage(what, "`looptax show RECORD` shows its contents"));
    };
    terminal::data(&cleaned(&text, terminal.style()))?;
    for sentence in &judged.untrue {
        terminal.words(&format!("{sentence}: looptax cannot judge this record\n"));
    }
    Ok(match worst {
        Answer::Within => Exit::Done,
        Answer::Open => Exit::Invalid,
        Answer::Exceeded => Exit::No,
    })
}

fn answer(tax: &Tax, limit: Limit) -> Answer {
    let max_pct = limit.pct();
    let (lo, hi) = match (&tax.uncertain_size, figure(tax)) {
        // If it is known which arm loses but not how much, the whole range of possible losses counts, not their mean.
        (Some(size), _) => (size.lo_pct, size.hi_pct),
        (None, Some(pct)) => (pct.lo.unwrap_or(f64::NEG_INFINITY), pct.hi.unwrap_or(f64::INFINITY)),
        (None, None) => return Answer::Open,
    };
    let (lo, hi) = (limit.measure(lo), limit.measure(hi));
    if lo > max_pct {
        Answer::Exceeded
    } else if hi <= max_pct {
        Answer::Within
    } else {
        Answer::Open
    }
}

/// Returns the figure if it is reliable. A figure with a wide interval can still decide about the limit, but a
/// disturbed figure cannot.
fn figure(tax: &Tax) -> Option<&Estimate> {
    let is_believed = match tax.verdict {
        Verdict::Invalid => false,
        Verdict::Inconclusive => {
            matches!(tax.reason, Reason::TooWide { .. } | Reason::TooFewEpochs { .. })
        }
        Verdict::Difference | Verdict::Negligible | Verdict::Equivalent => true,
    };
    tax.throughput_pct.known().filter(|_| is_believed)
}

fn line(comparison: &Comparison, tax: &Tax, (answer, limit): (Answer, Limit), style: Style) -> String {
    let Tax { arm, baseline, .. } = tax;
    let found = match (&tax.uncertain_size, figure(tax)) {
        (Some(size), _) => {
            format!("{arm} loses between {:.1} and {:.1} % of {baseline}'s throughput", size.lo_pct, size.hi_pct)
        }
        (None, Some(pct)) => match limit {
            Limit::Tax(_) => {
                format!("{arm} loses {} of {baseline}'s throughput", percent(pct, style))
            }
            Limit::PageTime(_) => {
                let longer = Estimate {
                    value: limit.measure(pct.value),
                    lo: pct.lo.map(|end| limit.measure(end)),
                    hi: pct.hi.map(|end| limit.measure(end)),
                    n: pct.n,
                };
                let longer = percent(&longer, style);
                format!("a page over {arm} takes {longer} longer than over {baseline}")
            }
        },
        (None, None) => format!("no reliable figure for {arm} compared with {baseline}"),
    };
    let max_pct = limit.pct();
    let answer = match answer {
        Answer::Within => format!("within {max_pct} %"),
        Answer::Exceeded => format!("beyond {max_pct} %"),
        Answer::Open => format!("looptax cannot decide whether the limit of {max_pct} % is exceeded"),
    };
    let why = why_withheld(comparison, tax, style);
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    format!(
        "{} {}, -c {}, {}: {found}{why}: {answer}",
        comparison.target.kind, comparison.workload.name, comparison.connections, comparison.placement.asked,
    )
}
