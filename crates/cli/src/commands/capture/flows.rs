//! All connections of a capture: turns the pieces of data that the kernel delivers into packets in the file.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use looptax_host::discover::Server;
use looptax_host::eyes::Asked;
use looptax_host::eyes::bytes::{Connection, Ends, Event, Piece, Side, now_ns};
use looptax_model::dsn::Protocol;
use looptax_model::failure::Failure;
use looptax_wire::logins::{Fate, Sender};
use looptax_wire::packets::{self, MOST_BYTES, Packet};
use rustix::time::{ClockId, clock_gettime};

use super::file::CaptureFile;
use super::flow::{Flow, way};
use super::known::protocol_at;

/// Remember at most this many connections; if there are more, forget those that were silent for the longest time.
const MOST_FLOWS: usize = 50_000;

pub(super) struct Flows {
    file: CaptureFile,
    servers: Vec<Server>,
    with_logins: bool,
    /// The connections, by the cookie of the socket whose data is captured.
    by_cookie: HashMap<u64, Kept>,
    /// For each connection, the end whose data is captured.
    ends: HashMap<Key, (u64, Side)>,
    interfaces: HashMap<Asked, u32>,
    /// Difference between the time of day and the clock of the kernel's programs, in nanoseconds.
    offset_ns: u64,
    scratch: Vec<u8>,
    written: Written,
}

struct Kept {
    key: Key,
    last_ns: u64,
    /// `None` if the data of this connection is already captured at its other end.
    flow: Option<Flow>,
}

/// A key that is the same for both ends of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Unix(u64),
    Tcp { client: SocketAddr, server: SocketAddr, network: u64 },
}

/// The result of a capture.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    pub(super) n_connections: u64,
    pub(super) n_packets: u64,
    /// Bytes that the programs sent, without the headers of the packets.
    pub(super) n_bytes: u64,
    pub(super) n_file_bytes: u64,
    pub(super) n_hidden: u64,
    /// Bytes that were left out, because they may belong to a login or because looptax has forgotten their connection.
    pub(super) n_unknown: u64,
    pub(super) n_encrypted: u64,
    /// Connections that were left out, because looptax cannot follow their logins.
    pub(super) n_unfollowed: u64,
    pub(super) n_old: u64,
    /// Options for tshark, for servers that do not use the usual port of their protocol.
    pub(super) decode_as: Vec<(u16, &'static str)>,
    pub(super) is_full: bool,
}

impl Flows {
    pub(super) fn new(file: CaptureFile, servers: Vec<Server>, with_logins: bool) -> Self {
        let real = clock_gettime(ClockId::Realtime);
        let real_ns = real.tv_sec as u64 * 1_000_000_000 + real.tv_nsec as u64;
        Self {
            file,
            servers,
            with_logins,
            by_cookie: HashMap::new(),
            ends: HashMap::new(),
            interfaces: HashMap::new(),
            offset_ns: real_ns.saturating_sub(now_ns()),
            scratch: Vec::new(),
            written: Written::default(),
        }
    }

