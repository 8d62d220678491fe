//! Small messages written in different patterns, over a Unix socket and over TCP: shows which patterns make TCP wait.
//!
//! This experiment is separate from comparisons: its servers are threads of looptax, nothing is pinned, and its two
//! transports take turns in a fixed order. This is enough to show the delays in question, which are milliseconds.
//! Called by `reproduce`.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use crate::clock::now_ns;

pub const MESSAGE_BYTES: usize = 8;
/// A block lasts at least this long and contains at least [`LEAST_EXCHANGES`].
const BLOCK_NS: u64 = 50_000_000;
/// Least number of exchanges in a block. An exchange that waits for a delayed acknowledgement takes 40 ms and more.
const LEAST_EXCHANGES: u64 = 3;

/// The pattern of the writes before each wait for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Number of messages before each answer. Each message is a separate write; the answer is one message.
    pub writes: usize,
    /// Whether TCP sends small packets immediately instead of holding them back to combine them (Nagle's algorithm).
    pub is_nodelay: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternRun {
    /// Mean nanoseconds per message for each block: over the socket, and over TCP.
    pub ns_per_message: [Vec<u64>; 2],
    /// Number of messages over both transports, including answers.
    pub n_messages: u64,
}

/// Runs a pattern for `n_blocks` blocks on each transport, in turns.
///
/// # Units
/// A block takes 50 ms or three exchanges, whichever is longer.
///
/// # Errors
/// If the kernel refuses a socket, or a read or write on a socket.
pub fn run_pattern(pattern: Pattern, n_blocks: usize) -> io::Result<PatternRun> {
    let (mut unix, unix_far) = UnixStream::pair()?;
    let (mut tcp, tcp_far) = tcp_pair()?;
    for end in [&tcp, &tcp_far] {
        end.set_nodelay(pattern.is_nodelay)?;
    }
    let servers = [
        thread::spawn(move || answer(unix_far, pattern.writes)),
        thread::spawn(move || answer(tcp_far, pattern.writes)),
    ];
    let mut run = PatternRun { ns_per_message: [Vec::new(), Vec::new()], n_messages: 0 };
    for _ in 0..n_blocks {
        let blocks = [block(&mut unix, pattern)?, block(&mut tcp, pattern)?];
        for (side, (ns, n_messages)) in run.ns_per_message.iter_mut().zip(blocks) {
            side.push(ns / n_messages);
            run.n_messages += n_messages;
        }
    }
    // Closes the clients' ends, which makes the servers end.
    drop((unix, tcp));
    for server in servers {
        server.join().map_err(|_| io::ErrorKind::Other)??;
    }
    Ok(run)
}

fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    Ok((near, listener.accept()?.0))
}

/// Answers each group of `writes` messages with one message, until the other end is closed.
fn answer(mut stream: impl Read + Write, writes: usize) -> io::Result<()> {
    let mut messages = vec![0; MESSAGE_BYTES * writes];
    loop {
        match stream.read_exact(&mut messages) {
            Ok(()) => stream.write_all(&messages[..MESSAGE_BYTES])?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Runs one block, and returns its nanoseconds and its number of messages.
fn block(stream: &mut (impl Read + Write), pattern: Pattern) -> io::Result<(u64, u64)> {
    let mut message = [7; MESSAGE_BYTES];
    let start_ns = now_ns();
    let mut n_exchanges = 0;
    loop {
        for _ in 0..pattern.writes {
            stream.write_all(&message)?;
        }
        stream.read_exact(&mut message)?;
        n_exchanges += 1;
        let spent_ns = now_ns() - start_ns;
        if n_exchanges >= LEAST_EXCHANGES && spent_ns >= BLOCK_NS {
            return Ok((spent_ns, n_exchanges * (pattern.writes as u64 + 1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_has_its_blocks_on_both_ways() {
        for (writes, is_nodelay) in [(1, true), (2, false), (36, false)] {
            let pattern = Pattern { writes, is_nodelay };
            let run = run_pattern(pattern, 2).unwrap();
            assert_eq!(run.ns_per_message.each_ref().map(Vec::len), [2, 2]);
            assert!(run.n_messages >= 2 * 2 * LEAST_EXCHANGES * (writes as u64 + 1));
        }
    }
}
