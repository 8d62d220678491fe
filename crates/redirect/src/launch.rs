//! The processes of a run: watchdog, supervisor, program.
//!
//! The watchdog is the process that the user started; it forks the supervisor, which forks the program. So both are
//! ancestors of the program and of all that comes from it, as Yama requires of a process that looks into another. The
//! program puts the filter over itself, hands the listener to both, and executes: its input and output, folder,
//! terminal, process group and signals are those that it would have had.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::answers::options;
use crate::error::RedirectError;
use crate::outcome::{MESSAGE_BYTES, STOPPED};
use crate::page::{Helper, Page};
use crate::probe::install;
use crate::supervisor::{Parts, Supervisor};
use crate::sys::fork::{self, Never, fork};
use crate::sys::timers::Timers;
use crate::sys::wait::{self, Change, SignalSet};
use crate::sys::{errno, identity, inherited, own_pid, pass, process};
use crate::watchdog::{Config, FORWARDED};
use looptax_host::kernel;
use looptax_host::seccomp::Listener;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its name, looked for on `PATH`, and its arguments.
    pub args: Vec<OsString>,
}

/// The surroundings of the program, if they differ from this process's; by default they are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Whose process it is; takes root.
    pub as_user: Option<User>,
    /// Variables of its environment, each put in the place of one of the same name.
    pub env: Vec<(OsString, OsString)>,
    /// The folder that it starts in; its user has to be let in.
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    /// Its first group.
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// Messages of the program before it executes.
const LISTENER: u8 = 1;
const NO_FILTER: u8 = 2;
const NO_EXEC: u8 = 3;
const NO_USER: u8 = 4;
const NO_FOLDER: u8 = 5;

/// How often, a millisecond apart, it is looked whether other threads are gone.
const MOST_LOOKS_FOR_THREADS: usize = 1_000;

/// Why the program could not be started, in its exit code. Source: POSIX, `env`.
const EXIT_FAILED: i32 = 125;
const EXIT_NOT_EXECUTED: i32 = 126;

/// How a new process looks to its ancestors.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) listener: Arc<Listener>,
    pub(crate) supervisor: OwnedFd,
    pub(crate) supervisor_pid: i32,
    /// `None` if the program has ended already.
    pub(crate) program: Option<OwnedFd>,
    /// Where the supervisor's messages arrive.
    pub(crate) messages: OwnedFd,
}

/// The settings that the watchdog changed for itself, to be restored in the program.
#[derive(Clone, Copy)]
pub(crate) struct Inherited {
    pub(crate) signals: SignalSet,
    pub(crate) child_signal: libc::sighandler_t,
    pub(crate) timers: Timers,
}

impl Program {
    fn strings(&self) -> Result<Vec<CString>, RedirectError> {
        let string =
            |arg: &OsString| CString::new(arg.as_bytes()).map_err(|_| RedirectError::ZeroByte { text: arg.clone() });
        self.args.iter().map(string).collect()
    }

    fn name(&self) -> OsString {
        self.args.first().cloned().unwrap_or_default()
    }

    fn not_executed(&self, errno: i32) -> RedirectError {
        RedirectError::Exec { program: self.name(), source: io::Error::from_raw_os_error(errno) }
    }
}

/// Becomes the program, without moving anything. Comes back with the reason why not.
pub fn exec(program: &Program) -> RedirectError {
    let args = match program.strings() {
        Ok(args) => args,
        Err(error) => return error,
    };
    fork::set_disposition(libc::SIGPIPE, inherited::broken_pipe());
    program.not_executed(errno(&fork::exec(&args)))
}

pub(crate) fn start(config: &Config, page: &'static Page, inherited: Inherited) -> Result<Started, RedirectError> {
    let args = config.program.strings()?;
    only_thread()?;
    let (to_us, ours) = pass::pair().map_err(RedirectError::failed("create a socket pair"))?;
    let (to_supervisor, its) = pass::pair().map_err(RedirectError::failed("create a socket pair"))?;
    let (messages, tell) = pass::pipe().map_err(RedirectError::failed("create a pipe"))?;
    wait::adopt_orphans().map_err(RedirectError::failed("become a subreaper"))?;
    options::note_inherited(page);
    // The variables that the closure owns are closed here after the fork.
    let args = &args;
    let supervisor = fork(move || {
        page.note_helper(Helper::Supervisor, own_pid());
        // Before there is a program: what it sends into the background is below us from the first moment on.
        let program =
            wait::adopt_orphans().and_then(|()| fork(|| program(page, args, inherited, config, [&ours, &its])));
        drop((ours, its));
        match program {
            Ok(pid) => supervise(config, page, pid, &to_supervisor, &tell),
            Err(_) => fork::end(EXIT_FAILED),
        }
    });
    let supervisor = supervisor.map_err(RedirectError::failed("fork"))?;
    let listener = listener_of(&config.program, &to_us)?;
    Ok(Started {
        listener: Arc::new(Listener::new(listener)),
        supervisor_pid: supervisor,
        supervisor: process::pidfd_open(supervisor, 0).map_err(RedirectError::failed("open a process"))?,
        program: process::pidfd_open(page.program_pid.load(Ordering::Acquire), 0).ok(),
        messages,
    })
}

