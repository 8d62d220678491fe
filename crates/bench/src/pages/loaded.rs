//! The results of a slice of pages: latencies of the right answers, facts about each page, and the failures.

use std::time::Duration;

use looptax_model::stats::{Quantile, nearest_rank};
use looptax_wire::WireError;
use looptax_wire::http::{Answer, HttpError};

use super::deal::Job;

/// At most this many different checksums of a page are kept; a page with a counter on it has a new checksum each time.
const MOST_CHECKSUMS: usize = 8;

/// How a page failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    Connect,
    /// The server closed the connection before the answer or during it.
    Closed,
    /// No complete answer arrived within the time limit.
    Timeout,
    /// The answer is HTTP/2.
    Http2,
    Tls,
    /// The answer is not HTTP.
    NoHttp,
    /// The answer is malformed or too long, or the connection failed in another way.
    Broken,
    /// The status differs from the status of the right answer. If no right answer is known, the status is an error
    /// status.
    Status,
    /// The body is shorter or longer than that of the right answer.
    Size,
}

/// Pages that failed in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedPages {
    pub page_idx: usize,
    pub kind: FailureKind,
    /// The status, if there was one.
    pub status: Option<u16>,
    pub n: u64,
    /// The text of the answer to the first page that failed in this way; if there is no text, the reason.
    pub words: String,
}

/// The observations about a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageFacts {
    /// How often the page was requested.
    pub n_asked: u64,
    /// How often the answer was right.
    pub n_right: u64,
    /// Each status, and how often it occurred.
    pub statuses: Vec<(u16, u64)>,
    /// The least and the most bytes in the bodies of right answers.
    pub body_bytes: Option<[u64; 2]>,
    /// Checksums of the bodies of right answers: the first few that differ from each other.
    pub checksums: Vec<u32>,
}

/// The results of a slice of pages, or one client's share of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PagesLoaded {
    /// When the request for the first page was sent, by the measuring clock. In an open loop, when this request was
    /// due.
    pub start_ns: u64,
    /// Time from `start_ns` to the last answer.
    pub active_ns: u64,
    /// Latency of each right answer, from the time when its request was sent or, in an open loop, was due; not sorted.
    pub latencies_ns: Vec<u64>,
    /// In an open loop, how long after its due time each request was sent; not sorted.
    pub lags_ns: Vec<u64>,
    /// 99 % of requests were sent within this time after they were due; `None` in a closed loop.
    pub lag_p99_ns: Option<u64>,
    pub facts: Vec<PageFacts>,
    /// The failures, by page and kind.
    pub failures: Vec<FailedPages>,
    /// Sum of the waits that were added to pages on purpose.
    pub injected_ns: u64,
    pub n_opened: u64,
    /// Number of kept connections that the server had closed; their pages were requested again.
    pub n_stale: u64,
}

impl FailureKind {
    pub(super) fn from_error(error: &HttpError) -> Self {
        match error {
            HttpError::Unanswered | HttpError::Wire(WireError::Closed { .. }) => Self::Closed,
            HttpError::Http2 => Self::Http2,
            HttpError::Tls => Self::Tls,
            HttpError::NoHttp { .. } => Self::NoHttp,
            HttpError::Wire(WireError::Timeout { .. }) => Self::Timeout,
            HttpError::Wire(_) => Self::Broken,
        }
    }
}

impl PageFacts {
    /// Records an answer; `is_right` is whether it is a right answer.
    pub(super) fn see(&mut self, answer: Answer, is_right: bool) {
        count_status(&mut self.statuses, answer.status, 1);
        if is_right {
            self.n_right += 1;
            self.add_body([answer.body_bytes; 2], &[answer.checksum]);
        }
    }

    fn add_body(&mut self, [least, most]: [u64; 2], checksums: &[u32]) {
        let [old_least, old_most] = self.body_bytes.unwrap_or([least, most]);
        self.body_bytes = Some([least.min(old_least), most.max(old_most)]);
        for checksum in checksums {
            if self.checksums.len() < MOST_CHECKSUMS && !self.checksums.contains(checksum) {
                self.checksums.push(*checksum);
            }
        }
    }

