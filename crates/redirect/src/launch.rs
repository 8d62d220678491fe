//! The processes of a run: watchdog, supervisor, program.
//!
//! The watchdog is the process that the user started; it forks the supervisor, which forks the program. So watchdog and
//! supervisor are ancestors of the program and of its descendants, as Yama requires of a process that inspects another.
//! The program installs the filter, passes the listener to watchdog and supervisor, and executes. Its input and output,
//! folder, terminal, process group and signals are the same as without looptax.

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
    /// The program's name, which is looked up in `PATH`, and its arguments.
    pub args: Vec<OsString>,
}

/// The program's user, environment and folder, if they differ from this process's; by default they are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The user that the program runs as; needs root.
    pub as_user: Option<User>,
    /// Environment variables, each of which replaces the variable of the same name.
    pub env: Vec<(OsString, OsString)>,
    /// The folder in which the program starts; the program's user must have access to this folder.
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    /// The user's primary group.
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// Messages that the program's process sends before it executes.
const LISTENER: u8 = 1;
const NO_FILTER: u8 = 2;
const NO_EXEC: u8 = 3;
const NO_USER: u8 = 4;
const NO_FOLDER: u8 = 5;

/// Maximum number of checks, one millisecond apart, whether other threads have ended.
const MOST_LOOKS_FOR_THREADS: usize = 1_000;

/// Exit codes that say why the program could not be started. Source: POSIX, `env`.
const EXIT_FAILED: i32 = 125;
const EXIT_NOT_EXECUTED: i32 = 126;

/// The watchdog's handles of the processes that it has started.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) listener: Arc<Listener>,
    pub(crate) supervisor: OwnedFd,
    pub(crate) supervisor_pid: i32,
    /// `None` if the program has ended already.
    pub(crate) program: Option<OwnedFd>,
    /// The pipe on which the supervisor's messages arrive.
    pub(crate) messages: OwnedFd,
}

/// Settings that the watchdog changed for itself and that must be restored in the program.
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

/// Executes the program in this process, without moving anything. Returns only if that fails, with the reason.
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
    // The closure owns this process's copies of `ours`, `its` and `tell`, so they are closed after the fork.
    let args = &args;
    let supervisor = fork(move || {
        page.note_helper(Helper::Supervisor, own_pid());
        // Done before the program exists, so that the program's background processes are below us from the first moment
        // on.
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

/// Checks that this process has only one thread, which is always so after a fork. A thread that was joined stays listed
/// for a moment.
pub(crate) fn only_thread() -> Result<(), RedirectError> {
    let count = || kernel::names("/proc/self/task").map_or(1, Iterator::count);
    for _ in 0..MOST_LOOKS_FOR_THREADS {
        if count() == 1 {
            return Ok(());
        }
        // A pause does no harm: nothing is measured or runs yet.
        let _ = wait::poll(&[], 1);
    }
    Err(RedirectError::Threads { n: count() })
}

/// Waits until the program executes, and returns the listener that it sent.
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

/// Runs in the program's process until it executes.
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
        // Groups are set before the filter is installed, because with the filter, the call that sets them would wait
        // for the supervisor. The user is set after the filter, because without root rights a filter needs
        // `no_new_privs`.
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
    // Standard input and output belong to the program only.
    fork::withdraw("looptax-run");
    let Ok((_, Some(listener))) = received else {
        return fork::end(EXIT_FAILED);
    };
    let listener = Arc::new(Listener::new(listener));
    let prepared = || -> io::Result<OwnedFd> {
        // Stop signals of the terminal are meant for the program; other processes may need us while it is stopped.
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

/// Returns the signals that watchdog and supervisor receive.
pub(crate) fn signals() -> SignalSet {
    let mut all = FORWARDED.to_vec();
    all.push(libc::SIGCHLD);
    SignalSet::of(&all)
}

/// A watchdog that may be killed before it has a guard, or after its guard was killed: then only the supervisor can end
/// the program.
struct Unguarded {
    watchdog: OwnedFd,
    program_pid: i32,
    keeps_running: bool,
    ends_all: bool,
}

impl Unguarded {
    /// Begins to observe the watchdog; returns `None` if this is impossible. If the watchdog is already gone, calls
    /// [`Self::end`] and returns `None`.
    fn of(page: &Page, config: &Config, program_pid: i32) -> Option<Self> {
        let keeps_running = config.keeps_running;
        let watchdog = match process::pidfd_open(page.watchdog_pid(), 0) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                Self::end(page, program_pid, keeps_running, config.ends_all);
                return None;
            }
            // The watchdog lives but cannot be observed by us; its guard observes it.
            found => found.ok()?,
        };
        Some(Self { watchdog, program_pid, keeps_running, ends_all: config.ends_all })
    }

    fn is_gone(&self) -> bool {
        wait::has_happened(self.watchdog.as_fd(), libc::POLLIN)
    }

    /// Ends the program. It is our child, so its number is not reused before we reap it.
    fn end(page: &Page, program_pid: i32, keeps_running: bool, ends_all: bool) {
        let guard_pid = page.guard_pid();
        // If all processes are to be ended, the guard ends the program, too.
        if page.has_left() || keeps_running || (ends_all && guard_pid != 0) {
            return;
        }
        let Ok(program) = process::pidfd_open(program_pid, 0) else {
            return;
        };
        // A living guard ends the program; a guard that is about to die does not.
        if guard_pid != 0
            && let Ok(guard) = process::pidfd_open(guard_pid, 0)
        {
            let _ = wait::poll(&[(guard.as_fd(), libc::POLLIN), (program.as_fd(), libc::POLLIN)], -1);
        }
        let _ = process::pidfd_signal(program.as_fd(), libc::SIGKILL);
    }
}

/// Reaps the processes that end, until no process is left that could make a call.
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
                // If the pipe has no reader any more, the message is not needed.
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

/// Records the program's end before reaping it, so that at each moment either the process or the record exists.
pub(crate) fn note_change(page: &Page, program_pid: i32, pid: i32, change: Change) {
    if let Change::Ended(wait_status) = change {
        if pid == program_pid {
            page.set_ended(wait_status);
        }
        wait::reap(pid);
    }
}
