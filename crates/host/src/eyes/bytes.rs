//! For `watch -w`, reads the bytes that chosen connections send and receive; for `find`, reads the first five bytes of
//! each send and receive.
//!
//! Programs in the kernel (`kernel/bytes.bpf.c`) observe one end of each connection. They pass on the data, in order,
//! through a ring buffer that this process reads. Only this process's descriptors hold the programs. Therefore, when
//! the process ends for any reason, the kernel removes the programs. The caller interprets the bytes.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use aya::maps::{Array, HashMap as KernelMap, MapData, MapError, RingBuf};
use aya::{Ebpf, include_bytes_aligned};
use rustix::event::PollFlags;
use rustix::fs::{FileType, major, minor};
use rustix::time::{ClockId, clock_gettime};

use super::endpoint::{Asked, Name};
use super::load;
use super::refused::Refused;
use crate::waiting;
use crate::walk::{Links, Walk};

/// The object file that `cargo xtask eyes` makes from `kernel/bytes.bpf.c`.
const PROGRAMS: &[u8] = include_bytes_aligned!("kernel/bytes.bpf.o");
const TRACEPOINTS: [(&str, &str); 3] =
    [("sent", "sock_send_length"), ("received", "sock_recv_length"), ("state", "inet_sock_set_state")];

/// The value for a server's end in `struct connection`.
const ROLE_SERVER: u8 = 2;
const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
/// The offsets of the name in `struct connection` and of the data in `struct piece` of `kernel/bytes.bpf.c`.
const NAME_AT: usize = 112;
const DATA_AT: usize = 48;

/// Which connections are read, and how many bytes of each send and receive.
#[derive(Debug, Clone, Default)]
pub struct Chosen {
    /// Processes; all their connections and those of their children are read.
    pub pids: Vec<u32>,
    /// Addresses on which servers listen; the servers' ends of connections are read.
    pub places: Vec<ServerPlace>,
    /// The files of servers' Unix sockets, by inode and device as the kernel reports them.
    pub files: Vec<(u64, u32)>,
    pub most_bytes: u64,
}

/// An address of a server on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPlace {
    Port(u16),
    Address(SocketAddr),
}

/// The end at which a connection is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// A connection; it is reported before its first bytes.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The kernel's number of the socket that is read; the kernel never uses a number twice.
    pub cookie: u64,
    pub side: Side,
    /// Whether the connection may have been opened before the capture started.
    pub is_old: bool,
    pub ns: u64,
    /// The process that uses this end of the connection.
    pub pid: u32,
    pub comm: String,
    pub ends: Ends,
}

impl Connection {
    /// The address to which the client connected.
    pub fn asked(&self) -> Asked {
        match (&self.ends, self.side) {
            (Ends::Tcp { own: to, network, .. }, Side::Server)
            | (Ends::Tcp { other: to, network, .. }, Side::Client) => Asked::Tcp { to: *to, network: *network },
            (Ends::Unix { name, file, network, .. }, _) => {
                Asked::Unix { name: name.clone(), file: *file, network: *network }
            }
        }
    }
}

/// The addresses of both ends of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ends {
    Tcp { own: SocketAddr, other: SocketAddr, network: u64 },
    Unix { name: Name, other_cookie: u64, other_pid: Option<u32>, file: Option<(u64, u32)>, network: u64 },
}

/// The bytes of one send or receive, or of a part of it.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    pub cookie: u64,
    /// The time, in nanoseconds of the monotonic clock.
    pub ns: u64,
    pub is_received: bool,
    /// The offset in the stream of this direction, in bytes since this end was first seen. A gap means that bytes were
    /// lost.
    pub at: u64,
    pub bytes: &'a [u8],
    /// The number of further bytes of the same send or receive; these bytes are not read.
    pub n_missing: u32,
}

/// An item from the ring buffer.
#[derive(Debug)]
pub enum Event<'a> {
    Connection(Connection),
    Piece(Piece<'a>),
}

/// The numbers of bytes that were sent or received but not passed on, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing {
    /// Bytes beyond the limit of one send or receive.
    pub n_snapped: u64,
    /// Bytes in sends or receives whose buffers the programs cannot find: `io_uring`, `sendfile`, `sendmmsg`, a 32-bit
    /// program.
    pub n_unreadable: u64,
    /// Bytes for which the ring buffer had no space.
    pub n_dropped: u64,
}

/// The programs that the kernel has accepted and that are not attached yet.
pub struct Loaded {
    programs: Ebpf,
}

