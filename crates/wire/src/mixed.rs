//! Reads and writes in a given ratio, drawn for each request.
//!
//! Runs in the measured loop: it does not lock or make system calls, and allocates only if more commands are in flight
//! than it reserved memory for. The load engine calls it; other codecs make the reads and the writes.

use std::collections::VecDeque;

use crate::{Codec, Draws, Reply, WireError};

/// Number of commands in flight for which memory is reserved. If more commands are in flight, the codec allocates.
const IN_FLIGHT: usize = 64;

/// A random mix of two codecs: on average `reads` requests of one codec for every `writes` requests of the other.
#[derive(Debug, Clone)]
pub struct Mixed<Get, Set> {
    get: Get,
    set: Set,
    reads: u32,
    writes: u32,
    /// For each command in flight, whether it is a read.
    in_flight: VecDeque<bool>,
}

impl<Get: Codec, Set: Codec> Mixed<Get, Set> {
    /// Makes a mix that reads with `get` and writes with `set` in the ratio `reads` to `writes`. Each codec must answer
    /// a request with one reply.
    pub fn new(get: Get, set: Set, [reads, writes]: [u32; 2]) -> Self {
        Self { get, set, reads, writes, in_flight: VecDeque::with_capacity(IN_FLIGHT) }
    }
}

impl<Get: Codec, Set: Codec> Codec for Mixed<Get, Set> {
    #[inline]
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        let of = u64::from(self.reads) + u64::from(self.writes);
        let is_get = (u128::from(draws.bits()) * u128::from(of)) >> 64 < u128::from(self.reads);
        self.in_flight.push_back(is_get);
        if is_get {
            self.get.request(draws, out);
        } else {
            self.set.request(draws, out);
        }
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let reply = match self.in_flight.front() {
            Some(false) => self.set.reply(received)?,
            _ => self.get.reply(received)?,
        };
        if reply.is_some() {
            self.in_flight.pop_front();
        }
        Ok(reply)
    }
}
