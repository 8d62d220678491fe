//! Determines which connections within this machine to database servers are encrypted. Each time a server sends or
//! receives data, programs in the kernel pass the first five bytes to looptax; only the sends decide.
//!
//! Called by `find`, while it observes the machine. A TLS record starts with its type, version and length, which fill
//! these five bytes.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use looptax_model::dsn::Protocol;
use looptax_model::record::Way;

use crate::discover::connections::Client;
use crate::discover::flows::server_at;
use crate::discover::process::{Process, process};
use crate::discover::servers::Server;
use crate::discover::survey::Survey;
use crate::discover::web::{is_proxy, known_as};
use crate::eyes::Refused;
use crate::eyes::bytes::{Bytes, Chosen, Connection, Ends, Event, Loaded, Piece, Side};

/// The number of bytes of a TLS record's type, version and length.
///
/// # Source
/// RFC 8446, section 5.1.
const HEADER_BYTES: u64 = 5;
/// The largest size of a record in TLS 1.2 and 1.3, in bytes.
///
/// # Source
/// RFC 5246, section 6.2.3: 2^14 + 2048.
const MOST_RECORD_BYTES: usize = 18_432;
/// The maximum number of sends and receives that are read, because each costs the servers and looptax some time.
const MOST_PIECES: usize = 20_000;
const WAIT: Duration = Duration::from_millis(20);

/// The connections that are watched until [`Self::finish`] is called.
pub struct SealedConnections {
    stop: Arc<AtomicBool>,
    watching: JoinHandle<Vec<Seen>>,
}

/// One service's connections to a server, some of which are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedFlow {
    /// The name that people use for the client's program; `None` if the client is not known.
    pub client: Option<String>,
    pub server_idx: usize,
    pub way: Way,
    /// The number of encrypted connections, among those on which the server sent something.
    pub n_connections: usize,
    /// The number of unencrypted connections, among those on which the server sent something.
    pub n_plain: usize,
}

struct Seen {
    connection: Connection,
    /// The process at the other end of a Unix socket, which was looked up while the connection was open.
    client: Option<Process>,
    /// Whether the server's latest send was encrypted; `None` if the server sent nothing.
    is_sealed: Option<bool>,
}

impl SealedConnections {
    /// Attaches the programs in the kernel to the connections of these servers.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn watch(mut loaded: Loaded, servers: &[Server]) -> Result<Self, Refused> {
        // Only databases are watched: web servers use TLS for their own reasons.
        let is_database = |it: &&Server| {
            let protocol = it.kind.protocol();
            matches!(protocol, Some(Protocol::Mysql | Protocol::Postgres | Protocol::Redis | Protocol::Mongodb))
        };
        let pids = servers.iter().filter(is_database).map(|it| it.process.pid).collect();
        loaded.choose(&Chosen { pids, most_bytes: HEADER_BYTES, ..Chosen::default() })?;
        let mut bytes = loaded.attach()?;
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        Ok(Self { stop, watching: std::thread::spawn(move || read(&mut bytes, &flag)) })
    }

    /// Ends the watch. Returns the flows with encrypted connections between the servers and clients in `survey`, the
    /// flow with most connections first. Leaves out connections through a proxy, because they may come from another
    /// machine.
    pub fn finish(self, survey: &Survey) -> Vec<SealedFlow> {
        self.stop.store(true, Ordering::Relaxed);
        let seen = self.watching.join().unwrap_or_default();
        let mut flows: BTreeMap<(usize, bool, Option<String>), [usize; 2]> = BTreeMap::new();
        for seen in seen {
            let Some(is_sealed) = seen.is_sealed else { continue };
            let asked = seen.connection.asked();
            let Some(server) = server_at(&asked, &survey.servers) else { continue };
            let Some(server_idx) = survey.servers.iter().position(|it| it.process.pid == server.process.pid) else {
                continue;
            };
            let client = match seen.connection.ends {
                Ends::Unix { .. } => seen.client,
                Ends::Tcp { own, other, .. } => {
                    let is_it = |it: &&Client| {
                        { it.peer.connections.iter() }.any(|it| it.tcp.is_some_and(|it| (it.1, it.2) == (other, own)))
                    };
                    // Over TCP, an unknown process may pass on data that other machines send.
                    let Some(process) = survey.clients.iter().find(is_it).and_then(|it| it.peer.process.clone()) else {
                        continue;
                    };
                    Some(process)
                }
            };
            if client.as_ref().is_some_and(|it| is_proxy(&it.program_name())) {
                continue;
            }
            let client = client.as_ref().map(known_as);
            let is_tcp = matches!(seen.connection.ends, Ends::Tcp { .. });
            flows.entry((server_idx, is_tcp, client)).or_default()[usize::from(is_sealed)] += 1;
        }
        let mut flows: Vec<SealedFlow> = flows
            .into_iter()
            .filter(|(_, [_, n_sealed])| *n_sealed > 0)
            .map(|((server_idx, is_tcp, client), [n_plain, n_connections])| SealedFlow {
                client,
                server_idx,
                way: if is_tcp { Way::Loopback } else { Way::Unix },
                n_connections,
                n_plain,
            })
            .collect();
        flows.sort_by_key(|it| std::cmp::Reverse(it.n_connections));
        flows
    }
}

