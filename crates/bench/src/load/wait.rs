//! The client models with a thread per connection: three ways to wait for an answer.
//!
//! Each does the system calls of a real client, in its order; METHOD.md, "How the client waits", says which.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::connection::Connection;
use super::tally::Tally;
use crate::error::LoadError;

/// A way to wait.
pub(crate) trait Wait {
    /// Receives until one whole answer is in.
    fn answer(connection: &mut Connection, tally: &mut Tally) -> Result<(), LoadError>;
}

/// Receive, and sleep in it.
pub(crate) struct Block;
/// Poll, then receive.
pub(crate) struct PollFirst;
/// Try to receive; if nothing is there, poll and receive.
pub(crate) struct Poll;

impl Wait for Block {
    #[inline]
    fn answer(connection: &mut Connection, tally: &mut Tally) -> Result<(), LoadError> {
        loop {
            // Nothing comes of a blocking receive only when the socket has a limit of its own.
            let limit = connection.io_limit();
            let n = receive(connection, tally, RecvFlags::empty())?
                .ok_or(LoadError::Timeout { limit })?;
            if connection.accept(n, tally)? {
                return Ok(());
            }
        }
    }
}

impl Wait for PollFirst {
    #[inline]
    fn answer(connection: &mut Connection, tally: &mut Tally) -> Result<(), LoadError> {
        loop {
            wait_readable(connection, tally)?;
            if let Some(n) = receive(connection, tally, RecvFlags::DONTWAIT)?
                && connection.accept(n, tally)?
            {
                return Ok(());
            }
        }
    }
}

impl Wait for Poll {
    #[inline]
    fn answer(connection: &mut Connection, tally: &mut Tally) -> Result<(), LoadError> {
        loop {
            match receive(connection, tally, RecvFlags::DONTWAIT)? {
                Some(n) => {
                    if connection.accept(n, tally)? {
                        return Ok(());
                    }
                }
                None => wait_readable(connection, tally)?,
            }
        }
    }
}

/// One receive; `None` when nothing was there.
#[inline]
pub(crate) fn receive(
    connection: &mut Connection,
    tally: &mut Tally,
    flags: RecvFlags,
) -> Result<Option<usize>, LoadError> {
    loop {
        tally.receives += 1;
        match connection.receive(flags) {
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

/// Waits without a limit, as real clients do unless told otherwise: a limit would set a kernel timer
/// for each answer. The slice barrier's watchdog ends a connection that owes one for too long.
#[inline]
fn wait_readable(connection: &Connection, tally: &mut Tally) -> Result<(), LoadError> {
    loop {
        tally.waits += 1;
        match poll(
            &mut [PollFd::from_borrowed_fd(connection.fd(), PollFlags::IN)],
            None,
        ) {
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
