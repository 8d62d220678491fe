//! The bytes of a socket as they travel, and how many calls they take.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use rustix::net::{RecvFlags, SendFlags};

use super::calls::Calls;

/// libpq's and libmariadb's first receive buffers.
const AHEAD_BYTES: usize = 16 << 10;

/// A socket under its connection.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) fd: OwnedFd,
    pub(super) calls: Calls,
    /// What was received ahead; `None` where the socket will be handed on and nothing may be.
    ahead: Option<Ahead>,
}

/// A receive buffer as client libraries have one: set-up messages are small and come several at once.
#[derive(Debug)]
struct Ahead {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Raw {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self {
            fd,
            calls: Calls::default(),
            ahead: None,
        }
    }

    /// Receives as much as is there from now on.
    pub(super) fn receive_ahead(&mut self) {
        self.ahead = Some(Ahead {
            bytes: vec![0; AHEAD_BYTES],
            start: 0,
            end: 0,
        });
    }
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(ahead) = &mut self.ahead else {
            self.calls.receives += 1;
            let (received, _) = rustix::net::recv(&self.fd, buffer, RecvFlags::empty())?;
            return Ok(received);
        };
        if ahead.start == ahead.end {
            self.calls.receives += 1;
            let (received, _) = rustix::net::recv(&self.fd, &mut *ahead.bytes, RecvFlags::empty())?;
            (ahead.start, ahead.end) = (0, received);
        }
        let n_bytes = buffer.len().min(ahead.end - ahead.start);
        buffer[..n_bytes].copy_from_slice(&ahead.bytes[ahead.start..][..n_bytes]);
        ahead.start += n_bytes;
        Ok(n_bytes)
    }
}

impl Write for Raw {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.calls.sends += 1;
        Ok(rustix::net::send(&self.fd, buffer, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
