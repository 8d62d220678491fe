//! What an onlooker sees of a run while it lasts: a line, or the whole terminal.
//!
//! Told by the commands which comparison begins, and by the experiment about each epoch.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use looptax_bench::Progress;
use looptax_experiment::observer::{Observer, PlannedStep, Scene};

use super::Terminal;
use super::live::Live;
use super::progress::Line;

/// Where it is shown.
pub(crate) enum Stage {
    /// On a line; without a terminal, only what begins is said.
    Line {
        terminal: Terminal,
        line: Option<Line>,
    },
    /// On the whole terminal.
    Live(Box<Live>),
}

impl Stage {
    /// One line on stderr, if that is a terminal.
    pub(crate) fn line(terminal: Terminal) -> Self {
        let line = None;
        Self::Line { terminal, line }
    }

    /// The whole terminal behind stderr, until it is dropped; `q` sets `stop`.
    pub(crate) fn live(
        terminal: Terminal,
        steps: Vec<PlannedStep>,
        stop: &Arc<AtomicBool>,
    ) -> io::Result<Self> {
        Live::open(terminal, steps, stop).map(|live| Self::Live(Box::new(live)))
    }
}

impl Observer for Stage {
    fn say(&mut self, news: &str) {
        match self {
            Self::Line { terminal, line } => {
                // The line before has to be gone before this one is drawn.
                *line = None;
                *line = Some(Line::new(*terminal, news));
            }
            Self::Live(live) => live.say(news),
        }
    }

    fn begin(&mut self, scene: Scene) {
        match self {
            Self::Line { terminal, line } => {
                if !io::stderr().is_terminal() {
                    terminal.words(&format!("measuring {}\n", scene.title));
                }
                *line = None;
                *line = Some(Line::new(*terminal, &scene.title));
            }
            Self::Live(live) => live.begin(scene),
        }
    }

    fn end(&mut self) {
        match self {
            Self::Line { line, .. } => *line = None,
            Self::Live(live) => live.end(),
        }
    }
}

impl looptax_bench::Observer for Stage {
    fn epoch_ended(&mut self, progress: &Progress<'_>) {
        match self {
            Self::Line {
                line: Some(line), ..
            } => line.epoch_ended(progress),
            Self::Line { line: None, .. } => {}
            Self::Live(live) => live.epoch_ended(progress),
        }
    }
}