    pub(super) fn take(&mut self, event: Event<'_>) -> io::Result<()> {
        match event {
            Event::Connection(connection) => self.open(&connection),
            Event::Piece(piece) => self.piece(&piece),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.file.is_full()
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Adds the counts of all remembered connections, writes the buffered bytes to the file, and returns the counts.
    pub(super) fn finish(mut self) -> Result<Written, Failure> {
        let flows: Vec<Kept> = std::mem::take(&mut self.by_cookie).into_values().collect();
        flows.iter().filter_map(|it| it.flow.as_ref()).for_each(|it| self.count(it));
        self.file.flush()?;
        Ok(Written { n_file_bytes: self.file.n_bytes(), is_full: self.file.is_full(), ..self.written })
    }

    fn open(&mut self, connection: &Connection) -> io::Result<()> {
        let key = key(connection);
        let other = self.ends.get(&key);
        // If both ends of a connection belong to chosen processes, looptax already records this connection at its other
        // end. If `side` is the same, it is not the other end, but a new connection that reuses the TCP address of an
        // old one.
        let is_other_end = other.is_some_and(|(cookie, side)| *cookie != connection.cookie && *side != connection.side);
        let mut kept = Kept { key: key.clone(), last_ns: connection.ns, flow: None };
        if !is_other_end {
            self.forget_some();
            let asked = connection.asked();
            let protocol = protocol_at(&asked, &self.servers);
            let interface = self.interface(&asked)?;
            self.written.n_connections += 1;
            let number = self.written.n_connections as u32;
            kept.flow = Some(Flow::new(connection, number, interface, protocol, self.with_logins));
            self.ends.insert(key, (connection.cookie, connection.side));
            if let (Asked::Tcp { to, .. }, Some(protocol)) = (&asked, protocol)
                && to.port() != protocol.port()
            {
                let entry = (to.port(), dissector(protocol));
                if !self.written.decode_as.contains(&entry) {
                    self.written.decode_as.push(entry);
                }
            }
        }
        self.by_cookie.insert(connection.cookie, kept);
        Ok(())
    }

    fn interface(&mut self, asked: &Asked) -> io::Result<u32> {
        if let Some(known) = self.interfaces.get(asked) {
            return Ok(*known);
        }
        let number = self.interfaces.len() as u32;
        let description = match asked {
            Asked::Unix { .. } => "a Unix socket: looptax invented the addresses and ports of the packets",
            Asked::Tcp { .. } => "TCP data as programs send and receive it, not as packets of the network",
        };
        self.file.append(|out| packets::interface(out, &way(asked), description))?;
        self.interfaces.insert(asked.clone(), number);
        Ok(number)
    }

    fn piece(&mut self, piece: &Piece<'_>) -> io::Result<()> {
        let Some(kept) = self.by_cookie.get_mut(&piece.cookie) else {
            // The connection is unknown, because it was forgotten.
            self.written.n_unknown += piece.bytes.len() as u64;
            return Ok(());
        };
        kept.last_ns = piece.ns;
        let Some(flow) = &mut kept.flow else { return Ok(()) };
        let sender = flow.sender(piece.is_received);
        let n_all = piece.bytes.len() as u64 + u64::from(piece.n_missing);
        let gap = flow.gap_before(piece.is_received, piece.at, n_all);
        if gap > 0 {
            flow.skip(sender, gap);
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(piece.bytes);
        let (fate, n_hidden) = flow.look(sender, &mut self.scratch);
        if fate == Fate::LeaveOut {
            self.written.n_unknown += piece.bytes.len() as u64;
        } else if !piece.bytes.is_empty() {
            self.written.n_hidden += n_hidden;
            let at_ns = piece.ns + self.offset_ns;
            self.written.n_bytes += write(&mut self.file, flow, sender, &self.scratch, at_ns)?;
        }
        if piece.n_missing > 0 {
            flow.skip(sender, u64::from(piece.n_missing));
        }
        Ok(())
    }

    fn count(&mut self, flow: &Flow) {
        self.written.n_packets += flow.n_packets;
        self.written.n_encrypted += u64::from(flow.is_encrypted);
        self.written.n_unfollowed += u64::from(!flow.has_known_logins());
        self.written.n_old += u64::from(flow.is_old);
    }

    fn forget_some(&mut self) {
        if self.by_cookie.len() < MOST_FLOWS {
            return;
        }
        let mut times: Vec<u64> = self.by_cookie.values().map(|it| it.last_ns).collect();
        let middle = times.len() / 2;
        let (_, middle, _) = times.select_nth_unstable(middle);
        let middle = *middle;
        let gone: Vec<u64> =
            self.by_cookie.iter().filter(|(_, it)| it.last_ns < middle).map(|(cookie, _)| *cookie).collect();
        for cookie in gone {
            let Some(kept) = self.by_cookie.remove(&cookie) else { continue };
            if self.ends.get(&kept.key).is_some_and(|it| it.0 == cookie) {
                self.ends.remove(&kept.key);
            }
            if let Some(flow) = &kept.flow {
                self.count(flow);
            }
        }
    }
}

/// Writes bytes as TCP segments; before the first segment it writes a handshake. Returns how many bytes were written.
fn write(file: &mut CaptureFile, flow: &mut Flow, sender: Sender, bytes: &[u8], at_ns: u64) -> io::Result<u64> {
    let interface = flow.interface;
    let mut n_written = 0;
    if std::mem::take(&mut flow.has_handshake) {
        let headers = flow.conversation.handshake();
        let comment = flow.comment.take();
        let comments = [comment.as_deref(), None, None];
        let is_there = file.append(|out| {
            for (header, comment) in headers.iter().zip(comments) {
                packets::packet(out, &Packet { interface, at_ns, header: header.bytes(), payload: &[], comment });
            }
        })?;
        flow.n_packets += if is_there { 3 } else { 0 };
    }
    for payload in bytes.chunks(MOST_BYTES) {
        let header = flow.conversation.segment(sender, payload);
        let comment = flow.comment.take();
        let packet = Packet { interface, at_ns, header: header.bytes(), payload, comment: comment.as_deref() };
        if !file.append(|out| packets::packet(out, &packet))? {
            break;
        }
        flow.n_packets += 1;
        n_written += payload.len() as u64;
    }
    Ok(n_written)
}

/// Returns tshark's name for the protocol.
fn dissector(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mysql => "mysql",
        Protocol::Postgres => "pgsql",
        Protocol::Redis => "resp",
        Protocol::Memcached => "memcache",
        Protocol::Mongodb => "mongo",
        Protocol::Fastcgi => "fcgi",
        Protocol::Http | Protocol::Echo => "http",
    }
}

fn key(connection: &Connection) -> Key {
    match (&connection.ends, connection.side) {
        (Ends::Unix { .. }, Side::Client) => Key::Unix(connection.cookie),
        (Ends::Unix { other_cookie, .. }, Side::Server) => Key::Unix(*other_cookie),
        (Ends::Tcp { own, other, network }, side) => {
            let (client, server) = if side == Side::Client { (*own, *other) } else { (*other, *own) };
            let network = if server.ip().is_loopback() { *network } else { 0 };
            Key::Tcp { client, server, network }
        }
    }
}
