//! A conversation as packets of a capture file: pcapng's blocks, and TCP segments that carry what was sent.
//!
//! The segments are invented, because a Unix socket does not have any, and data sent over TCP are seen here before the
//! kernel cuts them; their bytes, order and times are not. Nothing here does I/O. Called by `looptax watch -w`.

mod pcapng;
mod segments;

pub use pcapng::{Packet, interface, packet, section};
pub use segments::{Conversation, Header, MOST_BYTES};
