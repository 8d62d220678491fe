//! Receives into a buffer that all connections of a thread share, so that it stays in the cache.
//!
//! A connection with an incomplete answer keeps the shared buffer. Until more of that answer arrives, the thread uses
//! the connection's own buffer for the other connections.

use std::mem::swap;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::Connection;
use crate::error::LoadError;
use crate::load::tally::{PREFIX, Tally, digested};
use crate::sys::lent;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing had arrived.
    Nothing,
    Part,
    /// The request is answered: the answer is complete and right.
    Answer,
}

impl Connection {
    /// Receives once. If the request consists of several messages, and the answer to one of them is complete, also
    /// sends the next message.
    ///
    /// # Cost
    /// One system call. The buffer grows only if an answer is longer than all earlier answers.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        room: &mut Vec<u8>,
        flags: RecvFlags,
        tally: &mut Tally,
    ) -> Result<Received, LoadError> {
        if self.n_received > 0 {
            swap(&mut self.received, room);
        }
        let received = match self.receive_into(room, flags, tally)? {
            None => Received::Nothing,
            Some(0) => return Err(LoadError::Closed),
            Some(n) if self.accept(room, n, tally)? => Received::Answer,
            Some(_) => Received::Part,
        };
        if self.n_received > 0 {
            swap(&mut self.received, room);
        }
        Ok(received)
    }

    /// Receives once into the buffer, after the bytes that are already in it, and returns the number of received bytes
    /// before decryption.
    #[inline]
    fn receive_into(
        &mut self,
        room: &mut Vec<u8>,
        flags: RecvFlags,
        tally: &mut Tally,
    ) -> Result<Option<usize>, LoadError> {
        let fd = lent(self.fd, &self.socket);
        let into = if let Some(sealed) = &mut self.sealed {
            &mut sealed.received[..]
        } else {
            if room.len() == self.n_received {
                let more = self.codec.room_bytes().max(room.len());
                room.resize(room.len() + more, 0);
            }
            &mut room[self.n_received..]
        };
        loop {
            tally.receives += 1;
            match recv(fd, &mut *into, flags) {
                Ok((n, _)) => return Ok(Some(n)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::CONNRESET) => return Err(LoadError::Closed),
                Err(errno) => {
                    return Err(LoadError::Io { action: "receive", source: errno.into() });
                }
            }
        }
    }

    /// Accepts `n` bytes just received. Returns true if these bytes complete the last answer of the request, and the
    /// answer is right.
    #[inline]
    fn accept(&mut self, room: &mut Vec<u8>, n: usize, tally: &mut Tally) -> Result<bool, LoadError> {
        // Count the bytes of the answer, not the bytes of the TLS records that carry it.
        let n = match self.sealed {
            None => n,
            Some(_) => self.unseal(room, n)?,
        };
        self.n_received += n;
        tally.received_bytes += n as u64;
        let received = &room[..self.n_received];
        let reply = self.codec.reply(received).map_err(|source| LoadError::Answer { source })?;
        let Some(reply) = reply else {
            self.give_up(room, self.codec.n_passed());
            return Ok(false);
        };
        let data = &received[reply.data];
        if data.len() < self.least_data_bytes as usize {
            return Err(LoadError::Empty {
                key: self.keys.last(),
                found: data.len(),
                least: self.least_data_bytes as usize,
            });
        }
        if self.n_digested < PREFIX {
            self.n_digested += 1;
            self.digest = digested(self.digest, data);
            self.digests.keep(self.n_digested, self.digest);
        }
        self.give_up(room, reply.bytes);
        if self.codec.goes_on() {
            self.prepare();
            // An empty message means that the request has nothing more to send.
            if !self.outgoing.is_empty() {
                self.send(tally)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Decrypts the `n` bytes just received, and returns how many bytes of data they held.
    fn unseal(&mut self, room: &mut Vec<u8>, n: usize) -> Result<usize, LoadError> {
        let Some(sealed) = &mut self.sealed else {
            return Ok(0);
        };
        // The buffer of an encrypted connection is only as long as its data; the buffer of any other connection is
        // longer.
        room.truncate(self.n_received);
        let opened = sealed.records.open(&sealed.received[..n], room);
        opened.map_err(|source| LoadError::Io { action: "decrypt an answer", source })?;
        Ok(room.len() - self.n_received)
    }

    /// Drops the first `n_bytes` bytes of what was received.
    #[inline]
    fn give_up(&mut self, room: &mut [u8], n_bytes: usize) {
        // Nearly always, either all bytes are dropped or no bytes are; in both cases no bytes have to be moved.
        if n_bytes > 0 && n_bytes < self.n_received {
            room.copy_within(n_bytes..self.n_received, 0);
        }
        self.n_received -= n_bytes;
    }
}
