//! The CPU time of a request: its layers as a table and as bars, and its call chains as a flame graph.

use looptax_model::record::{Comparison, Estimate, Figure as Number, Why, WhyRow};

use super::figure::{Figure, absent, figure};
use super::markup::{Markup, TEXT};
use super::shown::{ChainsShown, Detail};
use crate::format::Text;
use crate::words::row::versus;
use crate::words::why as words;

/// Writes the results of sampling for a comparison; nothing if the comparison was not sampled.
pub(super) fn write(idx: usize, comparison: &Comparison, detail: &Detail, out: &mut Markup) {
    for (part, why) in comparison.why.iter().enumerate() {
        let arms = arms(comparison, why);
        let [base, other] = &arms;
        let title = format!("CPU time of a request by layer, {}", versus(other, base, TEXT));
        out.open("section", &[("class", "why")]);
        out.element("h5", &[], &title);
        let checks = why.sum.iter().chain(words::without_sampler(why));
        let rows = words::shown_layers(why).chain(checks.filter(|_| why.sampling.sees_kernel));
        table([title.as_str(), "layer"], &arms, rows, micros, out);
        if words::shown_counts(why).next().is_some() {
            let title = format!("Counted per request, {}", versus(other, base, TEXT));
            table([title.as_str(), "per request"], &arms, words::shown_counts(why), count, out);
        }
        layers(idx, part, &arms, why, out);
        chains(idx, part, &arms, (why, detail.chains.get(part)), out);
        out.close("section");
    }
}

/// Returns the names of both arms. If the names are the same, the second name is changed.
pub(super) fn arms(comparison: &Comparison, why: &Why) -> [String; 2] {
    let name = |idx: u32| {
        let arms = &comparison.arms;
        let arm = arms.get(idx as usize).or_else(|| arms.first());
        arm.map_or_else(String::new, |it| TEXT.clean(&it.name))
    };
    let [base, other] = why.pair.map(name);
    if base == other {
        let again = format!("{other} (again)");
        return [base, again];
    }
    [base, other]
}

/// Returns a difference in µs, as text for a cell.
pub(super) fn signed_micros(figure: &Number) -> String {
    shown(figure, |us| words::signed_micros(TEXT, us))
}

/// Returns the time on one arm in µs, as text for a cell.
pub(super) fn micros_of(figure: &Number) -> String {
    shown(figure, |us| Text::as_known(us, |value| TEXT.micros(value), |it| TEXT.micros_interval(it)))
}

/// The cells of a row: the figure of each arm, and the difference.
type Cells = [String; 3];

fn micros(row: &WhyRow) -> Cells {
    let [base, other] = [0, 1].map(|side| micros_of(&row.arms[side]));
    [base, other, signed_micros(&row.difference)]
}

fn count(row: &WhyRow) -> Cells {
    let plain = |figure: &Number| shown(figure, |it| words::per_request(TEXT, it));
    let more = shown(&row.difference, |it| {
        let sign = if it.value >= 0.0 { "+" } else { "" };
        format!("{sign}{}", words::per_request(TEXT, it))
    });
    [plain(&row.arms[0]), plain(&row.arms[1]), more]
}

fn shown(figure: &Number, words: impl Fn(&Estimate) -> String) -> String {
    figure.known().map_or_else(|| "n/a".to_owned(), words)
}

fn table<'a>(
    [title, first]: [&str; 2],
    [base, other]: &[String; 2],
    rows: impl Iterator<Item = &'a WhyRow>,
    cells: impl Fn(&WhyRow) -> Cells,
    out: &mut Markup,
) {
    let head = [first, base, other, "difference"];
    out.stacked_table(title, |out| {
        out.head(&head).open("tbody", &[]);
        for row in rows {
            out.open("tr", &[]);
            out.element("th", &[("scope", "row")], &TEXT.clean(&row.name));
            for (cell, label) in cells(row).iter().zip(&head[1..]) {
                out.element("td", &[("class", "number"), ("data-label", label)], cell);
            }
            out.close("tr");
        }
        out.close("tbody");
    });
}

fn layers(idx: usize, part: usize, [base, other]: &[String; 2], why: &Why, out: &mut Markup) {
    let title = format!("CPU time of a request by layer, {other} and {base}");
    let is_known = |row: &WhyRow| row.arms.iter().any(|us| us.known().is_some());
    if !why.rows.iter().any(is_known) {
        return absent(&title, "no layer has a figure", out);
    }
    let about = Figure {
        kind: "layers",
        idx,
        part,
        title: &title,
        says: "A bar for each arm; the parts of a bar are the layers, numbered as in the list above the chart. The \
            table contains the figures.",
    };
    figure(&about, out, |_| {});
}

fn chains(
    idx: usize,
    part: usize,
    [base, other]: &[String; 2],
    (why, chains): (&Why, Option<&Result<ChainsShown, String>>),
    out: &mut Markup,
) {
    let title = format!("Flame graph of a request, {}", versus(other, base, TEXT));
    let has_frames = |it: &ChainsShown| it.frames.len() > 1;
    match chains {
        Some(Err(error)) => return absent(&title, &TEXT.clean(error), out),
        Some(Ok(chains)) if has_frames(chains) && why.stacks.requests.iter().all(|it| *it > 0) => {}
        _ => return absent(&title, "the record holds no call chains", out),
    }
    out.open("figure", &[("class", "chains")]);
    out.element("figcaption", &[], &title);
    let how = format!(
        "The graph combines all processes. Each caller is above the functions that it calls. The width of a frame is \
         its CPU time per request on {base} and on {other} together, including the called functions; the graph of \
         {base} only and the graph of {other} only have the same scale. A red frame with a line above costs more over \
         {other}, and a blue frame with a broken line below costs less; a deeper colour means a larger difference per \
         request. The difference of a single frame has no interval; the table contains the intervals of the layers."
    );
    out.element("p", &[("class", "note")], &how);
    let without = "The flame graph needs the page's script; the table of layers does not need it.";
    out.element("p", &[("class", "note without")], without);
    let (idx, part) = (idx.to_string(), part.to_string());
    let attributes = [("class", "flame"), ("data-flame", ""), ("data-idx", idx.as_str()), ("data-part", &part)];
    out.open("div", &attributes).close("div");
    if why.sampling.sees_kernel && why.sampled.as_ref().is_some_and(|it| is_other(it, why.sum.as_ref())) {
        let words = "Frames include the sampler's own part, but the layers above exclude it, so the frames do not \
            add up to the sum of the layers.";
        out.element("p", &[("class", "note")], words);
    }
    if let Some(words) = left_out([base, other], why) {
        out.element("p", &[("class", "note")], &words);
    }
    out.close("figure");
}

/// Whether the text of the sampled time differs from the text of the sum of the layers.
fn is_other(sampled: &WhyRow, sum: Option<&WhyRow>) -> bool {
    sum.is_some_and(|sum| micros(sum) != micros(sampled))
}

fn left_out(arms: [&String; 2], why: &Why) -> Option<String> {
    let stacks = &why.stacks;
    let us = [0, 1].map(|side| stacks.left_out_ns[side] as f64 / stacks.requests[side] as f64 / 1e3);
    (stacks.left_out_ns != [0, 0]).then(|| {
        format!(
            "Rare chains are left out to save space: {} per request on {}, {} on {}. In the graph these chains are \
             the gap below all processes.",
            TEXT.micros(us[0]),
            arms[0],
            TEXT.micros(us[1]),
            arms[1]
        )
    })
}
