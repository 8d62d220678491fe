//! A session: a connection that runs a workload for a while and is then closed. Pools and recycled workers use their
//! connections in this way.
//!
//! A one-shot client of the load engine holds a session, and opens another session when the first session has sent all
//! its requests; each step blocks. Only the cheapest proof is made: see [`crate::path::OneShot`].

use std::io::{Read, Write};

use looptax_wire::{Codec, Draws, WireError};

use crate::path::{Calls, Link, OneShot, PathError, Sending, Workload};

/// Initial size of the buffer for answers.
const RECEIVE_BYTES: usize = 4 * 1024;

/// An open connection with its prepared workload.
pub struct Session {
    link: Link,
    codec: Box<dyn Codec>,
    goodbye: &'static [u8],
    endpoint: String,
    least_data_bytes: usize,
    outgoing: Vec<u8>,
    received: Vec<u8>,
    n_received: usize,
}

impl Session {
    /// Connects, logs in and prepares the workload.
    ///
    /// # Errors
    /// The errors of [`OneShot::run`] that concern connecting and logging in, and the errors of
    /// [`crate::path::Conversation::codec`].
    pub fn open(one_shot: &OneShot, workload: &Workload, sending: Sending) -> Result<Self, PathError> {
        let mut conversation = one_shot.begin()?;
        let codec = conversation.codec(workload, sending)?;
        let goodbye = conversation.goodbye();
        let mut link = conversation.into_link();
        link.wait_for_each();
        Ok(Self {
            link,
            codec,
            goodbye,
            endpoint: one_shot.endpoint.to_string(),
            least_data_bytes: workload.least_data_bytes(),
            outgoing: Vec::with_capacity(1024),
            received: vec![0; RECEIVE_BYTES],
            n_received: 0,
        })
    }

    /// Sends one request and receives its answer.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the connection fails or the answer is not right.
    pub fn request(&mut self, draws: &mut dyn Draws) -> Result<(), PathError> {
        self.exchange(draws).map_err(|source| PathError::Protocol {
            action: "run a request",
            endpoint: self.endpoint.clone(),
            source,
        })
    }

    fn exchange(&mut self, draws: &mut dyn Draws) -> Result<(), WireError> {
        const ACTION: &str = "run a request";
        let failed = |source| WireError::Io { action: ACTION, source };
        loop {
            self.outgoing.clear();
            self.codec.request(draws, &mut self.outgoing);
            if self.outgoing.is_empty() {
                return Ok(());
            }
            self.link.write_all(&self.outgoing).map_err(failed)?;
            while !self.take_answer()? {
                if self.n_received == self.received.len() {
                    self.received.resize(2 * self.received.len(), 0);
                }
                match self.link.read(&mut self.received[self.n_received..]) {
                    Ok(0) => return Err(WireError::Closed { action: ACTION }),
                    Ok(n) => self.n_received += n,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            if !self.codec.goes_on() {
                return Ok(());
            }
        }
    }

    /// Removes a complete answer from the buffer; false if there is no complete answer yet.
    fn take_answer(&mut self) -> Result<bool, WireError> {
        let received = &self.received[..self.n_received];
        let Some(reply) = self.codec.reply(received)? else {
            return Ok(false);
        };
        if reply.data.len() < self.least_data_bytes {
            return Err(WireError::Unexpected {
                statement: "a request".to_owned(),
                what: "bytes of data at least",
                expected: self.least_data_bytes as u64,
                found: reply.data.len() as u64,
            });
        }
        self.received.copy_within(reply.bytes..self.n_received, 0);
        self.n_received -= reply.bytes;
        Ok(true)
    }

    /// Returns the number of system calls for data so far, including those of the login.
    pub fn calls(&self) -> Calls {
        self.link.calls()
    }

    /// Says goodbye, and waits until the server has closed the connection, too.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the server does not close it.
    pub fn end(self) -> Result<Calls, PathError> {
        let endpoint = self.endpoint;
        self.link.end(self.goodbye).map_err(|source| PathError::Protocol {
            action: "end the connection",
            endpoint,
            source,
        })
    }
}