/// The programs, attached until this value is dropped.
pub struct Bytes {
    ring: RingBuf<MapData>,
    missing: Array<MapData, u64>,
    /// The time at which all old connections were known.
    known_ns: u64,
    /// Keeps the programs attached.
    _programs: Ebpf,
}

impl Loaded {
    /// Loads the programs for the chosen connections.
    ///
    /// # Errors
    /// The reason why the programs cannot be loaded: rights, the kernel's age, the kernel's lockdown, or the processor.
    pub fn new(chosen: &Chosen) -> Result<Self, Refused> {
        let mut loaded = Self::without_connections()?;
        loaded.choose(chosen)?;
        Ok(loaded)
    }

    /// Loads programs that read nothing until [`Self::choose`] is called. Only loading requires rights; `choose`
    /// requires none.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn without_connections() -> Result<Self, Refused> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Refused::Processor);
        }
        Ok(Self { programs: load::admitted(PROGRAMS, TRACEPOINTS)? })
    }

    /// Chooses the connections to read.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn choose(&mut self, chosen: &Chosen) -> Result<(), Refused> {
        choose(&mut self.programs, chosen).map_err(|error| Refused::Kernel(error.to_string()))
    }

    /// Attaches the programs. Does not require the rights that loading required.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn attach(self) -> Result<Bytes, Refused> {
        let Self { mut programs } = self;
        let map = |programs: &mut Ebpf, name: &str| programs.take_map(name).ok_or(Refused::Object);
        let of_map = |error: MapError| Refused::Kernel(error.to_string());
        let ring = RingBuf::try_from(map(&mut programs, "ring")?).map_err(of_map)?;
        let missing = map(&mut programs, "missing")?.try_into().map_err(of_map)?;
        load::attach(&mut programs, TRACEPOINTS.map(|it| it.0))?;
        Ok(Bytes { ring, missing, known_ns: now_ns(), _programs: programs })
    }
}

impl Bytes {
    /// Passes to `each` the items that have arrived since this function was last called. Waits for at most `wait`.
    /// Returns false if there were no items.
    ///
    /// # Errors
    /// The kernel's error, or an error that `each` returns.
    pub fn read(&mut self, wait: Duration, mut each: impl FnMut(Event<'_>) -> io::Result<bool>) -> io::Result<bool> {
        let mut is_any = false;
        while let Some(item) = self.ring.next() {
            is_any = true;
            let Some(event) = event(&item, self.known_ns) else { continue };
            if !each(event)? {
                return Ok(true);
            }
        }
        if !is_any && !wait.is_zero() {
            match waiting::until_ready(&self.ring, PollFlags::IN, Some(wait)) {
                // A signal ended the wait; the caller checks for signals.
                Err(error) if error.kind() == io::ErrorKind::Interrupted || waiting::has_stopped() => {}
                waited => {
                    waited?;
                }
            }
        }
        Ok(is_any)
    }

    /// Returns the numbers of bytes that were not passed on until now.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn missing(&self) -> io::Result<Missing> {
        let at = |at: u32| self.missing.get(&at, 0).map_err(io::Error::other);
        Ok(Missing { n_snapped: at(1)?, n_unreadable: at(2)?, n_dropped: at(3)? })
    }
}

/// Returns inode and device of a socket's file, in the form that the programs in the kernel use.
///
/// # Errors
/// The kernel's error; `InvalidInput` for a file that is not a socket.
pub fn socket_file(path: &Path) -> io::Result<(u64, u32)> {
    let walked = Walk::following(Links::All).to(path)?;
    let Some(last) = walked.last else { return Err(io::ErrorKind::NotFound.into()) };
    if last.file_type() != FileType::Socket {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a socket"));
    }
    // The kernel's own form of a device number has 12 bits and 20 bits.
    Ok((last.stat.st_ino, major(last.stat.st_dev) << 20 | minor(last.stat.st_dev)))
}

/// Returns the time of the clock that [`Piece`] uses, in nanoseconds.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn choose(programs: &mut Ebpf, chosen: &Chosen) -> Result<(), MapError> {
    fn map<'a>(programs: &'a mut Ebpf, name: &str) -> Result<&'a mut aya::maps::Map, MapError> {
        programs.map_mut(name).ok_or_else(|| MapError::InvalidName { name: name.to_owned() })
    }
    let mut limits: Array<_, u64> = map(programs, "limits")?.try_into()?;
    limits.set(0, chosen.most_bytes, 0)?;
    limits.set(1, chosen.pids.len() as u64, 0)?;
    let mut pids: KernelMap<_, u32, u8> = map(programs, "chosen_pids")?.try_into()?;
    for pid in &chosen.pids {
        pids.insert(pid, 1, 0)?;
    }
    let mut files: KernelMap<_, [u64; 2], u8> = map(programs, "chosen_files")?.try_into()?;
    for (inode, device) in &chosen.files {
        files.insert([*inode, u64::from(*device)], 1, 0)?;
    }
    let mut places: KernelMap<_, [u64; 3], u8> = map(programs, "chosen_places")?.try_into()?;
    for place in &chosen.places {
        places.insert(place_key(*place), 1, 0)?;
    }
    Ok(())
}

