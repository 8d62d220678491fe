//! The arm `redirect`: moves the connections of looptax's own threads to a socket, as `looptax run` does for a program.
//!
//! A supervisor is forked while the process has one thread. For each target, one thread then puts itself under a
//! filter; this thread opens the arm's connections and starts the client threads, so the supervisor sees only the
//! system calls of these threads. A thread outside the filter asks the kernel whether each connection is a socket
//! connection, and compares the number of connections with the supervisor's count.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use looptax_bench::Origin;
use looptax_bench::path::{Endpoint, Limits, Link, PathError};
use looptax_model::failure::{Explain, Failure, Severity};
use looptax_redirect::{Mapping, Obstacle, OwnThreads, RedirectError, Route, SocketName, Stats, Switches, probe};

use super::arm_thread::{ArmThread, Job};

const WITHOUT: &str = "leave redirect out of --arms; `looptax run` cannot move connections on this machine either";

/// Starts the supervisor of a run.
///
/// Call it while the process has no other thread.
///
/// # Errors
/// A usage failure if the kernel, or the sandbox in which looptax runs, does not allow a supervisor.
pub(crate) fn supervisor() -> Result<Arc<OwnThreads>, Failure> {
    let features = probe(Switches::default()).map_err(forbidden)?;
    let supervisor = OwnThreads::start(features).map_err(|error| Failure::from(error).with_hint(WITHOUT))?;
    Ok(Arc::new(supervisor))
}

fn forbidden(obstacle: Obstacle) -> Failure {
    let hint = match obstacle {
        Obstacle::Supervised => {
            "run looptax outside of the container, and not under `looptax run`; or leave redirect out of --arms"
        }
        _ => WITHOUT,
    };
    Failure::from(RedirectError::Forbidden(obstacle)).with_hint(hint)
}

/// Why a connection of the arm is not on the socket, or why looptax cannot confirm that it is.
#[derive(Debug, thiserror::Error)]
pub enum NotMoved {
    #[error("a connection of arm `redirect` stayed on TCP: {why}")]
    Stayed { why: &'static str },
    #[error("{n_begun} connections of arm `redirect` were opened, but the supervisor moved {n_moved}")]
    Uncounted { n_begun: u64, n_moved: u64 },
    #[error("the supervisor of arm `redirect` has died")]
    Died,
}

impl Explain for NotMoved {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Stayed { .. } => "`looptax run --dry-run --verbose` shows more about the server's port and socket",
            Self::Died => {
                "another program ended looptax-beside, which is a process of looptax; looptax concludes nothing from \
                 this run"
            }
            Self::Uncounted { .. } => {
                "looptax concludes nothing from this run; this is a bug in looptax, please report it"
            }
        };
        Some(hint.to_owned())
    }

    fn severity(&self) -> Severity {
        Severity::Invalid
    }
}

/// The arm `redirect` for one target. Its thread ends when this value is dropped.
pub(crate) struct RedirectArm {
    supervisor: Arc<OwnThreads>,
    thread: ArmThread,
    /// The supervisor's counts before this arm was started.
    before: Stats,
    n_begun: Arc<AtomicU64>,
}

impl RedirectArm {
    /// Starts the thread under the filter. In each pair, the thread's connections to the TCP address are redirected to
    /// the socket.
    pub(crate) fn start(
        supervisor: &Arc<OwnThreads>,
        pairs: impl Iterator<Item = [Endpoint; 2]>,
    ) -> Result<Self, Failure> {
        let mapping = Mapping { routes: pairs.filter_map(route).collect() };
        let covering = Arc::clone(supervisor);
        Ok(Self {
            supervisor: Arc::clone(supervisor),
            before: supervisor.stats(),
            thread: ArmThread::start("redirect", move || -> Result<(), Failure> { Ok(covering.cover(&mapping)?) })?,
            n_begun: Arc::default(),
        })
    }

    /// Opens `n` connections, and asks the kernel whether they are on the socket.
    ///
    /// # Errors
    /// The error from opening a connection; [`NotMoved`] if a connection stayed on TCP.
    pub(crate) fn open(&self, endpoint: &Endpoint, limits: Limits, n: usize) -> Result<Vec<Link>, Failure> {
        let n_begun = self.n_begun();
        let begin = move || {
            n_begun.fetch_add(1, Ordering::Relaxed);
        };
        let links = self.thread.open(endpoint, limits, n, begin)?;
        let mut links = links.map_err(|error| match error {
            error if is_unanswered(&error) => NotMoved::Died.into(),
            error => Failure::from(error),
        })?;
        self.check()?;
        for link in &mut links {
            link.look_again()?;
        }
        Ok(links)
    }

    pub(crate) fn supervisor_pid(&self) -> u32 {
        self.supervisor.pid()
    }

    /// Returns the counter of connections that were begun.
    pub(crate) fn n_begun(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.n_begun)
    }

    /// Checks that all connections so far were moved to the socket. Call it while no connection is being opened.
    ///
    /// # Errors
    /// [`NotMoved::Stayed`] with the first reason, or [`NotMoved::Uncounted`].
    pub(crate) fn check(&self) -> Result<(), NotMoved> {
        let now = self.supervisor.stats();
        if let Some(why) = new_reason(&self.before, &now) {
            return Err(NotMoved::Stayed { why });
        }
        let n_begun = self.n_begun.load(Ordering::Relaxed);
        let n_moved = now.n_moved() - self.before.n_moved();
        if n_begun == n_moved { Ok(()) } else { Err(NotMoved::Uncounted { n_begun, n_moved }) }
    }
}

impl Origin for RedirectArm {
    fn run(&self, job: Job) {
        self.thread.run(job);
    }
}

/// Whether the error is the one that system calls return after the supervisor has ended.
///
/// # Source
/// `seccomp(2)`, `SECCOMP_RET_USER_NOTIF`.
fn is_unanswered(error: &PathError) -> bool {
    let (PathError::ConnectTcp { source, .. } | PathError::Option { source, .. }) = error else {
        return false;
    };
    source.raw_os_error() == Some(rustix::io::Errno::NOSYS.raw_os_error())
}

fn route([from, to]: [Endpoint; 2]) -> Option<Route> {
    match (from, to) {
        (Endpoint::Tcp(from), Endpoint::Unix(path)) => {
            Some(Route { from, to: SocketName::Path(path), owner: None, demands: Vec::new() })
        }
        _ => None,
    }
}

/// Returns why a connection has stayed on TCP since `before`; `None` if all connections were moved.
fn new_reason(before: &Stats, now: &Stats) -> Option<&'static str> {
    let counted_before = |route_idx: usize, reason| {
        let left = before.left.get(route_idx).into_iter().flatten();
        left.filter(|(it, _)| *it == reason).map(|(_, n)| n).sum::<u64>()
    };
    let routes = now.left.iter().enumerate();
    let mut all = routes.flat_map(|(idx, left)| left.iter().map(move |it| (idx, it)));
    all.find(|(idx, (reason, n))| *n > counted_before(*idx, *reason)).map(|(_, (reason, _))| reason.words())
}
