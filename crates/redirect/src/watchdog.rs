//! The process that the user started: it waits for the program, passes signals on, and takes over if the supervisor
//! dies.
//!
//! Without the watchdog, the death of the supervisor would make every mapped call fail with `ENOSYS`. While the
//! supervisor lives, the watchdog only waits.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::launch::{self, Inherited, Program, Started, Surroundings, note_change};
use crate::outcome::{Event, MESSAGE_BYTES, STOPPED, Stats};
use crate::page::{Helper, Page};
use crate::supervisor::{Parts, Supervisor};
use crate::sys::fork::Never;
use crate::sys::wait::{self, Arrival, Change};
use crate::sys::{fork, own_pid, pass, process, timers};
use crate::{Features, Mapping, RedirectError, Steering, Switches, descendants, guard};

/// The program to run, and the settings of the run.
#[derive(Debug, Clone)]
pub struct Config {
    pub program: Program,
    pub mapping: Mapping,
    /// The result of [`crate::probe()`].
    pub features: Features,
    pub switches: Switches,
    /// Whether every event is reported; if not, only the first moved connection of each route is reported.
    pub wants_events: bool,
    /// Whether the program continues if the process that started it is killed.
    pub keeps_running: bool,
    /// Whether all processes of the program, and not only its first one, are ended if the process that started it is
    /// killed.
    pub ends_all: bool,
    /// Sets which routes are moved right now; without it, all routes are moved.
    pub steering: Option<Steering>,
    /// The program's user, environment and folder, if they differ from this process's.
    pub surroundings: Surroundings,
}

impl Config {
    /// Checks that a run can use this configuration; [`run`] calls this itself.
    ///
    /// # Errors
    /// The errors of [`Mapping::check`]; [`RedirectError::TooManyRoutes`] also if the mapping has more routes than the
    /// steering.
    pub fn check(&self) -> Result<(), RedirectError> {
        self.mapping.check()?;
        let n = self.mapping.routes.len();
        match self.steering.map(|it| it.n_routes()) {
            Some(at_most) if n > at_most => Err(RedirectError::TooManyRoutes { n, at_most }),
            _ => Ok(()),
        }
    }
}

pub(crate) struct Place<'a> {
    /// The memory that the processes of the run share.
    pub(crate) page: &'static Page,
    /// The process whose end ends everything, if there is one.
    pub(crate) owner: Option<&'a OwnedFd>,
    /// Called when the program executes.
    pub(crate) on_start: &'a mut dyn FnMut(),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub exit: Exit,
    pub stats: Stats,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// Signals that may be sent to us but are meant for the program.
pub(crate) const FORWARDED: [i32; 12] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    // If this stops the program, we stop as well.
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGWINCH,
    libc::SIGIO,
    libc::SIGURG,
];
/// A signal to the whole process group reaches us and the program at the same time: both see it within this time.
const SAME_SIGNAL_NS: u64 = 50_000_000;
/// How long to wait until the supervisor has seen the signal, too.
const SIGNAL_SETTLING_MS: i32 = 3;
/// How long the program's last process may take to disappear after its end was seen.
const DESERTION_MS: i32 = 20;
/// How long the program's last process may take to disappear after every process that was found has been killed.
pub(crate) const KILLED_MS: i32 = 1;

/// Runs a program to its end.
///
/// Call it while the process has only one thread. `on_event` is called while the program runs.
///
/// # Errors
/// Any error that keeps the program from starting; [`RedirectError::Exec`] if it cannot be executed.
pub fn run(config: &Config, on_event: &mut dyn FnMut(Event)) -> Result<Ended, RedirectError> {
    let place =
        Place { page: Page::map().map_err(RedirectError::failed("share memory"))?, owner: None, on_start: &mut || {} };
    run_at(place, config, on_event)
}

