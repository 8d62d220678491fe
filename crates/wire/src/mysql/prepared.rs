//! A prepared query: prepared once over the blocking connection, then run repeatedly by the measured loop.
//!
//! The codec runs once per request: it copies a template and the eight bytes of the key, and `replies.rs` finds the end
//! of the reply. It must not allocate (except for errors), lock, log or do I/O. `prepare.rs` makes the codec, and the
//! load engine calls it.

use crate::mysql::handshake::Dialect;
use crate::mysql::replies::{Form, Layout, Replies};
use crate::{Codec, Draws, Reply, WireError};

pub(super) const KEY_BYTES: usize = size_of::<u64>();

/// A prepared statement's requests and replies. It is valid only for the connection (and the stream) on which it was
/// prepared.
///
/// Like the C libraries, looptax sends the key's type only with the first request; after an error, looptax sends it
/// again. The data of a reply is the first column of its first row, in the form of the binary protocol but without the
/// length before it. The data is empty for NULL, if there is no row, and for a statement without a result.
///
/// # Source
/// dev.mysql.com/doc/dev/mysql-server: `page_protocol_com_stmt_execute`,
/// `page_protocol_binary_resultset`; mariadb.com/docs: "Result Set Packets".
#[derive(Debug)]
pub struct PreparedQuery {
    /// The request with the key's type; the key is the last eight bytes.
    first_request: Vec<u8>,
    /// The request without the key's type. Identical to the first request if there is no key.
    later_request: Vec<u8>,
    has_key: bool,
    is_bound: bool,
    replies: Replies,
}

impl Codec for PreparedQuery {
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        let template = if self.is_bound { &self.later_request } else { &self.first_request };
        out.extend_from_slice(template);
        if self.has_key {
            let key_at = out.len() - KEY_BYTES;
            out[key_at..].copy_from_slice(&draws.key().to_le_bytes());
        }
        self.is_bound = true;
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let outcome = self.replies.advance(received);
        if outcome.is_err() {
            self.is_bound = false;
        }
        Ok(outcome?.map(|answer| answer.reply))
    }
}

impl PreparedQuery {
    /// Makes the query from the first and the later request, and from the column layout that the server announced when
    /// it prepared the query. If the query has a key, the key is in the last eight bytes of each request.
    pub(super) fn new(
        dialect: Dialect,
        [first_request, later_request]: [Vec<u8>; 2],
        has_key: bool,
        first_column: Option<Layout>,
    ) -> Self {
        Self {
            first_request,
            later_request,
            has_key,
            is_bound: false,
            replies: Replies::new(dialect, Form::Binary, first_column),
        }
    }
}
