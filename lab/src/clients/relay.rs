//! A relay between a traced client and its server that delays every answer for a moment.
//!
//! Tracing makes a program so slow that the answer has already arrived when the program looks for it. Without tracing
//! the client has to wait, with both ends on one core and in most other cases. The relay restores this situation, on a
//! socket of the same family, and does not change the bytes or the sizes of the pieces.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// Delay of an answer: much longer than the 0.1 ms that a traced call takes.
const HOLD: Duration = Duration::from_millis(1);

/// A relay that listens on both arms until this process ends.
pub(crate) struct Relay {
    pub(crate) socket: PathBuf,
    pub(crate) tcp: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Relay {
    /// Starts a relay in front of a server. PostgreSQL's clients read the port from the socket's name, so the relay's
    /// socket has the same name.
    pub(crate) fn start(socket: &Path, tcp: SocketAddr) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let name = socket.file_name().context("the socket has no name")?;
        let ours = folder.path().join(name);
        let unix_listener = UnixListener::bind(&ours).context("cannot listen on a socket")?;
        let tcp_listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on TCP")?;
        let relay = Self { socket: ours, tcp: tcp_listener.local_addr().context("no address")?, _folder: folder };
        let server = socket.to_owned();
        thread::spawn(move || {
            for client in unix_listener.incoming().flatten() {
                if let Ok(server) = UnixStream::connect(&server) {
                    let _ = join(client, server);
                }
            }
        });
        thread::spawn(move || {
            for client in tcp_listener.incoming().flatten() {
                if let Ok(server) = TcpStream::connect(tcp) {
                    let _ = join(client, server);
                }
            }
        });
        Ok(relay)
    }
}

/// A stream of either family.
trait Stream: Read + Write + Send + Sized + 'static {
    fn twin(&self) -> io::Result<Self>;
    fn close(&self);
}

impl Stream for UnixStream {
    fn twin(&self) -> io::Result<Self> {
        self.try_clone()
    }
    fn close(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Stream for TcpStream {
    fn twin(&self) -> io::Result<Self> {
        self.set_nodelay(true)?;
        self.try_clone()
    }
    fn close(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

fn join<S: Stream>(client: S, server: S) -> io::Result<()> {
    let (asking, asked) = (client.twin()?, server.twin()?);
    thread::spawn(move || copy(asking, asked, Duration::ZERO));
    thread::spawn(move || copy(server, client, HOLD));
    Ok(())
}

/// Copies bytes until one end closes its stream; then closes the other end.
fn copy<S: Stream>(mut from: S, mut to: S, hold: Duration) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        if !hold.is_zero() {
            thread::sleep(hold);
        }
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    from.close();
    to.close();
}
