//! The view of a run in progress: one line, the whole terminal, or JSON lines for a program.
//!
//! The command reports which comparison begins, and the experiment reports each epoch.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use looptax_bench::{Progress, Replanned};
use looptax_experiment::observer::{Observer, PlannedStep, Scene};
use looptax_experiment::plan::minutes;
use looptax_model::failure::Failure;
use looptax_model::record::{Record, StreamEvent, StreamPlan, WarningCode};
use looptax_model::stats::signed_rank::least_n;

use super::live::Live;
use super::progress::{Line, Lines};
use super::stream::Stream;
use super::{Terminal, without_secrets};

/// The significance level in a plan that was cut short: such a plan has only one interim analysis.
const LEVEL: f64 = 0.05;

/// How a run in progress is shown.
pub(crate) enum Stage {
    /// Shows the run on a line. Without a terminal, only the beginning of each comparison is printed, and only if
    /// `tells` is set.
    Line {
        terminal: Terminal,
        tells: bool,
        lines: Lines,
        line: Option<Line>,
    },
    Live(Box<Live>),
    Stream(Stream),
}

impl Stage {
    /// Shows the run on one line of stderr, if stderr is a terminal.
    pub(crate) fn line(terminal: Terminal) -> Self {
        Self::Line { terminal, tells: true, lines: Lines::new(terminal, []), line: None }
    }

    /// Shows the run on one line, above the lines of the comparisons that have not begun. Prints nothing else, because
    /// the caller prints a table.
    pub(crate) fn among(terminal: Terminal, lines: Lines) -> Self {
        Self::Line { terminal, tells: false, lines, line: None }
    }

    /// Shows the run on the whole terminal of stderr until this value is dropped; the key `q` sets `stop`.
    pub(crate) fn live(terminal: Terminal, steps: Vec<PlannedStep>, stop: &Arc<AtomicBool>) -> io::Result<Self> {
        Live::open(terminal, steps, stop).map(|live| Self::Live(Box::new(live)))
    }

    /// Prints JSON lines to stdout if `is_stream`, otherwise shows [`Self::line`]. `stop` is set when the reader of the
    /// JSON lines has ended.
    pub(crate) fn stream_or_line(is_stream: bool, terminal: Terminal, stop: &Arc<AtomicBool>) -> Self {
        if is_stream { Self::Stream(Stream::new(stop)) } else { Self::line(terminal) }
    }

    /// Whether JSON lines were requested and their reader has ended.
    pub(crate) fn is_unread(&self) -> bool {
        matches!(self, Self::Stream(stream) if !stream.is_read())
    }

    /// Prints the plan as a JSON line. Without JSON lines the user has already seen the plan.
    pub(crate) fn plan(&mut self, plan: StreamPlan) {
        if let Self::Stream(stream) = self {
            stream.tell(StreamEvent::Plan(plan));
        }
    }

    /// Prints the new problems of the record as JSON lines. Without JSON lines the report shows them.
    pub(crate) fn problems(&mut self, code: WarningCode, record: &Record) {
        if let Self::Stream(stream) = self {
            stream.problems(code, record);
        }
    }

    /// Prints as a JSON line that the run failed. Without JSON lines the user sees the error at the end.
    pub(crate) fn failed(&mut self, failure: &Failure) {
        if let Self::Stream(stream) = self {
            stream.warn(WarningCode::Failed, &without_secrets(format!("{failure:#}")));
        }
    }
}

impl Observer for Stage {
    fn say(&mut self, news: &str) {
        match self {
            Self::Line { lines, line, .. } => {
                // The previous line has to be removed before the new one is drawn.
                *line = None;
                *line = Some(Line::among(lines, news));
            }
            Self::Live(live) => live.say(news),
            Self::Stream(stream) => stream.say(news),
        }
    }

    fn begin(&mut self, scene: Scene) {
        match self {
            Self::Line { terminal, tells, lines, line } => {
                if *tells && !io::stderr().is_terminal() {
                    terminal.words(&format!("measuring {}\n", scene.title));
                }
                *line = None;
                *line = Some(Line::among(lines, &scene.title));
            }
            Self::Live(live) => live.begin(scene),
            Self::Stream(stream) => stream.begin(scene),
        }
    }

    fn end(&mut self) {
        match self {
            Self::Line { line, .. } => *line = None,
            Self::Live(live) => live.end(),
            Self::Stream(_) => {}
        }
    }

    fn kept(&mut self, record: &Record) {
        if let Self::Stream(stream) = self {
            stream.kept(record);
        }
    }
}

impl looptax_bench::Observer for Stage {
    fn epoch_ended(&mut self, progress: &Progress<'_>) {
        match self {
            Self::Line { line: Some(line), .. } => line.epoch_ended(progress),
            Self::Line { line: None, .. } => {}
            Self::Live(live) => live.epoch_ended(progress),
            Self::Stream(stream) => stream.epoch_ended(progress),
        }
    }

    fn replanned(&mut self, replanned: &Replanned) {
        let words = replanned_words(replanned);
        match self {
            Self::Line { terminal, line, .. } => match line {
                Some(line) => line.above(|| terminal.words(&words)),
                None => terminal.words(&words),
            },
            Self::Live(live) => live.say(words.trim_end()),
            Self::Stream(stream) => stream.replanned(replanned, &words),
        }
    }
}

/// Describes how the warm-up changed the plan.
fn replanned_words(replanned: &Replanned) -> String {
    let [planned_slice, slice] = replanned.slice.map(|it| it.as_millis());
    let [planned_n, n] = replanned.n_epochs;
    let (planned, takes) = (minutes(replanned.planned), minutes(replanned.takes));
    let grow = format!("answers take long, so looptax makes slices {slice} ms long instead of {planned_slice} ms");
    if n == planned_n {
        return format!("{grow}: measuring takes at most {takes}, not {planned}\n");
    }
    let s = if n == 1 { "" } else { "s" };
    let need = least_n(LEVEL);
    let warning = if n < need { format!("; an interval needs {need} epochs") } else { String::new() };
    let all = minutes(replanned.all_take);
    format!(
        "{grow}: {n} epoch{s} instead of up to {planned_n}, to keep to the planned {planned}{warning}; --fixed \
         {planned_n} measures all epochs in about {all}\n"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_the_warm_up_changes_of_the_plan_is_said() {
        let seconds = Duration::from_secs;
        let replanned = |n| Replanned {
            planned: seconds(20),
            takes: seconds(3 * n as u64),
            n_epochs: [40, n],
            slice: [Duration::from_millis(50), Duration::from_millis(300)],
            all_take: seconds(120),
        };
        let words = replanned_words(&replanned(6));
        assert_eq!(
            words,
            "answers take long, so looptax makes slices 300 ms long instead of 50 ms: 6 epochs instead of up to 40, to \
             keep to the planned 20 s; --fixed 40 measures all epochs in about 2 min\n"
        );
        assert!(replanned_words(&replanned(5)).contains("an interval needs 6 epochs"));
        let all = replanned_words(&replanned(40));
        assert!(all.ends_with("measuring takes at most 2 min, not 20 s\n"), "{all}");
    }
}
