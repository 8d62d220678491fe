//! Makes one proof from the watches. Each watch observes one moving connection of the application.
//!
//! Called by `carry` through [`Proof`]. The module `watch` contains a single watch.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use looptax_host::readers::Readers;
use looptax_host::waiting;
use looptax_model::record::{StepCode, SwitchStep};

use super::between::{Between, Followed};
use super::counter::Counter;
use super::words::some;
use super::{Application, Judged, Judgement, Proof, Watch};
use crate::journal::{MovedFrom, Step};
use crate::step::step;

/// For this long after a client has connected, the client may still be logging in. Programs with short connections
/// connect in this time if they connect every second.
const ON_THE_WAY_IN: Duration = Duration::from_secs(1);

/// The watches over all connections that move, with the kernel's counts for them.
#[derive(Default)]
pub struct Watches {
    /// One watch for each server and account.
    pub all: Vec<Watch>,
    /// Whether some connection that moves has no watch, because it is a container's connection.
    pub has_unwatched: bool,
    /// The connections between containers that looptax can follow, if a command of looptax creates the new containers.
    pub(crate) between: Vec<Between>,
    followed: Vec<Followed>,
    /// The kernel's count of requests, which begins when a person has agreed to the move.
    counter: Option<Counter>,
    /// Shows which processes open the written files.
    readers: Option<Readers>,
}

impl Watches {
    fn begin_anew(&mut self) {
        self.count();
        self.all.iter_mut().for_each(Watch::restart);
    }

    fn count(&mut self) {
        if let Some(readers) = &self.readers {
            let pids = readers.look();
            self.all.iter_mut().for_each(|it| it.is_read_by(&pids));
        }
        let Some(counter) = &mut self.counter else { return };
        let asked = counter.look();
        // A new watch ignores the requests that were counted before it began.
        let followed = self.followed.iter_mut().filter(|it| !it.is_new()).filter_map(Followed::watch);
        self.all.iter_mut().chain(followed).for_each(|it| it.take_asked(&asked));
    }

    /// Returns all watches, as far as their containers are running.
    fn watches(&self) -> impl Iterator<Item = &Watch> {
        self.all.iter().chain(self.followed.iter().filter_map(Followed::watched))
    }

    /// Identifies the application by short connections, if the caller passed no process and no connection stays open.
    fn learn(&mut self) {
        let Some(counter) = &mut self.counter else { return };
        let asked = counter.look();
        self.all.iter_mut().for_each(|it| it.learn(&asked));
    }
}

impl Proof for Watches {
    fn applications(&self) -> Vec<&Application> {
        self.all.iter().map(Watch::application).collect()
    }

    fn moving(&mut self) -> Step {
        if !self.all.is_empty() || !self.between.is_empty() {
            self.counter = Counter::open();
        }
        self.all.iter_mut().for_each(Watch::calibrate);
        if self.counter.is_some() && self.all.iter().any(|it| it.counts_late() || it.has_to_learn()) {
            waiting::pause(ON_THE_WAY_IN);
        }
        self.learn();
        self.all.iter_mut().for_each(Watch::has_learnt);
        let moved_from =
            |watch: &Watch| Some(MovedFrom { tcp: watch.watched().tcp?, kin: watch.application().kin().to_vec() });
        Step::Moving { connections: self.all.iter().filter_map(moved_from).collect(), stack: None, server: None }
    }

    fn begin(&mut self, files: &[PathBuf]) {
        self.readers = Readers::of(files);
        let tells = self.readers.is_some();
        self.all.iter_mut().for_each(|it| it.knows_readers(tells));
        self.begin_anew();
    }

    fn files_are_read(&mut self, by_command: bool) {
        self.count();
        self.all.iter_mut().for_each(|it| it.reloaded(by_command));
        let between = std::mem::take(&mut self.between);
        // Only the kernel's counts show the short connections between containers.
        if by_command && !self.has_unwatched && self.counter.is_some() {
            self.followed = between.into_iter().map(Followed::new).collect();
        } else {
            self.has_unwatched |= !between.is_empty();
        }
    }

    fn look(&mut self) {
        self.followed.iter_mut().for_each(Followed::look);
        self.count();
        self.followed.iter_mut().for_each(Followed::starts_counting);
        let followed = self.followed.iter_mut().filter_map(Followed::watch);
        self.all.iter_mut().chain(followed).for_each(Watch::tick);
    }

    fn judge(&mut self, is_last: bool, is_asked: bool) -> Option<Judged> {
        let mut steps = Vec::new();
        let mut unproved = None;
        if let Some(missing) = self.followed.iter().find(|it| it.watched().is_none()) {
            return is_last.then(|| Judged::Fails(missing.missing()));
        }
        for watch in self.all.iter_mut().chain(self.followed.iter_mut().filter_map(Followed::watch)) {
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
        Some(match unproved {
            Some(why) => Judged::Unproved(why),
            None if self.has_unwatched => {
                let words = "looptax did not follow the application into its new container: start the container, then \
                             run `looptax find`, which shows whether the application uses the socket";
                Judged::Unseen(words.to_owned())
            }
            None => Judged::Holds(steps),
        })
    }

    /// Reports that a server no longer answers, because this explains a page that fails.
    fn cause(&mut self) -> Option<SwitchStep> {
        let followed = self.followed.iter_mut().filter_map(Followed::watch);
        self.all.iter_mut().chain(followed).find_map(|watch| {
            let title = watch.watched().title.clone();
            match watch.judge(true, true)? {
                Judgement::Fails(code @ StepCode::ServerGone, words) => Some(step(code, format!("{title}: {words}"))),
                _ => None,
            }
        })
    }

    fn notes(&self) -> Vec<String> {
        self.watches().flat_map(Watch::notes).collect()
    }

    fn log_lines(&self) -> Vec<String> {
        self.watches().flat_map(Watch::log_lines).collect()
    }

    fn old_files_are_back(&mut self, limit: Option<Duration>) {
        for watch in &mut self.all {
            if let Some(limit) = limit {
                watch.hurry(limit);
            }
        }
        self.followed.iter_mut().for_each(Followed::goes_back);
        self.begin_anew();
    }

    fn works_again(&mut self) -> Option<String> {
        let n_watches = self.watches().count();
        if n_watches == 0 || n_watches < self.all.len() + self.followed.len() {
            return None;
        }
        let said = |who: fn(&Watch) -> BTreeSet<&String>, words: &str| {
            let each: Vec<_> = self.watches().map(who).collect();
            let is_each = each.iter().all(|it| !it.is_empty());
            is_each.then(|| format!("{words}: {}", some(each.into_iter().flatten().collect::<BTreeSet<_>>())))
        };
        said(Watch::over_tcp_again, "connected over TCP again")
            .or_else(|| said(Watch::wholly_over_tcp, "connected over TCP as before"))
    }
}