/// A forked process has one thread, whatever its parent had. One that was joined already is listed a moment longer.
pub(crate) fn only_thread() -> Result<(), RedirectError> {
    let count = || kernel::names("/proc/self/task").map_or(1, Iterator::count);
    for _ in 0..MOST_LOOKS_FOR_THREADS {
        if count() == 1 {
            return Ok(());
        }
        // Nothing is measured, and nothing runs yet.
        let _ = wait::poll(&[], 1);
    }
    Err(RedirectError::Threads { n: count() })
}

/// Waits until the program executes.
fn listener_of(program: &Program, from: &OwnedFd) -> Result<OwnedFd, RedirectError> {
    let mut listener = None;
    loop {
        let mut message = [0; 5];
        let (n_bytes, fd) = pass::receive(from.as_fd(), &mut message)
            .map_err(RedirectError::failed("receive a message from the program"))?;
        let [kind, number @ ..] = message;
        let errno = i32::from_ne_bytes(number);
        match (n_bytes, kind) {
            (0, _) => {
                let gone = || io::Error::from_raw_os_error(libc::ECHILD);
                return listener.ok_or_else(|| RedirectError::failed("start the program")(gone()));
            }
            (_, LISTENER) => listener = fd,
            (_, NO_EXEC) => return Err(program.not_executed(errno)),
            (_, kind) => {
                let action = match kind {
                    NO_USER => "run the program as another user",
                    NO_FOLDER => "enter the program's folder",
                    _ => "install the system call filter in the program",
                };
                return Err(RedirectError::failed(action)(io::Error::from_raw_os_error(errno)));
            }
        }
    }
}

/// The program's process until it executes.
fn program(page: &Page, args: &[CString], inherited: Inherited, config: &Config, ancestors: [&OwnedFd; 2]) -> Never {
    let tell = |kind: u8, errno: i32, fd: Option<&OwnedFd>| {
        let mut message = [kind; 5];
        message[1..].copy_from_slice(&errno.to_ne_bytes());
        for ancestor in ancestors {
            let _ = pass::send(ancestor.as_fd(), &message, fd.map(AsFd::as_fd));
        }
    };
    page.program_pid.store(own_pid(), Ordering::Release);
    fork::set_disposition(libc::SIGPIPE, inherited::broken_pipe());
    fork::set_disposition(libc::SIGCHLD, inherited.child_signal);
    inherited.timers.restore();
    let prepared = || -> Result<(), (u8, io::Error)> {
        let Surroundings { as_user, env, folder } = &config.surroundings;
        // The groups come first, and not as a call that waits for the supervisor; with the user goes the right to
        // have a filter without giving others up.
        if let Some(user) = as_user {
            identity::take_groups(user.gid, &user.groups).map_err(|it| (NO_USER, it))?;
        }
        let installed = inherited
            .signals
            .restore()
            .and_then(|_| install(config.features.has_wait_killable))
            .map_err(|it| (NO_FILTER, it))?;
        tell(LISTENER, 0, Some(&installed.listener));
        if let Some(user) = as_user {
            identity::become_user(user.uid).map_err(|it| (NO_USER, it))?;
        }
        if let Some(folder) = folder {
            std::env::set_current_dir(folder).map_err(|it| (NO_FOLDER, it))?;
        }
        fork::set_variables(env).map_err(|it| (NO_EXEC, it))
    };
    if let Err((kind, error)) = prepared() {
        tell(kind, errno(&error), None);
        return fork::end(EXIT_FAILED);
    }
    let error = fork::exec(args);
    tell(NO_EXEC, errno(&error), None);
    fork::end(EXIT_NOT_EXECUTED)
}

