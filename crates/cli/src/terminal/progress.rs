//! The progress line: the running comparison, the epoch, the estimate so far, the time left.
//!
//! The line is drawn only between epochs, and only if stderr is a terminal.

use std::io::{self, IsTerminal};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use looptax_bench::{Observer, Phase, Progress};
use looptax_model::stats::tax_pct;

use super::{Terminal, width_of};

/// The progress line on stderr; it shows nothing if stderr is not a terminal.
pub(crate) struct Line {
    bar: ProgressBar,
    label: String,
}

/// All lines below the printed text: the progress line, and a line for each comparison that has not begun.
#[derive(Clone)]
pub(crate) struct Lines {
    all: MultiProgress,
    waiting: Vec<ProgressBar>,
}

impl Lines {
    /// Makes a waiting line for each of these texts.
    pub(crate) fn new(terminal: Terminal, waiting: impl IntoIterator<Item = String>) -> Self {
        let is_shown = !terminal.is_quiet && io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let all = MultiProgress::with_draw_target(target);
        let line = |words: String| {
            let line = all.add(bar(&words));
            line.tick();
            line
        };
        let waiting = waiting.into_iter().map(line).collect();
        Self { all, waiting }
    }

    /// Removes the first waiting line.
    pub(crate) fn begin_next(&mut self) {
        if !self.waiting.is_empty() {
            self.all.remove(&self.waiting.remove(0));
        }
    }

    /// Runs `print`, whose output appears above the lines.
    pub(crate) fn above<T>(&self, print: impl FnOnce() -> T) -> T {
        self.all.suspend(print)
    }

    /// Removes all waiting lines.
    pub(crate) fn clear(&mut self) {
        for line in self.waiting.drain(..) {
            self.all.remove(&line);
        }
    }
}

fn bar(words: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    bar.set_style(ProgressStyle::with_template("{wide_msg}").expect("the template is a constant"));
    bar.set_message(words.to_owned());
    bar
}

impl Line {
    /// Makes a progress line that starts with `label`, above the waiting lines.
    pub(crate) fn among(lines: &Lines, label: &str) -> Self {
        let bar = lines.all.insert(0, bar(label));
        bar.tick();
        Self { bar, label: label.to_owned() }
    }

    pub(crate) fn above(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Replaces the text after the label.
    pub(crate) fn say(&self, words: &str) {
        self.bar.set_message(format!("{}: {words}", self.label));
        self.bar.tick();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Line {
    fn epoch_ended(&mut self, progress: &Progress<'_>) {
        if progress.phase == Phase::Measuring {
            let columns = width_of(io::stderr()).unwrap_or(usize::MAX);
            self.bar.set_message(measuring(&self.label, progress, columns));
            self.bar.tick();
            return;
        }
        let (contrast, n_epochs) = (progress.contrast, progress.n_epochs);
        self.say(&format!("{contrast}, warm-up, epoch {n_epochs}"));
    }
}

/// Returns the state as one line. On a narrow terminal the label is cut off and the arms are left out, but the line
/// always has the tax and the time.
fn measuring(label: &str, progress: &Progress<'_>, columns: usize) -> String {
    let estimate = match progress.theta {
        Some(theta) if theta.has_interval() => {
            let tax = theta.map_monotone(tax_pct);
            format!("about {:.1} % [{:.1}, {:.1}]", tax.value, tax.lo, tax.hi)
        }
        Some(theta) => format!("about {:.1} %", tax_pct(theta.value)),
        None => "no estimate yet".to_owned(),
    };
    let (n, most) = (progress.n_epochs, progress.n_epochs_at_most);
    let left = progress.left_at_most.as_secs();
    let contrast = progress.contrast;
    let whole = format!("{label}: {contrast}, epoch {n} of at most {most}, {estimate}, at most {left} s left");
    if whole.chars().count() <= columns {
        return whole;
    }
    let state = format!("epoch {n}/{most}, {estimate}, at most {left} s left");
    // Columns for three dots, a colon and a space.
    let room = columns.saturating_sub(state.chars().count() + 5);
    if room == 0 {
        return state;
    }
    let name: String = label.chars().take(room).collect();
    let cut = if name.len() < label.len() { "..." } else { "" };
    format!("{name}{cut}: {state}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use looptax_bench::MeasuredEpoch;
    use looptax_model::stats::Estimate;

    use super::*;

    #[test]
    fn r20_a_narrow_terminal_keeps_the_tax_and_the_time_left() {
        let progress = Progress {
            contrast: "unix, tcp, poll-first",
            contrast_idx: 0,
            phase: Phase::Measuring,
            n_epochs: 112,
            n_epochs_at_most: 400,
            epoch: &MeasuredEpoch::default(),
            epoch_theta: None,
            next_analysis: None,
            theta: Some(Estimate { value: 0.1, lo: 0.08, hi: 0.12, n: 112 }),
            left_at_most: Duration::from_secs(144),
        };
        let label = "mariadb 10.11.19, 16 connections, same, point-select";
        for columns in [40, 60, 80, 120, 250] {
            let line = measuring(label, &progress, columns);
            assert!(line.contains("about 9.5 % [7.7, 11.3], at most 144 s left"), "{line}");
            assert!(line.chars().count() <= columns.max(60), "{columns}: {line}");
        }
        assert!(measuring(label, &progress, 80).starts_with("mariadb 10.11"), "the server is named");
    }
}
