//! The comparison of two runs, for a terminal.

use looptax_model::record::{Diff, DiffArm, DiffLayer, DiffLayers, DiffPair, DiffTax, Estimate, Figure};

use super::columns::Table;
use super::history::run_name;
use super::lines::Lines;
use super::style::{LEAST_WIDTH, Style};
use crate::format::{Text, rate};
use crate::words::row::versus;
use crate::words::why::signed_micros;

pub(super) const HEADER: [&str; 5] = ["", "A", "B", "change", "in words"];

pub(super) const NO_CHANGE: &str = "no change shown";
const TOO_FEW: &str = "too few epochs";
/// A layer is not shown if it takes less than this time in both runs, in µs.
const LEAST_SHOWN_US: f64 = 0.005;
/// A layer's change counts only if the probability that such a change occurs by chance is below this value.
pub(super) const MOST_CHANCE: f64 = 0.05;

/// Returns the text of `looptax diff`. Ends with a line break.
pub fn diff(diff: &Diff, style: Style) -> String {
    let style = Style { width: style.width.max(LEAST_WIDTH), ..style };
    let mut lines = Lines::new(style);
    let text = style.text();
    let [before, after] = &diff.labels;
    lines.item(0, &format!("A: {}", run_name(&diff.before, before.as_deref(), text)));
    lines.item(0, &format!("B: {}", run_name(&diff.after, after.as_deref(), text)));
    for pair in &diff.pairs {
        lines.blank();
        lines.heading(0, &text.clean(&heading(pair)));
        let taxes = pair.taxes.iter().flat_map(|it| [tax_row(it, text), cpu_row(it, text)]);
        let arms = pair.arms.iter().map(|it| arm_row(it, text));
        let rows: Vec<_> = taxes.chain(arms).collect();
        if !rows.is_empty() {
            Table::new(&HEADER, rows).write(&mut lines);
        }
        for layers in &pair.layers {
            write_layers(layers, &mut lines);
        }
    }
    lines.blank();
    lines.item(
        0,
        "the tax is measured within each run, so a machine that was slower during one run does not change the tax; \
         requests/s and CPU times are compared between the runs, so their changes include other changes of the \
         machine; the intervals do not cover these other changes",
    );
    if !diff.conditions.is_empty() {
        lines.heading(0, "other differences");
        for it in &diff.conditions {
            let line = format!("{}: {}, then {}", it.name, it.before, it.after);
            lines.item(2, &text.clean(&line));
        }
    }
    for line in &diff.left_out {
        lines.item(0, &text.clean(line));
    }
    lines.finish()
}

fn heading(pair: &DiffPair) -> String {
    format!(
        "{} {}, -c {}, --placement {}, --client {}",
        pair.kind, pair.workload, pair.connections, pair.placement, pair.client
    )
}

fn write_layers(layers: &DiffLayers, lines: &mut Lines) {
    let text = lines.style.text();
    let arm = match &layers.over {
        Some(over) => format!("what {} adds to {over}", layers.arm),
        None => layers.arm.clone(),
    };
    lines.blank();
    lines.item(2, &text.clean(&format!("CPU time of a request by layer, {arm}")));
    let is_difference = layers.over.is_some();
    let is_some = |figure: &Figure| {
        let known = figure.known();
        known.is_none_or(|it| it.value.abs() >= LEAST_SHOWN_US)
    };
    let rows = layers.rows.iter();
    let rows = rows.filter(|it| is_some(&it.before_us) || is_some(&it.after_us));
    let rows = rows.map(|it| layer_row(it, is_difference, text)).collect();
    Table::new(&HEADER, rows).write(lines);
}

fn layer_row(layer: &DiffLayer, is_difference: bool, text: Text) -> Vec<String> {
    let shown = if is_difference { Text::signed_micros } else { Text::micros };
    let us = |figure: &Figure| known(figure, |it| shown(text, it.value));
    // One of many layers may seem to change by chance, so it is not enough that an interval excludes zero.
    let is_shown = layer.p.is_some_and(|p| p < MOST_CHANCE);
    let has_interval = |it: &Estimate| it.lo.is_some() || it.hi.is_some();
    let in_words = match layer.change_us.known() {
        Some(_) if is_shown => words(&layer.change_us, "cheaper", "dearer"),
        Some(it) if has_interval(it) => NO_CHANGE.to_owned(),
        Some(_) => TOO_FEW.to_owned(),
        None => "n/a".to_owned(),
    };
    vec![
        text.clean(&layer.name),
        us(&layer.before_us),
        us(&layer.after_us),
        known(&layer.change_us, |it| signed_micros(text, it)),
        in_words,
    ]
}

fn tax_row(tax: &DiffTax, text: Text) -> Vec<String> {
    let percent = |figure: &Figure| match figure {
        Figure::Known(it) => text.percent(it),
        Figure::Missing(missing) => text.clean(&missing.na),
    };
    vec![
        format!("tax ({})", versus(&tax.arm, &tax.baseline, text)),
        percent(&tax.before_pct),
        percent(&tax.after_pct),
        known(&tax.change_points, |points| format!("{:+.1} points {}", points.value, ends(points, text))),
        words(&tax.change_points, "lower", "higher"),
    ]
}

fn cpu_row(tax: &DiffTax, text: Text) -> Vec<String> {
    let us = |figure: &Figure| known(figure, |it| text.signed_micros_interval(it));
    vec![
        text.clean(&format!("CPU time that {} adds to a request", tax.arm)),
        us(&tax.before_cpu_us),
        us(&tax.after_cpu_us),
        us(&tax.change_cpu_us),
        words(&tax.change_cpu_us, "lower", "higher"),
    ]
}

fn arm_row(arm: &DiffArm, text: Text) -> Vec<String> {
    let per_s = |figure: &Figure| known(figure, |it| rate(it.value));
    vec![
        text.clean(&arm.arm),
        per_s(&arm.before_per_s),
        per_s(&arm.after_per_s),
        known(&arm.change_pct, |pct| format!("{:+.1} % {}", pct.value, ends(pct, text))),
        words(&arm.change_pct, "slower", "faster"),
    ]
}

pub(super) fn known(figure: &Figure, shown: impl Fn(&Estimate) -> String) -> String {
    figure.known().map_or_else(|| "n/a".to_owned(), shown)
}

pub(super) fn ends(it: &Estimate, text: Text) -> String {
    text.interval(it, |end| format!("{end:+.1}"))
}

/// Returns the word for the direction of a change, if its interval excludes zero.
pub(super) fn words(change: &Figure, less: &str, more: &str) -> String {
    let Some(it) = change.known() else {
        return "-".to_owned();
    };
    let word = match (it.lo, it.hi) {
        (_, Some(hi)) if hi < 0.0 => less,
        (Some(lo), _) if lo > 0.0 => more,
        _ => NO_CHANGE,
    };
    word.to_owned()
}
