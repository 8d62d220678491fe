//! RESP2, the protocol of Redis and Valkey: login, queries, filling, and the measured GET, SET and PING.
//!
//! The parser is looptax's own. The library for whole frames (`redis-protocol`) builds a value tree per reply, but the
//! measured loop needs only the bounds of one bulk string, without allocation. With looptax's parser, the few other
//! reply types of the set-up need only one more page of code. RESP3 is never requested. Called by `bench` (codecs),
//! `servers` (filling) and `path` (proof of an arm).

mod command;
mod counting;
mod fault;
mod login;
mod replies;
mod value;
mod values;
mod workload;

pub use counting::Counting;
pub use value::Value;
pub use values::Values;
pub use workload::{Get, Ping, Set};

use crate::{Stream, WireError};
use command::write_command;
use replies::Replies;

/// Number of bytes in a batch of commands, approximately. The socket buffers of a default Linux (208 KiB) can hold a
/// batch in both directions, so neither side has to wait until the other side reads.
const LOT_BYTES: usize = 64 << 10;

/// A logged-in session over a stream of type `S`.
#[derive(Debug)]
pub struct Connection<S: Stream> {
    replies: Replies<S>,
    server_version: String,
    is_valkey: bool,
    client_id: u64,
}

impl<S: Stream> Connection<S> {
    /// Returns the server's own version, such as `7.0.15`; for Valkey, Valkey's version.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// Returns whether the server is Valkey. Valkey also reports the version of Redis that it is compatible with.
    pub fn is_valkey(&self) -> bool {
        self.is_valkey
    }

    /// Returns the server's number of this session, as in `CLIENT LIST`.
    pub fn connection_id(&self) -> u64 {
        self.client_id
    }

    /// Sends one command, whose first part is its name, and returns the reply.
    ///
    /// # Errors
    /// [`WireError::Server`] for an error reply (the session stays usable), [`WireError::TooLong`] for a string over 16
    /// MiB, for more than a million elements, or for more than 64 MiB in total, [`WireError::Malformed`] for bytes that
    /// are not RESP2; `Timeout`, `Closed`, `Io`.
    pub fn command(&mut self, parts: &[&[u8]]) -> Result<Value, WireError> {
        let mut request = Vec::new();
        write_command(&mut request, parts);
        let mut values = Vec::with_capacity(1);
        self.exchange(&request, 1, &mut values)?;
        Ok(values.swap_remove(0))
    }

    /// Sends many commands, in batches of about 64 KiB, and returns their replies in order.
    ///
    /// # Errors
    /// As [`Self::command`]. After an error reply, the server has still executed the other commands of the batch, and
    /// later batches were not sent.
    pub fn pipeline(&mut self, commands: &[Vec<Vec<u8>>]) -> Result<Vec<Value>, WireError> {
        let mut values = Vec::with_capacity(commands.len());
        let mut lot = Vec::with_capacity(2 * LOT_BYTES);
        let mut n_answered = 0;
        for (n_before, command) in commands.iter().enumerate() {
            write_command(&mut lot, command);
            let n_written = n_before + 1;
            if lot.len() >= LOT_BYTES || n_written == commands.len() {
                self.exchange(&lot, n_written - n_answered, &mut values)?;
                lot.clear();
                n_answered = n_written;
            }
        }
        Ok(values)
    }

    /// Returns the stream, for the load engine. No bytes after the last reply have been read from it.
    pub fn into_stream(self) -> S {
        self.replies.into_stream()
    }

    /// Sends `request`, which contains `n_commands` commands, and reads as many replies. If a reply is an error, the
    /// remaining replies are read before the error is returned, so the session stays usable.
    fn exchange(&mut self, request: &[u8], n_commands: usize, values: &mut Vec<Value>) -> Result<(), WireError> {
        if let Err(error) = self.replies.send(request) {
            return Err(self.last_words(error));
        }
        let mut refusal = None;
        for _ in 0..n_commands {
            match self.replies.next_value()? {
                Value::Error { code, message } => {
                    refusal.get_or_insert(WireError::Server { code, message });
                }
                value => values.push(value),
            }
        }
        self.replies.check_nothing_left()?;
        refusal.map_or(Ok(()), Err)
    }
}

impl<S: Stream> Connection<S> {
    /// Returns the reason if the server refused the client (too many clients). Such a server sends the reason and
    /// closes the connection before our command arrives; the reason can still be read.
    fn last_words(&mut self, error: WireError) -> WireError {
        match (&error, self.replies.next_value()) {
            (WireError::Closed { .. }, Ok(Value::Error { code, message })) => WireError::Server { code, message },
            _ => error,
        }
    }
}
