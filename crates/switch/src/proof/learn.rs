//! Learns which processes are the application, if the caller named none and no connection stays open.

use super::application::{Application, Kin};
use super::counter::Asking;
use super::watch::Watch;

impl Watch {
    /// Notes whether the kernel reports the processes that open the files.
    pub(super) fn knows_readers(&mut self, tells: bool) {
        self.application.knows_readers(tells);
    }

    /// Notes that these processes have opened one of the files.
    pub(super) fn is_read_by(&mut self, pids: &[u32]) {
        self.application.is_read_by(pids);
    }

    /// Collects TCP clients before anything is written. If all run one program, this program is the application.
    pub(super) fn learn(&mut self, all: &[Asking]) {
        let own = all.iter().filter(|it| self.of.takes(&it.counted.asked));
        self.seen.n_opened_by_all += own.map(|it| it.counted.counts.n_opened).sum::<u64>();
        if self.is_to_learn() {
            self.askers.take(all, &self.of);
        }
    }

    fn is_to_learn(&self) -> bool {
        self.application.is_unknown() || self.is_guessed
    }

    /// Whether only the clients' short connections can show the application.
    pub(super) fn has_to_learn(&self) -> bool {
        self.is_to_learn() && self.seen.was_used
    }

    /// Treats the collected programs as the application, if they are all the same program.
    pub(super) fn has_learnt(&mut self) {
        let mut all =
            self.of.readers_of(self.askers.all(&self.connections.open_tcp.keys().copied().collect()), |it| &it.process);
        if self.application.is_seen() {
            all.retain(|it| self.of.may_be_read_by(&it.process));
            if all.is_empty() {
                return;
            }
            self.application = Application::default();
            self.own_tcp.clear();
        }
        let kin: Vec<Kin> = all.iter().map(|it| Kin::new(&it.process)).collect();
        if kin.iter().all(|it| Some(it) == kin.first()) {
            for asker in &all {
                self.application.add_asker(asker);
            }
            self.application.know_the_others();
            self.was_running = self.application.is_seen();
        }
    }
}