/// Like [`run`], for a caller that also reads the page.
pub(crate) fn run_at(
    place: Place<'_>,
    config: &Config,
    on_event: &mut dyn FnMut(Event),
) -> Result<Ended, RedirectError> {
    config.check()?;
    let failed = RedirectError::failed;
    let Place { page, owner, on_start } = place;
    page.note_helper(Helper::Watchdog, own_pid());
    let child_signal = fork::set_disposition(libc::SIGCHLD, libc::SIG_DFL);
    let before = launch::signals().block().map_err(failed("block signals"))?;
    let arrivals = launch::signals().arrivals().map_err(failed("wait for signals"))?;
    let inherited =
        Inherited { signals: before, child_signal, timers: timers::take().map_err(failed("take over timers"))? };
    let started = launch::start(config, page, inherited).and_then(|started| {
        guard::start(config, page, &started).map_err(failed("fork"))?;
        fork::let_go_of_inherited();
        on_start();
        Ok(started)
    });
    let ended = started.and_then(|started| {
        let mut watchdog = Watchdog { config, page, started, arrivals, owner, is_supervisor: false };
        let wait_status = watchdog.watch(on_event).map_err(failed("wait"))?;
        let stats = page.stats(config.mapping.routes.len());
        watchdog.leave();
        page.set_left();
        Ok(Ended { exit: exit_of(wait_status), stats })
    });
    let _ = before.restore();
    ended
}

pub(crate) fn exit_of(wait_status: i32) -> Exit {
    match wait_status & 0x7f {
        0 => Exit::Code(wait_status >> 8 & 0xff),
        signal => Exit::Signal(signal),
    }
}

/// Ends this process in the same way as the program ended, so that a process that waits for this process sees the same.
pub fn die_of(signal: i32) {
    fork::forbid_dump();
    fork::set_disposition(signal, libc::SIG_DFL);
    let _ = wait::SignalSet::of(&[]).restore();
    fork::raise(signal);
}

struct Watchdog<'a> {
    config: &'a Config,
    page: &'static Page,
    started: Started,
    arrivals: OwnedFd,
    owner: Option<&'a OwnedFd>,
    is_supervisor: bool,
}

