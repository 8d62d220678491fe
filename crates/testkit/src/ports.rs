//! Addresses for the servers that a test starts.
//!
//! A port that the kernel chooses is free for a moment only: given back, it may be chosen for the next who
//! asks, or for a connection of another test. These are given once, and are below those that it chooses from.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 15_000;
/// Below the range of ports that the kernel chooses from by default, which begins at 32768.
const N_PORTS: u32 = 17_000;
/// How far apart two test programs that run at once begin, by their process ids.
const STRIDE: u32 = 500;

/// An address of 127.0.0.1 on which no process listens, and that this program gets only once.
///
/// # Panics
/// When all are taken.
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
