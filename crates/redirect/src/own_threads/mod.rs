//! A supervisor beside this process, for some of its own threads.
//!
//! `run` puts a filter over a whole program. A process that measures the gain needs it only over some of its threads,
//! while the others pay nothing. So the supervisor is forked while there is one thread; later a thread puts the filter
//! over itself, and so over all that it starts, and hands the listener over. There is no watchdog: if this supervisor
//! dies, connecting fails, and the measuring with it.

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

/// Signals that are meant for the process that measures: the supervisor ends when that one has.
const NOT_OURS: [i32; 7] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
/// How long the threads of an earlier filter may take to be gone: they have been waited for already.
const DESERTION_MS: i32 = 5_000;

/// A supervisor that waits beside this process. It ends with this, or when this process is gone, however
/// it went.
pub struct OwnThreads {
    /// Its end is what the supervisor sees last; `None` only while this is dropped.
    socket: Option<OwnedFd>,
    pid: i32,
    page: &'static Page,
    features: Features,
}

impl OwnThreads {
    /// Forks the supervisor.
    ///
    /// Call it while the process has no other thread. `features` are what [`crate::probe()`] found.
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
            // Ours there, or it would never see our end.
            drop(socket.take());
            serve(&its, page, features)
        });
        let pid = pid.map_err(RedirectError::failed("fork"))?;
        process::let_look(pid);
        Ok(Self { socket, pid, page, features })
    }

    /// Puts the filter over the calling thread, and so over all threads that it starts; their connections
    /// are moved as `mapping` says, of which what a program may demand is left out. Threads that are
    /// there already are not touched.
    ///
    /// # Errors
    /// Those of a mapping that cannot be used; [`RedirectError::Start`] with the step that failed. The
    /// thread is of no use then, and has to end.
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
        // Only the supervisor may hold it: calls then fail, instead of waiting, where it dies.
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

    /// Returns the outcome of the connections of all threads so far, by the routes' places in their mappings. A
    /// connection is counted before its `connect` comes back.
    pub fn stats(&self) -> Stats {
        self.page.stats(MAX_ROUTES)
    }

    /// The supervisor's process: part of what connecting costs is its work.
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
            // The measuring process is gone.
            Ok(_) | Err(_) => return fork::end(0),
        }
    }
}

/// No thread may be under an earlier filter any more: its supervisor uses the same page.
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