impl Watchdog<'_> {
    /// Runs until the program ends, and returns its wait status.
    fn watch(&mut self, on_event: &mut dyn FnMut(Event)) -> io::Result<i32> {
        loop {
            self.hear(on_event);
            if self.is_supervisor {
                self.look_after_children();
            }
            let ended = self.page.ended();
            if let Some(wait_status) = ended.filter(|_| self.may_end()) {
                return Ok(wait_status);
            }
            let mut heard = vec![(self.arrivals.as_fd(), libc::POLLIN)];
            if !self.is_supervisor {
                heard.push((self.started.supervisor.as_fd(), libc::POLLIN));
                heard.push((self.started.messages.as_fd(), libc::POLLIN));
            }
            heard.extend(self.owner.map(|it| (it.as_fd(), libc::POLLIN)));
            heard.extend(ended.map(|_| (self.started.listener.fd(), 0)));
            let found = wait::poll(&heard, -1)?;
            if self.has_lost_owner() {
                self.end_all();
            }
            if !self.is_supervisor && found.get(1).is_some_and(|has_died| *has_died) {
                self.hear(on_event);
                if self.page.ended().is_none() || !self.may_end() {
                    on_event(Event::SupervisorDied);
                    self.take_over()?;
                }
            }
            while let Some(arrival) = wait::next_signal(self.arrivals.as_fd()) {
                self.pass_on(arrival);
            }
        }
    }

    fn hear(&self, on_event: &mut dyn FnMut(Event)) {
        let mut message = [0; MESSAGE_BYTES];
        while let Ok(MESSAGE_BYTES) = pass::read(self.started.messages.as_fd(), &mut message) {
            if message == STOPPED {
                self.stop_as_well();
            } else if let Some(event) = Event::from_message(&message) {
                on_event(event);
            }
        }
    }

    /// Stops this process if the program was stopped, so that a shell sees that its job has stopped. If a terminal
    /// stopped both processes together, this process notices it only when both processes continue.
    fn stop_as_well(&self) {
        if self.owner.is_none() && process::is_stopped(self.page.program_pid.load(Ordering::Acquire)) {
            fork::raise(libc::SIGSTOP);
        }
    }

    /// Returns whether this process may end when the program ends. If this process has an owner, it has to stay until
    /// the last process has ended, because everything ends with the owner.
    fn may_end(&self) -> bool {
        self.owner.is_none() || self.started.listener.is_deserted(0)
    }

    fn has_lost_owner(&self) -> bool {
        let has_died = |it: &OwnedFd| wait::has_happened(it.as_fd(), libc::POLLIN);
        self.owner.is_some_and(has_died)
    }

    /// Ends all processes of the program, the supervisor and this process; the guard ends after that.
    fn end_all(&self) -> Never {
        let helpers = self.page.helpers();
        let take_away = || {
            if self.is_supervisor {
                self.look_after_children();
            }
        };
        let is_over = || self.started.listener.is_deserted(KILLED_MS);
        descendants::kill_until(&[own_pid()], &helpers, take_away, is_over);
        let _ = process::pidfd_signal(self.started.supervisor.as_fd(), libc::SIGKILL);
        fork::end(0)
    }

    fn take_over(&mut self) -> io::Result<()> {
        self.is_supervisor = true;
        self.page.has_taken_over.store(true, Ordering::SeqCst);
        serve(self.config, self.page, &self.started)
    }

    fn look_after_children(&self) {
        let program_pid = self.page.program_pid.load(Ordering::Acquire);
        while let Some((pid, change)) = wait::next_change() {
            note_change(self.page, program_pid, pid, change);
            if (pid, change) == (program_pid, Change::Stopped) {
                self.stop_as_well();
            }
        }
    }

    /// Passes on a signal that was sent only to us. A signal from a terminal, or to a whole process group, has already
    /// reached the program.
    fn pass_on(&self, arrival: Arrival) {
        let Arrival { signal, is_sent } = arrival;
        if signal == libc::SIGCHLD || !is_sent {
            return;
        }
        if !self.is_supervisor {
            let _ = wait::poll(&[], SIGNAL_SETTLING_MS);
            // Perhaps the same signal is pending for the supervisor, which has not run yet, or the supervisor has
            // already seen the signal.
            let is_waiting = process::has_pending(self.started.supervisor_pid, signal);
            let seen_ns = self.page.signals_ns[signal as usize].load(Ordering::Acquire);
            let has_seen = seen_ns != 0 && wait::monotonic_ns() - seen_ns < SAME_SIGNAL_NS;
            if is_waiting || has_seen {
                return;
            }
        }
        if let Some(program) = &self.started.program {
            let _ = process::pidfd_signal(program.as_fd(), signal);
        }
    }

    /// Forks another process that takes our place, if the program has left processes behind.
    fn leave(self) {
        if self.started.listener.is_deserted(DESERTION_MS) {
            return;
        }
        let served_by =
            if self.is_supervisor { process::pidfd_open(own_pid(), 0) } else { self.started.supervisor.try_clone() };
        let Ok(served_by) = served_by else { return };
        let _ = fork::fork(|| keep(self.config, self.page, &self.started, &served_by));
    }
}

fn serve(config: &Config, page: &'static Page, started: &Started) -> io::Result<()> {
    let supervisor = Supervisor::new(Parts {
        listener: Arc::clone(&started.listener),
        page,
        mapping: config.mapping.clone(),
        features: config.features,
        steering: config.steering,
        switches: Switches {
            // In a test, only the first supervisor dies.
            die_at: None,
            ..config.switches
        },
        events: None,
        wants_events: false,
    })?;
    Arc::new(supervisor).start()
}

/// Takes the watchdog's place for processes that outlive the program, and after the watchdog was killed. Waits, and
/// serves the processes itself if the supervisor dies.
pub(crate) fn keep(config: &Config, page: &'static Page, started: &Started, served_by: &OwnedFd) -> fork::Never {
    fork::withdraw("looptax-run");
    let heard = [(served_by.as_fd(), libc::POLLIN), (started.listener.fd(), 0)];
    let has_died = wait::until(&heard)[0];
    if has_died && !started.listener.is_deserted(0) && serve(config, page, started).is_ok() {
        started.listener.is_deserted(-1);
    }
    fork::end(0)
}
