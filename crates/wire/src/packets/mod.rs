//! A connection as packets of a capture file: pcapng's blocks, and TCP segments that carry the bytes that were sent.
//!
//! The segments are invented: a Unix socket does not have any, and data sent over TCP are seen before the kernel
//! divides them into segments. Their bytes, order and times are real. This module does no I/O. Called by `looptax watch
//! -w`.

mod pcapng;
mod segments;

pub use pcapng::{Packet, interface, packet, section};
pub use segments::{Conversation, Header, MOST_BYTES};
