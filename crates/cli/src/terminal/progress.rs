//! The live line: what runs, which epoch, the running estimate, the time left.
//!
//! Drawn only in the gaps between epochs, and only when stderr is a terminal.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use looptax_bench::{Observer, Phase, Progress};
use looptax_stats::tax_pct;

use super::Terminal;

/// A line on stderr, or nothing.
pub(crate) struct Line {
    bar: ProgressBar,
    label: String,
}

impl Line {
    /// A line that starts with `label`.
    pub(crate) fn new(terminal: Terminal, label: &str) -> Self {
        let is_shown = !terminal.is_quiet && io::stderr().is_terminal();
        let target = if is_shown {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(
            ProgressStyle::with_template("{wide_msg}").expect("the template is a constant"),
        );
        bar.set_message(label.to_owned());
        bar.tick();
        Self {
            bar,
            label: label.to_owned(),
        }
    }

    /// Says something else behind the label.
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
        let words = match progress.phase {
            Phase::WarmUp => format!(
                "{}, warm-up, epoch {}",
                progress.contrast, progress.n_epochs
            ),
            Phase::Glimpse => format!("{}, a short look", progress.contrast),
            Phase::Measuring => measuring(progress),
        };
        self.say(&words);
    }
}

fn measuring(progress: &Progress<'_>) -> String {
    let estimate = match progress.theta {
        Some(theta) if theta.has_interval() => {
            let tax = theta.map_monotone(tax_pct);
            format!("about {:.1} % [{:.1}, {:.1}]", tax.value, tax.lo, tax.hi)
        }
        Some(theta) => format!("about {:.1} %", tax_pct(theta.value)),
        None => "no estimate yet".to_owned(),
    };
    format!(
        "{}, epoch {} of at most {}, {estimate}, at most {} s left",
        progress.contrast,
        progress.n_epochs,
        progress.n_epochs_at_most,
        progress.left_at_most.as_secs()
    )
}
