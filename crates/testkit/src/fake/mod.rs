//! Fake servers: they accept every login, and then send the answer of their script. Tests use them to check how looptax
//! treats a peer that only pretends to be a server.
//!
//! Each fake listens on a socket and on a port that the kernel chose, runs as a user that the test selects, and keeps
//! all bytes that it receives. One thread accepts the connections of each kind, and a separate thread serves each
//! connection; all threads end with the test program.

mod memcached;
mod mongodb;
mod mysql;
mod postgres;
mod redis;
mod script;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;

pub use self::script::{Answer, Script, Speaks};

#[derive(Debug)]
pub struct Fake {
    pub socket: PathBuf,
    pub tcp: SocketAddr,
    script: Script,
    heard: Heard,
}

type Heard = Arc<Mutex<Vec<u8>>>;

impl Fake {
    /// Listens on a socket in `folder` and on a free port. If the fake runs as another user, this user must be allowed
    /// to write in `folder`.
    ///
    /// # Panics
    /// Panics if it cannot listen.
    pub fn start(folder: &Path, script: Script) -> Self {
        let heard = Heard::default();
        let (tell, hear) = channel();
        let (folder, keep) = (folder.to_owned(), Arc::clone(&heard));
        // In the kernel each thread has its own user, and the kernel records the user of the thread that calls
        // `listen`.
        thread::spawn(move || {
            if let Some(uid) = script.uid.map(Uid::from_raw) {
                set_thread_res_uid(uid, uid, uid).expect("the test is root's");
            }
            let inet = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
            let tcp = inet.local_addr().expect("it is bound");
            let socket = folder.join(match script.speaks {
                Speaks::Postgres => format!(".s.PGSQL.{}", tcp.port()),
                other => format!("{}.sock", other.scheme()),
            });
            let unix = UnixListener::bind(&socket).expect("the folder may be written");
            tell.send((tcp, socket)).expect("the test waits");
            let for_tcp = Arc::clone(&keep);
            thread::spawn(move || {
                inet.incoming().flatten().for_each(|stream| serve(stream, script, &for_tcp));
            });
            unix.incoming().flatten().for_each(|stream| serve(stream, script, &keep));
        });
        let (tcp, socket) = hear.recv().expect("it listens");
        Self { socket, tcp, script, heard }
    }

    /// Returns the URL with which a client logs in to this server.
    pub fn url(&self) -> String {
        let scheme = self.script.speaks.scheme();
        let (account, place) = match self.script.speaks {
            Speaks::Mysql | Speaks::Postgres => ("app:s3cr3t-w0rd@", "/shop"),
            Speaks::Redis => (":s3cr3t-w0rd@", "/0"),
            Speaks::Memcached | Speaks::Mongodb => ("", "/"),
        };
        format!("{scheme}://{account}{}{place}", self.tcp)
    }

    /// Returns all bytes that the server has received so far.
    pub fn heard(&self) -> Vec<u8> {
        lock(&self.heard).clone()
    }
}

fn lock(heard: &Heard) -> MutexGuard<'_, Vec<u8>> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream that saves all bytes that are read from it.
struct Kept<S> {
    stream: S,
    heard: Heard,
}

impl<S: Read> Read for Kept<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(buffer)?;
        lock(&self.heard).extend_from_slice(&buffer[..n]);
        Ok(n)
    }
}

impl<S: Write> Write for Kept<S> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn serve(stream: impl Read + Write + Send + 'static, script: Script, heard: &Heard) {
    serve_one(Kept { stream, heard: Arc::clone(heard) }, script);
}

/// Serves one connection that the caller has accepted, in a new thread that ends when the client closes the
/// connection.
pub fn serve_one(mut stream: impl Read + Write + Send + 'static, script: Script) {
    thread::spawn(move || {
        let _ended = match script.speaks {
            Speaks::Mysql => mysql::serve(&mut stream, script),
            Speaks::Postgres => postgres::serve(&mut stream, script),
            Speaks::Redis => redis::serve(&mut stream, script),
            Speaks::Memcached => memcached::serve(&mut stream, script),
            Speaks::Mongodb => mongodb::serve(&mut stream, script),
        };
    });
}
