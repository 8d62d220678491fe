//! The bytes of a socket before decryption and after encryption, and the number of system calls for them.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

use looptax_host::waiting;
use rustix::net::{RecvFlags, SendFlags};

use super::calls::Calls;
use super::patience::{Patience, patiently};
use crate::path::{Endpoint, silence};

/// The size of libpq's and libmariadb's first receive buffers.
const AHEAD_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub(super) struct Raw {
    pub(super) fd: OwnedFd,
    pub(super) endpoint: Endpoint,
    /// The time limit of one receive or send.
    limit: Duration,
    /// Why the link no longer waits for its peer. If the link still waited, it could mistake a late answer for the
    /// answer to another request.
    given_up: Option<GivenUp>,
    pub(super) calls: Calls,
    /// The bytes received ahead; `None` if the socket will be passed on, so reading ahead is not allowed.
    ahead: Option<Ahead>,
    /// The time limit of one answer; `None` if only each receive has a limit.
    pub(super) patience: Option<Patience>,
}

/// Why looptax no longer uses a connection, although it is open.
#[derive(Debug, Clone, Copy)]
enum GivenUp {
    /// No answer came within a limit.
    Silent,
    Stopped,
}

/// A receive buffer like those of client libraries. Set-up messages are small, so one receive takes several of them.
#[derive(Debug)]
struct Ahead {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Raw {
    pub(super) fn new(fd: OwnedFd, endpoint: Endpoint, limit: Duration) -> Self {
        Self {
            fd,
            endpoint,
            limit,
            given_up: None,
            calls: Calls::default(),
            ahead: None,
            patience: Some(Patience::new(limit)),
        }
    }

    /// Makes each receive from now on read all bytes that have arrived.
    pub(super) fn receive_ahead(&mut self) {
        self.ahead = Some(Ahead { bytes: vec![0; AHEAD_BYTES], start: 0, end: 0 });
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.calls.receives += 1;
        self.refuse_given_up()?;
        let mut check = || self.patience.as_mut().map_or(Ok(()), Patience::check);
        let received = check().and_then(|()| {
            let receive = || rustix::net::recv(&self.fd, &mut *buffer, RecvFlags::empty());
            patiently(self.limit, receive, check)
        });
        self.heed(received.map(|(n_bytes, _)| n_bytes))
    }

    fn refuse_given_up(&self) -> io::Result<()> {
        match self.given_up {
            None => Ok(()),
            Some(GivenUp::Silent) => Err(io::ErrorKind::TimedOut.into()),
            Some(GivenUp::Stopped) => Err(waiting::stopped()),
        }
    }

    fn heed<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        match done.as_ref().map_err(io::Error::kind) {
            Err(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                self.given_up = Some(GivenUp::Silent);
                silence::note(&self.endpoint, self.limit);
            }
            Err(io::ErrorKind::Other) => self.given_up = Some(GivenUp::Stopped),
            _ => {}
        }
        done
    }
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(mut ahead) = self.ahead.take() else {
            return self.receive(buffer);
        };
        let filled = if ahead.start == ahead.end {
            self.receive(&mut ahead.bytes).map(|received| (ahead.start, ahead.end) = (0, received))
        } else {
            Ok(())
        };
        let ahead = self.ahead.insert(ahead);
        filled?;
        let n_bytes = buffer.len().min(ahead.end - ahead.start);
        buffer[..n_bytes].copy_from_slice(&ahead.bytes[ahead.start..][..n_bytes]);
        ahead.start += n_bytes;
        Ok(n_bytes)
    }
}

impl Write for Raw {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.calls.sends += 1;
        if let Some(patience) = &mut self.patience {
            patience.begin_anew();
        }
        self.refuse_given_up()?;
        let send = || rustix::net::send(&self.fd, buffer, SendFlags::NOSIGNAL);
        let sent = patiently(self.limit, send, || Ok(()));
        self.heed(sent)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
