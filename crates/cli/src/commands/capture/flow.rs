//! One connection of a capture: its process, its positions in its two streams, and which of its bytes may be written.

use std::net::SocketAddr;

use looptax_host::eyes::bytes::{Connection, Ends, Side};
use looptax_host::eyes::{Asked, Name};
use looptax_model::dsn::Protocol;
use looptax_wire::logins::{Fate, Logins, Sender};
use looptax_wire::packets::Conversation;

use super::known::comm;

/// The range of the client ports in invented addresses; it ends where the kernel's own range of ports begins.
const INVENTED_PORTS: std::ops::Range<u32> = 1024..32_768;
/// The server port in an invented address if the protocol is not known.
const ANY_PORT: u16 = 64_000;
/// The first bytes of a TLS connection: a handshake record, version 3.
const TLS: [u8; 2] = [0x16, 3];
/// Search at most this many bytes from the client for the beginning of TLS. TLS need not begin with the first byte,
/// because the client may first send a request for TLS.
const MOST_BEFORE_TLS: u64 = 64;

pub(super) struct Flow {
    pub(super) side: Side,
    pub(super) conversation: Conversation,
    pub(super) interface: u32,
    /// The comment for the first packet; `None` after this packet is written.
    pub(super) comment: Option<String>,
    pub(super) has_handshake: bool,
    pub(super) is_encrypted: bool,
    pub(super) is_old: bool,
    pub(super) n_packets: u64,
    watch: Watch,
    /// For each direction (sent, received): the position in the stream at which the next piece is expected.
    next: [u64; 2],
    n_of_client: u64,
}

enum Watch {
    /// All bytes may be written.
    Everything,
    Logins(Logins),
    /// No bytes may be written, because looptax cannot follow the logins of the connection.
    Nothing,
}

impl Flow {
    pub(super) fn new(
        it: &Connection,
        number: u32,
        interface: u32,
        protocol: Option<Protocol>,
        with_logins: bool,
    ) -> Self {
        let watch = match protocol.and_then(|protocol| Logins::new(protocol, !it.is_old)) {
            _ if with_logins => Watch::Everything,
            Some(logins) => Watch::Logins(logins),
            None => Watch::Nothing,
        };
        let (client, server) = addresses(it, number, protocol);
        Self {
            side: it.side,
            conversation: Conversation::new(client, server, number),
            interface,
            comment: Some(comment(it)),
            has_handshake: !it.is_old,
            is_encrypted: false,
            is_old: it.is_old,
            n_packets: 0,
            watch,
            next: [0; 2],
            n_of_client: 0,
        }
    }

    pub(super) fn sender(&self, is_received: bool) -> Sender {
        if is_received == (self.side == Side::Server) { Sender::Client } else { Sender::Server }
    }

    /// Returns how many bytes between the last piece and this piece were not captured.
    pub(super) fn gap_before(&mut self, is_received: bool, at: u64, n_bytes: u64) -> u64 {
        let next = &mut self.next[usize::from(is_received)];
        let gap = at.saturating_sub(*next);
        *next = at + n_bytes;
        gap
    }

    /// Notes that `n` bytes from this sender are missing at this position.
    pub(super) fn skip(&mut self, sender: Sender, n: u64) {
        self.conversation.skip(sender, n);
        if let Watch::Logins(logins) = &mut self.watch {
            logins.skip(sender, n);
        }
    }

    /// Hides the secrets in these bytes. Returns whether the bytes may be written, and how many bytes were hidden.
    pub(super) fn look(&mut self, sender: Sender, bytes: &mut [u8]) -> (Fate, u64) {
        if sender == Sender::Client && !self.is_encrypted {
            self.is_encrypted = self.n_of_client <= MOST_BEFORE_TLS && bytes.starts_with(&TLS);
            self.n_of_client += bytes.len() as u64;
        }
        match &mut self.watch {
            Watch::Everything => (Fate::Write, 0),
            Watch::Nothing => (Fate::LeaveOut, 0),
            Watch::Logins(logins) => {
                let before = logins.n_hidden();
                let fate = logins.feed(sender, bytes);
                self.is_encrypted |= logins.is_encrypted();
                (fate, logins.n_hidden() - before)
            }
        }
    }

    pub(super) fn has_known_logins(&self) -> bool {
        !matches!(self.watch, Watch::Nothing)
    }
}

/// Returns the addresses of client and server. The addresses of a TCP connection are real. The addresses of a socket
/// connection are invented, with the protocol's usual port as the server's port, because Wireshark chooses its
/// dissector by the port.
fn addresses(it: &Connection, number: u32, protocol: Option<Protocol>) -> (SocketAddr, SocketAddr) {
    match (&it.ends, it.side) {
        (Ends::Tcp { own, other, .. }, Side::Client) => (*own, *other),
        (Ends::Tcp { own, other, .. }, Side::Server) => (*other, *own),
        (Ends::Unix { .. }, _) => {
            let n = INVENTED_PORTS.end - INVENTED_PORTS.start;
            let client = (INVENTED_PORTS.start + number % n) as u16;
            let server = protocol.map(Protocol::port).filter(|it| *it != 0).unwrap_or(ANY_PORT);
            (SocketAddr::from(([127, 0, 0, 1], client)), SocketAddr::from(([127, 0, 0, 1], server)))
        }
    }
}

fn comment(it: &Connection) -> String {
    let own = format!("{} {}", it.comm, it.pid);
    let other = match &it.ends {
        Ends::Unix { other_pid: Some(pid), .. } => {
            comm(*pid).map_or(format!("process {pid}"), |it| format!("{it} {pid}"))
        }
        Ends::Unix { .. } => "an unknown process".to_owned(),
        Ends::Tcp { other, .. } => other.to_string(),
    };
    let (client, server) = if it.side == Side::Client { (own, other) } else { (other, own) };
    let old = if it.is_old { "; the connection may have begun before the capture" } else { "" };
    let end = if it.side == Side::Client { "client" } else { "server" };
    format!("client {client}, server {server}, over {}; captured in the {end}{old}", way(&it.asked()))
}

/// Returns the real address of the server, as Wireshark shows it in a column.
pub(super) fn way(asked: &Asked) -> String {
    match asked {
        Asked::Tcp { to, .. } => format!("tcp:{to}"),
        Asked::Unix { name: Name::Path(path), .. } => format!("unix:{}", path.display()),
        Asked::Unix { name: Name::Abstract(name), .. } => format!("unix:@{}", String::from_utf8_lossy(name)),
    }
}
