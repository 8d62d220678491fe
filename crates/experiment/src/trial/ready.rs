//! Checks whether an application that listens is also ready: a web server in front of the application may listen long
//! before the application is ready.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_bench::pages::{FailedPages, PageLoad, PageSlice};
use looptax_model::failure::Failure;

use crate::trial::program::Program;

const LOOK: Duration = Duration::from_millis(50);
/// The epoch number of all these checks; no other epoch has this number.
const LOOKS: u64 = 1 << 41;
/// The statuses that a web server sends while the application behind it is not running yet.
const NOT_YET: [u16; 3] = [502, 503, 504];

/// Waits until a page's status is no longer one of [`NOT_YET`], or until `limit` has passed. Other faults of a page are
/// left to the caller, which inspects the pages afterwards.
///
/// # Errors
/// The program has ended, or the load engine failed.
pub(crate) fn wait_for_answer(
    program: &Program,
    load: &mut PageLoad,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    for rank in 0..limit.as_millis() / LOOK.as_millis() {
        let slice = PageSlice { epoch: LOOKS, rank: rank as u64, n_pages: 1, rate_per_s: None, inject: None };
        let failures = load.slice(&slice, stop)?.failures;
        program.check()?;
        let is_early = |it: &FailedPages| it.status.is_some_and(|it| NOT_YET.contains(&it));
        if stop.load(Ordering::Relaxed) || !failures.iter().any(is_early) {
            break;
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
