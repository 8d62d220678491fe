//! memcached: one process listens either on a socket or on TCP, so there are two processes for each transport.
//!
//! A lasting difference between two processes (such as the layout of their memory) averages out, because a coin picks
//! one of the arm's two processes in each epoch. All four processes are started with the same options except for the
//! address. As by default, the processes have no files, no account and no password. They listen only on this machine.
//! Tested live with 1.6.18.

use std::net::SocketAddr;

use super::recipe::{Engine, Launch, Site, owned};
use crate::servers::ServerError;
use crate::servers::spawn::Program;

/// Number of processes: two with a socket and two with a port, alternately.
const N_INSTANCES: usize = 4;

/// Memory per row in bytes. A key of 20 bytes with a value of 64 bytes takes 152 bytes in its slab; the rest is a
/// reserve for other values.
const BYTES_PER_ROW: u64 = 256;
/// Minimum memory for items, in MiB.
const LEAST_MIB: u64 = 256;

pub(super) const ENGINE: Engine =
    Engine { n_instances: N_INSTANCES, ..Engine::bare(|site, idx, ports| launch(site, idx, ports.plain)) };

/// Launches process number `idx`: with a socket if the number is even, with a port if it is odd.
fn launch(site: &Site<'_>, idx: usize, tcp: SocketAddr) -> Result<Launch, ServerError> {
    let settings = settings(site);
    let mut args: Vec<String> = settings
        .iter()
        .flat_map(|(name, value)| [name.clone(), value.clone()])
        .filter(|word| !word.is_empty())
        .collect();
    let (socket, tcp) = if idx.is_multiple_of(2) {
        let socket = site.scratch.socket_path(&format!("s{idx}.sock"))?;
        args.extend(["-s".to_owned(), socket.display().to_string()]);
        (Some(socket), None)
    } else {
        args.extend(["-l".to_owned(), site.addresses(",")]);
        args.extend(["-p".to_owned(), tcp.port().to_string()]);
        (None, Some(tcp))
    };
    Ok(Launch {
        program: Program::new(site.binary.clone(), args),
        socket,
        tcp,
        tls: None,
        abstract_name: None,
        settings,
    })
}

fn settings(site: &Site<'_>) -> Vec<(String, String)> {
    owned(&[
        // One worker thread, so that all work of the process can be pinned to one core.
        ("-t", "1"),
        ("-m", &site.cache_mib(BYTES_PER_ROW).max(LEAST_MIB).to_string()),
        // With this option, memcached refuses a new key if memory is full. Without this option, memcached would drop
        // another key, which would be missing in the middle of a run.
        ("-M", ""),
        ("-c", &site.n_connections.to_string()),
        // The kernel lowers the backlog to net.core.somaxconn.
        ("-b", &site.n_connections.clamp(1024, 65_535).to_string()),
        ("-U", "0"),
        ("-a", "700"),
    ])
}
