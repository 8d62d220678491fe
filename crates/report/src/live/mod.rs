//! A run while it lasts, for the whole terminal: the arms side by side, the interval so far, latencies,
//! every epoch's tax, what comes next.
//!
//! Pure: [`View`] holds what is known, [`draw`] lays it out in an area. The command line keeps the view
//! up to date and owns the terminal. Nothing here decides anything: verdicts are made from the record.

mod arms;
mod epochs;
mod latency;
mod layout;

use std::fmt::Write;

use hdrhistogram::Histogram;
use looptax_record::Estimate;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

use crate::format::{Text, counted};
use crate::terminal::Style;
use layout::Rows;

/// What the first arm, the second and words that stand back are coloured in. Colour never carries a
/// meaning of its own.
const COLORS: [Color; 2] = [Color::Cyan, Color::Yellow];
/// Longer latencies count as this.
const LONGEST_NS: u64 = 100_000_000_000;

/// All that is shown.
#[derive(Debug, Default)]
pub struct View {
    /// Comparisons of the whole run, in order; those before [`View::at`] are over.
    pub steps: Vec<Step>,
    /// The one that runs.
    pub at: usize,
    /// Server, workload and connections of the one that runs.
    pub title: String,
    /// What is going on beside measuring: a server starts, a look is taken.
    pub news: String,
    /// What its numbers count.
    pub unit: Unit,
    /// Its pairs of arms.
    pub pairs: Vec<Pair>,
    /// Longest time until it ends, in seconds, as the last epoch took it.
    pub left_s: Option<f64>,
    /// Whether a key would be heard.
    pub has_keys: bool,
    /// Whether somebody asked for the end.
    pub is_ending: bool,
}

/// A comparison that is planned.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Server, connections, placement.
    pub label: String,
    /// The longest that it can take, in seconds, where that is known.
    pub at_most_s: Option<f64>,
}

/// What the arms' numbers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Requests, each with a latency.
    #[default]
    Requests,
    /// Whole runs of a command.
    Runs,
}

/// Two arms held against each other.
#[derive(Debug)]
pub struct Pair {
    /// What tells it from the other pairs: `unix, tcp, poll`.
    pub name: String,
    /// Baseline, other.
    pub arms: [ArmView; 2],
    /// Whether its epochs count yet.
    pub is_warming_up: bool,
    /// Epochs done, and their number at most.
    pub n_epochs: usize,
    /// See `n_epochs`.
    pub n_epochs_at_most: usize,
    /// Epochs at its next look; `None` where none comes.
    pub next_look: Option<usize>,
    /// The tax so far in percent, without the corrections of a verdict.
    pub tax_pct: Option<Estimate>,
    /// The tax of each epoch in percent.
    pub taxes_pct: Vec<f64>,
}

/// One arm of a pair.
#[derive(Debug)]
pub struct ArmView {
    /// `unix`, `tcp` …
    pub name: String,
    /// Answers (or runs) per second in each epoch.
    pub rates_per_s: Vec<f64>,
    /// Latencies so far, in nanoseconds.
    pub latencies_ns: Histogram<u64>,
}

impl ArmView {
    /// An arm of which nothing is known.
    ///
    /// # Panics
    /// Never: the bounds are possible.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rates_per_s: Vec::new(),
            latencies_ns: Histogram::new_with_bounds(1, LONGEST_NS, 3)
                .expect("the bounds are constants"),
        }
    }
}

impl Pair {
    /// A pair before its first epoch.
    pub fn new(name: &str, arms: [&str; 2]) -> Self {
        Self {
            name: name.to_owned(),
            arms: arms.map(ArmView::new),
            is_warming_up: true,
            n_epochs: 0,
            n_epochs_at_most: 0,
            next_look: None,
            tax_pct: None,
            taxes_pct: Vec::new(),
        }
    }
}

/// Lays the view out in `area`; what has no room is left out, the least important first.
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

/// Axes are drawn with lines that such a terminal does not show.
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
        heading.push_str(": ending, what was measured is kept");
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

/// What the comparison that runs needs at most, before its epochs have shown how long they are.
fn now(view: &View) -> Option<f64> {
    view.steps.get(view.at)?.at_most_s
}

/// What the later comparisons need at most, where that is known.
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
        "q ends the run and keeps what it has"
    } else {
        "Ctrl-C ends the run and keeps what it has"
    }
}

/// `40 s`, `3 min 20 s`.
fn time(seconds: f64) -> String {
    let seconds = seconds.max(0.0).ceil() as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// `epoch 14 of at most 120, looked at again after 20`.
fn progress(pair: &Pair) -> String {
    if pair.is_warming_up {
        return format!("warm-up, {}", counted(pair.n_epochs as u64, "epoch"));
    }
    let look = match pair.next_look {
        Some(look) if look == pair.n_epochs_at_most => String::new(),
        Some(look) => format!(", looked at after {look}"),
        None => ", ended".to_owned(),
    };
    format!(
        "epoch {} of at most {}{look}",
        pair.n_epochs, pair.n_epochs_at_most
    )
}

fn tax(pair: &Pair, text: Text) -> Option<String> {
    let pct = pair.tax_pct.as_ref()?;
    let has_interval = pct.lo.is_some() && pct.hi.is_some();
    Some(if has_interval {
        text.percent(pct)
    } else {
        format!("{:.1} %", pct.value)
    })
}

#[cfg(test)]
mod tests;
