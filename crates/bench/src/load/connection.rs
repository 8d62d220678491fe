//! One connection under load: its socket, its request, the bytes received so far.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use looptax_wire::Codec;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::tally::{Digests, Tally};
use crate::connect::{Records, Wired};
use crate::error::LoadError;
use crate::keys::Keys;

/// What every answer is held against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerLimits {
    /// Fewest bytes of data in an answer.
    pub(crate) least_data_bytes: usize,
    /// Longest wait for one.
    pub(crate) io: Duration,
}

/// A connection with its buffers.
///
/// What each request touches stands first, together: between two requests of one connection the kernel and the other
/// connections have used the cache.
#[repr(C, align(64))]
pub(crate) struct Connection {
    fd: Arc<OwnedFd>,
    codec: Box<dyn Codec>,
    received: Vec<u8>,
    n_received: usize,
    /// When the request in flight was sent.
    pub(crate) sent_ns: u64,
    outgoing: Vec<u8>,
    sealed: Option<Box<Sealed>>,
    /// How long a request is where it is a stream.
    stream_bytes: Option<u64>,
    /// Whether what was prepared once is every request's message.
    is_constant: bool,
    /// Whether no answer has come in this slice yet.
    pub(crate) is_first: bool,
    limits: AnswerLimits,
    /// When the last answer was in; an open loop alone keeps it.
    pub(crate) answered_ns: u64,
    /// Keys of this slice.
    pub(crate) keys: Keys,
    /// Digests of this slice's first answers.
    pub(crate) digests: Digests,
}

/// Room for one receive of sealed bytes: a record has 16 KiB at most.
const SEALED_ROOM_BYTES: usize = 17 << 10;

/// The bytes of a connection as they travel, where that is not as they are.
struct Sealed {
    records: Box<dyn Records>,
    outgoing: Vec<u8>,
    received: Vec<u8>,
}

impl Sealed {
    fn new(records: Box<dyn Records>) -> Self {
        Self {
            records,
            outgoing: Vec::new(),
            received: vec![0; SEALED_ROOM_BYTES],
        }
    }
}

impl Connection {
    /// A proved connection that is put under load.
    pub(crate) fn new(wired: Wired, limits: AnswerLimits, keys: Keys) -> Self {
        Self {
            fd: Arc::new(wired.fd),
            is_constant: wired.codec.is_constant(),
            stream_bytes: wired.codec.stream_bytes(),
            received: vec![0; wired.codec.room_bytes()],
            codec: wired.codec,
            sealed: wired.records.map(|it| Box::new(Sealed::new(it))),
            outgoing: Vec::with_capacity(1024),
            n_received: 0,
            limits,
            sent_ns: 0,
            answered_ns: 0,
            is_first: true,
            keys,
            digests: Digests::default(),
        }
    }

