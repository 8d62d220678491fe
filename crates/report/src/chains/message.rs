//! Writes messages of protocol buffers, as far as a profile needs them.
//!
//! Source: "Encoding" of the Protocol Buffers documentation.

/// A message that grows field by field.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

const VARINT: u64 = 0;
const LENGTH: u64 = 2;

impl Message {
    /// Adds a number. Zero is left out, because readers assume zero for a missing field.
    pub(super) fn number(mut self, field: u64, value: u64) -> Self {
        if value != 0 {
            self.key(field, VARINT);
            self.varint(value);
        }
        self
    }

    /// Adds the numbers of a repeated field, in packed form.
    pub(super) fn numbers(self, field: u64, values: &[u64]) -> Self {
        let mut packed = Self::default();
        for value in values {
            packed.varint(*value);
        }
        self.message(field, &packed)
    }

    /// Adds a text to a repeated field; an empty text is added, too.
    pub(super) fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub(super) fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.key(field, LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    /// Writes seven bits in each byte, the lowest bits first; in all bytes except the last, the highest bit is set.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_documentation_come_out() {
        let number = Message::default().number(1, 150);
        assert_eq!(number.0, [0x08, 0x96, 0x01]);
        let text = Message::default().text(2, "testing");
        assert_eq!(text.0, b"\x12\x07testing");
        let inside = Message::default().message(3, &number);
        assert_eq!(inside.0, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let packed = Message::default().numbers(6, &[3, 270, 86_942]);
        assert_eq!(packed.0, [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
        assert!(Message::default().number(1, 0).0.is_empty());
        let most = Message::default().number(1, u64::MAX).into_bytes();
        assert_eq!(most.len(), 11);
    }
}
