//! Addresses for the servers that a test starts.
//!
//! A port that the kernel chooses is free only for a moment: when the test closes it, another program or a connection
//! of another test may get the port. This file returns each port only once, and uses ports below the range from which
//! the kernel chooses.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 15_000;
/// Number of ports. All ports are below the range from which the kernel chooses by default, which begins at 32768.
const N_PORTS: u32 = 17_000;
/// The first port of a test program depends on its process id, in steps of this size, so that two test programs that
/// run at the same time usually use different ports.
const STRIDE: u32 = 500;

/// Returns an address of 127.0.0.1 on which no process listens; this program gets each address only once.
///
/// # Panics
/// Panics if no port is left.
pub fn free_address() -> SocketAddr {
    static N_TRIED: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id() % (N_PORTS / STRIDE) * STRIDE;
    let mut tries = (0..N_PORTS).map(|_| N_TRIED.fetch_add(1, Ordering::Relaxed));
    let free = tries.find_map(|tried| {
        let port = FIRST + begin.wrapping_add(tried) % N_PORTS;
        let port = u16::try_from(port).expect("the last port is one");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?;
        listener.local_addr().ok()
    });
    free.expect("a port on which nobody listens")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nobody_is_given_what_another_was_or_where_somebody_listens() {
        let taken = TcpListener::bind(free_address()).unwrap();
        let given: BTreeSet<SocketAddr> = (0..100).map(|_| free_address()).collect();
        assert_eq!(given.len(), 100);
        assert!(!given.contains(&taken.local_addr().unwrap()));
    }
}
