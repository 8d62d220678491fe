//! A fake Redis with scripted faults: it answers looptax's commands, and fails when its script requires this.
//!
//! The server listens on a socket and on a port that the kernel chose. It has no keys. One thread accepts connections,
//! and a separate thread serves each connection; all threads end with their connections. Used by tests of the command
//! line.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{Shutdown, shutdown};

/// The scripted faults. By default there are no faults.
#[derive(Debug, Clone, Copy, Default)]
pub struct Script {
    /// When the server has accepted this number of connections, it stops listening. It answers on the last of these
    /// connections only after that.
    pub n_connections: Option<usize>,
    /// The number of a GET, counted from 1. The server closes the connection instead of answering this GET.
    pub closes_at: Option<u64>,
    /// Time that the server waits before it closes the connection on which the GET of `closes_at` arrived.
    pub closes_after: Duration,
}

/// A fake server. It runs until its script stops it from listening, or until the test program ends.
#[derive(Debug)]
pub struct FakeRedis {
    pub socket: PathBuf,
    pub tcp: SocketAddr,
}

/// Data that all connections share.
struct Shared {
    script: Script,
    tcp: SocketAddr,
    /// The lines of `CLIENT LIST`; a connection's number is its position in the list, counted from 1.
    clients: Mutex<Vec<String>>,
}

impl FakeRedis {
    /// Listens on a socket in `folder` and on a free port.
    ///
    /// # Panics
    /// Panics if it cannot listen.
    pub fn start(folder: &Path, script: Script) -> Self {
        let socket = folder.join("fake.sock");
        let unix = UnixListener::bind(&socket).expect("the folder is the test's own");
        let inet = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
        let tcp = inet.local_addr().expect("it is bound");
        let shared = Arc::new(Shared { script, tcp, clients: Mutex::new(Vec::new()) });
        let path = socket.clone();
        thread::spawn(move || listen(&unix, &inet, &path, &shared));
        Self { socket, tcp }
    }
}

/// Accepts connections of both kinds until the last connection of the script was accepted.
fn listen(unix: &UnixListener, inet: &TcpListener, socket: &Path, shared: &Arc<Shared>) {
    let mut n_taken = 0;
    loop {
        let mut ready = [PollFd::new(unix, PollFlags::IN), PollFd::new(inet, PollFlags::IN)];
        if poll(&mut ready, None).is_err() {
            return;
        }
        let [is_unix, is_inet] = ready.map(|it| it.revents().contains(PollFlags::IN));
        let mut taken: Vec<(OwnedFd, String)> = Vec::new();
        if is_unix && let Ok((stream, _)) = unix.accept() {
            taken.push((stream.into(), format!("addr={}:0 flags=U", socket.display())));
        }
        if is_inet && let Ok((stream, from)) = inet.accept() {
            taken.push((stream.into(), format!("addr={from} flags=N")));
        }
        n_taken += taken.len();
        let is_last = shared.script.n_connections == Some(n_taken);
        if is_last {
            // The server stops listening before it answers, so that no client connects after the last connection.
            fs::remove_file(socket).ok();
            for listener in [unix.as_fd(), inet.as_fd()] {
                shutdown(listener, Shutdown::Both).ok();
            }
        }
        for (stream, seen_as) in taken {
            let shared = Arc::clone(shared);
            thread::spawn(move || serve(stream, &seen_as, &shared));
        }
        if is_last {
            return;
        }
    }
}

/// Answers the commands of one connection until the connection ends.
fn serve(stream: OwnedFd, seen_as: &str, shared: &Shared) -> Option<()> {
    let id = {
        let mut clients = shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let id = clients.len() + 1;
        clients.push(format!("id={id} {seen_as}"));
        id
    };
    let stream = fs::File::from(stream);
    let mut requests = BufReader::new(&stream);
    let mut n_gets = 0;
    loop {
        let words = request(&mut requests)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if words[0] == "GET" {
            n_gets += 1;
        }
        if words[0] == "GET" && shared.script.closes_at == Some(n_gets) {
            thread::sleep(shared.script.closes_after);
            return None;
        }
        let answer = answer(&words, id, shared);
        (&stream).write_all(answer.as_bytes()).ok()?;
    }
}

fn answer(words: &[&str], id: usize, shared: &Shared) -> String {
    match words {
        ["GET", _] => "$-1\r\n".to_owned(),
        ["AUTH" | "SELECT", ..] => "+OK\r\n".to_owned(),
        ["CLIENT", "ID"] => format!(":{id}\r\n"),
        ["CLIENT", "LIST"] => {
            let clients = shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
            bulk(&clients.join("\n"))
        }
        ["INFO", ..] => bulk(&format!(
            "redis_version:7.0.0\r\nrun_id:fake{}\r\nprocess_id:{}\r\nconnected_clients:1\r\n",
            shared.tcp.port(),
            std::process::id()
        )),
        _ => "-ERR not in the script\r\n".to_owned(),
    }
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// Reads one command; `None` if the connection ends or the client sends something that is not a command.
fn request(requests: &mut impl BufRead) -> Option<Vec<String>> {
    let n_words: usize = line(requests)?.strip_prefix('*')?.parse().ok()?;
    let word = |_| {
        let n_bytes: usize = line(requests)?.strip_prefix('$')?.parse().ok()?;
        let mut bytes = vec![0; n_bytes + 2];
        requests.read_exact(&mut bytes).ok()?;
        bytes.truncate(n_bytes);
        String::from_utf8(bytes).ok()
    };
    (0..n_words).map(word).collect::<Option<Vec<_>>>().filter(|words| !words.is_empty())
}

fn line(requests: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    requests.read_line(&mut line).ok()?;
    line.strip_suffix("\r\n").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::scratch::Scratch;

    const GET: &[u8] = b"*2\r\n$3\r\nGET\r\n$1\r\nx\r\n";

    #[track_caller]
    fn check(mut stream: impl Read + Write, sent: &[u8], wanted: &str) {
        stream.write_all(sent).unwrap();
        let mut found = vec![0; wanted.len()];
        stream.read_exact(&mut found).unwrap();
        assert_eq!(String::from_utf8_lossy(&found), wanted);
    }

    #[test]
    fn answers_on_both_and_closes_as_told() {
        let scratch = Scratch::new();
        let script = Script { closes_at: Some(2), ..Script::default() };
        let fake = FakeRedis::start(&scratch.work(), script);
        let mut stream = UnixStream::connect(&fake.socket).unwrap();
        check(&stream, GET, "$-1\r\n");
        check(&stream, b"*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n", ":1\r\n");
        check(TcpStream::connect(fake.tcp).unwrap(), GET, "$-1\r\n");
        stream.write_all(GET).unwrap();
        assert_eq!(stream.read(&mut [0; 9]).unwrap_or(0), 0);
    }

    #[test]
    fn nobody_connects_behind_the_last_one() {
        let scratch = Scratch::new();
        let script = Script { n_connections: Some(1), ..Script::default() };
        let fake = FakeRedis::start(&scratch.work(), script);
        check(TcpStream::connect(fake.tcp).unwrap(), GET, "$-1\r\n");
        assert!(TcpStream::connect(fake.tcp).is_err());
        assert!(UnixStream::connect(&fake.socket).is_err());
    }
}
