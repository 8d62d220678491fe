//! The errors of a connection. A variant may contain the action that failed, such as `read the greeting`.

use std::io;
use std::time::Duration;

use looptax_model::failure::Explain;

use crate::secrets::masked;

/// Communication with a server failed.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// Reading or writing failed while doing `action`.
    #[error("cannot {action}")]
    Io {
        /// The action that failed, as an infinitive: `read the greeting`.
        action: &'static str,
        source: io::Error,
    },
    /// No byte arrived, or none could be sent, within the stream's time limit.
    #[error("no answer within {after:?} (tried to {action})")]
    Timeout { action: &'static str, after: Duration },
    /// The peer closed the connection in the middle of `action`.
    #[error("the server closed the connection (tried to {action})")]
    Closed { action: &'static str },
    /// The bytes are not what this protocol sends at this point.
    #[error("not a {protocol} answer (tried to {action}): expected {expected}, found {found}")]
    Malformed {
        /// `MySQL`, `PostgreSQL`, `Redis`, `memcached`, `MongoDB`, `echo`, `FastCGI` or `HTTP`.
        protocol: &'static str,
        action: &'static str,
        expected: &'static str,
        /// The bytes that arrived, escaped and truncated.
        found: String,
    },
    /// The peer announced a length above our limit.
    #[error("the server announced {stated} bytes (tried to {action}); at most {limit} are accepted")]
    TooLong {
        action: &'static str,
        /// The announced length in bytes.
        stated: u64,
        /// Our limit in bytes.
        limit: u64,
    },
    #[error("the server reports: {message} (code {code})")]
    Server {
        /// The error number of MySQL or `MongoDB`, the SQLSTATE of PostgreSQL, the first word from Redis or memcached.
        code: String,
        /// The server's message, escaped and truncated.
        message: String,
    },
    /// Redis received a password for its default user, which does not have a password.
    #[error("the server reports: {message} (code {code})")]
    NeedlessPassword {
        /// The first word of the server's message.
        code: String,
        /// The server's message, escaped and truncated.
        message: String,
    },
    /// A request could not be made from the given parts.
    #[error("{what}")]
    Request {
        /// Description of the fault, and where it is in the request.
        what: String,
    },
    /// The server answered without an error, but the statement cannot have had this result.
    #[error("`{statement}` should have given {expected} {what}, but the server reports {found}")]
    Unexpected {
        statement: String,
        /// `rows` or `changed rows`.
        what: &'static str,
        expected: u64,
        found: u64,
    },
    #[error("the server offers no TLS")]
    NoTls,
    /// An HTTP server closes each connection after its answer.
    #[error("the server closes the connection after its answer (tried to {action})")]
    EndsConnection { action: &'static str },
    /// The server asks for the password in clear text, with the plugin `mysql_clear_password`.
    #[error("the server asks for the password in clear text (`mysql_clear_password`), which is not enabled")]
    ClearNotEnabled,
    /// The server asks for something that looptax does not support, or that is unsafe on this channel.
    #[error("this connection needs `{what}`, which looptax does not support")]
    Unsupported { what: String },
}

/// Description of a password that others could read, for errors about a server that requests such a password.
pub(crate) const READABLE: &str = "a password that others could read on the way";

/// Highest number of characters of the peer's text that an error contains: a line or two on a terminal.
const PRINTABLE_CHARS: usize = 200;

/// Returns the peer's bytes as text that is safe to print. Control characters, invisible characters and bytes that are
/// not UTF-8 are escaped, this process's passwords become stars, and a text of 200 characters or more is cut and ends
/// in `…`.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut n_chars = 0;
    // A character has at most four bytes.
    for chunk in masked(bytes, 4 * PRINTABLE_CHARS).utf8_chunks() {
        let valid = chunk.valid().chars().map(escaped);
        let broken = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
        for piece in valid.chain(broken) {
            let n_piece = piece.chars().count();
            // One character is reserved for the ellipsis, so the result never exceeds the limit.
            if n_chars + n_piece >= PRINTABLE_CHARS {
                text.push('…');
                return text;
            }
            n_chars += n_piece;
            text.push_str(&piece);
        }
    }
    text
}

/// Returns one character, escaped unless it is visible. Quotes are not escaped, because neither a shell nor a parser
/// reads the text.
fn escaped(found: char) -> String {
    match found {
        '"' | '\'' => found.to_string(),
        '\t' | '\n' | '\r' => found.escape_default().to_string(),
        byte if byte.is_ascii_control() => format!("\\x{:02x}", u32::from(byte)),
        other => other.escape_debug().to_string(),
    }
}

impl Explain for WireError {}

impl WireError {
    /// Returns the error for a peer that sent `found` instead of `expected`.
    pub fn malformed(protocol: &'static str, action: &'static str, expected: &'static str, found: &[u8]) -> Self {
        Self::Malformed { protocol, action, expected, found: printable(found) }
    }

    /// Returns whether this error at the end of a login may mean that the server does not accept more connections.
    ///
    /// Redis sends a message about this, but the message can get lost, because Redis closes the connection before it
    /// has read anything.
    pub fn may_be_crowding(&self) -> bool {
        match self {
            Self::Closed { .. } => true,
            Self::Server { message, .. } => message.contains("max number of clients"),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], wanted: &str) {
        assert_eq!(printable(bytes), wanted);
    }

    #[test]
    fn escapes_what_a_terminal_would_obey() {
        check(b"role \"x\" does not exist", "role \"x\" does not exist");
        check("Rolle »ä« fehlt".as_bytes(), "Rolle »ä« fehlt");
        check(b"\x1b[2Jgone\r\n", "\\x1b[2Jgone\\r\\n");
        check(b"J\0\0\0\n", "J\\x00\\x00\\x00\\n");
        check(b"\xff\xfeok", "\\xff\\xfeok");
        check("a\u{202e}b".as_bytes(), "a\\u{202e}b");
    }

    #[test]
    fn cuts_at_the_limit_whatever_the_escapes_need() {
        for bytes in [vec![b'a'; 5000], vec![0xff; 5000], vec![0x1b; 5000]] {
            let text = printable(&bytes);
            assert!(text.chars().count() <= PRINTABLE_CHARS, "{text}");
            assert!(text.ends_with('…'), "{text}");
        }
        check(&[b'a'; 199], &"a".repeat(199));
    }
}
