//! A reply as a value, for set-up and queries. The measured loop does not make values.
//!
//! `replies` makes these values, and all code that sends commands reads them. This file does no I/O.

/// A RESP2 reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A line such as `OK`; bytes that are not UTF-8 are replaced.
    Simple(String),
    /// An error inside an array (`EXEC`); if the whole reply is an error, it becomes a `WireError` instead.
    Error {
        /// First word, such as `WRONGTYPE`; escaped and truncated.
        code: String,
        /// The rest of the line; escaped and truncated.
        message: String,
    },
    Integer(i64),
    /// A string of bytes, or nil.
    Bulk(Option<Vec<u8>>),
    Array(Option<Vec<Value>>),
}
