//! Blocks of a pcapng file: the section header, an interface, a packet.
//!
//! The crate for this format, `pcap-file`, only has a release candidate, and looptax needs only a small part of the
//! format.
//!
//! # Source
//! draft-ietf-opsawg-pcapng, sections 3.5, 4.1, 4.2 and 4.3 (read 2026-11).

const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// The link type of an interface whose packets begin with an IP header.
const LINKTYPE_RAW: u16 = 101;
const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_APPLICATION: u16 = 4;
const OPTION_NAME: u16 = 2;
const OPTION_DESCRIPTION: u16 = 3;
const OPTION_RESOLUTION: u16 = 9;
/// Unit of the times: 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Longest text of an option in bytes: the option's length has 16 bits, and a longer text would not help a reader.
const MOST_TEXT: usize = 4096;

/// A packet that belongs to an interface.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// Index of the packet's interface, in the order of the interface blocks.
    pub interface: u32,
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    pub header: &'a [u8],
    pub payload: &'a [u8],
    pub comment: Option<&'a str>,
}

/// Appends the block with which a file begins.
pub fn section(out: &mut Vec<u8>, application: &str) {
    block(out, SECTION, |out| {
        out.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        out.extend_from_slice(&1_u16.to_le_bytes());
        out.extend_from_slice(&0_u16.to_le_bytes());
        // The section's length is unknown.
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        option(out, OPTION_APPLICATION, application.as_bytes());
        option(out, OPTION_END, &[]);
    });
}

/// Appends an interface. Its index is the number of interfaces that were appended before it.
pub fn interface(out: &mut Vec<u8>, name: &str, description: &str) {
    block(out, INTERFACE, |out| {
        out.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
        out.extend_from_slice(&0_u16.to_le_bytes());
        // 0: packets have no length limit.
        out.extend_from_slice(&0_u32.to_le_bytes());
        option(out, OPTION_NAME, name.as_bytes());
        option(out, OPTION_DESCRIPTION, description.as_bytes());
        option(out, OPTION_RESOLUTION, &[NANOSECONDS]);
        option(out, OPTION_END, &[]);
    });
}

pub fn packet(out: &mut Vec<u8>, packet: &Packet<'_>) {
    let n_bytes = (packet.header.len() + packet.payload.len()) as u32;
    block(out, ENHANCED_PACKET, |out| {
        let words = [packet.interface, (packet.at_ns >> 32) as u32, packet.at_ns as u32, n_bytes, n_bytes]
            .map(u32::to_le_bytes);
        out.extend_from_slice(words.as_flattened());
        out.extend_from_slice(packet.header);
        out.extend_from_slice(packet.payload);
        pad(out, n_bytes as usize);
        if let Some(comment) = packet.comment {
            option(out, OPTION_COMMENT, comment.as_bytes());
            option(out, OPTION_END, &[]);
        }
    });
}

/// Appends a block. The length of the block is written before and after its content.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = ((out.len() - begin + 4) as u32).to_le_bytes();
    out[begin + 4..begin + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let mut n = value.len().min(MOST_TEXT);
    // The text is cut only between two characters.
    while n < value.len() && value[n] & 0xc0 == 0x80 {
        n -= 1;
    }
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(n as u16).to_le_bytes());
    out.extend_from_slice(&value[..n]);
    pad(out, n);
}

/// Pads to a multiple of four bytes.
fn pad(out: &mut Vec<u8>, n_bytes: usize) {
    out.extend_from_slice(&[0; 3][..n_bytes.wrapping_neg() % 4]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_as_the_draft_shows_them() {
        let mut out = Vec::new();
        section(&mut out, "app");
        interface(&mut out, "a", "bc");
        packet(
            &mut out,
            &Packet { interface: 0, at_ns: 1 << 32 | 2, header: b"hea", payload: b"pl", comment: Some("c") },
        );
        let expected: &[&[u8]] = &[
            &[0x0a, 0x0d, 0x0d, 0x0a, 40, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0],
            &[0xff; 8],
            &[4, 0, 3, 0, b'a', b'p', b'p', 0, 0, 0, 0, 0, 40, 0, 0, 0],
            &[1, 0, 0, 0, 48, 0, 0, 0, 101, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, b'a', 0, 0, 0],
            &[3, 0, 2, 0, b'b', b'c', 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0],
            &[6, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0],
            &[b'h', b'e', b'a', b'p', b'l', 0, 0, 0, 1, 0, 1, 0, b'c', 0, 0, 0, 0, 0, 0, 0, 52, 0, 0, 0],
        ];
        assert_eq!(out, expected.concat());
    }
}
