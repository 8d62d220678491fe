//! Where a request's CPU time goes, in words: layers that add up, what they are held against, what was counted.

use looptax_record::{Comparison, Estimate, Figure, Why, WhyRow};

use super::small_table::SmallTable;
use crate::format::{GLUE, Text, counted, fixed};

/// A layer with less is as good as none.
const LEAST_SHOWN_US: f64 = 0.005;
/// A difference of counts with less to either side is none.
const LEAST_COUNT: f64 = 0.005;
/// A core that idles for more than this share of a request's CPU time is shown to idle.
const LEAST_IDLE: f64 = 0.05;

/// The tables of everything that was sampled of a comparison.
pub(crate) fn tables(comparison: &Comparison, text: Text) -> Vec<SmallTable> {
    let both = |why: &Why| {
        let layers = layers(why, comparison, text)?;
        Some(std::iter::once(layers).chain(counts(why, comparison, text)))
    };
    comparison.why.iter().filter_map(both).flatten().collect()
}

/// What to know beside them.
pub(crate) fn sentences(comparison: &Comparison, text: Text) -> Vec<String> {
    let mut lines = Vec::new();
    for why in &comparison.why {
        let invalid = why.invalid.iter();
        lines.extend(
            invalid.map(|it| format!("nothing follows from the layers: {}", text.clean(it))),
        );
        lines.extend(few_epochs(why));
        lines.push(sampling(why, text));
        lines.extend(why.sampling.notes.iter().map(|it| text.clean(it)));
    }
    lines.extend(checks(comparison, text));
    lines.dedup();
    lines
}

fn layers(why: &Why, comparison: &Comparison, text: Text) -> Option<SmallTable> {
    let sum = why.sum.as_ref()?;
    let mut rows: Vec<[String; 4]> = why.rows.iter().map(|it| row(it, text, micros)).collect();
    if why.sampling.sees_kernel {
        rows.push(row(sum, text, micros));
        rows.extend(without_sampler(why).map(|it| row(it, text, micros)));
        rows.extend(idle(why).map(|it| row(it, text, micros)));
    }
    let s = if comparison.connections == 1 { "" } else { "s" };
    Some(SmallTable {
        title: format!(
            "where a request's CPU time goes, client and server together: {} connection{s}, {}",
            comparison.connections,
            comparison.placement.asked.name(),
        ),
        header: header(why, comparison, text),
        rows,
        closing: closing(why, sum, text),
    })
}

/// The kernel's clocks in epochs without the sampler, where there was one.
pub(crate) fn without_sampler(why: &Why) -> Option<&WhyRow> {
    let row = why.without_sampler.as_ref()?;
    row.difference.known().map(|_| row)
}

/// That some figures rest on too few epochs for an interval.
fn few_epochs(why: &Why) -> Option<String> {
    let is_open = |row: &WhyRow| {
        row.difference
            .known()
            .is_some_and(|it| it.lo.is_none() && it.hi.is_none())
    };
    let mut rows = why
        .rows
        .iter()
        .chain(&why.sum)
        .chain(&why.without_sampler)
        .chain(&why.counts);
    rows.any(is_open).then(|| {
        format!(
            "figures without an interval come from too few epochs for one: {} with the sampler, {} without it",
            why.epochs.len(),
            n_without(why)
        )
    })
}

/// Epochs without the sampler.
fn n_without(why: &Why) -> u64 {
    let known = why
        .without_sampler
        .as_ref()
        .and_then(|it| it.difference.known());
    known.map_or(0, |it| it.n)
}

/// The time in which nobody ran, where there is some to speak of.
fn idle(why: &Why) -> Option<&WhyRow> {
    let (idle, used) = (why.idle.as_ref()?, why.without_sampler.as_ref()?);
    let is_seen = |side: usize| {
        let [idle, used] = [idle, used].map(|it| it.arms[side].known());
        idle.zip(used)
            .is_some_and(|(idle, used)| idle.value > LEAST_IDLE * used.value)
    };
    (is_seen(0) || is_seen(1)).then_some(idle)
}

fn counts(why: &Why, comparison: &Comparison, text: Text) -> Option<SmallTable> {
    let is_seen = |row: &&WhyRow| {
        row.arms
            .iter()
            .any(|it| it.known().is_some_and(|it| it.value > 0.0))
    };
    let rows = why.counts.iter().filter(is_seen);
    let rows: Vec<[String; 4]> = rows.map(|it| row(it, text, number)).collect();
    (!rows.is_empty()).then(|| SmallTable {
        title: "counted per request".to_owned(),
        header: header(why, comparison, text),
        rows,
        closing: None,
    })
}

