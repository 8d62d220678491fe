//! TCP segments over IPv4 or IPv6 that carry a connection's data, with sequence numbers, acknowledgements and
//! checksums.
//!
//! # Source
//! RFC 791, RFC 8200, RFC 9293, RFC 1071.

use std::net::{IpAddr, SocketAddr};

use crate::logins::Sender;

/// Highest number of bytes in one segment: a little less than an IPv4 packet can hold with both headers.
pub const MOST_BYTES: usize = 65_000;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PUSH: u8 = 0x08;
const ACK: u8 = 0x10;
const TCP: u8 = 6;
const N_TCP: usize = 20;
const N_IPV4: usize = 20;
const N_IPV6: usize = 40;

/// The headers of IP and TCP.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    bytes: [u8; N_IPV6 + N_TCP],
    n: usize,
}

impl Header {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.n]
    }
}

/// A connection between two addresses of one family.
#[derive(Debug, Clone)]
pub struct Conversation {
    client: SocketAddr,
    server: SocketAddr,
    /// The next sequence number of the client, and that of the server.
    next: [u32; 2],
    n_packets: u16,
}

impl Conversation {
    /// Makes a connection. `number` distinguishes connections between the same addresses: their sequence numbers begin
    /// at different values.
    pub fn new(client: SocketAddr, server: SocketAddr, number: u32) -> Self {
        let begin = number.wrapping_mul(0x9e37_79b1);
        Self { client, server, next: [begin, begin ^ 0x8000_0000], n_packets: 0 }
    }

    /// Makes the three packets that open the connection.
    pub fn handshake(&mut self) -> [Header; 3] {
        let [client, server] = self.next;
        let syn = self.header(Sender::Client, SYN, [client, 0], &[]);
        let answer = self.header(Sender::Server, SYN | ACK, [server, client.wrapping_add(1)], &[]);
        self.next = [client.wrapping_add(1), server.wrapping_add(1)];
        [syn, answer, self.header(Sender::Client, ACK, self.numbers(Sender::Client), &[])]
    }

    /// Makes the header of a segment with these bytes, at most [`MOST_BYTES`].
    pub fn segment(&mut self, sender: Sender, bytes: &[u8]) -> Header {
        let header = self.header(sender, PUSH | ACK, self.numbers(sender), bytes);
        self.skip(sender, bytes.len() as u64);
        header
    }

    /// Skips bytes of this sender that are not in the file. This leaves a gap in the sender's sequence numbers.
    pub fn skip(&mut self, sender: Sender, n: u64) {
        let next = &mut self.next[sender as usize];
        *next = next.wrapping_add(n as u32);
    }

    /// Makes the two packets that close the connection, the client's first.
    pub fn end(&mut self) -> [Header; 2] {
        let one = self.header(Sender::Client, FIN | ACK, self.numbers(Sender::Client), &[]);
        self.skip(Sender::Client, 1);
        [one, self.header(Sender::Server, FIN | ACK, self.numbers(Sender::Server), &[])]
    }

    /// Returns the sender's next sequence number, and the sequence number that the sender expects from the peer.
    fn numbers(&self, sender: Sender) -> [u32; 2] {
        let [client, server] = self.next;
        if sender == Sender::Client { [client, server] } else { [server, client] }
    }

    fn header(&mut self, sender: Sender, flags: u8, numbers: [u32; 2], payload: &[u8]) -> Header {
        let (from, to) = if sender == Sender::Client { (self.client, self.server) } else { (self.server, self.client) };
        self.n_packets = self.n_packets.wrapping_add(1);
        let mut bytes = [0; N_IPV6 + N_TCP];
        let n_segment = (N_TCP + payload.len()) as u16;
        // The checksum also includes the addresses.
        let mut sum = u64::from(TCP) + u64::from(n_segment);
        let n_ip = match (from.ip(), to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                bytes[..2].copy_from_slice(&[0x45, 0]);
                bytes[2..4].copy_from_slice(&(N_IPV4 as u16 + n_segment).to_be_bytes());
                bytes[4..6].copy_from_slice(&self.n_packets.to_be_bytes());
                // Flag "don't fragment"; 64 hops.
                bytes[6..10].copy_from_slice(&[0x40, 0, 64, TCP]);
                bytes[12..16].copy_from_slice(&from.octets());
                bytes[16..20].copy_from_slice(&to.octets());
                sum += sum_of(&bytes[12..20]);
                let check = folded(sum_of(&bytes[..N_IPV4]));
                bytes[10..12].copy_from_slice(&check.to_be_bytes());
                N_IPV4
            }
            (from, to) => {
                let octets = |ip: IpAddr| match ip {
                    IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                    IpAddr::V6(ip) => ip.octets(),
                };
                bytes[0] = 0x60;
                bytes[4..6].copy_from_slice(&n_segment.to_be_bytes());
                bytes[6..8].copy_from_slice(&[TCP, 64]);
                bytes[8..24].copy_from_slice(&octets(from));
                bytes[24..40].copy_from_slice(&octets(to));
                sum += sum_of(&bytes[8..40]);
                N_IPV6
            }
        };
        let tcp = &mut bytes[n_ip..n_ip + N_TCP];
        tcp[..2].copy_from_slice(&from.port().to_be_bytes());
        tcp[2..4].copy_from_slice(&to.port().to_be_bytes());
        tcp[4..8].copy_from_slice(&numbers[0].to_be_bytes());
        tcp[8..12].copy_from_slice(&numbers[1].to_be_bytes());
        // The header has five 32-bit words; the window is the largest possible.
        tcp[12..16].copy_from_slice(&[5 << 4, flags, 0xff, 0xff]);
        let check = folded(sum + sum_of(tcp) + sum_of(payload));
        tcp[16..18].copy_from_slice(&check.to_be_bytes());
        Header { bytes, n: n_ip + N_TCP }
    }
}

/// Returns the sum of all 16-bit words.
fn sum_of(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let sum: u64 = words.iter().map(|it| u64::from(u32::from_be_bytes(*it))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_be_bytes(last))
}

/// Returns the checksum that belongs to a sum.
fn folded(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_checksum_of_the_rfc() {
        // RFC 1071, section 3: the words 0001, f203, f4f5, f6f7 add up to ddf2.
        assert_eq!(!folded(sum_of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
    }

    #[test]
    fn numbers_follow_what_was_sent_and_what_is_missing() {
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let mut it = Conversation::new(at(1), at(2), 0);
        it.handshake();
        let word = |header: &Header, at: usize| u32::from_be_bytes(header.bytes()[at..at + 4].try_into().unwrap());
        let numbers = |header: &Header| (word(header, 24), word(header, 28));
        let first = it.segment(Sender::Client, b"abc");
        assert_eq!(numbers(&first), (1, 0x8000_0001));
        assert_eq!(numbers(&it.segment(Sender::Server, b"defg")), (0x8000_0001, 4));
        it.skip(Sender::Client, 10);
        assert_eq!(numbers(&it.segment(Sender::Client, b"h")), (14, 0x8000_0005));
        assert_eq!(sum_of(first.bytes()) % 0xffff, sum_of(&first.bytes()[20..]) % 0xffff, "the header's sum is zero");
    }
}
