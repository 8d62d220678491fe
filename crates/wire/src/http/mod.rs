//! HTTP/1.1 as a client: one request after another over any byte stream.
//!
//! What a page asks for is a [`Request`], made once and sent as often as wanted; [`exchange()`] sends it and takes
//! the answer. Redirects are not followed and nothing is unpacked. Heads and chunks are read by `ureq-proto`, a
//! library without I/O; what is here are limits, the end of an answer, and what else may answer at a port.
//! Called by the load engine's pages and by the proof of `switch`.
//!
//! # Source
//! RFC 9110 and 9112.

mod answer;
mod error;
mod exchange;
mod limited;
mod request;
mod words;

pub use answer::{Answer, Buffers, Limits};
pub use error::HttpError;
pub use exchange::exchange;
pub use limited::Limited;
pub use request::Request;
pub use words::first_words;
