//! The watches over all connections of an application that move, as one proof.
//!
//! Called by `carry` through [`Proof`]; each watch is `watch`.

use std::time::Duration;

use looptax_model::record::{StepCode, SwitchStep};

use super::{Application, Judged, Judgement, Proof, Watch};
use crate::journal::{MovedFrom, Step};
use crate::step::step;

/// A watch over each connection that moves.
#[derive(Default)]
pub struct Watches {
    /// One for each server and account.
    pub all: Vec<Watch>,
    /// Whether a connection moves that has no watch: a container's.
    pub has_unwatched: bool,
}

impl Proof for Watches {
    fn applications(&self) -> Vec<&Application> {
        self.all.iter().map(Watch::application).collect()
    }

    fn moving(&mut self) -> Step {
        self.all.iter_mut().for_each(Watch::calibrate);
        let moved_from =
            |watch: &Watch| MovedFrom { tcp: watch.watched().tcp, kin: watch.application().kin().to_vec() };
        Step::Moving { connections: self.all.iter().map(moved_from).collect(), stack: None, server: None }
    }

    fn begin(&mut self) {
        self.all.iter_mut().for_each(Watch::restart);
    }

    fn files_are_read(&mut self, by_command: bool) {
        self.all.iter_mut().for_each(|it| it.reloaded(by_command));
    }

    fn look(&mut self) {
        self.all.iter_mut().for_each(Watch::tick);
    }

    fn judge(&mut self, is_last: bool, is_asked: bool) -> Option<Judged> {
        let mut steps = Vec::new();
        let mut unproved = None;
        for watch in &mut self.all {
            let title = watch.watched().title.clone();
            match watch.judge(is_last, is_asked)? {
                Judgement::Fails(code, words) => {
                    return Some(Judged::Fails(step(code, format!("{title}: {words}"))));
                }
                Judgement::Unproved(words) => unproved = Some(format!("{title}: {words}")),
                Judgement::Holds(words) => {
                    steps.push(step(StepCode::SeenOverSocket, format!("{title}: {words}")));
                }
            }
        }
        let container = "what goes to a container's server is not seen from here";
        let unproved = unproved.or_else(|| self.has_unwatched.then(|| container.to_owned()));
        Some(unproved.map_or(Judged::Holds(steps), Judged::Unproved))
    }

    /// That a server is gone, which the page's failure follows from.
    fn cause(&mut self) -> Option<SwitchStep> {
        self.all.iter_mut().find_map(|watch| {
            let title = watch.watched().title.clone();
            match watch.judge(true, true)? {
                Judgement::Fails(code @ StepCode::ServerGone, words) => Some(step(code, format!("{title}: {words}"))),
                _ => None,
            }
        })
    }

    fn notes(&self) -> Vec<String> {
        self.all.iter().flat_map(Watch::notes).collect()
    }

    fn log_lines(&self) -> Vec<String> {
        self.all.iter().flat_map(Watch::log_lines).collect()
    }

    fn old_files_are_back(&mut self, limit: Option<Duration>) {
        for watch in &mut self.all {
            if let Some(limit) = limit {
                watch.hurry(limit);
            }
            watch.restart();
        }
    }

    fn works_again(&mut self) -> Option<&'static str> {
        if self.all.is_empty() {
            None
        } else if self.all.iter().all(Watch::is_over_tcp_again) {
            Some("the application connects over TCP again")
        } else if self.all.iter().all(Watch::is_still_over_tcp) {
            Some("the application is connected over TCP as it was before")
        } else {
            None
        }
    }
}
