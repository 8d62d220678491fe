//! The protocol of the built-in server: fixed sizes, the key back, nothing to compute.
//!
//! The client opens with [`Hello`], the server answers [`Welcome`]; then each request of
//! `request_bytes` (the key as 8 bytes, little-endian, and filler) is answered by `reply_bytes`
//! (the same key and filler). The codec is hot: no allocation below the stated number of requests
//! in flight, no lock, no system call. Called by bench, and by servers for the other end.

use std::collections::VecDeque;
use std::time::Duration;

use crate::error::printable;
use crate::io::{read_exact, write_all};
use crate::{Codec, Draws, Reply, Stream, WireError};

/// The protocol's name in errors.
const PROTOCOL: &str = "echo";
/// Opens both greetings: looptax echo, version 1.
const MAGIC: [u8; 4] = *b"LTE1";
/// Bytes of a greeting: the magic and two numbers of 32 bits.
const GREETING_BYTES: usize = 12;
/// Bytes of a key.
const KEY_BYTES: usize = 8;
/// Least bytes of a request or a reply: the key.
const LEAST_BYTES: u32 = KEY_BYTES as u32;
/// Most bytes of a request or a reply.
const MOST_BYTES: u32 = 1 << 20;
/// Requests in flight that a codec has room for from the start; more make it allocate once.
const IN_FLIGHT: usize = 1024;
/// What follows the key in a request.
const FILLER: u8 = b'x';

const GREET: &str = "agree on sizes";
const READ_GREETING: &str = "read a greeting";
const READ_REPLY: &str = "read the echo of a request";

/// What the client opens with: the sizes of this conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Bytes of each request, 8 to 1 MiB.
    pub request_bytes: u32,
    /// Bytes of each reply, 8 to 1 MiB.
    pub reply_bytes: u32,
}

impl Hello {
    /// Length of an encoded greeting.
    pub const BYTES: usize = GREETING_BYTES;

    /// As it is sent.
    pub fn encode(self) -> [u8; Self::BYTES] {
        greeting(self.request_bytes, self.reply_bytes)
    }

    /// Reads what the client sent.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when it is no greeting of ours or a size is out of bounds.
    pub fn decode(bytes: [u8; Self::BYTES]) -> Result<Self, WireError> {
        let (request_bytes, reply_bytes) = two_numbers(bytes)?;
        let hello = Self {
            request_bytes,
            reply_bytes,
        };
        hello.check()?;
        Ok(hello)
    }

    /// Whether both sizes are within bounds.
    fn check(self) -> Result<(), WireError> {
        let bounds = LEAST_BYTES..=MOST_BYTES;
        if bounds.contains(&self.request_bytes) && bounds.contains(&self.reply_bytes) {
            return Ok(());
        }
        let found = format!("{} and {} bytes", self.request_bytes, self.reply_bytes);
        Err(malformed(
            GREET,
            "requests and replies of 8 bytes to 1 MiB",
            found.as_bytes(),
        ))
    }
}

/// What the server answers: who serves this conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Welcome {
    /// Process id of the server.
    pub pid: u32,
    /// Thread id of the thread that serves this connection.
    pub tid: u32,
}

impl Welcome {
    /// Length of an encoded answer.
    pub const BYTES: usize = GREETING_BYTES;

    /// As it is sent.
    pub fn encode(self) -> [u8; Self::BYTES] {
        greeting(self.pid, self.tid)
    }

    /// Reads what the server sent.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when it is no answer of ours.
    pub fn decode(bytes: [u8; Self::BYTES]) -> Result<Self, WireError> {
        let (pid, tid) = two_numbers(bytes)?;
        Ok(Self { pid, tid })
    }
}

/// A greeted conversation over `S`.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    stream: S,
    hello: Hello,
    welcome: Welcome,
}

