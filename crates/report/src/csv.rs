//! The figures as CSV, one figure per line, for spreadsheets, R and pandas.

use ::csv::Writer;
use looptax_model::record::{Figure, Record, Tax};

use crate::figures::{self, Shown};
use crate::format::{GLUE, Text};
use crate::words::why_withheld;

const TEXT: Text = Text { is_unicode: true };

const HEADER: [&str; 18] = [
    "run",
    "started_at",
    "server",
    "version",
    "workload",
    "connections",
    "placement",
    "client",
    "arm",
    "baseline",
    "metric",
    "unit",
    "value",
    "lo",
    "hi",
    "n",
    "verdict",
    "why_not",
];

/// Returns all figures of the records: each with its value, its interval and the number of units from which it was
/// made, or the reason why there is no figure. Numbers have all their digits.
pub fn csv(records: &[&Record]) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every row has as many cells as the header.
    let _ = writer.write_record(HEADER);
    for record in records {
        for shown in figures::collect_shown(record) {
            let _ = writer.write_record(row(record, &shown));
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn row(record: &Record, shown: &Shown<'_>) -> [String; HEADER.len()] {
    let comparison = shown.comparison;
    let name = |foreign: &str| harmless(foreign);
    let number = |value: Option<f64>| value.map(|it| it.to_string()).unwrap_or_default();
    let known = shown.figure.known();
    [
        name(&record.id),
        name(&record.started_at),
        name(&comparison.target.kind),
        name(&comparison.target.version),
        name(&comparison.workload.name),
        comparison.connections.to_string(),
        comparison.placement.asked.to_string(),
        comparison.client.to_string(),
        name(shown.arm),
        shown.baseline.map(name).unwrap_or_default(),
        shown.metric.to_owned(),
        shown.unit.to_owned(),
        number(known.map(|it| it.value)),
        number(known.and_then(|it| it.lo)),
        number(known.and_then(|it| it.hi)),
        known.map(|it| it.n.to_string()).unwrap_or_default(),
        tax(shown).map(|tax| tax.verdict.to_string()).unwrap_or_default(),
        name(&why_not(shown)),
    ]
}

/// Returns the tax to which the line belongs; `None` for a line about a single arm.
fn tax<'a>(shown: &Shown<'a>) -> Option<&'a Tax> {
    let mut taxes = shown.comparison.tax.iter();
    taxes.find(|tax| tax.arm == shown.arm && Some(&*tax.baseline) == shown.baseline)
}

/// Returns why there is no figure, or no reliable verdict about it.
fn why_not(shown: &Shown<'_>) -> String {
    if let Figure::Missing(missing) = shown.figure {
        return missing.na.clone();
    }
    let why = tax(shown).and_then(|it| why_withheld(shown.comparison, it, TEXT));
    why.unwrap_or_default().replace(GLUE, " ")
}

/// Returns a name from outside without characters that control a terminal, and without characters by which a
/// spreadsheet recognizes a formula.
fn harmless(foreign: &str) -> String {
    let clean = TEXT.clean(foreign);
    if clean.starts_with(['=', '+', '-', '@']) { format!("'{clean}") } else { clean }
}
