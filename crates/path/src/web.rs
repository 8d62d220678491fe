//! Connections to a web server, plain or sealed: streams with time limits, for pages that are asked for over HTTP.
//!
//! Called by the proof of `switch` and by the trial, for addresses of this machine.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use looptax_wire::Stream;

use crate::TlsClient;
use crate::tls::invalid;

/// Connects to `at`; with TLS for a server that is called by the given name.
///
/// No single wait is longer than `limit`: neither for the connection nor for bytes of either direction.
///
/// # Errors
/// Whatever the system says. What is wrong with TLS comes with the first bytes, as [`io::ErrorKind::InvalidData`].
pub fn open_web(
    at: SocketAddr,
    tls: Option<(&TlsClient, &str)>,
    limit: Duration,
) -> io::Result<Box<dyn Stream + Send>> {
    let stream = TcpStream::connect_timeout(&at, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    // A request goes out at once, whatever the answer before it was.
    stream.set_nodelay(true)?;
    Ok(match tls {
        Some((client, host)) => Box::new(client.stream(stream, host).map_err(invalid)?),
        None => Box::new(stream),
    })
}
