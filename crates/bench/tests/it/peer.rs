//! The other ends of all connections: each is a thread with one end of a socket pair, and follows a script.
//!
//! A request is a key of 8 bytes. A reply is a length of 4 bytes and that many bytes of data. All numbers are
//! little-endian.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use looptax_bench::{ConnectError, Connector, Wired};
use looptax_model::failure::Failure;
use looptax_model::stats::Side;
use looptax_wire::{Codec, Draws, Reply, WireError};

/// Number of data bytes in a right answer, which is the key.
pub(crate) const DATA_BYTES: usize = 8;
/// Number of data bytes in a long answer: more than the initial size of any buffer.
const LONG_BYTES: usize = 40_000;
const MOST_BYTES: usize = 1 << 20;
/// The length that makes the codec panic.
const BOMB: u32 = u32::MAX;

/// The peer's answer to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Key,
    Halves,
    Long,
    Short,
    OtherKey,
    /// A length over the codec's limit.
    Garbage,
    /// A length at which the codec panics.
    Bomb,
    /// No answer.
    Silence,
    /// No answer; the peer closes the connection.
    Close,
    /// No answer; the peer closes the connection after this time.
    CloseAfter(Duration),
}

/// A number of right answers, then other answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    /// Number of right answers on each connection.
    pub(crate) n_right: usize,
    pub(crate) then: Answer,
}

impl Script {
    /// Returns a script that gives `answer` from the first request on.
    pub(crate) const fn always(answer: Answer) -> Self {
        Self { n_right: 0, then: answer }
    }
}

/// The keys in the requests to the peer of one connection, in order.
pub(crate) type KeysSeen = Vec<u64>;

/// Opens connections to peers that follow scripts, and keeps the requests that the peers received.
pub(crate) struct Peers {
    scripts: [Script; 2],
    limit: Duration,
    /// By call of `connect` (the warm-up's first), side and connection.
    running: Vec<[Vec<JoinHandle<KeysSeen>>; 2]>,
}

impl Peers {
    /// Returns peers that follow `scripts`, `[baseline, other]`.
    pub(crate) fn new(scripts: [Script; 2]) -> Self {
        Self { scripts, limit: Duration::from_secs(20), running: Vec::new() }
    }

    pub(crate) fn right() -> Self {
        Self::new([Script::always(Answer::Key); 2])
    }

    /// Returns the same peers with another time limit for a blocking receive.
    pub(crate) fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Returns the requests that the peers received, by call of `connect` (the warm-up's first), side and connection.
    pub(crate) fn seen(self) -> Vec<[Vec<KeysSeen>; 2]> {
        let join = |peers: Vec<JoinHandle<KeysSeen>>| peers.into_iter().map(|peer| peer.join().unwrap()).collect();
        self.running.into_iter().map(|sides| sides.map(join)).collect()
    }

    fn open(&self, side: Side) -> Result<(Wired, JoinHandle<KeysSeen>), Failure> {
        let (near, far) = UnixStream::pair()?;
        near.set_read_timeout(Some(self.limit))?;
        let script = self.scripts[side.idx()];
        let peer = thread::spawn(move || serve(far, script));
        let wired = Wired {
            records: None,
            fd: near.into(),
            codec: Box::new(KeyCodec::default()),
            worker: None,
            may_pin: false,
        };
        Ok((wired, peer))
    }
}

impl Connector for Peers {
    fn connect(&mut self, _: usize, _: Side, _: u64, n: usize) -> Result<[Vec<Wired>; 2], ConnectError> {
        let mut wired = [Vec::new(), Vec::new()];
        let mut running = [Vec::new(), Vec::new()];
        for side in Side::BOTH {
            for _ in 0..n {
                let (near, peer) = self.open(side)?;
                wired[side.idx()].push(near);
                running[side.idx()].push(peer);
            }
        }
        self.running.push(running);
        Ok(wired)
    }
}

/// Answers until the client closes the connection or the script ends it.
fn serve(mut stream: UnixStream, script: Script) -> KeysSeen {
    let mut seen = Vec::new();
    let mut request = [0; DATA_BYTES];
    while stream.read_exact(&mut request).is_ok() {
        let answer = if seen.len() < script.n_right { Answer::Key } else { script.then };
        seen.push(u64::from_le_bytes(request));
        if !give(&mut stream, answer, request) {
            break;
        }
    }
    seen
}

/// Sends one answer; false if it was the last.
fn give(stream: &mut UnixStream, answer: Answer, key: [u8; DATA_BYTES]) -> bool {
    let whole = |data: &[u8]| [&(data.len() as u32).to_le_bytes(), data].concat();
    let bytes = match answer {
        Answer::Key => whole(&key),
        Answer::Halves => {
            let bytes = whole(&key);
            let (first, rest) = bytes.split_at(6);
            return stream.write_all(first).is_ok() && stream.write_all(rest).is_ok();
        }
        Answer::Long => whole(&key.repeat(LONG_BYTES / DATA_BYTES)),
        Answer::Short => whole(&key[..DATA_BYTES / 2]),
        Answer::OtherKey => whole(&key.map(|byte| !byte)),
        Answer::Garbage => (BOMB - 1).to_le_bytes().to_vec(),
        Answer::Bomb => BOMB.to_le_bytes().to_vec(),
        Answer::Silence => return true,
        Answer::Close => return false,
        Answer::CloseAfter(wait) => {
            // The client waits for this answer and sends nothing, so the read lasts as long as its time limit.
            stream.set_read_timeout(Some(wait)).unwrap();
            let _ = stream.read(&mut [0]);
            return false;
        }
    };
    stream.write_all(&bytes).is_ok()
}

#[derive(Default)]
struct KeyCodec {
    asked: [u8; DATA_BYTES],
}

impl Codec for KeyCodec {
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        self.asked = draws.key().to_le_bytes();
        out.extend_from_slice(&self.asked);
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let Some(length) = received.first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length);
        assert_ne!(length, BOMB, "a codec with a bug");
        let length = length as usize;
        if length > MOST_BYTES {
            return Err(WireError::TooLong { action: "read a reply", stated: length as u64, limit: MOST_BYTES as u64 });
        }
        let bytes = 4 + length;
        let Some(data) = received.get(4..bytes) else {
            return Ok(None);
        };
        // The bytes of another connection's answer are neither of these.
        let wanted = [self.asked, self.asked.map(|byte| !byte)];
        let mut is_ours = data.chunks_exact(DATA_BYTES);
        assert!(is_ours.all(|it| wanted.iter().any(|key| it == key)));
        Ok(Some(Reply { bytes, data: 4..bytes }))
    }
}
