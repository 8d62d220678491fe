//! Pages of a web application as load: worker threads with kept connections, and slices whose load is a closed or an
//! open loop.
//!
//! A page is one HTTP request and its answer. Each worker is a separate client that requests one page at a time. The
//! pages and their times are drawn from the seed and the slice's position, so the n-th slices of both arms in an epoch
//! request the same pages. The caller, the trial, provides a [`PageOpener`] that opens streams, and decides what a
//! slice is for.

mod client;
mod deal;
mod loaded;
mod page;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use loaded::{FailedPages, FailureKind, PageFacts, PagesLoaded};
pub use page::{ExpectedPage, Page, PageOpener, PageSlice, PageStream};

use crate::error::LoadError;
use client::Client;
use deal::{Deal, Job};

/// How often a running slice checks whether looptax is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The settings that all slices of a load share.
#[derive(Debug, Clone, Copy)]
pub struct PageLoadPlan {
    pub seed: u64,
    /// Number of clients, each of which requests one page at a time; at least 1.
    pub n_clients: usize,
    /// Time limit for the answer to a page.
    pub answer_limit: Duration,
}

/// Threads that request pages, slice after slice; they end when this value is dropped.
pub struct PageLoad {
    plan: PageLoadPlan,
    pages: Arc<[Page]>,
    workers: Vec<Worker>,
}

/// The owner's handle of a client thread.
struct Worker {
    /// `None` once the thread was asked to end.
    jobs: Option<Sender<Arc<Job>>>,
    parts: Receiver<PagesLoaded>,
    thread: Option<JoinHandle<()>>,
}

impl PageLoad {
    /// Starts the client threads, which open connections when they need them.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(plan: PageLoadPlan, pages: Vec<Page>, opener: &Arc<dyn PageOpener>) -> io::Result<Self> {
        let mut load = Self { plan, pages: pages.into(), workers: Vec::new() };
        for _ in 0..plan.n_clients.max(1) {
            let (jobs, wanted) = channel();
            let (done, parts) = channel();
            let client = Client::new(Arc::clone(opener), plan.answer_limit);
            let thread =
                thread::Builder::new().name("looptax-page".to_owned()).spawn(move || client.run(&wanted, &done))?;
            load.workers.push(Worker { jobs: Some(jobs), parts, thread: Some(thread) });
        }
        Ok(load)
    }

    /// Sets the form of a right answer to a page, from the next slice on.
    pub fn expect(&mut self, page_idx: usize, expected: ExpectedPage) {
        Arc::make_mut(&mut self.pages)[page_idx].expected = Some(expected);
    }

    /// Requests a slice's pages and waits for the last answer. Once `stop` is set, waits only for the pages that were
    /// already requested.
    ///
    /// # Errors
    /// [`LoadError::Panicked`], which means a bug in looptax. Pages that fail are only counted.
    pub fn slice(&mut self, slice: &PageSlice, stop: &AtomicBool) -> Result<PagesLoaded, LoadError> {
        let job = Arc::new(Job {
            pages: Arc::clone(&self.pages),
            deal: Deal::new(self.plan.seed, slice, &self.pages),
            inject: slice.inject,
            is_over: AtomicBool::new(false),
        });
        for worker in &self.workers {
            if let Some(jobs) = &worker.jobs {
                jobs.send(Arc::clone(&job)).map_err(|_| LoadError::Panicked)?;
            }
        }
        let mut loaded = PagesLoaded::with_room(&job);
        for worker in &self.workers {
            loaded.add(worker.part(&job, stop)?);
        }
        loaded.end();
        Ok(loaded)
    }
}

impl Worker {
    fn part(&self, job: &Job, stop: &AtomicBool) -> Result<PagesLoaded, LoadError> {
        loop {
            match self.parts.recv_timeout(LOOK) {
                Ok(part) => return Ok(part),
                Err(RecvTimeoutError::Disconnected) => return Err(LoadError::Panicked),
                Err(RecvTimeoutError::Timeout) => {
                    job.is_over.fetch_or(stop.load(Ordering::Relaxed), Ordering::Relaxed);
                }
            }
        }
    }
}

impl Drop for PageLoad {
    fn drop(&mut self) {
        // Closes all channels first, so that no worker continues while other workers have ended.
        for worker in &mut self.workers {
            worker.jobs = None;
        }
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                // If the thread panicked, the panic is already reported.
                let _ = thread.join();
            }
        }
    }
}
