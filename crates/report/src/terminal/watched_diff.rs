//! The comparison of two saved snapshots of `looptax watch`.

use looptax_model::record::{Estimate, Figure, WatchedChange, WatchedDiff, WatchedEnd, WatchedSide, WatchedSpan};

use super::columns::Table;
use super::diff::{HEADER, MOST_CHANCE, NO_CHANGE, ends, known, words};
use super::found::shown;
use super::lines::Lines;
use super::style::{LEAST_WIDTH, Style};
use crate::format::{Text, fixed, rate};

const NOT_PAIRED: &str = "the two counts were made one after the other, so a change between the counts includes all \
    other changes of the machine and its load; the interval does not cover these other changes";
const BUCKETS: &str = "p50, p99: half of the requests, or 99 %, took less than this; looptax counts times in \
    histogram buckets up to 6 % wide, and the intervals include this inaccuracy";

/// Returns the text of `looptax diff` for two saved snapshots. Ends with a line break.
pub fn watched_diff(diff: &WatchedDiff, style: Style) -> String {
    let style = Style { width: style.width.max(LEAST_WIDTH), ..style };
    let mut lines = Lines::new(style);
    let text = style.text();
    lines.item(0, &format!("A: {}", span(&diff.before, text)));
    lines.item(0, &format!("B: {}", span(&diff.after, text)));
    let is_known = |it: &&WatchedChange| [&it.mean_pct, &it.p50_pct].iter().any(|it| it.known().is_some());
    let (known, unknown): (Vec<_>, Vec<_>) = diff.hops.iter().partition(is_known);
    for hop in known {
        lines.blank();
        lines.heading(0, &heading(hop, text));
        let load = if diff.other_load_pct().is_some() { ", other load" } else { "" };
        Table::new(&HEADER, rows(hop, load, text)).write(&mut lines);
        for note in &hop.notes {
            lines.item(2, &text.clean(note));
        }
    }
    lines.blank();
    for hop in unknown {
        lines.item(0, &before_and_after(hop, diff, style));
    }
    lines.item(0, NOT_PAIRED);
    if let Some([before, after]) = diff.other_load_pct() {
        lines.item(0, &format!("the load was not the same: {}", busy(before, after)));
    }
    lines.item(0, BUCKETS);
    for note in &diff.notes {
        lines.item(0, &text.clean(note));
    }
    lines.finish()
}

fn busy(before: f64, after: f64) -> String {
    format!(
        "the processors were busy for {} % of the time before and for {} % after",
        fixed(before, 0),
        fixed(after, 0)
    )
}

fn span(span: &WatchedSpan, text: Text) -> String {
    let name = span.name.as_ref().map(|it| format!("{}, ", shown(it, text))).unwrap_or_default();
    let busy =
        span.busy_pct.map(|it| format!(", processors busy for {} % of this time", fixed(it, 0))).unwrap_or_default();
    format!("{name}{} s until {}{busy}", fixed(span.over_s, 0), text.clean(&span.at))
}

fn heading(hop: &WatchedChange, text: Text) -> String {
    let end = |it: &Option<WatchedEnd>| it.as_ref().map_or("(elsewhere)".to_owned(), |it| shown(&it.program, text));
    let at = |it: &WatchedSide| format!("{} {}", it.way, shown(&it.address, text));
    let (before, after) = (at(&hop.before), at(&hop.after));
    let way = if before == after { before } else { format!("{before}, then {after}") };
    format!("{} -> {}: {way}", end(&hop.client), end(&hop.server))
}