impl<S: Stream> Connection<S> {
    /// Greets the server. `timeout_hint` is the stream's own time limit, for the text of errors.
    ///
    /// # Errors
    /// [`WireError::Malformed`] when `hello` is out of bounds or the peer is no echo server;
    /// `Timeout`, `Closed`, `Io`.
    pub fn login(mut stream: S, hello: Hello, timeout_hint: Duration) -> Result<Self, WireError> {
        hello.check()?;
        write_all(&mut stream, &hello.encode(), GREET, timeout_hint)?;
        let mut answer = [0; Welcome::BYTES];
        let (magic, numbers) = answer.split_at_mut(MAGIC.len());
        // The magic first: another server's answer may be shorter than ours.
        read_exact(&mut stream, magic, READ_GREETING, timeout_hint)?;
        check_magic(magic)?;
        read_exact(&mut stream, numbers, READ_GREETING, timeout_hint)?;
        let welcome = Welcome::decode(answer)?;
        Ok(Self {
            stream,
            hello,
            welcome,
        })
    }

    /// Thread id of the server's thread for this connection.
    pub fn connection_id(&self) -> u64 {
        u64::from(self.welcome.tid)
    }

    /// Process id of the server.
    pub fn server_pid(&self) -> u32 {
        self.welcome.pid
    }

    /// The requests and replies of this conversation.
    pub fn codec(&self) -> EchoCodec {
        EchoCodec::new(self.hello)
    }

    /// The stream, for the load engine. Nothing of the conversation has been read ahead.
    pub fn into_stream(self) -> S {
        self.stream
    }
}

/// Requests and replies of one conversation. It remembers the keys in flight, so each connection
/// needs one of its own.
///
/// The reply's data is the key that came back; filler is not looked at.
#[derive(Debug, Clone)]
pub struct EchoCodec {
    template: Vec<u8>,
    reply_bytes: usize,
    in_flight: VecDeque<u64>,
}

impl EchoCodec {
    /// A codec for a conversation that was opened with `hello`; sizes below 8 bytes count as 8.
    pub fn new(hello: Hello) -> Self {
        Self {
            template: vec![FILLER; hello.request_bytes.max(LEAST_BYTES) as usize],
            reply_bytes: hello.reply_bytes.max(LEAST_BYTES) as usize,
            in_flight: VecDeque::with_capacity(IN_FLIGHT),
        }
    }
}

impl Codec for EchoCodec {
    #[inline]
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        let key = draws.key();
        self.template[..KEY_BYTES].copy_from_slice(&key.to_le_bytes());
        out.extend_from_slice(&self.template);
        self.in_flight.push_back(key);
    }

    #[inline]
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let Some(found) = received.first_chunk::<KEY_BYTES>() else {
            return Ok(None);
        };
        if self.in_flight.front() != Some(&u64::from_le_bytes(*found)) {
            let expected = "the key of the oldest open request";
            return Err(malformed(READ_REPLY, expected, found));
        }
        if received.len() < self.reply_bytes {
            return Ok(None);
        }
        self.in_flight.pop_front();
        Ok(Some(Reply {
            bytes: self.reply_bytes,
            data: 0..KEY_BYTES,
        }))
    }
}

/// The magic and two numbers.
fn greeting(first: u32, second: u32) -> [u8; GREETING_BYTES] {
    let mut bytes = [0; GREETING_BYTES];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    bytes
}

/// The two numbers after the magic.
fn two_numbers(bytes: [u8; GREETING_BYTES]) -> Result<(u32, u32), WireError> {
    let ([magic, first, second], _) = bytes.as_chunks::<4>() else {
        unreachable!("twelve bytes are three times four");
    };
    check_magic(magic)?;
    Ok((u32::from_le_bytes(*first), u32::from_le_bytes(*second)))
}

fn check_magic(found: &[u8]) -> Result<(), WireError> {
    if found == MAGIC {
        return Ok(());
    }
    Err(malformed(READ_GREETING, "the greeting `LTE1`", found))
}

fn malformed(action: &'static str, expected: &'static str, found: &[u8]) -> WireError {
    WireError::Malformed {
        protocol: PROTOCOL,
        action,
        expected,
        found: printable(found),
    }
}
