//! The CPU time of a request: layers that add up, the kernel's clocks with which their sum is compared, and counts.

use std::collections::HashSet;

use looptax_advise::check::ends_tls;
use looptax_model::record::{Comparison, Estimate, Figure, Why, WhyRow};

use super::row::versus;
use super::small_table::SmallTable;
use crate::format::{GLUE, Text, counted, fixed};

/// The name that the layer of TLS has in `data/layers.toml`.
const TLS: &str = "TLS";
/// A layer is not shown if it takes less than this time, in µs.
const LEAST_SHOWN_US: f64 = 0.005;
/// A difference between two counts is ignored if it is smaller than this.
const LEAST_COUNT: f64 = 0.005;
/// The idle time of a core is shown if it is more than this share of a request's CPU time.
const LEAST_IDLE: f64 = 0.05;

/// Returns the tables of all samples of a comparison.
pub(crate) fn tables(comparison: &Comparison, text: Text) -> Vec<SmallTable> {
    let both = |why: &Why| {
        let layers = layers(why, comparison, text)?;
        Some(std::iter::once(layers).chain(counts(why, comparison, text)))
    };
    comparison.why.iter().filter_map(both).flatten().collect()
}

/// Returns the notes about these tables, each note only once.
pub(crate) fn sentences(comparisons: &[&Comparison], text: Text) -> Vec<String> {
    let sampled = comparisons.iter().filter(|it| !it.why.is_empty());
    let sampled: Vec<&Comparison> = sampled.copied().collect();
    let is_one = sampled.len() == 1;
    let mut lines = Vec::new();
    for comparison in sampled {
        let place = if is_one { String::new() } else { place(comparison) };
        lines.extend(of_comparison(comparison, &place, text));
    }
    let mut said = HashSet::new();
    lines.retain(|line| said.insert(line.clone()));
    lines
}

/// Returns the notes about one comparison. If there are several pairs, each line names its pair. `place` is the number
/// of connections and the placement, or empty; each line begins with it.
fn of_comparison(comparison: &Comparison, place: &str, text: Text) -> Vec<String> {
    let is_one_pair = comparison.why.len() == 1;
    let before = |parts: &[&str]| {
        let parts: Vec<&str> = parts.iter().copied().filter(|it| !it.is_empty()).collect();
        match &parts[..] {
            [] => String::new(),
            parts => format!("{}: ", parts.join(", ")),
        }
    };
    let mut lines = Vec::new();
    for why in &comparison.why {
        let pair = if is_one_pair { String::new() } else { pair(why, comparison, text) };
        let whose = before(&[place, &pair]);
        let mut add = |line: String| lines.push(format!("{whose}{line}"));
        for reason in &why.invalid {
            add(format!("the layers cannot be used: {}", text.clean(reason)));
        }
        few_epochs(why).into_iter().for_each(&mut add);
        let cost = cost(why, text);
        if is_one_pair {
            let cost = cost.map_or_else(String::new, |it| format!("; with it {it}"));
            add(format!("{}{cost}", sampling(why, text)));
        } else {
            cost.map(|it| format!("with the sampler {it}")).into_iter().for_each(&mut add);
        }
        check(why, text).into_iter().for_each(&mut add);
        tls(why, comparison).into_iter().for_each(&mut add);
    }
    if let [first, _, ..] = &comparison.why[..] {
        // All pairs come from the same samples, so this line is added only once.
        let line = format!("{}{}", before(&[place]), sampling(first, text));
        lines.insert(0, line);
    }
    let notes = comparison.why.iter().flat_map(|it| &it.sampling.notes);
    lines.extend(notes.map(|it| text.clean(it)));
    lines
}

/// Returns a note that names the program in which TLS ends on an arm, if TLS was seen to take time on this arm.
fn tls(why: &Why, comparison: &Comparison) -> Option<String> {
    let row = why.rows.iter().find(|it| it.name == TLS)?;
    let arms = why.pair.map(|idx| comparison.arms.get(idx as usize).map_or("", |it| it.name.as_str()));
    let side = arms.iter().position(|name| ["tls", "tls-unix"].contains(name))?;
    row.arms[side].known().filter(|it| it.value >= LEAST_SHOWN_US)?;
    let ends = ends_tls(&comparison.target.kind, arms[side] == "tls-unix");
    Some(format!("the row `{TLS}` is the cost of encryption on `{}`; {ends}", arms[side]))
}

/// Returns `16 connections, same`.
fn place(comparison: &Comparison) -> String {
    let connections = counted(comparison.connections.into(), "connection");
    format!("{connections}, {}", comparison.placement.asked.name())
}

