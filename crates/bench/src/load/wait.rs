//! The client models with a thread per connection: three ways to wait for an answer.
//!
//! Each does the system calls of a real client, in its order: see METHOD.md for which.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::lane::Lane;
use super::tally::Tally;
use crate::error::LoadError;

/// A way to wait.
pub(crate) trait Wait {
    /// Receives until one whole answer is in.
    fn answer(lane: &mut Lane, tally: &mut Tally) -> Result<(), LoadError>;
}

/// Receive, and sleep in it.
pub(crate) struct Block;
/// Poll, then receive.
pub(crate) struct PollFirst;
/// Try to receive; if nothing is there, poll and receive.
pub(crate) struct Poll;

impl Wait for Block {
    #[inline]
    fn answer(lane: &mut Lane, tally: &mut Tally) -> Result<(), LoadError> {
        loop {
            // The socket's SO_RCVTIMEO ends a wait that is too long.
            let limit = lane.io_limit();
            let n =
                receive(lane, tally, RecvFlags::empty())?.ok_or(LoadError::Timeout { limit })?;
            if lane.accept(n)? {
                return Ok(());
            }
        }
    }
}

impl Wait for PollFirst {
    #[inline]
    fn answer(lane: &mut Lane, tally: &mut Tally) -> Result<(), LoadError> {
        loop {
            wait_readable(lane, tally)?;
            if let Some(n) = receive(lane, tally, RecvFlags::DONTWAIT)?
                && lane.accept(n)?
            {
                return Ok(());
            }
        }
    }
}

impl Wait for Poll {
    #[inline]
    fn answer(lane: &mut Lane, tally: &mut Tally) -> Result<(), LoadError> {
        loop {
            match receive(lane, tally, RecvFlags::DONTWAIT)? {
                Some(n) => {
                    if lane.accept(n)? {
                        return Ok(());
                    }
                }
                None => wait_readable(lane, tally)?,
            }
        }
    }
}

/// One receive; `None` when nothing was there.
#[inline]
pub(crate) fn receive(
    lane: &mut Lane,
    tally: &mut Tally,
    flags: RecvFlags,
) -> Result<Option<usize>, LoadError> {
    loop {
        tally.receives += 1;
        match lane.receive(flags) {
            Ok(n) => return Ok(Some(n)),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::CONNRESET) => return Err(LoadError::Closed),
            Err(errno) => {
                return Err(LoadError::Io {
                    action: "receive",
                    source: errno.into(),
                });
            }
        }
    }
}

#[inline]
fn wait_readable(lane: &Lane, tally: &mut Tally) -> Result<(), LoadError> {
    let limit = lane.io_limit();
    let timeout = timespec(limit);
    loop {
        tally.waits += 1;
        match poll(
            &mut [PollFd::from_borrowed_fd(lane.fd(), PollFlags::IN)],
            Some(&timeout),
        ) {
            Ok(0) => return Err(LoadError::Timeout { limit }),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => {
                return Err(LoadError::Io {
                    action: "wait",
                    source: errno.into(),
                });
            }
        }
    }
}

/// A time limit as the kernel takes it.
pub(crate) fn timespec(limit: Duration) -> Timespec {
    Timespec::try_from(limit).expect("limits are seconds, not centuries")
}
