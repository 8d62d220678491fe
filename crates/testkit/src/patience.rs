//! Waits for the result of another process: checks for it repeatedly, until a time limit.
//!
//! No test may pass or fail because of speed; the limit only ensures that a broken test ends. Used by the runner and
//! the tests.

use std::thread;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(10);

/// Calls `look` until it returns a value.
///
/// # Panics
/// Panics if there is no value after all pauses, which take `at_most` in total; the message contains `what`.
#[track_caller]
pub fn wait_for<T>(what: &str, at_most: Duration, look: impl FnMut() -> Option<T>) -> T {
    let found = wait(at_most, look);
    assert!(found.is_some(), "waited {at_most:?} in vain for {what}");
    found.expect("just asserted")
}

/// Calls `look` until it returns a value, with pauses between the calls. Returns `None` if there is no value after all
/// pauses, which take `at_most` in total.
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