fn pair(why: &Why, comparison: &Comparison, text: Text) -> String {
    let [base, other] = arms(why, comparison, text);
    versus(&other, &base, text)
}

fn layers(why: &Why, comparison: &Comparison, text: Text) -> Option<SmallTable> {
    let sum = why.sum.as_ref()?;
    let mut rows: Vec<[String; 4]> = shown_layers(why).map(|it| row(it, text, micros)).collect();
    if why.sampling.sees_kernel {
        rows.push(row(sum, text, micros));
        rows.extend(without_sampler(why).map(|it| row(it, text, micros)));
        rows.extend(idle(why).map(|it| row(it, text, micros)));
    }
    Some(SmallTable {
        title: format!(
            "CPU time of a request by layer, client and server together: {}, {}",
            place(comparison),
            pair(why, comparison, text)
        ),
        header: header(why, comparison, text),
        rows,
        closing: closing(why, sum, text),
    })
}

/// Returns the layers that have at least one figure which is not shown as zero.
pub(crate) fn shown_layers(why: &Why) -> impl Iterator<Item = &WhyRow> {
    let is_nothing = |value: f64| value.abs() < LEAST_SHOWN_US;
    why.rows.iter().filter(move |row| {
        let arms = row.arms.iter().filter_map(Figure::known).map(|it| it.value);
        let difference = row.difference.known();
        let ends = difference.into_iter().flat_map(|it| [it.lo, it.hi]).flatten();
        !arms.chain(ends).all(is_nothing)
    })
}

pub(crate) fn shown_counts(why: &Why) -> impl Iterator<Item = &WhyRow> {
    let is_seen = |row: &&WhyRow| {
        let mut counts = row.arms.iter().filter_map(Figure::known);
        counts.any(|it| it.value > 0.0)
    };
    why.counts.iter().filter(is_seen)
}

/// Returns the row with the times of the kernel's clocks in epochs without the sampler, if there were such epochs.
pub(crate) fn without_sampler(why: &Why) -> Option<&WhyRow> {
    let row = why.without_sampler.as_ref()?;
    row.difference.known().map(|_| row)
}

/// Returns a note if some figures have no interval because there were too few epochs.
fn few_epochs(why: &Why) -> Option<String> {
    let is_open = |row: &WhyRow| row.difference.known().is_some_and(|it| it.lo.is_none() && it.hi.is_none());
    let mut rows = why.rows.iter().chain(&why.sum).chain(&why.without_sampler).chain(&why.counts);
    rows.any(is_open).then(|| {
        format!(
            "figures without an interval are from too few epochs: {} with the sampler, {} without it",
            why.epochs.len(),
            n_without(why)
        )
    })
}

/// Returns the number of epochs without the sampler.
fn n_without(why: &Why) -> u64 {
    let known = why.without_sampler.as_ref().and_then(|it| it.difference.known());
    known.map_or(0, |it| it.n)
}

/// Returns the row with the time in which no process ran, if this time is long enough to be shown.
fn idle(why: &Why) -> Option<&WhyRow> {
    let (idle, used) = (why.idle.as_ref()?, why.without_sampler.as_ref()?);
    let is_seen = |side: usize| {
        let [idle, used] = [idle, used].map(|it| it.arms[side].known());
        idle.zip(used).is_some_and(|(idle, used)| idle.value > LEAST_IDLE * used.value)
    };
    (is_seen(0) || is_seen(1)).then_some(idle)
}

fn counts(why: &Why, comparison: &Comparison, text: Text) -> Option<SmallTable> {
    let rows: Vec<[String; 4]> = shown_counts(why).map(|it| row(it, text, number)).collect();
    (!rows.is_empty()).then(|| SmallTable {
        title: format!("counted per request: {}, {}", place(comparison), pair(why, comparison, text)),
        header: header(why, comparison, text),
        rows,
        closing: None,
    })
}

fn header(why: &Why, comparison: &Comparison, text: Text) -> [String; 4] {
    let [base, other] = arms(why, comparison, text);
    [String::new(), base, other, "difference".to_owned()]
}

fn arms(why: &Why, comparison: &Comparison, text: Text) -> [String; 2] {
    why.pair.map(|idx| {
        let arm = comparison.arms.get(idx as usize);
        arm.map_or_else(String::new, |arm| text.clean(&arm.name))
    })
}

/// A function that formats a row's figure, or its difference.
type Shown = fn(Text, &Estimate, bool) -> String;

