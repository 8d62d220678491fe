//! HTTP/1.1 on the echo server's connections: the minimum that an upstream of a web server must support.
//!
//! The pages are those of [`looptax_wire::site`]. The loop in [`converse`] does not log; it allocates and locks only if
//! a page differs in size from the previous page. Each connection has its own counter; the counters are added up only
//! when a client requests the sum.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use looptax_wire::{site, upstream};

use super::connection::{receive_some, send_whole, welcome};

/// Maximum number of header lines in a request.
const MOST_HEADERS: usize = 64;
/// Size of the buffer for a request's head, and for the part of a body that is read in one call, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// Counters of the requests for measured pages.
struct Counts {
    ended: u64,
    open: Vec<Arc<AtomicU64>>,
}

static COUNTS: Mutex<Counts> = Mutex::new(Counts { ended: 0, open: Vec::new() });

fn counts() -> MutexGuard<'static, Counts> {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    Who,
    Count,
    Hello,
    Sized(u64),
    Upload,
    Unknown,
}

/// The parts of a request's head that this server uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    page: Page,
    n_head: usize,
    n_body: u64,
    is_last: bool,
}

/// Serves one connection from its first request to its end. Errors are ignored: the client sees that the connection
/// ended, and reports why.
pub(super) fn serve(connection: BorrowedFd<'_>) {
    let count = Arc::new(AtomicU64::new(0));
    counts().open.push(Arc::clone(&count));
    converse(connection, &count).ok();
    let mut counts = counts();
    counts.open.retain(|it| !Arc::ptr_eq(it, &count));
    counts.ended += count.load(Ordering::Relaxed);
}

fn converse(connection: BorrowedFd<'_>, count: &AtomicU64) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut n_filled = 0;
    let mut answer = Answer::to_peer(peer_of(connection));
    loop {
        let asked = loop {
            if let Some(asked) = asked(&buffer[..n_filled])? {
                break asked;
            }
            match receive_some(connection, &mut buffer[n_filled..])? {
                // The client has closed the connection, or the head is longer than the buffer.
                0 => return Ok(()),
                n => n_filled += n,
            }
        };
        let n_here = asked.n_body.min((n_filled - asked.n_head) as u64);
        let mut n_left = asked.n_body - n_here;
        let n_used = asked.n_head + n_here as usize;
        buffer.copy_within(n_used..n_filled, 0);
        n_filled -= n_used;
        while n_left > 0 {
            let n_room = n_left.min(buffer.len() as u64) as usize;
            match receive_some(connection, &mut buffer[..n_room])? {
                0 => return Ok(()),
                n => n_left -= n as u64,
            }
        }
        if matches!(asked.page, Page::Hello | Page::Sized(_) | Page::Upload) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        send_whole(connection, answer.to(asked))?;
        if asked.is_last {
            return Ok(());
        }
    }
}

/// Returns the address of a TCP client; `None` for a socket.
fn peer_of(connection: BorrowedFd<'_>) -> Option<SocketAddr> {
    let peer = rustix::net::getpeername(connection).ok()??;
    SocketAddr::try_from(peer).ok()
}

/// Parses the request whose head is at the start of the data; `None` while the head is incomplete.
fn asked(received: &[u8]) -> io::Result<Option<Asked>> {
    let mut lines = [const { std::mem::MaybeUninit::uninit() }; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut []);
    let parsed = head.parse_with_uninit_headers(received, &mut lines);
    let Ok(parsed) = parsed else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let httparse::Status::Complete(n_head) = parsed else {
        return Ok(None);
    };
    let mut asked =
        Asked { page: page(head.path.unwrap_or_default()), n_head, n_body: 0, is_last: head.version != Some(1) };
    for line in head.headers.iter() {
        let value = line.value.trim_ascii();
        if line.name.eq_ignore_ascii_case("Content-Length") {
            let number = std::str::from_utf8(value).ok().and_then(|it| it.parse().ok());
            asked.n_body = number.filter(|it| *it <= site::MOST_BYTES).ok_or(io::ErrorKind::InvalidData)?;
        } else if line.name.eq_ignore_ascii_case("Connection") {
            asked.is_last =
                !value.eq_ignore_ascii_case(b"keep-alive") && (asked.is_last || value.eq_ignore_ascii_case(b"close"));
        }
    }
    Ok(Some(asked))
}

fn page(target: &str) -> Page {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match path.strip_prefix('/').unwrap_or_default() {
        site::WHO => Page::Who,
        site::COUNT => Page::Count,
        site::HELLO => Page::Hello,
        site::UPLOAD => Page::Upload,
        site::SIZED => {
            let bytes = query.strip_prefix(site::BYTES).and_then(|it| it.strip_prefix('='));
            let bytes = bytes.and_then(|it| it.parse().ok());
            let bytes = bytes.filter(|it| *it <= site::MOST_BYTES);
            bytes.map_or(Page::Unknown, Page::Sized)
        }
        _ => Page::Unknown,
    }
}