fn header(why: &Why, comparison: &Comparison, text: Text) -> [String; 4] {
    let name = |side: usize| {
        let arm = comparison.arms.get(why.pair[side] as usize);
        arm.map_or_else(String::new, |arm| text.clean(&arm.name))
    };
    [String::new(), name(0), name(1), "difference".to_owned()]
}

/// How a figure of a row is shown, and a difference.
type Shown = fn(Text, &Estimate, bool) -> String;

fn row(row: &WhyRow, text: Text, shown: Shown) -> [String; 4] {
    let cell = |figure: &Figure, is_difference| match figure.known() {
        Some(it) => shown(text, it, is_difference),
        None => "n/a".to_owned(),
    };
    let [base, other] = row.arms.each_ref().map(|it| cell(it, false));
    [
        text.clean(&row.name),
        base,
        other,
        cell(&row.difference, true),
    ]
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

/// A difference, with its interval where there is one.
pub(crate) fn signed_micros(text: Text, us: &Estimate) -> String {
    Text::as_known(
        us,
        |value| text.signed_micros(value),
        |it| text.signed_micros_interval(it),
    )
}

fn number(text: Text, count: &Estimate, is_difference: bool) -> String {
    let is_none = |value: f64| value.abs() < LEAST_COUNT;
    let ends = [count.lo, count.hi];
    if is_difference && is_none(count.value) && ends.iter().all(|it| it.is_none_or(is_none)) {
        return "none".to_owned();
    }
    per_request(text, count)
}

/// A count per request, with its interval where there is one.
pub(crate) fn per_request(text: Text, count: &Estimate) -> String {
    Text::as_known(count, |value| fixed(value, 2), |it| text.per_request(it))
}

/// Whether the layers come to what the kernel's clocks say.
fn closing(why: &Why, sum: &WhyRow, text: Text) -> Option<String> {
    if !why.invalid.is_empty() {
        return None;
    }
    if !why.sampling.sees_kernel {
        return Some("the programs' part alone: what the kernel does is not seen here".to_owned());
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
        "the layers add up to what is measured without the sampler"
    } else {
        "the layers do not add up to what is measured without the sampler"
    };
    let sum = text.signed_micros_interval(sum);
    let held_against = text.signed_micros_interval(held_against);
    Some(format!("{words}: {sum} and {held_against}"))
}

/// What the samples came to before the sampler's part was taken off, and the kernel's clocks beside it.
fn checks(comparison: &Comparison, text: Text) -> Vec<String> {
    let check = |why: &Why| {
        if !why.sampling.sees_kernel {
            return None;
        }
        // Nothing was taken off where nothing is known of it.
        why.sampler_pct.as_ref()?.known()?;
        let known = |row: &Option<WhyRow>| row.as_ref()?.difference.known().copied();
        Some(format!(
            "with the sampler on, samples and the kernel's clocks say {} and {}: the layers are without the sampler's own \
             part, which lies on them by their size",
            signed_micros(text, &known(&why.sampled)?),
            signed_micros(text, &known(&why.by_clocks)?)
        ))
    };
    comparison.why.iter().filter_map(check).collect()
}

fn sampling(why: &Why, text: Text) -> String {
    let sampling = &why.sampling;
    let khz = 1e6 / (sampling.period_ns as f64).max(1.0);
    let cost = why.sampler_pct.as_ref().and_then(Figure::known);
    let cost = cost.map_or_else(String::new, |it| {
        format!(
            "; with it a request takes {} more CPU time, in both arms",
            Text::as_known(
                it,
                |pct| format!("{}{GLUE}%", fixed(pct, 1)),
                |it| text.percent(it)
            )
        )
    });
    format!(
        "sampled by {} at {khz:.0}{GLUE}kHz on {}: {} in {}, {} lost, {} of other processes{cost}",
        text.clean(&sampling.event),
        counted(sampling.cores.into(), "core"),
        counted(sampling.n_samples, "sample"),
        counted(why.epochs.len() as u64, "epoch"),
        sampling.n_lost,
        sampling.n_of_others,
    )
}
