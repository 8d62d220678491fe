//! The bytes of a socket as they travel, and how many calls they take.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{RecvFlags, SendFlags};

use super::calls::Calls;
use super::patience::{Patience, again};

/// libpq's and libmariadb's first receive buffers.
const AHEAD_BYTES: usize = 16 << 10;

/// A socket under its connection.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) fd: OwnedFd,
    pub(super) calls: Calls,
    /// What was received ahead; `None` where the socket will be handed on and nothing may be.
    ahead: Option<Ahead>,
    /// What one answer may take; `None` where only each receive has a limit.
    pub(super) patience: Option<Patience>,
}

/// A receive buffer as client libraries have one: set-up messages are small and come several at once.
#[derive(Debug)]
struct Ahead {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Raw {
    pub(super) fn new(fd: OwnedFd, limit: Duration) -> Self {
        Self {
            fd,
            calls: Calls::default(),
            ahead: None,
            patience: Some(Patience::new(limit)),
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
            return receive(&self.fd, &mut self.patience, buffer);
        };
        if ahead.start == ahead.end {
            self.calls.receives += 1;
            let received = receive(&self.fd, &mut self.patience, &mut ahead.bytes)?;
            (ahead.start, ahead.end) = (0, received);
        }
        let n_bytes = buffer.len().min(ahead.end - ahead.start);
        buffer[..n_bytes].copy_from_slice(&ahead.bytes[ahead.start..][..n_bytes]);
        ahead.start += n_bytes;
        Ok(n_bytes)
    }
}

fn receive(fd: &OwnedFd, patience: &mut Option<Patience>, buffer: &mut [u8]) -> io::Result<usize> {
    if let Some(patience) = patience {
        patience.wait(fd)?;
    }
    let received = again(|| rustix::net::recv(fd, &mut *buffer, RecvFlags::empty()))?;
    Ok(received.0)
}

impl Write for Raw {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.calls.sends += 1;
        if let Some(patience) = &mut self.patience {
            patience.begin_anew();
        }
        again(|| rustix::net::send(&self.fd, buffer, SendFlags::NOSIGNAL))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
