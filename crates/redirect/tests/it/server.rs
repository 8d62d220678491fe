//! A server on TCP and on a socket. It tells each client over which transport the client connected and who the client
//! is, then echoes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tempfile::TempDir;

use crate::raw;

/// The server; its threads live as long as the test program.
pub(crate) struct Server {
    pub(crate) tcp: SocketAddr,
    pub(crate) socket: PathBuf,
    pub(crate) folder: TempDir,
    n_tcp: Arc<AtomicUsize>,
    n_unix: Arc<AtomicUsize>,
    n_looks: AtomicUsize,
}

impl Server {
    /// Starts a server on 127.0.0.1.
    pub(crate) fn start() -> Self {
        Self::start_at("127.0.0.1:0")
    }

    pub(crate) fn start_at(address: &str) -> Self {
        Bound::at(address).serve()
    }

    /// Returns how many clients connected over TCP, and how many over the socket.
    pub(crate) fn counts(&self) -> (usize, usize) {
        // Clients that were in a queue before this connection are counted by the time this connection gets its answer.
        let mut byte = [0];
        TcpStream::connect(self.tcp).unwrap().read_exact(&mut byte).unwrap();
        let mut socket = UnixStream::connect(&self.socket).unwrap();
        socket.read_exact(&mut byte).unwrap();
        let n_own = self.n_looks.fetch_add(1, Ordering::SeqCst) + 1;
        let count = |it: &AtomicUsize| it.load(Ordering::SeqCst) - n_own;
        (count(&self.n_tcp), count(&self.n_unix))
    }

    /// Returns how many clients have been accepted over TCP so far.
    pub(crate) fn n_tcp_by_now(&self) -> usize {
        self.n_tcp.load(Ordering::SeqCst)
    }

    /// Returns how many clients have been accepted over the socket so far.
    pub(crate) fn n_unix_by_now(&self) -> usize {
        self.n_unix.load(Ordering::SeqCst)
    }
}

/// A server that listens and has no threads yet.
pub(crate) struct Bound {
    tcp_listener: TcpListener,
    unix_listener: UnixListener,
    pub(crate) tcp: SocketAddr,
    pub(crate) socket: PathBuf,
    pub(crate) folder: TempDir,
}

impl Bound {
    pub(crate) fn at(address: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), mode).unwrap();
        let socket = folder.path().join("s");
        let tcp_listener = TcpListener::bind(address).unwrap();
        let unix_listener = UnixListener::bind(&socket).unwrap();
        let all = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(&socket, all).unwrap();
        Self { tcp: tcp_listener.local_addr().unwrap(), tcp_listener, unix_listener, socket, folder }
    }

    pub(crate) fn serve(self) -> Server {
        let (n_tcp, n_unix) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let (listener, count) = (self.tcp_listener, Arc::clone(&n_tcp));
        thread::spawn(move || {
            // If this process has no descriptor left for a moment, the connection waits in the queue.
            for stream in listener.incoming().filter_map(Result::ok) {
                count.fetch_add(1, Ordering::SeqCst);
                let peer = stream.peer_addr().unwrap();
                thread::spawn(move || serve(stream, &format!("tcp {}", peer.ip())));
            }
        });
        let (listener, count) = (self.unix_listener, Arc::clone(&n_unix));
        thread::spawn(move || {
            // If this process has no descriptor left for a moment, the connection waits in the queue.
            for stream in listener.incoming().filter_map(Result::ok) {
                count.fetch_add(1, Ordering::SeqCst);
                let who = raw::peer_account(stream.as_raw_fd());
                thread::spawn(move || serve(stream, &format!("unix {who}")));
            }
        });
        Server { tcp: self.tcp, socket: self.socket, folder: self.folder, n_tcp, n_unix, n_looks: AtomicUsize::new(0) }
    }
}

/// Sends one line as a greeting, then echoes.
fn serve(mut stream: impl Read + Write, greeting: &str) {
    if stream.write_all(format!("{greeting}\n").as_bytes()).is_err() {
        return;
    }
    let mut part = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut part) {
        if stream.write_all(&part[..n]).is_err() {
            return;
        }
    }
}
