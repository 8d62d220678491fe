//! Answers calls that would reveal that a moved socket is not a TCP socket. The answers are those of a TCP socket.
//!
//! Calls on other descriptors continue unchanged.

pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod receive;

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::Features;
use crate::caller::Caller;
use crate::sys::{process, socket};
use crate::tag::Tag;
use looptax_host::seccomp::{Answer, Call};

/// Returns the moved socket in a call's first argument, with the addresses that the program believes the socket has.
pub(crate) fn moved(call: &Call, features: Features) -> Option<(OwnedFd, Tag)> {
    let (_, file) = Caller::with_file(call.tid, call.args[0] as i32, features).ok()?;
    let tag = Tag::read(&socket::own_name(file.as_fd()).ok()?)?;
    Some((file, tag))
}

/// Reads a length from the program's memory at `place`.
fn read_length(call: &Call, place: u64) -> Result<usize, i32> {
    let mut bytes = [0; 4];
    match process::read_memory(call.tid, place, &mut bytes) {
        Ok(4) => {}
        _ => return Err(libc::EFAULT),
    }
    usize::try_from(i32::from_ne_bytes(bytes)).map_err(|_| libc::EINVAL)
}

/// Writes as much of a value as the program has room for, and the length.
///
/// Writes both in one call, right after the check that the program still waits. Before Linux 5.19 a signal may end the
/// program's call between the check and the write. The program may then already use these addresses for other data.
fn write_answer(call: &Call, value: (u64, &[u8]), room: usize, length: (u64, usize)) -> io::Result<()> {
    let (place, value) = value;
    let (length_place, n_bytes) = length;
    let told = (n_bytes as u32).to_ne_bytes();
    let writes = [(place, &value[..value.len().min(room)]), (length_place, &told)];
    process::write_memory(call.tid, writes)
}

/// Returns the answer to the call: `EFAULT` if the program passed an invalid address.
fn outcome(written: &io::Result<()>) -> Answer {
    match written {
        Ok(()) => Answer::Done,
        Err(_) => Answer::Fail(libc::EFAULT),
    }
}
