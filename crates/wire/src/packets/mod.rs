//! A conversation as packets of a capture file: pcapng's blocks, and TCP segments that carry what was sent.
//!
//! The segments are invented, since a Unix socket has none and what was sent over TCP is seen here before the kernel cuts
//! it; their bytes, order and times are not. Nothing here does I/O. Called by `looptax watch -w`.

mod pcapng;
mod segments;

pub use pcapng::{Packet, interface, packet, section};
pub use segments::{Conversation, Header, MOST_BYTES};
