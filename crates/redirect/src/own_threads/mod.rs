//! A supervisor next to this process, for some of its threads.
//!
//! `run` installs a filter for a whole program. A process that measures the gain needs the filter only for some of its
//! threads, so that the other threads are not slowed down. So the supervisor is forked while there is only one thread;
//! later a thread installs the filter, which also applies to all threads that it starts, and passes the listener to the
//! supervisor. There is no watchdog: if this supervisor dies, connecting fails, and so does the measurement.

mod routes;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use crate::answers::options;
use crate::launch::only_thread;
use crate::page::{MAX_ROUTES, Page};
use crate::probe::install;
use crate::supervisor::{Parts, Supervisor};
use crate::sys::fork::{self, Never, fork};
use crate::sys::{errno, pass, process, wait};
use crate::{Features, Mapping, RedirectError, Stats, Switches};
use looptax_host::seccomp::Listener;

/// Signals that are meant for the measuring process: the supervisor ends after that process.
const NOT_OURS: [i32; 7] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
/// How long the threads of an earlier filter may take to end after they have been joined.
const DESERTION_MS: i32 = 5_000;

/// A supervisor that waits next to this process. It ends when this value is dropped, or when this process ends, in
/// whatever way.
pub struct OwnThreads {
    /// When this is closed, the supervisor ends; `None` only while the value is dropped.
    socket: Option<OwnedFd>,
    pid: i32,
    page: &'static Page,
    features: Features,
}

impl OwnThreads {
    /// Forks the supervisor.
    ///
    /// Call it while the process has only one thread. `features` are the result of [`crate::probe()`].
    ///
    /// # Errors
    /// [`RedirectError::Threads`], or [`RedirectError::Start`] with the step that failed.
    pub fn start(features: Features) -> Result<Self, RedirectError> {
        only_thread()?;
        let page = Page::map().map_err(RedirectError::failed("share memory"))?;
        let (ours, its) = pass::pair().map_err(RedirectError::failed("create a socket pair"))?;
        options::note_inherited(page);
        let mut socket = Some(ours);
        let pid = fork(|| {
            // The supervisor must close its copy of our end; otherwise it would never see that end close.
            drop(socket.take());
            serve(&its, page, features)
        });
        let pid = pid.map_err(RedirectError::failed("fork"))?;
        process::let_look(pid);
        Ok(Self { socket, pid, page, features })
    }

    /// Installs the filter for the calling thread, and so for all threads that it starts. The connections of these
    /// threads are moved according to `mapping`, but the demands in `mapping` are ignored. Threads that already exist
    /// are not affected.
    ///
    /// # Errors
    /// The errors of a mapping that cannot be used; [`RedirectError::Start`] with the step that failed. The thread
    /// cannot be used then, and has to end.
    pub fn cover(&self, mapping: &Mapping) -> Result<(), RedirectError> {
        mapping.check()?;
        let socket = self
            .socket
            .as_ref()
            .ok_or_else(|| RedirectError::failed("reach the supervisor")(io::ErrorKind::NotConnected.into()))?;
        let installed = install(self.features.has_wait_killable)
            .map_err(RedirectError::failed("install the system call filter in a thread"))?;
        let message = routes::written(mapping);
        pass::send(socket.as_fd(), &message, Some(installed.listener.as_fd()))
            .map_err(RedirectError::failed("pass the filter to the supervisor"))?;
        // Only the supervisor may hold the listener: then, if the supervisor dies, calls fail instead of waiting.
        drop(installed);
        let mut answer = [0; 4];
        let (n_bytes, _) = pass::receive(socket.as_fd(), &mut answer)
            .map_err(RedirectError::failed("receive a message from the supervisor"))?;
        match (n_bytes, i32::from_ne_bytes(answer)) {
            (4, 0) => Ok(()),
            (4, errno) => Err(RedirectError::failed("start the supervisor")(io::Error::from_raw_os_error(errno))),
            _ => {
                Err(RedirectError::failed("receive a message from the supervisor")(io::ErrorKind::UnexpectedEof.into()))
            }
        }
    }

    /// Returns the outcome of the connections of all threads so far, by the index of the route in its mapping. A
    /// connection is counted before its `connect` returns.
    pub fn stats(&self) -> Stats {
        self.page.stats(MAX_ROUTES)
    }

    /// Returns the supervisor's process id. The supervisor's work is part of the cost of connecting.
    pub fn pid(&self) -> u32 {
        self.pid.cast_unsigned()
    }
}

impl Drop for OwnThreads {
    fn drop(&mut self) {
        self.socket = None;
        wait::take_away(self.pid);
    }
}

fn serve(socket: &OwnedFd, page: &'static Page, features: Features) -> Never {
    fork::withdraw("looptax-beside");
    for signal in NOT_OURS {
        fork::set_disposition(signal, libc::SIG_IGN);
    }
    let mut message = vec![0; routes::MAX_BYTES];
    let mut last: Option<Arc<Listener>> = None;
    loop {
        match pass::receive(socket.as_fd(), &mut message) {
            Ok((n_bytes, Some(listener))) => {
                let listener = Arc::new(Listener::new(listener));
                let started = after(last.take()).and_then(|()| {
                    let mapping = routes::read(&message[..n_bytes]).ok_or(io::ErrorKind::InvalidData)?;
                    start(Arc::clone(&listener), page, mapping, features)
                });
                let answer = started.as_ref().map_or_else(errno, |()| 0);
                last = started.is_ok().then_some(listener);
                let _ = pass::send(socket.as_fd(), &answer.to_ne_bytes(), None);
            }
            Err(error) if errno(&error) == libc::EINTR => {}
            // The measuring process has ended.
            Ok(_) | Err(_) => return fork::end(0),
        }
    }
}

/// Waits until no thread has an earlier filter, because that filter's supervisor uses the same page.
fn after(last: Option<Arc<Listener>>) -> io::Result<()> {
    match last {
        Some(last) if !last.is_deserted(DESERTION_MS) => Err(io::Error::from_raw_os_error(libc::EBUSY)),
        _ => Ok(()),
    }
}

fn start(listener: Arc<Listener>, page: &'static Page, mapping: Mapping, features: Features) -> io::Result<()> {
    let supervisor = Supervisor::new(Parts {
        listener,
        page,
        mapping,
        features,
        steering: None,
        switches: Switches::default(),
        events: None,
        wants_events: false,
    })?;
    Arc::new(supervisor).start()
}
