//! The display of a run in progress for the whole terminal: the arms next to each other, the interval so far,
//! latencies, every epoch's tax, and what comes next.
//!
//! Pure: [`View`] holds what is known so far, and [`draw`] draws it in an area. The command line updates the view and
//! owns the terminal. The display has no influence on verdicts, which are computed from the record.

mod arms;
mod epochs;
mod latency;
mod layout;
mod view;

use std::fmt::Write;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::terminal::Style;
use layout::Rows;
pub use view::{ArmView, Pair, Step, Unit, View};

/// Draws the view in `area`. If there is not enough space, the least important parts are left out first.
pub fn draw(view: &View, style: Style, area: Rect, buffer: &mut Buffer) {
    let text = style.text();
    let mut rows = Rows::new(style, area, buffer);
    rows.strong(&heading(view));
    rows.words(&text.clean(&view.title));
    if !view.news.is_empty() {
        rows.words(&text.clean(&view.news));
    }
    rows.keep_for_the_end(2);
    for pair in &view.pairs {
        rows.blank();
        arms::draw(pair, view.unit, &mut rows);
    }
    if view.unit == Unit::Requests {
        for pair in &view.pairs {
            latency::draw(pair, &mut rows);
        }
    }
    for pair in &view.pairs {
        epochs::draw(pair, &mut rows);
    }
    next(view, &mut rows);
    rows.at_the_end(keys(view));
    if !style.unicode {
        make_ascii(area, buffer);
    }
}

/// Replaces the characters of axes, which a terminal with ASCII only cannot show.
fn make_ascii(area: Rect, buffer: &mut Buffer) {
    for position in area.positions() {
        let cell = &mut buffer[position];
        if !cell.symbol().is_ascii() {
            cell.set_char('|');
        }
    }
}

fn heading(view: &View) -> String {
    let mut heading = format!("comparison {} of {}", view.at + 1, view.steps.len());
    if view.is_ending {
        heading.push_str(": ending; looptax keeps the result so far");
    } else if let Some(left_s) = view.left_s.or_else(|| now(view)) {
        let _ = write!(heading, ": at most {} left", time(left_s));
        if let Some(all_s) = rest(view).map(|rest_s| rest_s + left_s)
            && view.at + 1 < view.steps.len()
        {
            let _ = write!(heading, ", {} for everything", time(all_s));
        }
    }
    heading
}

/// Returns the longest time that the running comparison can take; used until its epochs have shown their length.
fn now(view: &View) -> Option<f64> {
    view.steps.get(view.at)?.at_most_s
}

/// Returns the longest time that the later comparisons can take, if it is known.
fn rest(view: &View) -> Option<f64> {
    let later = view.steps.iter().skip(view.at + 1);
    later.map(|step| step.at_most_s).sum()
}

fn next(view: &View, rows: &mut Rows<'_>) {
    let text = rows.style.text();
    let later: Vec<&Step> = view.steps.iter().skip(view.at + 1).collect();
    let lines: Vec<String> = later
        .iter()
        .map(|step| {
            let at_most = step.at_most_s.map(|it| format!(", at most {}", time(it)));
            text.clean(&step.label) + &at_most.unwrap_or_default()
        })
        .collect();
    rows.blank();
    rows.list("then", &lines);
}

fn keys(view: &View) -> &'static str {
    if view.has_keys {
        "q ends the run and keeps the result so far"
    } else {
        "Ctrl-C ends the run and keeps the result so far"
    }
}

/// Formats a time: `40 s`, `3 min 20 s`.
fn time(seconds: f64) -> String {
    let seconds = seconds.max(0.0).ceil() as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests;