fn row(row: &WhyRow, text: Text, shown: Shown) -> [String; 4] {
    let cell = |figure: &Figure, is_difference| match figure.known() {
        Some(it) => shown(text, it, is_difference),
        None => "n/a".to_owned(),
    };
    let [base, other] = row.arms.each_ref().map(|it| cell(it, false));
    [text.clean(&row.name), base, other, cell(&row.difference, true)]
}

fn micros(text: Text, us: &Estimate, is_difference: bool) -> String {
    if is_difference {
        return signed_micros(text, us);
    }
    if us.value < LEAST_SHOWN_US {
        return "-".to_owned();
    }
    text.micros(us.value)
}

/// Formats a difference, with its interval if it has one.
pub(crate) fn signed_micros(text: Text, us: &Estimate) -> String {
    Text::as_known(us, |value| text.signed_micros(value), |it| text.signed_micros_interval(it))
}

fn number(text: Text, count: &Estimate, is_difference: bool) -> String {
    let is_none = |value: f64| value.abs() < LEAST_COUNT;
    let ends = [count.lo, count.hi];
    if is_difference && is_none(count.value) && ends.iter().all(|it| it.is_none_or(is_none)) {
        return "none".to_owned();
    }
    per_request(text, count)
}

/// Formats a count per request, with its interval if it has one.
pub(crate) fn per_request(text: Text, count: &Estimate) -> String {
    Text::as_known(count, |value| fixed(value, 2), |it| text.per_request(it))
}

/// Returns a sentence that compares the sum of the layers with the kernel's clocks.
fn closing(why: &Why, sum: &WhyRow, text: Text) -> Option<String> {
    if !why.invalid.is_empty() {
        return None;
    }
    if !why.sampling.sees_kernel {
        return Some("only the programs' part: looptax does not see the kernel's work".to_owned());
    }
    let held_against = why.without_sampler.as_ref()?.difference.known()?;
    let sum = sum.difference.known()?;
    let (Some(lo), Some(hi)) = (sum.lo, sum.hi) else {
        return None;
    };
    let (Some(other_lo), Some(other_hi)) = (held_against.lo, held_against.hi) else {
        return None;
    };
    let words = if lo <= other_hi && other_lo <= hi {
        "the layers are not shown to differ from the time measured without the sampler"
    } else {
        "the layers do not add up to the time measured without the sampler"
    };
    let sum = text.signed_micros_interval(sum);
    let held_against = text.signed_micros_interval(held_against);
    Some(format!("{words}: {sum} and {held_against}"))
}

/// Returns a sentence that compares the sum of all samples (before the sampler's own part is subtracted) with the
/// kernel's clocks.
fn check(why: &Why, text: Text) -> Option<String> {
    if !why.sampling.sees_kernel {
        return None;
    }
    // If the sampler's part is not known, nothing was subtracted, and there is nothing to explain.
    why.sampler_pct.as_ref()?.known()?;
    let known = |row: &Option<WhyRow>| row.as_ref()?.difference.known().copied();
    Some(format!(
        "with the sampler on, samples and the kernel's clocks show {} and {}; the layers exclude the sampler's own \
         part, which looptax subtracts from each layer in proportion to the layer's size",
        signed_micros(text, &known(&why.sampled)?),
        signed_micros(text, &known(&why.by_clocks)?)
    ))
}

fn sampling(why: &Why, text: Text) -> String {
    let sampling = &why.sampling;
    let khz = 1e6 / (sampling.period_ns as f64).max(1.0);
    format!(
        "sampled by {} at {khz:.0}{GLUE}kHz on {}: {} in {}, {} lost, {} of other processes",
        text.clean(&sampling.event),
        counted(sampling.cores.into(), "core"),
        counted(sampling.n_samples, "sample"),
        counted(why.epochs.len() as u64, "epoch"),
        sampling.n_lost,
        sampling.n_of_others,
    )
}

/// Returns how much the sampler adds to a request, for the two arms of a pair together.
fn cost(why: &Why, text: Text) -> Option<String> {
    let added = why.sampler_pct.as_ref()?.known()?;
    let (amount, more) = if added.value < 0.0 {
        let turned = |end: Option<f64>| end.map(|it| -it);
        let less = Estimate { value: -added.value, lo: turned(added.hi), hi: turned(added.lo), ..*added };
        (less, "less")
    } else {
        (*added, "more")
    };
    let value = |pct| format!("{}{GLUE}%", fixed(pct, 1));
    let amount = Text::as_known(&amount, value, |it| text.percent(it));
    Some(format!("a request takes {amount} {more} CPU time, on average for both arms"))
}