    /// Adds observations about the same page, made by another client or later.
    pub fn add(&mut self, other: &Self) {
        self.n_asked += other.n_asked;
        self.n_right += other.n_right;
        for (status, n) in &other.statuses {
            count_status(&mut self.statuses, *status, *n);
        }
        if let Some(body_bytes) = other.body_bytes {
            self.add_body(body_bytes, &other.checksums);
        }
    }
}

fn count_status(statuses: &mut Vec<(u16, u64)>, status: u16, n: u64) {
    match statuses.iter_mut().find(|known| known.0 == status) {
        Some(known) => known.1 += n,
        None => statuses.push((status, n)),
    }
}

impl FailedPages {
    /// Counts a failure together with other failures of the same kind; calls `words` only for the first one.
    pub(super) fn count(
        known: &mut Vec<Self>,
        [page_idx, n]: [usize; 2],
        kind: FailureKind,
        status: Option<u16>,
        words: impl FnOnce() -> String,
    ) {
        let key = (page_idx, kind, status);
        let is_same = |failed: &&mut Self| (failed.page_idx, failed.kind, failed.status) == key;
        match known.iter_mut().find(is_same) {
            Some(failed) => failed.n += n as u64,
            None => known.push(Self { page_idx, kind, status, n: n as u64, words: words() }),
        }
    }
}

impl PagesLoaded {
    /// Reserves room for all results that a slice may have.
    pub(super) fn with_room(job: &Job) -> Self {
        let n_pages = job.deal.n_pages();
        Self {
            latencies_ns: Vec::with_capacity(n_pages),
            lags_ns: Vec::with_capacity(n_pages),
            facts: vec![PageFacts::default(); job.pages.len()],
            ..Self::default()
        }
    }

    /// Extends the measured time by a page, whatever its outcome. The page was requested at `begun_ns`, and it ended at
    /// `end_ns`.
    pub(super) fn span(&mut self, [begun_ns, end_ns]: [u64; 2]) {
        if self.active_ns == 0 {
            self.start_ns = begun_ns;
        }
        let end_ns = end_ns.max(self.start_ns + self.active_ns);
        self.start_ns = self.start_ns.min(begun_ns);
        self.active_ns = end_ns - self.start_ns;
    }

    /// Adds another client's share.
    pub(super) fn add(&mut self, part: Self) {
        if part.active_ns > 0 {
            self.span([part.start_ns, part.start_ns + part.active_ns]);
        }
        self.latencies_ns.extend(part.latencies_ns);
        self.lags_ns.extend(part.lags_ns);
        for (all, own) in self.facts.iter_mut().zip(&part.facts) {
            all.add(own);
        }
        for FailedPages { page_idx, kind, status, n, words } in part.failures {
            let counted = [page_idx, n as usize];
            FailedPages::count(&mut self.failures, counted, kind, status, || words);
        }
        self.injected_ns += part.injected_ns;
        self.n_opened += part.n_opened;
        self.n_stale += part.n_stale;
    }

    pub(super) fn end(&mut self) {
        self.lag_p99_ns = nearest_rank(&mut self.lags_ns, Quantile::P99);
        self.failures.sort_by_key(|failed| (failed.page_idx, failed.kind, failed.status));
    }

    /// Returns the number of pages that were requested.
    pub fn n_asked(&self) -> u64 {
        self.facts.iter().map(|facts| facts.n_asked).sum()
    }

    /// Returns the number of pages whose answer was not right or did not arrive.
    pub fn n_failed(&self) -> u64 {
        self.failures.iter().map(|failed| failed.n).sum()
    }

    /// Returns the number of right answers per second of the slice's active time.
    pub fn rate_per_s(&self) -> Option<f64> {
        let time = Duration::from_nanos(self.active_ns);
        let rate = self.latencies_ns.len() as f64 / time.as_secs_f64();
        rate.is_finite().then_some(rate)
    }
}