/// The last reply, which is kept because the next request usually needs the same reply.
struct Answer {
    peer: Option<SocketAddr>,
    to: Option<(Page, u64, bool)>,
    bytes: Vec<u8>,
}

impl Answer {
    fn to_peer(peer: Option<SocketAddr>) -> Self {
        Self { peer, to: None, bytes: Vec::new() }
    }

    fn to(&mut self, asked: Asked) -> &[u8] {
        let now = (asked.page, asked.n_body, asked.is_last);
        if self.to != Some(now) || asked.page == Page::Count {
            self.to = Some(now);
            self.make(asked);
        }
        &self.bytes
    }

    fn make(&mut self, asked: Asked) {
        let filler = |n_bytes: u64| vec![b'x'; n_bytes as usize];
        let body = match asked.page {
            Page::Who | Page::Unknown => Vec::new(),
            Page::Hello => filler(site::HELLO_BYTES),
            Page::Sized(n_bytes) => filler(n_bytes),
            Page::Upload => asked.n_body.to_string().into_bytes(),
            Page::Count => {
                let counts = counts();
                let open = counts.open.iter().map(|it| it.load(Ordering::Relaxed));
                (counts.ended + open.sum::<u64>()).to_string().into_bytes()
            }
        };
        let status = match asked.page {
            Page::Unknown => "404 Not Found",
            _ => "200 OK",
        };
        self.bytes.clear();
        // Writing to a vector cannot fail.
        let _ = write!(
            self.bytes,
            "HTTP/1.1 {status}\r\nServer: looptax/{}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n",
            env!("CARGO_PKG_VERSION"),
            body.len()
        );
        if asked.page == Page::Who {
            let _ = write!(self.bytes, "{}: {}\r\n", upstream::WORKER_HEADER, welcome().tid);
            if let Some(peer) = self.peer {
                let _ = write!(self.bytes, "{}: {peer}\r\n", upstream::PEER_HEADER);
            }
        }
        if asked.is_last {
            self.bytes.extend_from_slice(b"Connection: close\r\n");
        }
        self.bytes.extend_from_slice(b"\r\n");
        self.bytes.extend_from_slice(&body);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    /// Returns all replies to these requests; the last request must ask the server to close the connection.
    fn answers(requests: &[u8]) -> String {
        let (mut client, server) = UnixStream::pair().unwrap();
        let served = thread::spawn(move || serve(server.as_fd()));
        client.write_all(requests).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        served.join().unwrap();
        text
    }

    fn bodies(text: &str) -> Vec<&str> {
        let mut parts = text.split("\r\n\r\n").skip(1);
        let mut found = Vec::new();
        for part in parts.by_ref() {
            found.push(part.split("HTTP/1.1").next().unwrap_or_default());
        }
        found
    }

    #[test]
    fn pages_are_answered_one_after_another_until_one_is_the_last() {
        let text = answers(
            b"GET /page?bytes=3 HTTP/1.1\r\nHost: a\r\n\r\nPOST /upload HTTP/1.1\r\ncontent-length: 5\r\n\r\n12345\
              GET /page?bytes=0 HTTP/1.1\r\nConnection: Close\r\n\r\nGET /hello HTTP/1.1\r\n\r\n",
        );
        assert_eq!(bodies(&text), ["xxx", "5", ""]);
        assert_eq!(text.matches("Connection: close").count(), 1);
    }

    #[test]
    fn whoever_is_older_or_asks_for_nothing_that_is_there_is_answered_too() {
        let text = answers(b"GET /nothing HTTP/1.1\r\n\r\nGET /hello HTTP/1.0\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 404"), "{text}");
        assert_eq!(bodies(&text)[1].len(), 200);
    }

    #[test]
    fn what_is_no_request_ends_the_connection() {
        assert_eq!(answers(b"\x16\x03\x01 hello\r\n\r\n"), "");
        assert_eq!(answers(b"POST /upload HTTP/1.1\r\nContent-Length: x\r\n\r\n"), "");
        let long = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(2 * BUFFER_BYTES));
        let (client, server) = UnixStream::pair().unwrap();
        let served = thread::spawn(move || serve(server.as_fd()));
        (&client).write_all(long.as_bytes()).ok();
        drop(client);
        served.join().unwrap();
    }

    #[test]
    fn the_count_is_of_measured_pages_of_all_connections() {
        let count = || {
            let text = answers(b"GET /count HTTP/1.1\r\nConnection: close\r\n\r\n");
            bodies(&text)[0].parse::<u64>().unwrap()
        };
        let before = count();
        answers(b"GET /hello HTTP/1.1\r\n\r\nGET /who HTTP/1.1\r\n\r\nGET /hello HTTP/1.0\r\n\r\n");
        assert!(count() >= before + 2);
    }
}
