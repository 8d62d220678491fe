//! A reply as a value, for set-up and questions; the measured loop does not build any.
//!
//! Made by `replies`, read by everybody who sends a command. No I/O.

/// A RESP2 reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A line such as `OK`; bytes that are not UTF-8 are replaced.
    Simple(String),
    /// An error inside an array (`EXEC`); an error that is the whole reply is a `WireError` instead.
    Error {
        /// First word, as in `WRONGTYPE`; escaped and cut short.
        code: String,
        /// The rest; escaped and cut short.
        message: String,
    },
    Integer(i64),
    /// A string of bytes, or nil.
    Bulk(Option<Vec<u8>>),
    Array(Option<Vec<Value>>),
}
