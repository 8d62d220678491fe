//! The rows of a comparison: the rates of its arms, and one tax per verdict.
//!
//! The short texts of verdicts are in this file; the sentence that explains a verdict is in `sentence`.

use looptax_model::record::{Arm, Comparison, Direction, Figure, Latency, Load, Placement, Tax, Verdict, Workload};

use super::disturbed::direction_word;
use super::table::{Row, Tail};
use super::tone::Tone;
use crate::format::{GLUE, Text, byte_rate, chosen_percent, rate};
use crate::load;

/// A slice that is at least this long, in ms, was chosen by the user: by default, slices of pinned placements are
/// shorter.
const CHOSEN_SLICE_MS: f64 = 200.0;

/// Returns one row per verdict, or a single row without a verdict if the comparison was broken off before its first
/// verdict.
pub(crate) fn row_for(comparison: &Comparison, arms: &[&str], is_pair_known: bool, text: Text) -> Vec<Row> {
    let tails: Vec<Tail> = match comparison.tax.as_slice() {
        [] => vec![Tail::Open("stopped before there was a verdict".to_owned())],
        taxes => taxes.iter().map(|tax| tail(tax, comparison, is_pair_known, text)).collect(),
    };
    let to_row = |(idx, tail)| match idx {
        0 => Row {
            connections: comparison.connections.to_string(),
            placement: placement(comparison, text),
            arms: arms.iter().map(|name| arm_cell(comparison, name, text)).collect(),
            below: [latencies(comparison, arms, text), cpu_times(comparison, arms, text)],
            tail,
        },
        // A second verdict on the same arms does not repeat the cells of the arms.
        _ => Row {
            connections: String::new(),
            placement: String::new(),
            arms: vec![String::new(); arms.len()],
            below: [const { String::new() }; 2],
            tail,
        },
    };
    tails.into_iter().enumerate().map(to_row).collect()
}

/// Returns the short text of a verdict: "tcp is slower".
pub(crate) fn verdict_words(tax: &Tax, delta_pct: f64, text: Text) -> String {
    match (&tax.uncertain_size, tax.direction) {
        (Some(_), Some(direction)) => {
            format!("{} is {}, size uncertain", text.clean(&tax.arm), direction_word(direction))
        }
        _ if let Some(arm) = dearer_arm(tax) => format!("inconclusive; {} takes more CPU time", text.clean(arm)),
        (None, Some(direction)) if tax.is_just() => {
            format!("{} is just {}", text.clean(&tax.arm), direction_word(direction))
        }
        _ => judged_words((tax.verdict, tax.direction), &tax.arm, delta_pct, text),
    }
}

/// Returns the arm that takes more CPU time, if this is all that is known.
pub(crate) fn dearer_arm(tax: &Tax) -> Option<&str> {
    Some(match tax.dearer_by_cpu? {
        Direction::OtherSlower => &tax.arm,
        Direction::OtherFaster => &tax.baseline,
    })
}

/// Returns the short text of a verdict that is not part of a tax.
pub(crate) fn judged_words(judged: (Verdict, Option<Direction>), arm: &str, delta_pct: f64, text: Text) -> String {
    let arm = text.clean(arm);
    match judged {
        (Verdict::Difference, Some(direction)) => format!("{arm} is {}", direction_word(direction)),
        (Verdict::Difference, None) => "difference".to_owned(),
        (Verdict::Negligible, _) => "real but negligible".to_owned(),
        (Verdict::Equivalent, _) => {
            let delta = chosen_percent(delta_pct);
            format!("no difference that matters (within {}{delta})", text.plus_minus())
        }
        (Verdict::Inconclusive, _) => "inconclusive".to_owned(),
        (Verdict::Invalid, _) => "invalid".to_owned(),
    }
}

/// Returns the placement. Adds the load, if the run has one (a rate, a pause or new connections); otherwise adds the
/// length of slices, if the user has chosen it.
fn placement(comparison: &Comparison, text: Text) -> String {
    let name = comparison.placement.asked;
    match load::cell(&comparison.load, text) {
        Some(load) => format!("{name}, {load}"),
        None => with_slices(comparison),
    }
}

fn with_slices(comparison: &Comparison) -> String {
    let (name, slice_ms) = (comparison.placement.asked, comparison.schedule.slice_ms);
    if name != Placement::Free && slice_ms >= CHOSEN_SLICE_MS {
        format!("{name}, {slice_ms:.0} ms")
    } else {
        name.to_string()
    }
}

/// The text for a page's verdict if the time that looptax itself adds may explain the difference.
pub(crate) const OWN_PART: &str = "open: looptax's own part";

/// The figures and texts of one verdict.
#[derive(Debug)]
pub(crate) struct Judged {
    /// `16.3 % [15.0, 20.7]`.
    pub(crate) tax: String,
    /// `+2.9 µs`.
    pub(crate) micros: String,
    /// `tcp is slower`.
    pub(crate) verdict: String,
    pub(crate) tone: Tone,
}

/// Returns a verdict as a table shows it: without figures if it cannot be used.
pub(crate) fn judged(tax: &Tax, comparison: &Comparison, text: Text) -> Judged {
    let shown = |cell: Option<String>| cell.filter(|_| is_usable(tax)).unwrap_or_else(|| "n/a".to_owned());
    let micros = decisive(&tax.latency_us, &comparison.load).known();
    // A figure without an interval would be taken for a result.
    let has_micros = tax.has_size() && tax.verdict != Verdict::Inconclusive;
    if comparison.is_slower_by_supervisor() {
        let tax = shown(tax_words(tax, text));
        return Judged { tax, micros: "n/a".to_owned(), verdict: OWN_PART.to_owned(), tone: Tone::Unsure };
    }
    Judged {
        tax: shown(tax_words(tax, text)),
        micros: shown(micros.filter(|_| has_micros).map(|us| text.signed_micros(us.value))),
        verdict: verdict_words(tax, comparison.schedule.delta_pct, text),
        tone: tone(tax),
    }
}

