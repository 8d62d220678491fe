//! JSON for continuous-benchmark actions: a list of names and values. For all values, smaller is better.

use looptax_model::record::{Comparison, Estimate, Record};
use serde::Serialize;

use crate::figures::{self, Shown};
use crate::format::Text;
use crate::words::row::{verdict_words, versus};

/// An entry of the format `customSmallerIsBetter`.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// Returns the mean time per request of every arm, and the tax of every arm except the baseline.
pub fn benchmark_json(record: &Record) -> String {
    let figures = figures::collect_shown(record);
    let entries: Vec<Entry> = figures.iter().filter_map(|it| entry(record, it)).collect();
    // Serialization cannot fail: plain numbers and strings always have a JSON form.
    serde_json::to_string_pretty(&entries).unwrap_or_default() + "\n"
}

fn entry(record: &Record, shown: &Shown<'_>) -> Option<Entry> {
    let (what, unit) = match shown.metric {
        "latency_mean" => ("time per request", "us"),
        "throughput_tax" => ("throughput lost", "%"),
        _ => return None,
    };
    let figure = shown.figure.known()?;
    let tax =
        shown.comparison.tax.iter().find(|it| it.arm == shown.arm && Some(it.baseline.as_str()) == shown.baseline);
    if shown.metric == "throughput_tax" && !tax?.has_size() {
        return None;
    }
    let text = Text { is_unicode: true };
    let arms = match shown.baseline {
        Some(baseline) => versus(shown.arm, baseline, text),
        None => shown.arm.to_owned(),
    };
    Some(Entry {
        name: text.clean(&format!("{}: {arms}, {what}", name(shown.comparison))),
        unit,
        value: figure.value,
        range: range(figure),
        extra: text.clean(&format!(
            "run {}, {} {}, n = {}{}",
            record.id,
            shown.comparison.target.kind,
            shown.comparison.target.version,
            figure.n,
            tax.map_or_else(String::new, |tax| format!(
                ", {}",
                verdict_words(tax, shown.comparison.schedule.delta_pct, text)
            ))
        )),
    })
}

fn name(comparison: &Comparison) -> String {
    format!(
        "{} {}, {} connection{}, {}, {}",
        comparison.target.kind,
        comparison.workload.name,
        comparison.connections,
        if comparison.connections == 1 { "" } else { "s" },
        comparison.placement.asked,
        comparison.client
    )
}

/// Returns `± 0.5`: half the width of the interval, if it has both ends.
fn range(figure: &Estimate) -> Option<String> {
    let half = (figure.hi? - figure.lo?) / 2.0;
    Some(format!("± {half:.3}"))
}
