//! The time limits of one whole answer, and of a login with all its answers. The kernel's own limit applies to each
//! receive, so this limit does not stop a peer that sends a byte now and then.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_host::waiting;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

/// A login may take this many times as long as one answer.
const LOGIN_ANSWERS: u32 = 3;

/// The time limit of one answer, from the first receive after a send.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    since: Option<Duration>,
    /// When the login began.
    begun: Option<Duration>,
    /// Set by the code that sees the end of the login. If a connection sends one request and ends, this flag is never
    /// set, and the login's limit applies to the whole connection.
    is_logged_in: Arc<AtomicBool>,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, since: None, begun: None, is_logged_in: Arc::default() }
    }

    /// Returns the flag to set once the login is over.
    pub(super) fn is_logged_in(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_logged_in)
    }

    /// Prepares for another answer. Called after a send.
    pub(super) fn begin_anew(&mut self) {
        self.since = None;
    }

    /// Checks the time limits; called before each receive.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if the time of the answer, or of the login, is over.
    pub(super) fn check(&mut self) -> io::Result<()> {
        let now = coarse_now();
        let begun = *self.begun.get_or_insert(now);
        let since = *self.since.get_or_insert(now);
        let is_late = now.saturating_sub(since) > self.limit;
        let is_late_login =
            now.saturating_sub(begun) > LOGIN_ANSWERS * self.limit && !self.is_logged_in.load(Ordering::Relaxed);
        if is_late || is_late_login {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

/// Returns how long one call on a socket may wait in the kernel. A longer wait is split into such parts, so that a
/// signal is noticed between two parts.
pub(crate) fn part_of(limit: Duration) -> Duration {
    limit.min(waiting::STEP)
}

/// Repeats a call on a socket whose own time limit is `part_of(limit)`, until it succeeds, `limit` has passed or a
/// signal ends the wait. `check` is called between two calls.
pub(crate) fn patiently<T>(
    limit: Duration,
    mut call: impl FnMut() -> Result<T, Errno>,
    mut check: impl FnMut() -> io::Result<()>,
) -> io::Result<T> {
    let mut first_late = None;
    loop {
        match call() {
            Ok(found) => return Ok(found),
            Err(Errno::INTR) => waiting::goes_on()?,
            Err(Errno::AGAIN) => {
                waiting::goes_on()?;
                check()?;
                let now = coarse_now();
                let began = *first_late.get_or_insert(now.saturating_sub(part_of(limit)));
                if now.saturating_sub(began) >= limit {
                    return Err(Errno::AGAIN.into());
                }
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Returns the kernel's clock as of its last tick, which takes only a few nanoseconds to read.
fn coarse_now() -> Duration {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    let seconds = Duration::from_secs(now.tv_sec.unsigned_abs());
    seconds + Duration::from_nanos(now.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use looptax_model::dsn::Protocol;
    use looptax_wire::{Login, WireError};

    use super::*;
    use crate::path::{Conversation, Endpoint, Limits, PathError};

    const LIMITS: Limits = Limits { connect: Duration::from_secs(5), io: Duration::from_millis(300) };

    /// Returns the endpoint of a server that sends byte after byte, each long before a receive would time out.
    fn dripping() -> Endpoint {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.write_all(b"+").is_ok() {
                thread::sleep(LIMITS.io / 20);
            }
        });
        Endpoint::Tcp(address)
    }

    #[test]
    fn r19_an_answer_that_drips_is_late_as_a_whole() {
        // The server's answer is a line that never ends.
        let login = Login {
            user: "u".to_owned(),
            password: looptax_model::dsn::Secret::new(String::new()),
            database: None,
            ..Login::default()
        };
        let opened = Conversation::open(Protocol::Redis, &dripping(), &login, LIMITS);
        let Err(PathError::Protocol { source, .. }) = opened else {
            panic!("logged in");
        };
        assert!(matches!(source, WireError::Timeout { .. }), "{source:?}");
    }

    #[test]
    fn r19_each_answer_and_each_login_has_its_own_time() {
        let mut patience = Patience { since: Some(Duration::ZERO), ..Patience::new(LIMITS.io) };
        let is_late = |patience: &mut Patience| {
            let late = patience.check().map_err(|it| it.kind());
            late == Err(io::ErrorKind::TimedOut)
        };
        assert!(is_late(&mut patience));
        patience.begin_anew();
        assert!(!is_late(&mut patience));
        // The limit of a login with all its answers.
        patience.begin_anew();
        patience.begun = Some(Duration::ZERO);
        assert!(is_late(&mut patience));
        patience.is_logged_in().store(true, Ordering::Relaxed);
        assert!(!is_late(&mut patience));
    }
}
