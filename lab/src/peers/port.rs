//! Ports of 127.0.0.1 for servers that the lab starts itself.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// Returns a port of 127.0.0.1 that is free now.
pub(super) fn free_port() -> Result<u16> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    Ok(bound.context("no free port")?.port())
}

/// Returns whether a process listens on this port of 127.0.0.1. Reads the kernel's list, because a test connection
/// would count as a client of the server.
pub(super) fn is_listening(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    lists_listener(&table, port)
}

/// Parses `/proc/net/tcp`: `sl local_address rem_address st …`, in hexadecimal; state 0A is LISTEN.
fn lists_listener(table: &str, port: u16) -> bool {
    let local = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_here = fields.next().is_some_and(|field| field.ends_with(&local));
        is_here && fields.nth(1) == Some("0A")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_listener_in_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000
   1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000\n";
        assert!(lists_listener(table, 8080));
        assert!(!lists_listener(table, 8081));
        assert!(!lists_listener("", 8080));
    }
}
