//! Errors of a request for a page before the status of the answer is known. Each fault for which a command can suggest
//! a next step has a variant.

use looptax_model::failure::Explain;

use crate::WireError;
use crate::error::printable;

/// A request for a page was not answered.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The connection was closed before the first byte of an answer. On a connection that was kept from an earlier
    /// request this is normal: the server closed it in the meantime, and the caller may try a new connection.
    #[error("the server closed the connection before it answered")]
    Unanswered,
    /// The answer is HTTP/2 or later.
    #[error("the server answers in HTTP/2, but looptax uses HTTP/1.1")]
    Http2,
    /// The answer is a TLS message.
    #[error("the server speaks TLS at this port")]
    Tls,
    #[error("the answer is not HTTP: `{found}`")]
    NoHttp {
        /// The first bytes of the answer, escaped and truncated.
        found: String,
    },
    /// The stream failed, or the answer was cut off, is malformed or is too long.
    #[error(transparent)]
    Wire(#[from] WireError),
}

impl HttpError {
    /// Returns the error for a peer that sent `found` instead of the beginning of an answer.
    pub(super) fn no_http(found: &[u8]) -> Self {
        let found = printable(found);
        Self::NoHttp { found }
    }

    /// Returns whether the stream's time limit passed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Wire(WireError::Timeout { .. }))
    }
}

impl Explain for HttpError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Http2 => "make the application answer HTTP/1.1 too, or pass a port at which it answers HTTP/1.1",
            Self::Tls => "pass the page as https://",
            Self::NoHttp { .. } => "pass the port at which the application answers HTTP",
            Self::Unanswered | Self::Wire(_) => return None,
        };
        Some(hint.to_owned())
    }
}
