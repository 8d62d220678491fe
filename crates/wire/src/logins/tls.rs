//! TLS records. This file checks whether bytes after an announcement of encryption are encrypted.
//!
//! This check is necessary because a byte can announce encryption that never begins, and because the bytes that a
//! program hands to the kernel are not encrypted if the kernel does TLS (kTLS).
//!
//! # Source
//! RFC 8446, section 5.1 (`TLSPlaintext`, `TLSCiphertext`); RFC 5246, section 6.2.

use super::follow::Sender;

const HANDSHAKE: u8 = 22;
/// The record types from `change_cipher_spec` to heartbeat.
const TYPES: std::ops::RangeInclusive<u8> = 20..=24;
const MAJOR: u8 = 3;
const MOST_MINOR: u8 = 4;
const MOST_RECORD: u16 = (1 << 14) + 2048;

/// The TLS records in both directions of a connection.
#[derive(Default)]
pub(super) struct Records {
    client: Side,
    server: Side,
}

#[derive(Default)]
struct Side {
    header: [u8; 5],
    n_header: usize,
    n_left: u64,
}

impl Records {
    /// Checks whether these bytes continue with TLS records.
    pub(super) fn take(&mut self, sender: Sender, bytes: &[u8]) -> bool {
        self.side(sender).take(bytes)
    }

    /// Like [`Self::take`], for the bytes with which encryption was announced. These bytes may contain the first
    /// record, or precede it.
    pub(super) fn take_first(&mut self, sender: Sender, bytes: &[u8]) -> bool {
        match sender {
            Sender::Client => {
                bytes.iter().position(|it| *it == HANDSHAKE).is_none_or(|at| self.client.take(&bytes[at..]))
            }
            // The server's consent has one byte, after which the server has to wait.
            Sender::Server => bytes.len() == 1,
        }
    }

    /// Skips `n` missing bytes; returns true if they end within a record, because the beginning of the next record is
    /// then known.
    pub(super) fn skip(&mut self, sender: Sender, n: u64) -> bool {
        let side = self.side(sender);
        let is_within = side.n_header == 0 && n <= side.n_left;
        if is_within {
            side.n_left -= n;
        }
        is_within
    }

    fn side(&mut self, sender: Sender) -> &mut Side {
        match sender {
            Sender::Client => &mut self.client,
            Sender::Server => &mut self.server,
        }
    }
}

impl Side {
    fn take(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.n_left > 0 {
                let n = bytes.len().min(usize::try_from(self.n_left).unwrap_or(usize::MAX));
                self.n_left -= n as u64;
                bytes = &bytes[n..];
                continue;
            }
            self.header[self.n_header] = bytes[0];
            self.n_header += 1;
            bytes = &bytes[1..];
            let is_one = match self.n_header {
                1 => TYPES.contains(&self.header[0]),
                2 => self.header[1] == MAJOR,
                3 => self.header[2] <= MOST_MINOR,
                4 => true,
                _ => {
                    let length = u16::from_be_bytes([self.header[3], self.header[4]]);
                    (self.n_header, self.n_left) = (0, u64::from(length));
                    length <= MOST_RECORD
                }
            };
            if !is_one {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_in_pieces_are_taken_and_clear_bytes_are_not() {
        let mut records = Records::default();
        let hello = [&[22, 3, 1, 0, 3, 1, 2, 3, 23, 3, 3, 0, 1][..], &[9]].concat();
        assert!(records.take_first(Sender::Client, &hello[..2]));
        for byte in &hello[2..] {
            assert!(records.take(Sender::Client, std::slice::from_ref(byte)));
        }
        assert!(!records.take(Sender::Client, b"AUTH"));
        assert!(!records.take(Sender::Server, b"-ERR unknown command"));
    }

    #[test]
    fn a_gap_within_a_record_is_known_and_one_beyond_it_is_not() {
        let mut records = Records::default();
        assert!(records.take(Sender::Server, &[23, 3, 3, 0, 9, 1]));
        assert!(records.skip(Sender::Server, 8));
        assert!(records.take(Sender::Server, &[23, 3, 3, 0, 1, 1]));
        assert!(!records.skip(Sender::Server, 1));
    }

    #[test]
    fn a_claim_alone_is_no_encryption() {
        assert!(!Records::default().take_first(Sender::Client, b"\x16\r\nAUTH secret\r\n"));
        assert!(!Records::default().take_first(Sender::Server, b"S-ERR"));
    }
}
