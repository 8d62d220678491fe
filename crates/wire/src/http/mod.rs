//! An HTTP/1.1 client: sends one request after another over any byte stream.
//!
//! [`Request`] is the request for a page, made once and sent as often as needed; [`exchange()`] sends it and reads the
//! answer. Redirects are not followed, and bodies are not decompressed. `ureq-proto`, a library without I/O, parses
//! heads and chunks; this folder adds the limits, finds the end of an answer, and detects other kinds of servers that
//! may answer at a port. Called by the load engine's pages and by the proof of `switch`.
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
