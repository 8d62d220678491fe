//! A relay between a traced client and its server that holds every answer back for a moment.
//!
//! A traced program is so slow that the answer would be there before it looks. With both ends on one
//! core, and mostly elsewhere too, it is not: the client has to wait. The relay brings that back, on
//! a socket of the same family, and leaves the bytes and their pieces as they are.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// How long an answer is held back: well above the 0.1 ms that a traced call takes.
const HOLD: Duration = Duration::from_millis(1);

/// Listens on both arms until this process ends.
pub(crate) struct Relay {
    pub(crate) socket: PathBuf,
    pub(crate) tcp: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Relay {
    /// In front of a server. PostgreSQL's clients read the port from the socket's name, so it is kept.
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

/// Both kinds of stream.
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

/// Until one end closes; then the other is closed too.
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