fn supervise(config: &Config, page: &'static Page, program_pid: i32, from: &OwnedFd, tell: &OwnedFd) -> Never {
    let mut message = [0; 5];
    let received = pass::receive(from.as_fd(), &mut message);
    // The program's standard input and output are the program's.
    fork::withdraw("looptax-run");
    let Ok((_, Some(listener))) = received else {
        return fork::end(EXIT_FAILED);
    };
    let listener = Arc::new(Listener::new(listener));
    let prepared = || -> io::Result<OwnedFd> {
        // A stop of the terminal is meant for the program; others may need us meanwhile.
        for signal in [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU] {
            fork::set_disposition(signal, libc::SIG_IGN);
        }
        let arrivals = signals().arrivals()?;
        let supervisor = Supervisor::new(Parts {
            listener: Arc::clone(&listener),
            page,
            mapping: config.mapping.clone(),
            features: config.features,
            steering: config.steering,
            switches: config.switches,
            events: Some(tell.try_clone()?),
            wants_events: config.wants_events,
        })?;
        Arc::new(supervisor).start()?;
        Ok(arrivals)
    };
    let watchdog = Unguarded::of(page, config, program_pid);
    match prepared() {
        Ok(arrivals) => accompany(page, program_pid, &listener, &arrivals, tell, watchdog),
        // The watchdog takes over.
        Err(_) => fork::end(EXIT_FAILED),
    }
}

/// The signals that watchdog and supervisor hear of.
pub(crate) fn signals() -> SignalSet {
    let mut all = FORWARDED.to_vec();
    all.push(libc::SIGCHLD);
    SignalSet::of(&all)
}

/// A watchdog that may be killed before it has its guard, or after its guard was: then no other process ends the
/// program.
struct Unguarded {
    watchdog: OwnedFd,
    program_pid: i32,
    keeps_running: bool,
    ends_all: bool,
}

impl Unguarded {
    /// `None` if it is gone already, after the program was dealt with, or if it cannot be watched.
    fn of(page: &Page, config: &Config, program_pid: i32) -> Option<Self> {
        let keeps_running = config.keeps_running;
        let watchdog = match process::pidfd_open(page.watchdog_pid(), 0) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                Self::end(page, program_pid, keeps_running, config.ends_all);
                return None;
            }
            // It lives, and cannot be watched: its guard does that.
            found => found.ok()?,
        };
        Some(Self { watchdog, program_pid, keeps_running, ends_all: config.ends_all })
    }

    fn is_gone(&self) -> bool {
        wait::has_happened(self.watchdog.as_fd(), libc::POLLIN)
    }

    /// The program is our child: its number is its own until we take it away.
    fn end(page: &Page, program_pid: i32, keeps_running: bool, ends_all: bool) {
        let guard_pid = page.guard_pid();
        // If another process ends everything, it ends the program, too.
        if page.has_left() || keeps_running || (ends_all && guard_pid != 0) {
            return;
        }
        let Ok(program) = process::pidfd_open(program_pid, 0) else {
            return;
        };
        // A guard that lives ends the program; one that is about to die does not.
        if guard_pid != 0
            && let Ok(guard) = process::pidfd_open(guard_pid, 0)
        {
            let _ = wait::poll(&[(guard.as_fd(), libc::POLLIN), (program.as_fd(), libc::POLLIN)], -1);
        }
        let _ = process::pidfd_signal(program.as_fd(), libc::SIGKILL);
    }
}

/// Reaps the processes that end, until none is left that could call.
fn accompany(
    page: &Page,
    program_pid: i32,
    listener: &Listener,
    arrivals: &OwnedFd,
    tell: &OwnedFd,
    mut watchdog: Option<Unguarded>,
) -> Never {
    loop {
        if let Some(it) = watchdog.take_if(|it| it.is_gone()) {
            Unguarded::end(page, it.program_pid, it.keeps_running, it.ends_all);
        }
        while let Some((pid, change)) = wait::next_change() {
            note_change(page, program_pid, pid, change);
            if pid == program_pid {
                let message = match change {
                    Change::Ended(_) => [0; MESSAGE_BYTES],
                    Change::Stopped => STOPPED,
                };
                // A pipe without a reader is not a loss.
                let _ = pass::write(tell.as_fd(), &message);
            }
        }
        if page.ended().is_some() && listener.is_deserted(0) {
            return fork::end(0);
        }
        let mut heard = vec![(arrivals.as_fd(), libc::POLLIN), (listener.fd(), 0)];
        heard.extend(watchdog.iter().map(|it| (it.watchdog.as_fd(), libc::POLLIN)));
        if wait::poll(&heard, -1).is_err() {
            return fork::end(EXIT_FAILED);
        }
        while let Some(it) = wait::next_signal(arrivals.as_fd()) {
            if let Some(at) = page.signals_ns.get(it.signal as usize) {
                at.store(wait::monotonic_ns(), Ordering::Release);
            }
        }
    }
}

/// Notes the program's end before it is taken away, so that no moment is without one of the two.
pub(crate) fn note_change(page: &Page, program_pid: i32, pid: i32, change: Change) {
    if let Change::Ended(wait_status) = change {
        if pid == program_pid {
            page.set_ended(wait_status);
        }
        wait::reap(pid);
    }
}
