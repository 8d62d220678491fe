//! One connection under load: its socket, its request, and how much of its answer has arrived.

mod receive;

use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use looptax_wire::{Codec, Renewal};
use rustix::io::Errno;
use rustix::net::{SendFlags, send, sockopt};

pub(crate) use receive::Received;

use super::tally::{Digests, Tally};
use crate::connect::{Records, Wired};
use crate::error::LoadError;
use crate::keys::Keys;
use crate::sys::lent;

/// The limits that each answer is compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerLimits {
    /// Least number of bytes of data in an answer.
    pub(crate) least_data_bytes: usize,
    pub(crate) io: Duration,
}

/// A connection under load.
///
/// The fields that each request uses are together at the start, so that they take few cache lines. Each line may have
/// to be loaded again, because the kernel and the other connections use the cache between two requests of a connection.
#[repr(C, align(64))]
pub(crate) struct Connection {
    fd: RawFd,
    least_data_bytes: u32,
    codec: Box<dyn Codec>,
    outgoing: Vec<u8>,
    /// When the request in flight was sent.
    pub(crate) sent_ns: u64,
    n_received: usize,

    digest: u64,
    n_digested: u8,
    /// Whether no answer has arrived in this slice yet.
    pub(crate) is_first: bool,
    is_stream: bool,
    renewal: Renewal,
    sealed: Option<Box<Sealed>>,
    keys: Keys,

    socket: Arc<OwnedFd>,
    /// The first part of an answer that has not arrived completely.
    received: Vec<u8>,
    /// Length of a request that is a stream.
    stream_bytes: u64,
    /// Whether TCP combines the small writes of a stream.
    is_gathered: bool,
    /// When the last answer had arrived; set only by an open loop.
    pub(crate) answered_ns: u64,
    io_limit: Duration,
    digests: Digests,
}

/// The fields that each request uses fill two cache lines. The random numbers from which no key is drawn come after
/// these cache lines.
const _: () = assert!(offset_of!(Connection, keys) + Keys::N_HOT_BYTES == 2 * 64);

/// Initial capacity of the buffer for a request.
const OUTGOING_BYTES: usize = 1024;
/// Size of the buffer for one receive of encrypted bytes: a TLS record has at most 16 KiB.
const SEALED_ROOM_BYTES: usize = 17 << 10;

/// The encrypted bytes of a connection, and the layer that encrypts and decrypts them.
struct Sealed {
    records: Box<dyn Records>,
    outgoing: Vec<u8>,
    received: Vec<u8>,
}

impl Sealed {
    fn new(records: Box<dyn Records>) -> Self {
        Self { records, outgoing: Vec::new(), received: vec![0; SEALED_ROOM_BYTES] }
    }
}

impl Connection {
    /// Puts a proved connection under load.
    pub(crate) fn new(wired: Wired, limits: AnswerLimits, keys: Keys) -> Self {
        let stream_bytes = wired.codec.stream_bytes();
        Self {
            fd: wired.fd.as_raw_fd(),
            least_data_bytes: u32::try_from(limits.least_data_bytes).unwrap_or(u32::MAX),
            renewal: wired.codec.renewal(),
            codec: wired.codec,
            outgoing: Vec::with_capacity(OUTGOING_BYTES),
            sent_ns: 0,
            n_received: 0,
            digest: 0,
            n_digested: 0,
            is_first: true,
            is_stream: stream_bytes.is_some(),
            is_gathered: stream_bytes.is_some() && sockopt::tcp_nodelay(&wired.fd) == Ok(false),
            keys,
            socket: Arc::new(wired.fd),
            received: Vec::new(),
            sealed: wired.records.map(|it| Box::new(Sealed::new(it))),
            stream_bytes: stream_bytes.unwrap_or_default(),
            answered_ns: 0,
            io_limit: limits.io,
            digests: Digests::default(),
        }
    }

    /// Begins a slice, or priming, with these keys.
    pub(crate) fn begin(&mut self, keys: Keys) {
        self.keys = keys;
        self.digests = Digests::default();
        (self.digest, self.n_digested) = (0, 0);
    }

    /// Returns the digests of the first answers since [`Connection::begin`].
    pub(crate) fn digests(&self) -> Digests {
        self.digests
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        lent(self.fd, &self.socket)
    }

    pub(crate) fn shared_fd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.socket)
    }

    pub(crate) fn io_limit(&self) -> Duration {
        self.io_limit
    }

    /// Writes the next message into the buffer, ready for [`Connection::send`].
    #[inline]
    pub(crate) fn prepare(&mut self) {
        if self.outgoing.is_empty() || !self.renewal.apply(&mut self.keys, &mut self.outgoing) {
            self.outgoing.clear();
            self.codec.request(&mut self.keys, &mut self.outgoing);
        }
    }

    /// Sends the prepared message. If the message is a stream, sends the whole stream.
    ///
    /// # Cost
    /// One system call, or one per write of a stream; more if the socket's buffer is full.
    #[inline]
    pub(crate) fn send(&mut self, tally: &mut Tally) -> Result<(), LoadError> {
        if self.is_stream { self.send_stream(tally) } else { self.send_once(self.outgoing.len(), tally) }
    }

    fn send_stream(&mut self, tally: &mut Tally) -> Result<(), LoadError> {
        let mut n_left = self.stream_bytes;
        while n_left > 0 && !self.outgoing.is_empty() {
            let n_bytes = n_left.min(self.outgoing.len() as u64);
            self.send_once(n_bytes as usize, tally)?;
            n_left -= n_bytes;
        }
        if self.is_gathered { self.push() } else { Ok(()) }
    }

    /// Sends the bytes that TCP still holds back. Otherwise the end of a stream would wait for a delayed
    /// acknowledgement (40 ms), because the other end answers only when it has the whole stream.
    ///
    /// # Source
    /// `tcp(7)`: setting `TCP_NODELAY` forces an explicit flush of pending output.
    fn push(&self) -> Result<(), LoadError> {
        let fd = lent(self.fd, &self.socket);
        let pushed = sockopt::set_tcp_nodelay(fd, true).and_then(|()| sockopt::set_tcp_nodelay(fd, false));
        pushed.map_err(|errno| LoadError::Io { action: "flush the end of a stream", source: errno.into() })
    }

    /// Sends the first `n_bytes` bytes of the prepared message.
    #[inline]
    fn send_once(&mut self, n_bytes: usize, tally: &mut Tally) -> Result<(), LoadError> {
        let fd = lent(self.fd, &self.socket);
        let mut rest: &[u8] = &self.outgoing[..n_bytes];
        if let Some(sealed) = &mut self.sealed {
            sealed.outgoing.clear();
            let done = sealed.records.seal(rest, &mut sealed.outgoing);
            done.map_err(|source| LoadError::Io { action: "encrypt a request", source })?;
            rest = &sealed.outgoing;
        }
        while !rest.is_empty() {
            tally.sends += 1;
            match send(fd, rest, SendFlags::NOSIGNAL) {
                Ok(n) => rest = &rest[n..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    return Err(LoadError::Timeout { limit: self.io_limit });
                }
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(LoadError::Closed),
                Err(errno) => {
                    return Err(LoadError::Io { action: "send", source: errno.into() });
                }
            }
        }
        Ok(())
    }
}
