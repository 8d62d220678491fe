//! Starts a program under a steered supervisor, repeatedly if needed, for a process that has several threads.
//!
//! Starting a supervisor takes a fork, which needs a process with one thread; a measuring process has many threads by
//! the time it starts the program. So a *launcher* is forked while there is only one thread, and waits. It adopts all
//! descendants of a program, including those in the background, so it can end all of them. It ends all descendants as
//! soon as the measuring process has ended, in whatever way. If the launcher itself is killed, the watchdog ends the
//! descendants; if the watchdog is killed, launcher and guard end them.

mod launcher;
mod message;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::launch::only_thread;
use crate::page::Page;
use crate::sys::{fork, own_pid, pass, process, wait};
use crate::watchdog::exit_of;
use crate::{Config, Exit, RedirectError, Stats, descendants};
use message::{Answer, Wish};

/// The program to start, and how.
#[derive(Debug)]
pub struct ProgramsConfig {
    /// The program and its supervision, usually with [`Config::steering`]. [`Config::ends_all`] is always set.
    pub config: Config,
    /// Where the program's standard output and standard error go; if `None`, they are discarded. Its standard input is
    /// empty.
    pub output: Option<OwnedFd>,
}

/// Starts the program as often as needed. When this value is dropped, or this process ends, no process is left behind.
pub struct Programs {
    socket: OwnedFd,
    launcher_pid: i32,
    page: &'static Page,
    n_routes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// The program's first process.
    pub program_pid: u32,
    /// The process that answers the program's calls; its work is part of the cost of connecting.
    pub supervisor_pid: u32,
}

impl Programs {
    /// Forks the launcher. Nothing is started yet.
    ///
    /// Call it while the process has only one thread. The program gets the signals, limits, folder and environment that
    /// the process has now.
    ///
    /// # Errors
    /// The errors of [`Config::check`]; [`RedirectError::Threads`], or [`RedirectError::Start`] with the step that
    /// failed.
    pub fn begin(mut config: ProgramsConfig) -> Result<Self, RedirectError> {
        config.config.ends_all = true;
        config.config.check()?;
        only_thread()?;
        let page = Page::map().map_err(RedirectError::failed("share memory"))?;
        let (ours, its) = pass::pair().map_err(RedirectError::failed("create a socket pair"))?;
        let owner = process::pidfd_open(own_pid(), 0);
        let owner = owner.map_err(RedirectError::failed("open a process"))?;
        let n_routes = config.config.mapping.routes.len();
        let launcher_pid = fork::fork(|| launcher::run(page, &config, &its, &owner));
        Ok(Self { socket: ours, launcher_pid: launcher_pid.map_err(RedirectError::failed("fork"))?, page, n_routes })
    }

    /// Kills processes that are left from an earlier start, and starts the program. Returns when the program executes.
    ///
    /// # Errors
    /// [`RedirectError::Exec`] if the program cannot be executed; [`RedirectError::Start`] for all other errors.
    pub fn start(&mut self) -> Result<Running, RedirectError> {
        match self.ask(&Wish::Start)? {
            Answer::Started { program_pid, supervisor_pid } => {
                Ok(Running { program_pid: program_pid.cast_unsigned(), supervisor_pid: supervisor_pid.cast_unsigned() })
            }
            Answer::Failed(error) => Err(error),
            Answer::Ended { .. } => Err(lost(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Returns how the program's first process ended; `None` while it runs, and before it is started.
    pub fn has_ended(&self) -> Option<Exit> {
        if let Some(wait_status) = self.page.ended() {
            return Some(exit_of(wait_status));
        }
        // If the launcher was killed, all other processes have ended with it.
        let has_started = self.page.program_pid.load(Ordering::Acquire) != 0;
        (has_started && self.is_lost()).then_some(Exit::Signal(libc::SIGKILL))
    }

    /// Returns whether the first process has ended while its descendants continue: the program went into the
    /// background.
    pub fn is_background(&self) -> bool {
        self.has_ended().is_some() && !self.pids_of_program().is_empty()
    }

    /// Asks all processes of the program to end (`SIGTERM`), and kills those that are left after `grace`. When no
    /// process is left, returns the number of processes that had to be killed. The supervisor answers calls until then.
    ///
    /// # Errors
    /// [`RedirectError::Start`] if the launcher was killed; then everything else was killed, too.
    pub fn end(&mut self, grace: Duration) -> Result<usize, RedirectError> {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        match self.ask(&Wish::End { grace_ms })? {
            Answer::Ended { n_killed } => Ok(n_killed as usize),
            Answer::Started { .. } | Answer::Failed(_) => Err(lost(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Returns the running processes of the program, in no particular order.
    ///
    /// # Cost
    /// Reads a short file for every process of the machine.
    pub fn pids_of_program(&self) -> Vec<u32> {
        let helpers = self.page.helpers();
        let found = descendants::find(&[self.launcher_pid]).into_iter();
        let own = found.filter(|pid| !helpers.contains(pid));
        own.map(i32::cast_unsigned).collect()
    }

    /// Returns our own processes that run for the program: launcher, watchdog, guard, and the process that answers its
    /// calls.
    ///
    /// # Cost
    /// As [`Self::pids_of_program`].
    pub fn pids_of_helpers(&self) -> Vec<u32> {
        let helpers = self.page.helpers();
        let found = descendants::find(&[self.launcher_pid]).into_iter();
        let running = found.filter(|pid| helpers.contains(pid));
        let launcher = (!self.is_lost()).then_some(self.launcher_pid);
        running.chain(launcher).map(i32::cast_unsigned).collect()
    }

    /// Returns the outcome of the connections since the last start. Connections that stayed on TCP because their route
    /// is not moved in a slice are only in the counts of the steering.
    pub fn stats(&self) -> Stats {
        self.page.stats(self.n_routes)
    }

    /// Returns whether the supervisor died since the last start. Another process answers instead; a connection that was
    /// being moved at that moment may be missing in the counts.
    pub fn has_lost_supervisor(&self) -> bool {
        self.page.has_taken_over.load(Ordering::SeqCst)
    }

    fn is_lost(&self) -> bool {
        wait::has_happened(self.socket.as_fd(), 0)
    }

    fn ask(&mut self, wish: &Wish) -> Result<Answer, RedirectError> {
        pass::send(self.socket.as_fd(), &wish.written(), None).map_err(lost)?;
        let mut message = [0; message::MAX_BYTES];
        loop {
            match pass::receive(self.socket.as_fd(), &mut message) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(error)),
                Ok((n_bytes, _)) => {
                    let answer = Answer::read(&message[..n_bytes]);
                    return answer.ok_or_else(|| lost(io::ErrorKind::UnexpectedEof.into()));
                }
            }
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        // Sends a message, instead of only closing our end of the socket, because a process that was forked later may
        // also hold our end.
        let _ = pass::send(self.socket.as_fd(), &Wish::Leave.written(), None);
        wait::take_away(self.launcher_pid);
    }
}

fn lost(source: io::Error) -> RedirectError {
    RedirectError::failed("receive a message from the process that starts the program")(source)
}
