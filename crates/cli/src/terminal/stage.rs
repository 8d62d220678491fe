//! What an onlooker sees of a run while it lasts: a line, or the whole terminal.
//!
//! Told by the commands which comparison begins, and by the experiment about each epoch.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use looptax_bench::{Observer, Progress};
use looptax_report::live::{Step, Unit};

use super::Terminal;
use super::live::Live;
use super::progress::Line;

/// A comparison that begins.
pub(crate) struct Scene {
    /// Server, workload, connections, placement.
    pub(crate) title: String,
    /// The arms of its contrasts, in the plan's order.
    pub(crate) arms: Vec<[String; 2]>,
    /// What happens before the first epoch.
    pub(crate) news: String,
    /// What is counted.
    pub(crate) unit: Unit,
}

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
        steps: Vec<Step>,
        stop: &Arc<AtomicBool>,
    ) -> io::Result<Self> {
        Live::open(terminal, steps, stop).map(|live| Self::Live(Box::new(live)))
    }

    /// What goes on between comparisons.
    pub(crate) fn say(&mut self, news: &str) {
        match self {
            Self::Line { terminal, line } => *line = Some(Line::new(*terminal, news)),
            Self::Live(live) => live.say(news),
        }
    }

    /// The next comparison of the plan begins.
    pub(crate) fn begin(&mut self, scene: Scene) {
        match self {
            Self::Line { terminal, line } => {
                if !io::stderr().is_terminal() {
                    terminal.words(&format!("measuring {}\n", scene.title));
                }
                *line = Some(Line::new(*terminal, &scene.title));
            }
            Self::Live(live) => live.begin(scene),
        }
    }

    /// It is over.
    pub(crate) fn end(&mut self) {
        match self {
            Self::Line { line, .. } => *line = None,
            Self::Live(live) => live.end(),
        }
    }
}

impl Observer for Stage {
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
