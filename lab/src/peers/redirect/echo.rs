//! The server, on TCP and on a socket, with one connection at a time on each. It sends the transport as its greeting,
//! and then echoes.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::thread;

use anyhow::Result;

/// The address at which the server listens.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The path of the socket; the port is printed on standard output
    #[arg(long)]
    socket: PathBuf,
}

/// Runs the server until it is killed.
pub(super) fn run(options: &Options) -> Result<()> {
    let _ = std::fs::remove_file(&options.socket);
    let unix = UnixListener::bind(&options.socket)?;
    let tcp = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", tcp.local_addr()?);
    thread::spawn(move || {
        for connection in unix.incoming().flatten() {
            serve(connection, b"u");
        }
    });
    for connection in tcp.incoming().flatten() {
        // Without this option, an echo of two writes waits for an acknowledgement.
        let _ = connection.set_nodelay(true);
        serve(connection, b"t");
    }
    Ok(())
}

fn serve(mut connection: impl Read + Write, greeting: &[u8]) {
    let mut bytes = [0; 64];
    if connection.write_all(greeting).is_err() {
        return;
    }
    while let Ok(n_bytes @ 1..) = connection.read(&mut bytes) {
        if connection.write_all(&bytes[..n_bytes]).is_err() {
            return;
        }
    }
}