    /// The socket.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The socket, for the watchdog.
    pub(crate) fn shared_fd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.fd)
    }

    /// Longest wait for an answer.
    pub(crate) fn io_limit(&self) -> Duration {
        self.limits.io
    }

    /// Writes the next request into the buffer, ready for [`Connection::send`]; one that stands there already stays.
    #[inline]
    pub(crate) fn prepare(&mut self) {
        if self.is_constant && !self.outgoing.is_empty() {
            return;
        }
        self.outgoing.clear();
        self.codec.request(&mut self.keys, &mut self.outgoing);
    }

    /// Sends the prepared message; a stream all of it.
    ///
    /// # Cost
    /// One system call (of a stream: per write), unless the socket's buffer is full.
    #[inline]
    pub(crate) fn send(&mut self, tally: &mut Tally) -> Result<(), LoadError> {
        match self.stream_bytes {
            None => self.send_once(self.outgoing.len(), tally),
            Some(bytes) => self.send_stream(bytes, tally),
        }
    }

    fn send_stream(&mut self, bytes: u64, tally: &mut Tally) -> Result<(), LoadError> {
        let mut n_left = bytes;
        while n_left > 0 && !self.outgoing.is_empty() {
            let n_bytes = n_left.min(self.outgoing.len() as u64);
            self.send_once(n_bytes as usize, tally)?;
            n_left -= n_bytes;
        }
        Ok(())
    }

    /// Sends so many bytes of the prepared message.
    #[inline]
    fn send_once(&mut self, n_bytes: usize, tally: &mut Tally) -> Result<(), LoadError> {
        let mut rest: &[u8] = &self.outgoing[..n_bytes];
        if let Some(sealed) = &mut self.sealed {
            sealed.outgoing.clear();
            let done = sealed.records.seal(rest, &mut sealed.outgoing);
            done.map_err(|source| LoadError::Io {
                action: "seal a request",
                source,
            })?;
            rest = &sealed.outgoing;
        }
        while !rest.is_empty() {
            tally.sends += 1;
            match send(&self.fd, rest, SendFlags::NOSIGNAL) {
                Ok(n) => rest = &rest[n..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    return Err(LoadError::Timeout {
                        limit: self.limits.io,
                    });
                }
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(LoadError::Closed),
                Err(errno) => {
                    return Err(LoadError::Io {
                        action: "send",
                        source: errno.into(),
                    });
                }
            }
        }
        Ok(())
    }

    /// One receive, behind what is there already: hand the number of bytes, as they travelled, to
    /// [`Connection::accept`].
    ///
    /// # Cost
    /// One system call; the buffer grows only for an answer longer than any before.
    #[inline]
    pub(crate) fn receive(&mut self, flags: RecvFlags) -> Result<usize, Errno> {
        if let Some(sealed) = &mut self.sealed {
            return recv(&self.fd, &mut *sealed.received, flags).map(|(n, _)| n);
        }
        if self.n_received == self.received.len() {
            self.received.resize(self.received.len() * 2, 0);
        }
        recv(&self.fd, &mut self.received[self.n_received..], flags).map(|(n, _)| n)
    }

    /// Takes `n` bytes just received; true when the request is answered, whole and right. Where it
    /// takes several messages, the next one is sent here.
    #[inline]
    pub(crate) fn accept(&mut self, n: usize, tally: &mut Tally) -> Result<bool, LoadError> {
        if n == 0 {
            return Err(LoadError::Closed);
        }
        // What an answer holds, not what it travels in.
        let n = match self.sealed {
            None => n,
            Some(_) => self.unseal(n)?,
        };
        self.n_received += n;
        tally.received_bytes += n as u64;
        let received = &self.received[..self.n_received];
        let reply = self
            .codec
            .reply(received)
            .map_err(|source| LoadError::Answer { source })?;
        let Some(reply) = reply else {
            self.give_up(self.codec.n_passed());
            return Ok(false);
        };
        let data = &received[reply.data];
        if data.len() < self.limits.least_data_bytes {
            return Err(LoadError::Empty {
                key: self.keys.last(),
                found: data.len(),
                least: self.limits.least_data_bytes,
            });
        }
        self.digests.add(data);
        self.give_up(reply.bytes);
        if self.codec.goes_on() {
            self.prepare();
            // Only a request itself knows whether there was more to ask.
            if !self.outgoing.is_empty() {
                self.send(tally)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens `n` bytes just received; tells how many came out.
    fn unseal(&mut self, n: usize) -> Result<usize, LoadError> {
        let Some(sealed) = &mut self.sealed else {
            return Ok(0);
        };
        // Unlike elsewhere it is as long as what is in it.
        self.received.truncate(self.n_received);
        let opened = sealed
            .records
            .open(&sealed.received[..n], &mut self.received);
        opened.map_err(|source| LoadError::Io {
            action: "open a record",
            source,
        })?;
        Ok(self.received.len() - self.n_received)
    }

    /// Drops so many bytes at the front of what was received.
    #[inline]
    fn give_up(&mut self, n_bytes: usize) {
        // Nearly always all or nothing is given up, and nothing has to be moved.
        if n_bytes > 0 && n_bytes < self.n_received {
            self.received.copy_within(n_bytes..self.n_received, 0);
        }
        self.n_received -= n_bytes;
    }
}
