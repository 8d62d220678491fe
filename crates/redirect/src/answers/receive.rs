//! Receiving with flags that a Unix socket does not support: it ignores these flags, and would return data although a
//! TCP socket would not.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::moved;
use crate::filter::UNKNOWN_FLAGS;
use crate::supervisor::Supervisor;
use crate::sys::{errno, process, socket, wait};
use looptax_host::seccomp::{Answer, Call};

/// Number of bytes that are discarded at a time.
const PART_BYTES: usize = 64 * 1024;
/// While a call waits for data, looptax checks at this interval whether the call still exists.
const PATIENCE_MS: i32 = 100;
/// The size of a `msghdr`, and the offsets of three of its parts: the buffers, the number of buffers, and the kernel's
/// results.
///
/// # Source
/// linux/socket.h, `struct user_msghdr` of 64-bit programs.
const HEAD_BYTES: usize = 56;
const PARTS_AT: usize = 16;
const N_PARTS_AT: usize = 24;
const TOLD_AT: u64 = 40;
/// Highest number of buffers that the kernel accepts. Source: linux/uio.h, `UIO_MAXIOV`.
const MAX_PARTS: u64 = 1_024;

/// Answers `recvfrom` and `recvmsg`.
pub(crate) fn answer(supervisor: &Supervisor, call: &Call) -> Answer {
    let Some((file, _)) = moved(call, supervisor.features) else {
        return Answer::GoOn;
    };
    let is_message = i64::from(call.number) == libc::SYS_recvmsg;
    let flags = call.args[if is_message { 2 } else { 3 }] as i32;
    // The error queue of a TCP connection over loopback has entries only if the program requested them by an option.
    // looptax leaves such a connection on TCP.
    if flags & libc::MSG_ERRQUEUE != 0 {
        return Answer::Fail(libc::EAGAIN);
    }
    let n_wanted = if is_message { bytes_of_parts(call) } else { Ok(call.args[2] as usize) };
    let discarded = n_wanted.and_then(|n| discard(supervisor, call, &file, n, flags));
    match discarded {
        Ok(n) if tell(call, is_message) => Answer::Value(n.cast_signed() as i64),
        Ok(_) => Answer::Fail(libc::EFAULT),
        Err(error) => Answer::Fail(errno(&error)),
    }
}

/// Returns the total size of a message's buffers.
fn bytes_of_parts(call: &Call) -> io::Result<usize> {
    let fault = || io::Error::from_raw_os_error(libc::EFAULT);
    let read = |place: u64, into: &mut [u8]| {
        let n = process::read_memory(call.tid, place, into).map_err(|_| fault())?;
        if n == into.len() { Ok(()) } else { Err(fault()) }
    };
    let number = |bytes: &[u8], at: usize| {
        let bytes = bytes[at..at + 8].try_into();
        bytes.map_or(0, u64::from_ne_bytes)
    };
    let mut head = [0; HEAD_BYTES];
    read(call.args[1], &mut head)?;
    let n_parts = number(&head, N_PARTS_AT);
    if n_parts > MAX_PARTS {
        return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
    }
    let mut parts = vec![0; 16 * n_parts as usize];
    read(number(&head, PARTS_AT), &mut parts)?;
    let sizes = parts.chunks_exact(16).map(|part| number(part, 8));
    Ok(sizes.fold(0, u64::saturating_add).min(i32::MAX as u64) as usize)
}

/// Writes empty results into the program's memory: for `recvmsg`, no control data and no flags; for `recvfrom`, no
/// address.
fn tell(call: &Call, is_message: bool) -> bool {
    let nothing = [0; 12];
    let (place, nothing) = match call.args[5] {
        _ if is_message => (call.args[1] + TOLD_AT, &nothing[..]),
        0 => return true,
        place => (place, &nothing[..4]),
    };
    process::write_memory(call.tid, [(place, nothing), (place, &[])]).is_ok()
}

/// Discards as many bytes as one call of the program would discard on a TCP socket, and returns their number.
fn discard(supervisor: &Supervisor, call: &Call, file: &OwnedFd, n_wanted: usize, flags: i32) -> io::Result<usize> {
    let is_patient = flags & libc::MSG_DONTWAIT == 0 && socket::status_flags(file.as_fd())? & libc::O_NONBLOCK == 0;
    let limit_ms = socket::receive_timeout_ms(file.as_fd())?;
    let since_ms = wait::monotonic_ns() / 1_000_000;
    let native = flags & !UNKNOWN_FLAGS & !libc::MSG_WAITALL | libc::MSG_DONTWAIT;
    let wants_all = flags & libc::MSG_WAITALL != 0 && flags & libc::MSG_PEEK == 0;
    let mut room = vec![0; PART_BYTES.min(n_wanted)];
    let mut n_done = 0;
    // The loop also runs if the program requests 0 bytes, because the answer shows whether there are data.
    loop {
        let n_next = room.len().min(n_wanted - n_done);
        match socket::receive(file.as_fd(), &mut room[..n_next], native) {
            Ok(0) => break,
            Ok(n) => n_done += n,
            Err(error) if errno(&error) != libc::EAGAIN => return Err(error),
            Err(error) if n_done > 0 && !wants_all || !is_patient => {
                return if n_done > 0 { Ok(n_done) } else { Err(error) };
            }
            Err(error) => {
                let waited_ms = wait::monotonic_ns() / 1_000_000 - since_ms;
                if limit_ms != 0 && waited_ms >= limit_ms {
                    return if n_done > 0 { Ok(n_done) } else { Err(error) };
                }
                if !supervisor.may_wait() || !supervisor.listener.still_waits(call.id) {
                    return Err(error);
                }
                wait::poll(&[(file.as_fd(), libc::POLLIN)], PATIENCE_MS)?;
            }
        }
        if flags & libc::MSG_PEEK != 0 || n_done >= n_wanted {
            break;
        }
    }
    Ok(n_done)
}