fn read(bytes: &mut Bytes, stop: &AtomicBool) -> Vec<Seen> {
    let mut seen: HashMap<u64, Seen> = HashMap::new();
    let mut n_pieces = 0;
    while !stop.load(Ordering::Relaxed) && n_pieces < MOST_PIECES {
        let read = bytes.read(WAIT, |event| {
            match event {
                Event::Connection(connection) if connection.side == Side::Server => {
                    let client = match connection.ends {
                        Ends::Unix { other_pid: Some(pid), .. } => process(pid),
                        _ => None,
                    };
                    seen.insert(connection.cookie, Seen { connection, client, is_sealed: None });
                }
                Event::Connection(_) => {}
                Event::Piece(piece) => {
                    n_pieces += 1;
                    // Only the latest send decides, because MySQL's greeting and PostgreSQL's answer to a request for
                    // TLS are never encrypted.
                    if let (false, Some(seen)) = (piece.is_received, seen.get_mut(&piece.cookie)) {
                        seen.is_sealed = Some(is_record(&piece));
                    }
                }
            }
            io::Result::Ok(n_pieces < MOST_PIECES)
        });
        if read.is_err() {
            break;
        }
    }
    seen.into_values().collect()
}

/// Whether a send starts with a TLS record and contains the whole record.
fn is_record(piece: &Piece<'_>) -> bool {
    let &[20..=23, 3, 1..=4, hi, lo] = piece.bytes else {
        return false;
    };
    let n_bytes = usize::from(u16::from_be_bytes([hi, lo]));
    let n_sent = piece.bytes.len() + piece.n_missing as usize;
    n_bytes <= MOST_RECORD_BYTES && piece.bytes.len() + n_bytes <= n_sent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_tls_is_told_from_packets_of_databases() {
        for (bytes, n_missing, expected) in [
            (&[0x17, 3, 3, 0, 40][..], 40, true),
            (&[0x16, 3, 1, 2, 0], 600, true),
            // Records that are longer than the send; then the first 16 KiB of a MySQL packet with 197,399 bytes.
            (&[0x17, 3, 3, 1, 0], 40, false),
            (&[0x17, 3, 3, 0x7f, 0], 16_379, false),
            (b"\x4a\0\0\0\x0a", 73, false),
            (b"S", 0, false),
            (b"T\0\0\0\x21", 60, false),
            (b"+OK\r\n", 0, false),
        ] {
            let piece = Piece { cookie: 1, ns: 0, is_received: false, at: 0, bytes, n_missing };
            assert_eq!(is_record(&piece), expected, "{bytes:?}");
        }
    }
}
