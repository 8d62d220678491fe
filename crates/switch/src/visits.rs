//! A visitor that requests a page of the application again and again while a switch is carried out.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_host::waiting;
use looptax_model::record::{StepCode, SwitchStep};

use crate::clock::Since;
use crate::proof::{Differs, Page};
use crate::step::step;

/// The shortest pause between two requests. After a slower request the pause is as long as that request took, so that
/// the requests use at most half of one worker's time.
const LEAST_PAUSE: Duration = Duration::from_millis(50);

/// Requests the page repeatedly, and holds the results so far.
#[derive(Debug)]
pub(crate) struct Visitor {
    start: Since,
    seen: Mutex<Visits>,
}

/// The results of the requests. All times count from the start of the visitor.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visits {
    /// The time since which every request has found the page as before.
    pub(crate) fine_since: Option<Duration>,
    /// The time since which every request has found that the page differs, and how it differed at the last request.
    pub(crate) differs: Option<(Duration, String)>,
    /// Requests that began before this time show nothing about the new files.
    counts_from: Duration,
    n_asked: u32,
    n_failed: u32,
    /// When the first failed request began, and when the last failed request ended.
    failed: Option<(Duration, Duration)>,
    slowest: Duration,
}

impl Visitor {
    pub(crate) fn new() -> Self {
        Self { start: Since::now(), seen: Mutex::default() }
    }

    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    pub(crate) fn seen(&self) -> Visits {
        self.seen.lock().map_or_else(|_| Visits::default(), |it| it.clone())
    }

    /// Notes that the programs have read the new files: only later requests show the page with these files.
    pub(crate) fn files_are_read(&self) {
        if let Ok(mut seen) = self.seen.lock() {
            seen.counts_from = self.now();
            (seen.fine_since, seen.differs) = (None, None);
        }
    }

    /// Requests the page repeatedly until `is_over` is set.
    pub(crate) fn ask(&self, mut page: Page, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            let began = self.now();
            let differs = page.differs_until(is_over);
            let ended = self.now();
            // A request that was interrupted at the end shows nothing.
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            if let Ok(mut seen) = self.seen.lock() {
                seen.take(began, ended, differs);
            }
            if !waiting::pause(LEAST_PAUSE.max(ended.saturating_sub(began))) {
                return;
            }
        }
    }
}

impl Visits {
    fn take(&mut self, began: Duration, ended: Duration, differs: Option<Differs>) {
        self.n_asked += 1;
        self.slowest = self.slowest.max(ended.saturating_sub(began));
        if differs.as_ref().is_some_and(|it| it.is_failure) {
            self.n_failed += 1;
            self.failed = Some((self.failed.map_or(began, |(first, _)| first), ended));
        }
        if began < self.counts_from {
            return;
        }
        match differs {
            None => {
                self.differs = None;
                self.fine_since.get_or_insert(ended);
            }
            Some(now) => {
                self.fine_since = None;
                let since = self.differs.as_ref().map_or(ended, |(since, _)| *since);
                self.differs = Some((since, now.how));
            }
        }
    }

    /// Reports, for a person, how many requests failed during the whole switch; `None` if there was no request.
    pub(crate) fn step(&self, url: &str) -> Option<SwitchStep> {
        let (n, n_failed) = (self.n_asked, self.n_failed);
        let requests = if n == 1 { "request" } else { "requests" };
        let slowest = format!("the slowest took {:.2} s", self.slowest.as_secs_f64());
        let words = match self.failed {
            None => format!("{n} {requests} for {url}, one after another: none failed; {slowest}"),
            Some((first, last)) => format!(
                "{n} {requests} for {url}, one after another: {n_failed} failed, within {:.2} s; {slowest}",
                last.saturating_sub(first).as_secs_f64()
            ),
        };
        (n > 0).then(|| step(StepCode::PageVisited, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn differs(is_failure: bool) -> Differs {
        Differs { how: "otherwise".to_owned(), is_failure }
    }

    #[test]
    fn failed_requests_are_counted_and_other_pages_are_not_failures() {
        let mut seen = Visits::default();
        assert!(seen.step("URL").is_none());
        seen.take(MS(0), MS(10), None);
        seen.take(MS(100), MS(130), Some(differs(true)));
        seen.take(MS(200), MS(340), Some(differs(true)));
        seen.take(MS(400), MS(410), Some(differs(false)));
        let words = seen.step("URL").unwrap().words;
        assert_eq!(words, "4 requests for URL, one after another: 2 failed, within 0.24 s; the slowest took 0.14 s");
    }

    #[test]
    fn a_request_from_before_the_files_were_read_does_not_show_how_the_page_is() {
        let mut seen = Visits { counts_from: MS(50), ..Visits::default() };
        seen.take(MS(40), MS(60), None);
        assert_eq!(seen.fine_since, None);
        seen.take(MS(70), MS(80), None);
        assert_eq!(seen.fine_since, Some(MS(80)));
        seen.take(MS(90), MS(95), Some(differs(false)));
        seen.take(MS(96), MS(99), Some(differs(true)));
        assert_eq!((seen.fine_since, seen.differs.map(|it| it.0)), (None, Some(MS(95))));
    }
}
