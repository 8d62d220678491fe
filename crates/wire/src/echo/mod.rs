//! The protocol of the built-in echo server: messages have fixed sizes, and the server sends the key back without any
//! computation.
//!
//! The client opens with [`Hello`], and the server answers with [`Welcome`]. After that the server answers each request
//! with one reply that starts with the request's key. A request is a message of fixed size, or a stream of bytes whose
//! first eight are the key. The codec runs in the measured loop: no lock, no system call, and no allocation unless more
//! requests are in flight than the codec has reserved memory for. Called by `bench`, and by `servers` for the other
//! end.

mod codec;
mod fault;
mod hello;

use std::time::Duration;

pub use codec::EchoCodec;
pub use hello::{Hello, Traffic, Welcome};

use crate::io::{read_exact, write_all};
use crate::{Codec, Stream, WireError};
use codec::READ_REPLY;
use fault::malformed;
use hello::{GREET, READ_GREETING};

const SEND_REQUEST: &str = "send a request";

/// A connection over `S` after the greetings.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    stream: S,
    hello: Hello,
    welcome: Welcome,
    limit: Duration,
}

impl<S: Stream> Connection<S> {
    /// Sends the client's greeting and reads the server's. `timeout_hint` is the stream's own time limit, for error
    /// messages.
    ///
    /// # Errors
    /// [`WireError::Malformed`] if `hello` is out of bounds or the peer is not an echo server; `Timeout`, `Closed`,
    /// `Io`.
    pub fn login(mut stream: S, hello: Hello, timeout_hint: Duration) -> Result<Self, WireError> {
        hello.check()?;
        write_all(&mut stream, &hello.encode(), GREET, timeout_hint)?;
        let mut answer = [0; Welcome::BYTES];
        let (magic, numbers) = answer.split_at_mut(hello::MAGIC.len());
        // The magic is read first, because another kind of server may send a shorter answer than an echo server.
        read_exact(&mut stream, magic, READ_GREETING, timeout_hint)?;
        hello::check_magic(magic)?;
        read_exact(&mut stream, numbers, READ_GREETING, timeout_hint)?;
        let welcome = Welcome::decode(answer)?;
        Ok(Self { stream, hello, welcome, limit: timeout_hint })
    }

    /// Returns the thread id of the server's thread for this connection.
    pub fn connection_id(&self) -> u64 {
        u64::from(self.welcome.tid)
    }

    pub fn server_pid(&self) -> u32 {
        self.welcome.pid
    }

    /// Returns the codec for this connection. A stream is sent in writes of `write_bytes` bytes.
    pub fn codec(&self, write_bytes: u32) -> EchoCodec {
        match self.hello.traffic {
            Traffic::PingPong { request_bytes, reply_bytes } => EchoCodec::ping_pong(request_bytes, reply_bytes),
            Traffic::Stream { bytes } => EchoCodec::stream(bytes, write_bytes),
        }
    }

    /// Sends one message, receives its reply and compares the key in it.
    ///
    /// # Errors
    /// [`WireError::Malformed`] if another key comes back or if the connection is for streams; `Timeout`, `Closed`,
    /// `Io`.
    pub fn exchange(&mut self) -> Result<(), WireError> {
        let Traffic::PingPong { request_bytes, reply_bytes } = self.hello.traffic else {
            return Err(malformed(SEND_REQUEST, "a connection for single messages", b"a stream"));
        };
        let mut codec = EchoCodec::ping_pong(request_bytes, reply_bytes);
        let mut request = Vec::new();
        codec.request(&mut 1_u64, &mut request);
        write_all(&mut self.stream, &request, SEND_REQUEST, self.limit)?;
        let mut reply = vec![0; reply_bytes as usize];
        read_exact(&mut self.stream, &mut reply, READ_REPLY, self.limit)?;
        codec.reply(&reply).map(drop)
    }

    /// Returns the stream, for the load engine. No bytes after the last reply have been read from it.
    pub fn into_stream(self) -> S {
        self.stream
    }
}
