//! A thread for an arm that needs a property which the kernel sets per thread: another network or mount namespace, or a
//! filter over the thread's system calls. The thread opens the arm's connections, and the client threads start from
//! this thread.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use looptax_bench::path::{Endpoint, Limits, Link, PathError};
use looptax_model::failure::Explain;

pub(super) type Job = Box<dyn FnOnce() + Send>;

/// The error that the thread of an arm has ended.
#[derive(Debug, thiserror::Error)]
#[error("the thread that opens connections of an arm has ended")]
pub(crate) struct GoneError;

impl Explain for GoneError {}

/// A thread that runs jobs in its own namespace or under its own filter; it ends when this value is dropped.
pub(super) struct ArmThread {
    /// `None` only while this value is being dropped.
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl ArmThread {
    /// Starts the thread. Its first action is `enter`, which sets the property that the arm needs.
    ///
    /// # Errors
    /// The error of `enter`, or of starting a thread.
    pub(super) fn start<E: From<io::Error> + From<GoneError> + Send + 'static>(
        name: &str,
        enter: impl FnOnce() -> Result<(), E> + Send + 'static,
    ) -> Result<Self, E> {
        let (jobs, to_do) = channel::<Job>();
        let (tell, hear) = channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let entered = enter();
            let is_entered = entered.is_ok();
            if tell.send(entered).is_ok() && is_entered {
                for job in to_do {
                    job();
                }
            }
        })?;
        let started = Self { jobs: Mutex::new(Some(jobs)), thread: Some(thread) };
        hear.recv().map_err(|_| GoneError)??;
        Ok(started)
    }

    /// Runs a job on the thread. If the thread has ended, the job is dropped. Then the job's channel closes, so the
    /// sender of the job notices that the job was dropped.
    pub(super) fn run(&self, job: Job) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jobs) = &*jobs {
            let _ = jobs.send(job);
        }
    }

    /// Opens `n` connections from the thread; calls `begin` before it opens each connection.
    ///
    /// # Errors
    /// The outer error is [`GoneError`]. The inner error is that a connection could not be opened.
    pub(super) fn open(
        &self,
        endpoint: &Endpoint,
        limits: Limits,
        n: usize,
        begin: impl Fn() + Send + 'static,
    ) -> Result<Result<Vec<Link>, PathError>, GoneError> {
        let (tell, hear) = channel();
        let endpoint = endpoint.clone();
        self.run(Box::new(move || {
            let open = |_| {
                begin();
                Link::open(&endpoint, limits)
            };
            // The receiver is gone if the sender of the job no longer waits for the result.
            let _ = tell.send((0..n).map(open).collect());
        }));
        hear.recv().map_err(|_| GoneError)
    }
}

impl looptax_bench::Origin for ArmThread {
    fn run(&self, job: Job) {
        ArmThread::run(self, job);
    }
}

impl Drop for ArmThread {
    fn drop(&mut self) {
        let jobs = self.jobs.get_mut().unwrap_or_else(PoisonError::into_inner);
        *jobs = None;
        if let Some(thread) = self.thread.take() {
            // The message of a panic has been printed already.
            let _ = thread.join();
        }
    }
}
