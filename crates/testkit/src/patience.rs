//! Waiting for what another process does: looks again and again, with an end.
//!
//! No test may pass or fail by how fast something is; the end only keeps a broken one from hanging.
//! The runner and the tests call it.

use std::thread;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(10);

/// Looks until `look` gives something.
///
/// # Panics
/// After `at_most` spent in pauses, naming `what` was waited for.
#[track_caller]
pub fn wait_for<T>(what: &str, at_most: Duration, look: impl FnMut() -> Option<T>) -> T {
    let found = wait(at_most, look);
    assert!(found.is_some(), "waited {at_most:?} in vain for {what}");
    found.expect("just asserted")
}

/// Looks until `look` gives something; `None` after `at_most` spent in pauses.
pub fn wait<T>(at_most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let n_looks = at_most.div_duration_f64(PAUSE).ceil() as u64;
    (0..=n_looks).find_map(|look_idx| {
        if look_idx > 0 {
            thread::sleep(PAUSE);
        }
        look()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_until_something_is_there() {
        let mut n_looks = 0;
        let found = wait(Duration::from_secs(60), || {
            n_looks += 1;
            (n_looks == 3).then_some("there")
        });
        assert_eq!((found, n_looks), (Some("there"), 3));
    }

    #[test]
    fn gives_up_in_the_end() {
        assert_eq!(wait(Duration::ZERO, || None::<()>), None);
    }
}
