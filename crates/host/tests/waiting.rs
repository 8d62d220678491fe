//! Tests waits and the signal that ends them. The signal sets a flag of the whole process. This is therefore a separate
//! program with a single test: in another program, the flag would end the waits of other tests.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use looptax_host::waiting::{allow_again, goes_on, has_stopped, pause, stop, until_ready};
use rustix::event::PollFlags;

/// A time far longer than any test may take.
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_signal_ends_every_wait_until_waits_are_allowed_again() {
    let (silent, mut peer) = UnixStream::pair().unwrap();
    assert!(pause(Duration::from_millis(1)));
    assert!(!until_ready(&silent, PollFlags::IN, Some(Duration::from_millis(1))).unwrap());
    thread::scope(|scope| {
        let pausing = scope.spawn(|| pause(HOUR));
        let polling = scope.spawn(|| until_ready(&silent, PollFlags::IN, None));
        stop();
        assert!(!pausing.join().unwrap());
        let stopped = polling.join().unwrap().unwrap_err();
        assert_eq!(stopped.kind(), io::ErrorKind::Other);
    });
    assert!(!pause(HOUR), "none begins either");
    assert!(until_ready(&silent, PollFlags::IN, Some(HOUR)).is_err());
    assert!(goes_on().is_err() && has_stopped());
    allow_again();
    assert!(pause(Duration::from_millis(1)) && goes_on().is_ok());
    peer.write_all(b"x").unwrap();
    assert!(until_ready(&silent, PollFlags::IN, Some(HOUR)).unwrap());
}