fn rows(hop: &WatchedChange, load: &str, text: Text) -> Vec<Vec<String>> {
    let row = |name: &str, sides: [&Figure; 2], change: &Figure, is_shown: bool| {
        let us = match sides {
            [Figure::Known(one), Figure::Known(other)] => text.both_micros([one.value, other.value]),
            sides => sides.map(|it| known(it, |it| text.micros(it.value))),
        };
        let by = known(change, |it| format!("{:+.1} % {}", it.value, ends(it, text)));
        let is_change = is_shown && change.known().is_some_and(Estimate::excludes_zero);
        let load = if is_change { load } else { "" };
        let in_words = if is_shown { words(change, "shorter", "longer") } else { NO_CHANGE.to_owned() };
        {
            let [one, other] = us;
            vec![name.to_owned(), one, other, by, format!("{in_words}{load}")]
        }
    };
    let (before, after) = (&hop.before, &hop.after);
    let load = |name: &str, sides: [f64; 2]| {
        vec![name.to_owned(), rate(sides[0]), rate(sides[1]), "-".to_owned(), "-".to_owned()]
    };
    vec![
        row("time of a request, mean", [&before.mean_us, &after.mean_us], &hop.mean_pct, is_sure(hop)),
        row("p50", [&before.p50_us, &after.p50_us], &hop.p50_pct, true),
        row("p99", [&before.p99_us, &after.p99_us], &hop.p99_pct, true),
        load("requests", [before.requests_per_s, after.requests_per_s]),
        load("new connections", [before.opened_per_s, after.opened_per_s]),
    ]
}

/// Whether chance is an unlikely cause of a change, with all hops tested together. Also true if the change was not
/// tested.
fn is_sure(hop: &WatchedChange) -> bool {
    hop.p.is_none_or(|it| it < MOST_CHANCE)
}

/// Returns `php-fpm -> mariadbd: a request took 240 µs over loopback in the 20 s before and 210 µs over unix in the 20
/// s after: 12.5 % less [9.1, 15.7]`.
pub fn before_and_after(hop: &WatchedChange, diff: &WatchedDiff, style: Style) -> String {
    let text = style.text();
    let end = |it: &Option<WatchedEnd>| it.as_ref().map_or("(elsewhere)".to_owned(), |it| shown(&it.program, text));
    let who = format!("{} -> {}", end(&hop.client), end(&hop.server));
    let mean = [&hop.before.mean_us, &hop.after.mean_us];
    let p50 = [&hop.before.p50_us, &hop.after.p50_us];
    let is_told = |it: &Figure| it.known().is_some_and(Estimate::excludes_zero);
    let (name, sides, change) = match (is_told(&hop.mean_pct) && is_sure(hop), is_told(&hop.p50_pct)) {
        (false, true) => ("half of the requests took less than", p50, &hop.p50_pct),
        _ => ("a request took", mean, &hop.mean_pct),
    };
    let [Figure::Known(before), Figure::Known(after)] = sides else {
        let [before, after] = [hop.before.n_requests, hop.after.n_requests];
        return format!(
            "{who}: the {before} requests before and {after} requests after are too few, or too rare, to compare"
        );
    };
    let change = known(change, |it| {
        let is_one = it.excludes_zero() && (name != "a request took" || is_sure(hop));
        let word = match it.value < 0.0 {
            _ if !is_one => return format!("no change shown, {:+.1} % {}", it.value, ends(it, text)),
            true => "less",
            false => "more",
        };
        let ends = [it.lo, it.hi].map(|it| it.map_or_else(|| "?".to_owned(), |it| fixed(it.abs(), 1)));
        let [one, other] = if it.value < 0.0 { [&ends[1], &ends[0]] } else { [&ends[0], &ends[1]] };
        format!("{} % {word} [{one}, {other}]", fixed(it.value.abs(), 1))
    });
    let times = text.both_micros([before.value, after.value]);
    let side = |time: &str, side: &WatchedSide, span: &WatchedSpan, when: &str| {
        format!("{time} over {} in the {} s {when}", side.way, fixed(span.over_s, 0))
    };
    let is_moved = hop.before.way.is_tcp() && !hop.after.way.is_tcp();
    let send = if is_moved { "; this time excludes the client's own send, which takes longer over TCP" } else { "" };
    let load = diff.other_load_pct().map(|[before, after]| format!("; but {}", busy(before, after)));
    let words = format!(
        "{who}: {name} {} and {}: {change}{send}{}",
        side(&times[0], &hop.before, &diff.before, "before"),
        side(&times[1], &hop.after, &diff.after, "after"),
        load.unwrap_or_default()
    );
    words.replace('\u{a0}', " ")
}
