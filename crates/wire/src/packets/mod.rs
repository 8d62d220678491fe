//! A connection as packets of a capture file: pcapng's blocks, and TCP segments that carry the bytes that were sent.
//!
//! The segments are invented: data on a Unix socket are not divided into segments, and data sent over TCP are seen
//! before the kernel divides them. The bytes, their order and their times are real. This module does no I/O. Called by
//! `looptax watch -w`.

mod pcapng;
mod segments;

pub use pcapng::{Packet, interface, packet, section};
pub use segments::{Conversation, Header, MOST_BYTES};
