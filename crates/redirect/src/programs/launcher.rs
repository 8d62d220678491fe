//! The launcher's process: starts watchdogs, and ends all their descendants.
//!
//! The launcher waits for three things at the same time: a request, the end of a child, and the end of the measuring
//! process.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use super::ProgramsConfig;
use super::message::{Answer, Wish};
use crate::launch::note_change;
use crate::page::Page;
use crate::sys::fork::{self, Never};
use crate::sys::wait::{self, SignalSet};
use crate::sys::{own_pid, pass, process};
use crate::watchdog::{Place, run_at};
use crate::{RedirectError, descendants};

/// Signals that are meant for the measuring process, and the signal that a child has ended.
const HELD_BACK: [i32; 8] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGCHLD,
];
/// Pause between two checks whether the program has ended, after it was asked to end.
const PAUSE_MS: i32 = 5;
const NS_PER_MS: u64 = 1_000_000;

pub(super) struct Launcher<'a> {
    config: &'a ProgramsConfig,
    page: &'static Page,
    socket: &'a OwnedFd,
    owner: &'a OwnedFd,
    /// A descriptor for the launcher, which its watchdogs observe.
    own: OwnedFd,
    arrivals: OwnedFd,
    /// The settings to restore in the program.
    signals: SignalSet,
    child_signal: libc::sighandler_t,
    /// The process id of the running watchdog, or 0.
    watchdog: i32,
}

/// Runs the launcher until the measuring process ends or dismisses it.
pub(super) fn run(page: &'static Page, config: &ProgramsConfig, socket: &OwnedFd, owner: &OwnedFd) -> Never {
    fork::set_name("looptax-launch");
    fork::put_nothing_under(0..3);
    let output = config.output.as_ref().map(AsFd::as_fd);
    let kept = [socket.as_fd(), owner.as_fd()].into_iter().chain(output);
    fork::keep_only(&kept.collect::<Vec<_>>());
    let child_signal = fork::set_disposition(libc::SIGCHLD, libc::SIG_DFL);
    let begun = || -> io::Result<Launcher<'_>> {
        wait::adopt_orphans()?;
        Ok(Launcher {
            config,
            page,
            socket,
            owner,
            own: process::pidfd_open(own_pid(), 0)?,
            signals: SignalSet::of(&HELD_BACK).block()?,
            arrivals: SignalSet::of(&[libc::SIGCHLD]).arrivals()?,
            child_signal,
            watchdog: 0,
        })
    };
    match begun() {
        Ok(mut launcher) => launcher.serve(),
        Err(_) => fork::end(1),
    }
}