/// Formats a tax in percent, `16.3 % [15.0, 20.7]`; if its size is uncertain, only the range of possible values.
pub(crate) fn tax_words(tax: &Tax, text: Text) -> Option<String> {
    match &tax.uncertain_size {
        Some(size) => Some(format!("{:.1} to {:.1}{GLUE}%", size.lo_pct, size.hi_pct)),
        None => tax.throughput_pct.known().filter(|_| tax.has_size()).map(|pct| text.percent(pct)),
    }
}

/// Returns `tcp vs unix`: the name of an arm and of the arm that it is compared with.
pub(crate) fn versus(arm: &str, baseline: &str, text: Text) -> String {
    format!("{} vs {}", text.clean(arm), text.clean(baseline))
}

fn tail(tax: &Tax, comparison: &Comparison, is_pair_known: bool, text: Text) -> Tail {
    let judged = judged(tax, comparison, text);
    Tail::Judged {
        tax: if is_pair_known {
            judged.tax
        } else {
            format!("{}  {}", versus(&tax.arm, &tax.baseline, text), judged.tax)
        },
        micros: judged.micros,
        verdict: judged.verdict,
        tone: judged.tone,
    }
}

/// Returns the latency statistic on which the verdict is based.
pub(crate) fn decisive<'a>(latency: &'a Latency, load: &Load) -> &'a Figure {
    if load.is_flat_out() { &latency.mean } else { &latency.p50 }
}

/// Whether the figures of a verdict may be printed as a result.
pub(crate) fn is_usable(tax: &Tax) -> bool {
    tax.verdict != Verdict::Invalid
}

/// Whether the verdict is good or bad news.
pub(crate) fn tone(tax: &Tax) -> Tone {
    match (tax.verdict, tax.direction) {
        (Verdict::Difference, Some(Direction::OtherSlower)) | (Verdict::Invalid, _) => Tone::Loss,
        (Verdict::Inconclusive, _) | (Verdict::Difference, None) => Tone::Unsure,
        _ => Tone::Good,
    }
}

pub(crate) fn arm_cell(comparison: &Comparison, name: &str, text: Text) -> String {
    comparison.arms.iter().find(|arm| arm.name == name).map_or_else(String::new, |arm| {
        if comparison.load.is_flat_out() { figures(arm, &comparison.workload, text) } else { responses(arm, text) }
    })
}

/// Returns the median and the tail of each arm's latencies, if the cells have rates and means.
fn latencies(comparison: &Comparison, arms: &[&str], text: Text) -> String {
    if !comparison.load.is_flat_out() {
        return String::new();
    }
    let known = arms.iter().filter_map(|name| {
        let arm = comparison.arms.iter().find(|arm| arm.name == **name)?;
        let p50 = text.micros(arm.latency_us.p50.known()?.value);
        let p99 = text.micros(arm.latency_us.p99.known()?.value);
        Some(format!("{} p50 {p50}, p99 {p99}", text.clean(name)))
    });
    known.collect::<Vec<_>>().join("; ")
}

/// Returns the CPU time of a request on each arm (client and server together), and the CPU time that each compared arm
/// adds, with its interval.
fn cpu_times(comparison: &Comparison, arms: &[&str], text: Text) -> String {
    let of_arm = |name: &&str| {
        let arm = comparison.arms.iter().find(|arm| arm.name == **name)?;
        Some(format!("{} {}", text.clean(name), text.micros(arm.cpu_us_both()?)))
    };
    let added = comparison.tax.iter().filter(|tax| is_usable(tax)).filter_map(|tax| {
        let us = text.signed_micros_interval(tax.cpu_us.both.known()?);
        Some(if comparison.tax.len() == 1 { us } else { format!("{} {us}", versus(&tax.arm, &tax.baseline, text)) })
    });
    let (of_arms, added) = (arms.iter().filter_map(of_arm).collect::<Vec<_>>(), added.collect::<Vec<_>>());
    let known = [of_arms, added].map(|it| it.join(", "));
    let known: Vec<&str> = known.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    if known.is_empty() { String::new() } else { format!("CPU time per request: {}", known.join("; ")) }
}

fn figures(arm: &Arm, workload: &Workload, text: Text) -> String {
    let known = |figure: &Figure| figure.known().map(|estimate| estimate.value);
    let rate = known(&arm.throughput_per_s).map(|per_s| match &workload.stream {
        Some(stream) => byte_rate(per_s * stream.bytes as f64),
        None => rate(per_s),
    });
    let mean = known(&arm.latency_us.mean).map(|us| text.micros(us));
    match (rate, mean) {
        (Some(rate), Some(mean)) => format!("{rate} {mean}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => "n/a".to_owned(),
    }
}

/// Returns the text for a rate that the user has chosen: "18.2 µs, p99 95.1 µs".
fn responses(arm: &Arm, text: Text) -> String {
    let known = |figure: &Figure| figure.known().map(|estimate| text.micros(estimate.value));
    // The percentile of all requests is used, because an open loop is meant to show stalls.
    let p99 = arm.latency_pooled_us.as_ref().map_or(&arm.latency_us.p99, |it| &it.p99);
    match (known(&arm.latency_us.p50), known(p99)) {
        (Some(p50), Some(p99)) => format!("{p50}, p99 {p99}"),
        (Some(p50), None) => p50,
        (None, _) => "n/a".to_owned(),
    }
}
