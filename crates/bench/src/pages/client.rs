//! A client: requests one page at a time over its own connections, and keeps each connection open as long as the server
//! does.
//!
//! This code runs while looptax measures, so everything that a page needs is prepared before the slice. Only the
//! library that parses response heads allocates for each page.

use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

use looptax_wire::http::{Answer, Buffers, HttpError, Limited, Limits, exchange, first_words};
use rustix::thread::set_current_timer_slack;

use super::deal::{Dealt, Job};
use super::loaded::{FailedPages, FailureKind, PagesLoaded};
use super::page::{Page, PageOpener, PageStream};
use crate::clock::now_ns;

/// The client keeps this many bytes of a body to find the text of an error page, which comes after the style sheet.
const KEPT_BYTES: usize = 16 << 10;
/// The status that some servers send before they close a connection that was idle for too long. Other servers send
/// nothing.
const REQUEST_TIMEOUT: u16 = 408;
/// A wait is cut into parts of at most this length; between two parts the client checks whether it is to stop.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

type Connection = Box<dyn PageStream + Send>;

pub(super) struct Client {
    opener: Arc<dyn PageOpener>,
    answer_limit: Duration,
    buffers: Buffers,
    /// By address: a connection that may carry another request.
    kept: Vec<Option<Connection>>,
}

/// Why a page has no answer.
enum Unanswered {
    Connect(io::Error),
    Http(HttpError),
}

impl Client {
    pub(super) fn new(opener: Arc<dyn PageOpener>, answer_limit: Duration) -> Self {
        let limits = Limits { kept_bytes: KEPT_BYTES, ..Limits::new(answer_limit) };
        Self { opener, answer_limit, buffers: Buffers::new(limits), kept: Vec::new() }
    }

    /// Runs slices until the owner drops its [`PageLoad`](super::PageLoad).
    pub(super) fn run(mut self, wanted: &Receiver<Arc<Job>>, done: &Sender<PagesLoaded>) {
        // With this setting, a sleep ends on time, and not up to 50 µs late. If the call fails, requests are sent
        // later, and the delay is recorded. Nothing else changes.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        while let Ok(job) = wanted.recv() {
            let part = self.slice(&job);
            if done.send(part).is_err() {
                return;
            }
        }
    }

    fn slice(&mut self, job: &Job) -> PagesLoaded {
        let mut part = PagesLoaded::with_room(job);
        let n_addresses = job.pages.iter().map(|page| page.address_idx + 1).max();
        self.kept.resize_with(n_addresses.unwrap_or(0), || None);
        while !job.is_over.load(Ordering::Relaxed)
            && let Some(dealt) = job.deal.next()
        {
            let Some(begun_ns) = wait_until_due(dealt, job, &mut part) else {
                break;
            };
            if let Some(inject) = job.inject {
                part.injected_ns += wait(inject);
            }
            let page = &job.pages[dealt.page_idx];
            let outcome = self.load(page, &mut part);
            let end_ns = now_ns();
            part.span([begun_ns, end_ns]);
            let is_right = self.judge(dealt.page_idx, page, outcome, &mut part);
            if is_right {
                part.latencies_ns.push(end_ns - begun_ns);
            }
        }
        part
    }

    /// Requests a page over the kept connection. Opens a fresh connection if no connection was kept, or if the server
    /// has closed the kept one.
    fn load(&mut self, page: &Page, part: &mut PagesLoaded) -> Result<Answer, Unanswered> {
        let until_ns = now_ns().saturating_add(self.answer_limit.as_nanos() as u64);
        if let Some(connection) = self.kept[page.address_idx].take() {
            match self.ask(connection, page, until_ns) {
                Err(HttpError::Unanswered) => part.n_stale += 1,
                Ok(answer) if answer.status == REQUEST_TIMEOUT && !answer.keeps_alive => {
                    part.n_stale += 1;
                }
                outcome => return outcome.map_err(Unanswered::Http),
            }
        }
        let connection = self.opener.open(page.address_idx);
        let connection = connection.map_err(Unanswered::Connect)?;
        part.n_opened += 1;
        self.ask(connection, page, until_ns).map_err(Unanswered::Http)
    }

    fn ask(&mut self, mut connection: Connection, page: &Page, until_ns: u64) -> Result<Answer, HttpError> {
        let mut limited = Limited::new(&mut *connection, || now_ns() <= until_ns);
        let answer = exchange(&mut limited, &page.request, &mut self.buffers)?;
        if answer.keeps_alive {
            self.kept[page.address_idx] = Some(connection);
        }
        Ok(answer)
    }

    /// Counts the outcome of a page; true if the outcome is a right answer.
    fn judge(&self, page_idx: usize, page: &Page, outcome: Result<Answer, Unanswered>, part: &mut PagesLoaded) -> bool {
        let facts = &mut part.facts[page_idx];
        facts.n_asked += 1;
        let mut fail = |kind, status, words: &dyn Fn() -> String| {
            FailedPages::count(&mut part.failures, [page_idx, 1], kind, status, words);
        };
        match outcome {
            Ok(answer) => {
                let objection = objection(page, answer);
                facts.see(answer, objection.is_none());
                if let Some(kind) = objection {
                    fail(kind, Some(answer.status), &|| first_words(self.buffers.body()));
                }
                objection.is_none()
            }
            Err(Unanswered::Connect(error)) => {
                fail(FailureKind::Connect, None, &|| error.to_string());
                false
            }
            Err(Unanswered::Http(error)) => {
                let words = || looptax_model::failure::with_causes(&error);
                fail(FailureKind::from_error(&error), None, &words);
                false
            }
        }
    }
}

/// Waits, and returns the real length of the wait in nanoseconds.
fn wait(time: Duration) -> u64 {
    let start_ns = now_ns();
    if !time.is_zero() {
        thread::sleep(time);
    }
    now_ns() - start_ns
}

/// Returns what is wrong with an answer that arrived completely.
fn objection(page: &Page, answer: Answer) -> Option<FailureKind> {
    match &page.expected {
        None => (answer.status >= 400).then_some(FailureKind::Status),
        Some(right) if right.status != answer.status => Some(FailureKind::Status),
        Some(right) => {
            let is_like = right.body_bytes.contains(&answer.body_bytes);
            (!is_like).then_some(FailureKind::Size)
        }
    }
}

/// Waits until a page is due, and returns the time from which its latency counts. `None` if looptax is to stop.
fn wait_until_due(dealt: Dealt, job: &Job, part: &mut PagesLoaded) -> Option<u64> {
    let Some(due_ns) = dealt.due_ns else {
        return Some(now_ns());
    };
    loop {
        let now = now_ns();
        if now >= due_ns {
            part.lags_ns.push(now - due_ns);
            return Some(due_ns);
        }
        thread::sleep(Duration::from_nanos(due_ns - now).min(LONGEST_WAIT));
        if job.is_over.load(Ordering::Relaxed) {
            return None;
        }
    }
}