impl Launcher<'_> {
    fn serve(&mut self) -> Never {
        let mut message = [0; 16];
        loop {
            self.take_away();
            let heard = [
                (self.socket.as_fd(), libc::POLLIN),
                (self.owner.as_fd(), libc::POLLIN),
                (self.arrivals.as_fd(), libc::POLLIN),
            ];
            let found = wait::poll(&heard, -1).unwrap_or_else(|_| vec![true; 3]);
            if found[1] {
                return self.leave();
            }
            if !found[0] {
                continue;
            }
            let wish = match pass::receive(self.socket.as_fd(), &mut message) {
                Ok((n_bytes, _)) => Wish::read(&message[..n_bytes]),
                Err(_) => None,
            };
            let answer = match wish {
                Some(Wish::Start) => self.start().unwrap_or_else(Answer::Failed),
                Some(Wish::End { grace_ms }) => self.end(grace_ms),
                // The measuring process has ended.
                Some(Wish::Leave) | None => return self.leave(),
            };
            let _ = pass::send(self.socket.as_fd(), &answer.written(), None);
        }
    }

    fn leave(&mut self) -> Never {
        self.kill_all();
        fork::end(0)
    }

    /// Reaps the children that have ended. If a watchdog did not exit normally, something killed it; then its
    /// descendants are killed, too.
    fn take_away(&mut self) {
        while wait::next_signal(self.arrivals.as_fd()).is_some() {}
        let program_pid = self.page.program_pid.load(Ordering::Acquire);
        let mut has_lost_watchdog = false;
        while let Some((pid, change)) = wait::next_change() {
            note_change(self.page, program_pid, pid, change);
            has_lost_watchdog |= pid == self.watchdog && !self.page.has_left();
        }
        if has_lost_watchdog {
            self.kill_all();
        }
    }

    /// Kills all descendants of this process: first the program, then the processes that answer its calls.
    fn kill_all(&mut self) {
        self.watchdog = 0;
        let helpers = self.page.helpers();
        descendants::kill_all(&[own_pid()], &helpers, || self.take_away());
        // If a process was started during the search, it becomes a child of this process when its ancestors have ended.
        while wait::has_children() {
            descendants::kill_all(&[own_pid()], &[], || self.take_away());
            self.take_away();
        }
    }

    fn processes(&self) -> Vec<i32> {
        let helpers = self.page.helpers();
        let mut found = descendants::find(&[own_pid()]);
        found.retain(|pid| !helpers.contains(pid));
        found
    }

    fn end(&mut self, grace_ms: u64) -> Answer {
        let until_ns = wait::monotonic_ns().saturating_add(grace_ms.saturating_mul(NS_PER_MS));
        let helpers = self.page.helpers();
        for signal in [libc::SIGTERM, libc::SIGCONT] {
            descendants::signal(&[own_pid()], &helpers, signal);
        }
        let left = loop {
            self.take_away();
            let left = self.processes();
            let is_over = wait::has_happened(self.owner.as_fd(), libc::POLLIN) || wait::monotonic_ns() >= until_ns;
            if left.is_empty() || is_over {
                break left;
            }
            let _ = wait::poll(&[], PAUSE_MS);
        };
        self.kill_all();
        Answer::Ended { n_killed: left.len() as u32 }
    }

    fn start(&mut self) -> Result<Answer, RedirectError> {
        self.kill_all();
        self.page.clear().map_err(RedirectError::failed("share memory"))?;
        let (ours, its) = pass::pair().map_err(RedirectError::failed("create a socket pair"))?;
        let watchdog = fork::fork(|| self.watch(&its));
        self.watchdog = watchdog.map_err(RedirectError::failed("fork"))?;
        drop(its);
        let pidfd = process::pidfd_open(self.watchdog, 0);
        let pidfd = pidfd.map_err(RedirectError::failed("open a process"))?;
        // A watchdog's last message is seen before its end, or together with it.
        let heard = [&pidfd, self.owner, &ours].map(|fd| (fd.as_fd(), libc::POLLIN));
        loop {
            let found = wait::poll(&heard, -1).map_err(RedirectError::failed("wait"))?;
            let mut message = [0; super::message::MAX_BYTES];
            if found[2] {
                let received = pass::receive(ours.as_fd(), &mut message);
                let n_bytes = received.map_or(0, |(n_bytes, _)| n_bytes);
                match Answer::read(&message[..n_bytes]) {
                    Some(answer @ Answer::Started { .. }) => return Ok(answer),
                    Some(answer) => {
                        self.kill_all();
                        return Ok(answer);
                    }
                    None => {}
                }
            }
            if found.contains(&true) {
                self.kill_all();
                let gone = io::Error::from_raw_os_error(libc::ECHILD);
                return Err(RedirectError::failed("start the program")(gone));
            }
        }
    }

    fn watch(&self, tell: &OwnedFd) -> Never {
        let ProgramsConfig { config, output } = self.config;
        if let Some(output) = output {
            for number in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
                let _ = fork::put_under(output.as_fd(), number);
            }
        }
        fork::keep_only(&[tell.as_fd(), self.own.as_fd()]);
        fork::set_name("looptax-watch");
        fork::set_disposition(libc::SIGCHLD, self.child_signal);
        let say = |answer: &Answer| pass::send(tell.as_fd(), &answer.written(), None);
        let prepared = fork::begin_session().and_then(|()| self.signals.restore());
        let ended = prepared.map_err(RedirectError::failed("start a session")).and_then(|_| {
            let on_start = &mut || {
                let _ = say(&Answer::Started {
                    program_pid: self.page.program_pid.load(Ordering::Acquire),
                    supervisor_pid: self.page.supervisor_pid(),
                });
            };
            let place = Place { page: self.page, owner: Some(&self.own), on_start };
            run_at(place, config, &mut |_| {})
        });
        if let Err(error) = ended {
            let _ = say(&Answer::Failed(error));
        }
        fork::end(0)
    }
}
