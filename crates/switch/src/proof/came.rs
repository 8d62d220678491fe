//! The transports over which each process of the application has connected since counting began.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use looptax_host::discover::{Process, process};
use looptax_host::processes;

use super::application::{Application, is_fellow, named};
use crate::clock::Since;

/// A process that started within this time before counting began may have read the old file and not have connected yet.
const STARTING: Duration = Duration::from_secs(10);
/// The maximum number of processes whose fellow workers are looked up.
const MOST_FELLOWS: usize = 64;

#[derive(Debug)]
pub(super) struct Came {
    since: Since,
    over_tcp: BTreeMap<u32, Process>,
    over_socket: BTreeSet<u32>,
    starting: BTreeMap<u32, Process>,
    /// Other programs that connected over TCP, each with the time of its last connection.
    others: BTreeMap<u32, (Process, Duration)>,
}

impl Came {
    pub(super) fn start() -> Self {
        let (over_tcp, over_socket, starting, others) = Default::default();
        Self { since: Since::now(), over_tcp, over_socket, starting, others }
    }

    /// Whether a process started shortly before counting began.
    fn was_starting(&self, pid: u32) -> bool {
        let counted = self.since.elapsed();
        processes::age(pid).is_some_and(|it| it > counted && it < counted + STARTING)
    }

    pub(super) fn over_tcp(&mut self, who: Option<&Process>) {
        if let Some(who) = who.filter(|it| !self.over_tcp.contains_key(&it.pid)) {
            self.over_tcp.insert(who.pid, who.clone());
        }
    }

    pub(super) fn over_socket(&mut self, pid: u32) {
        if !self.over_socket.insert(pid) || self.over_socket.len() > MOST_FELLOWS {
            return;
        }
        let Some(it) = process(pid).filter(|it| it.parent > 1) else { return };
        for fellow in processes::children(it.parent) {
            if fellow != pid && self.was_starting(fellow) {
                let fellow = process(fellow).filter(|fellow| is_fellow(&it, fellow));
                self.starting.extend(fellow.map(|it| (it.pid, it)));
            }
        }
    }

    pub(super) fn other_over_tcp(&mut self, who: &Process, at: Duration) {
        self.others.insert(who.pid, (who.clone(), at));
    }

    /// Removes and returns the other programs that are known by now to be the application's.
    pub(super) fn take_recognised(&mut self, application: &Application) -> Vec<(Process, Duration)> {
        let (own, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.others).into_values().partition(|it| application.has(&it.0));
        self.others = others.into_iter().map(|it| (it.0.pid, it)).collect();
        own
    }

    /// Returns the other programs that connected over TCP and run as a user of the application.
    pub(super) fn others_of(&self, application: &Application) -> BTreeSet<String> {
        let uids: BTreeSet<u32> = { self.over_socket.iter() }.filter_map(|pid| Some(process(*pid)?.uid)).collect();
        let are_its = |uid: u32| uids.contains(&uid) || application.has_user(uid);
        self.others.values().filter(|it| are_its(it.0.uid)).map(|it| named(Some(&it.0))).collect()
    }

    /// Whether a process is still running that connected over TCP or was starting, and has not connected over the
    /// socket.
    pub(super) fn is_one_missing(&self) -> bool {
        let all = self.over_tcp.values().chain(self.starting.values());
        all.filter(|it| !self.over_socket.contains(&it.pid))
            .any(|it| process(it.pid).as_ref().is_some_and(|now| now.parent == it.parent && now.program == it.program))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use looptax_testkit::patience;

    use super::*;

    #[test]
    fn who_has_come_over_tcp_is_missing_until_it_comes_over_the_socket_or_ends() {
        let own = process(std::process::id()).unwrap();
        let mut came = Came::start();
        came.over_tcp(None);
        assert!(!came.is_one_missing());
        came.over_tcp(Some(&own));
        assert!(came.is_one_missing());
        came.over_socket(own.pid);
        assert!(!came.is_one_missing());
        let ended = Process { pid: u32::MAX, ..own };
        came.over_tcp(Some(&ended));
        assert!(!came.is_one_missing());
    }

    #[test]
    fn a_worker_that_was_starting_is_missing_until_it_comes_over_the_socket() {
        let mut master = Command::new("bash");
        master.args(["-c", "exec 3<&0; (read -r <&3) & (read -r <&3) & wait"]).stdin(Stdio::piped());
        let mut master = master.spawn().unwrap();
        let two = || Some(processes::children(master.id())).filter(|it| it.len() == 2);
        let workers = patience::wait_for("two workers", Duration::from_secs(20), two);
        // The kernel counts a process's start in hundredths of a second.
        std::thread::sleep(Duration::from_millis(20));
        let mut came = Came::start();
        came.over_socket(workers[0]);
        let is_missing = came.is_one_missing();
        came.over_socket(workers[1]);
        let is_still_missing = came.is_one_missing();
        for pid in [master.id(), workers[0], workers[1]] {
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        master.wait().unwrap();
        assert!(is_missing && !is_still_missing);
    }

    #[test]
    fn a_program_that_is_recognised_later_has_come_over_tcp() {
        let own = process(std::process::id()).unwrap();
        let (mut came, mut application) = (Came::start(), Application::default());
        application.knows_readers(true);
        came.other_over_tcp(&own, Duration::from_secs(3));
        assert!(came.take_recognised(&application).is_empty());
        came.over_socket(own.pid);
        assert_eq!(came.others_of(&application).len(), 1);
        application.add(&own);
        let recognised = came.take_recognised(&application);
        assert_eq!(
            recognised.iter().map(|it| (it.0.pid, it.1)).collect::<Vec<_>>(),
            [(own.pid, Duration::from_secs(3))]
        );
        assert!(came.others_of(&application).is_empty());
    }
}
