//! The client models with a thread per connection: three ways to wait for an answer.
//!
//! Each way makes the system calls of a real client, in the same order; METHOD.md, "How the client waits", lists these
//! calls.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::connection::{Connection, Received};
use super::tally::Tally;
use crate::error::LoadError;

pub(crate) trait Wait {
    /// Receives into `room` until one whole answer has arrived.
    fn answer(connection: &mut Connection, room: &mut Vec<u8>, tally: &mut Tally) -> Result<(), LoadError>;
}

pub(crate) struct Block;
pub(crate) struct PollFirst;
/// Tries to receive; if nothing has arrived, polls and receives.
pub(crate) struct Poll;

impl Wait for Block {
    #[inline]
    fn answer(connection: &mut Connection, room: &mut Vec<u8>, tally: &mut Tally) -> Result<(), LoadError> {
        loop {
            match connection.receive(room, RecvFlags::empty(), tally)? {
                Received::Answer => return Ok(()),
                Received::Part => {}
                // This happens only if the socket has its own time limit.
                Received::Nothing => {
                    let limit = connection.io_limit();
                    return Err(LoadError::Timeout { limit });
                }
            }
        }
    }
}

impl Wait for PollFirst {
    #[inline]
    fn answer(connection: &mut Connection, room: &mut Vec<u8>, tally: &mut Tally) -> Result<(), LoadError> {
        loop {
            wait_readable(connection, tally)?;
            if connection.receive(room, RecvFlags::DONTWAIT, tally)? == Received::Answer {
                return Ok(());
            }
        }
    }
}

impl Wait for Poll {
    #[inline]
    fn answer(connection: &mut Connection, room: &mut Vec<u8>, tally: &mut Tally) -> Result<(), LoadError> {
        loop {
            match connection.receive(room, RecvFlags::DONTWAIT, tally)? {
                Received::Answer => return Ok(()),
                Received::Part => {}
                Received::Nothing => wait_readable(connection, tally)?,
            }
        }
    }
}

/// Waits without a limit, as real clients do by default, because a limit would set a kernel timer for each answer. The
/// slice barrier's watchdog shuts a connection down if its answer takes too long.
#[inline]
fn wait_readable(connection: &Connection, tally: &mut Tally) -> Result<(), LoadError> {
    loop {
        tally.waits += 1;
        match poll(&mut [PollFd::from_borrowed_fd(connection.fd(), PollFlags::IN)], None) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => {
                return Err(LoadError::Io { action: "wait", source: errno.into() });
            }
        }
    }
}
