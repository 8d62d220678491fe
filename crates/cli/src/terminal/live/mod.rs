//! `--live`: shows the run on the whole terminal. The view is drawn only between epochs.
//!
//! While slices run, no thread of this view wakes up: the thread that waits for keys sleeps until a key is pressed.

pub(super) mod follow;
mod keys;
mod tty;

use std::io::{self, Stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use looptax_bench::{Observer, Progress};
use looptax_experiment::observer::{PlannedStep, Scene, Unit};
use looptax_report::live::{self, Pair, Step, View, draw};
use looptax_report::terminal::Style;
use ratatui::backend::CrosstermBackend;

use super::Terminal;
use keys::Keys;
use tty::Taken;
pub(crate) use tty::{give_back, has_terminal};

pub(crate) struct Live {
    view: View,
    style: Style,
    screen: ratatui::Terminal<CrosstermBackend<Stderr>>,
    stop: Arc<AtomicBool>,
    /// Whether a comparison has begun. The view opens with the first comparison; each later comparison moves it on.
    has_begun: bool,
    /// This field is declared before `_taken`, so that the thread that waits for keys ends before the terminal is
    /// restored.
    _keys: Option<Keys>,
    _taken: Taken,
}

impl Live {
    pub(super) fn open(terminal: Terminal, steps: Vec<PlannedStep>, stop: &Arc<AtomicBool>) -> io::Result<Self> {
        let taken = Taken::take()?;
        let keys = Keys::listen(Arc::clone(stop));
        let mut live = Self {
            view: View { steps: steps.into_iter().map(step).collect(), has_keys: keys.is_some(), ..View::default() },
            style: terminal.style_of_words(),
            screen: ratatui::Terminal::new(CrosstermBackend::new(io::stderr()))?,
            stop: Arc::clone(stop),
            has_begun: false,
            _keys: keys,
            _taken: taken,
        };
        live.draw();
        Ok(live)
    }

    pub(super) fn say(&mut self, news: &str) {
        news.clone_into(&mut self.view.news);
        self.draw();
    }

    pub(super) fn begin(&mut self, scene: Scene) {
        if std::mem::replace(&mut self.has_begun, true) {
            self.view.at += 1;
        }
        self.view.news = scene.news;
        self.view.title = scene.title;
        self.view.unit = match scene.unit {
            Unit::Requests => live::Unit::Requests,
            Unit::Runs => live::Unit::Runs,
        };
        self.view.left_s = None;
        let arms = scene.arms.iter();
        self.view.pairs =
            arms.map(|[baseline, other]| Pair::new(&format!("{baseline}, {other}"), [baseline, other])).collect();
        self.draw();
    }

    pub(super) fn end(&mut self) {
        self.say("saving");
    }

    fn draw(&mut self) {
        self.view.is_ending = self.stop.load(Ordering::Relaxed);
        let (view, style) = (&self.view, self.style);
        // If the terminal is gone, drawing fails, but the run goes on.
        let _ = self.screen.draw(|frame| {
            let area = frame.area();
            draw(view, style, area, frame.buffer_mut());
        });
    }
}

fn step(planned: PlannedStep) -> Step {
    let PlannedStep { label, at_most_s } = planned;
    Step { label, at_most_s }
}

impl Observer for Live {
    fn epoch_ended(&mut self, progress: &Progress<'_>) {
        follow::follow(&mut self.view, progress);
        self.draw();
    }
}
