//! Sends a request over a port or a socket, and reads the answer. Also a server whose answer shows over which of them a
//! request came.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Long enough for a slow machine, and short enough to end a test that hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request as a web server sends it for a client.
fn request(page: &str) -> String {
    let from = "X-Forwarded-For: 203.0.113.9";
    format!("GET {page} HTTP/1.1\r\nHost: shop.example\r\n{from}\r\nConnection: close\r\n\r\n")
}

/// The whole answer from a TCP port; `None` if no process listens.
pub(super) fn ask_port(port: u16, page: &str) -> Option<String> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    ask(stream, &request(page))
}

pub(super) fn ask_socket(path: &Path, page: &str) -> Option<String> {
    let stream = UnixStream::connect(path).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    ask(stream, &request(page))
}

fn ask(mut stream: impl Read + Write, request: &str) -> Option<String> {
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    (!answer.is_empty()).then(|| String::from_utf8_lossy(&answer).into_owned())
}

/// Starts a server that answers each request with `way host page`, on a port and on a socket. Returns the port.
pub(super) fn serve_both(socket: &Path) -> u16 {
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = tcp.local_addr().unwrap().port();
    let unix = UnixListener::bind(socket).unwrap();
    // The web server may run as any user.
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o777)).unwrap();
    thread::spawn(move || {
        for stream in tcp.incoming().flatten() {
            thread::spawn(move || answer(stream, "tcp"));
        }
    });
    thread::spawn(move || {
        for stream in unix.incoming().flatten() {
            thread::spawn(move || answer(stream, "socket"));
        }
    });
    port
}

fn answer(mut stream: impl Read + Write, way: &str) {
    let mut lines = BufReader::new(&mut stream).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    let page = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut host = String::new();
    for line in lines.map_while(Result::ok).take_while(|it| !it.is_empty()) {
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("host")
        {
            value.clone_into(&mut host);
        }
    }
    let body = format!("{way} {host} {page}");
    let n_bytes = body.len();
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {n_bytes}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).ok();
}