/// Builds a `struct place`. A loopback address refers to this network namespace.
fn place_key(place: ServerPlace) -> [u64; 3] {
    let (address, port) = match place {
        ServerPlace::Port(port) => return [0, 0, port_and_network(port, 0)],
        ServerPlace::Address(address) => (address.ip().to_canonical(), address.port()),
    };
    let network = if address.is_loopback() { own_network().unwrap_or(0) } else { 0 };
    let [hi, lo] = match address {
        IpAddr::V4(it) => [0, u64::from(u32::from_ne_bytes(it.octets()))],
        IpAddr::V6(it) => {
            let octets = it.octets();
            let word = |at: usize| u64::from_ne_bytes(octets[at..at + 8].try_into().unwrap_or_default());
            [word(0), word(8)]
        }
    };
    [hi, lo, port_and_network(port, network)]
}

/// Packs two 32-bit numbers into one word, in the order in which they are in memory.
fn port_and_network(port: u16, network: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&u32::from(port).to_ne_bytes());
    bytes[4..].copy_from_slice(&network.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

fn own_network() -> Option<u32> {
    let file = crate::kernel::open("/proc/self/ns/net").ok()?;
    rustix::fs::fstat(file).ok().map(|it| it.st_ino as u32)
}

/// Parses an item of the ring buffer; `None` if its form is not the one that looptax's programs write.
fn event(bytes: &[u8], known_ns: u64) -> Option<Event<'_>> {
    let field = Fields(bytes);
    match field.u32(0)? {
        1 => Some(Event::Connection(connection(field, known_ns)?)),
        2 => {
            let n_bytes = field.u32(32)? as usize;
            Some(Event::Piece(Piece {
                ns: field.u64(8)?,
                cookie: field.u64(16)?,
                at: field.u64(24)?,
                bytes: bytes.get(DATA_AT..DATA_AT + n_bytes)?,
                n_missing: field.u32(36)?,
                is_received: *bytes.get(40)? != 0,
            }))
        }
        _ => None,
    }
}

fn connection(field: Fields<'_>, known_ns: u64) -> Option<Connection> {
    let family = field.u16(52)?;
    let (ns, network) = (field.u64(8)?, u64::from(field.u32(44)?));
    let address = |at: usize| -> Option<IpAddr> {
        let octets = field.0.get(at..at + 16)?;
        match family {
            AF_INET => Some(Ipv4Addr::from(<[u8; 4]>::try_from(&octets[8..12]).ok()?).into()),
            AF_INET6 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?).into()),
            _ => None,
        }
    };
    let ends = if family == AF_UNIX {
        let (inode, device, other_pid) = (field.u64(32)?, field.u32(40)?, field.u32(48)?);
        let name = field.0.get(NAME_AT..NAME_AT + field.u32(60)? as usize)?;
        Ends::Unix {
            name: Name::of_address(name.get(2..).unwrap_or_default()),
            other_cookie: field.u64(24)?,
            other_pid: (other_pid != 0).then_some(other_pid),
            file: (inode != 0).then_some((inode, device)),
            network,
        }
    } else {
        let own = SocketAddr::new(address(64)?, field.u16(54)?);
        Ends::Tcp { own, other: SocketAddr::new(address(80)?, field.u16(56)?), network }
    };
    let comm = field.0.get(96..NAME_AT)?.split(|it| *it == 0).next().unwrap_or_default();
    Some(Connection {
        cookie: field.u64(16)?,
        side: if *field.0.get(58)? == ROLE_SERVER { Side::Server } else { Side::Client },
        // A connection that was used before the list of old connections was complete may be an old connection.
        is_old: *field.0.get(59)? != 0 || ns < known_ns,
        ns,
        pid: field.u32(4)?,
        comm: String::from_utf8_lossy(comm).into_owned(),
        ends,
    })
}

/// Reads fields of the items that looptax's programs write, by their offsets.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u16(self, at: usize) -> Option<u16> {
        Some(u16::from_ne_bytes(self.0.get(at..at + 2)?.try_into().ok()?))
    }

    fn u32(self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }

    fn u64(self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.0.get(at..at + 8)?.try_into().ok()?))
    }
}
