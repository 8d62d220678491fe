//! The parts that all loops of the echo server share: receiving complete messages, the welcome, the content of a reply.
//!
//! Only [`pattern`] allocates memory, once per connection. Called by the loops in the other modules.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use looptax_wire::echo::{Hello, Welcome};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, sockopt};

/// Maximum number of bytes of a stream that are received in one call: the usual buffer size of a server that receives
/// files or rows.
pub(super) const STREAM_BUFFER_BYTES: usize = 128 << 10;

/// How long to pause if the kernel had no file descriptor or thread for a connection.
pub(super) const SHORTAGE_PAUSE: Duration = Duration::from_millis(20);

/// Sets the options of the socket as the client requested. Without `TCP_NODELAY` a reply could wait for an
/// acknowledgement, so the echo server sets `TCP_NODELAY` unless the client requests otherwise.
pub(super) fn set_up(connection: impl AsFd, hello: Hello, is_tcp: bool) {
    if is_tcp {
        sockopt::set_tcp_nodelay(connection, hello.is_nodelay).ok();
    }
}

/// Makes the content of a reply, which is not all zeroes.
pub(super) fn pattern(n_bytes: usize) -> Vec<u8> {
    (0..n_bytes).map(|idx| b'a' + (idx % 26) as u8).collect()
}

pub(super) fn welcome() -> Welcome {
    let tid = rustix::thread::gettid();
    Welcome { pid: std::process::id(), tid: tid.as_raw_nonzero().get().cast_unsigned() }
}

/// Fills the buffer; `false` if the peer has closed the connection.
pub(super) fn receive_whole(connection: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<bool> {
    let mut n_filled = 0;
    while n_filled < buffer.len() {
        match receive_some(connection, &mut buffer[n_filled..])? {
            0 => return Ok(false),
            n_bytes => n_filled += n_bytes,
        }
    }
    Ok(true)
}

/// Receives the bytes that are available; 0 if the peer has closed the connection.
pub(super) fn receive_some(connection: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::net::recv(connection, &mut *buffer, RecvFlags::empty()) {
            Ok((_, n_bytes)) => return Ok(n_bytes),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

pub(super) fn send_whole(connection: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(connection, bytes, SendFlags::NOSIGNAL) {
            Ok(n_bytes) => bytes = &bytes[n_bytes..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
