//! `looptax check` with a malicious program that listens on the port.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::net::UnixListener;
use std::thread;

use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use crate::fixture::exe;

const N_BYTES: usize = 10 << 20;
/// Clears the screen and sets the title of the window.
const STEERING: &str = "\u{1b}[2J\u{1b}]0;evil\u{7}";
/// More than `check` ever prints about real servers.
const MOST_PRINTED_BYTES: usize = 16 << 10;
/// Limit of the address space in KiB: enough for the program itself, but not for ten copies of the answer.
const MOST_MEMORY_KIB: u32 = 512 << 10;

/// Answers every connection with the same bytes, on TCP and on a socket; ends with the process of the test.
fn serve(scratch: &Scratch, bytes: &[u8], waits: bool) -> (u16, String) {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let path = scratch.file("evil.sock");
    let unix = UnixListener::bind(&path).unwrap();
    let port = tcp.local_addr().unwrap().port();
    let (for_tcp, for_unix) = (bytes.to_vec(), bytes.to_vec());
    thread::spawn(move || {
        for mut stream in tcp.incoming().flatten() {
            if waits {
                let _ = stream.read(&mut [0; 1024]);
            }
            let _ = stream.write_all(&for_tcp);
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
    thread::spawn(move || {
        for mut stream in unix.incoming().flatten() {
            if waits {
                let _ = stream.read(&mut [0; 1024]);
            }
            let _ = stream.write_all(&for_unix);
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
    (port, path.to_str().unwrap().to_owned())
}

#[track_caller]
fn check_harmless(scheme: &str, bytes: &[u8], waits: bool) {
    let scratch = Scratch::new();
    let (port, socket) = serve(&scratch, bytes, waits);
    let command = format!(
        "ulimit -v {MOST_MEMORY_KIB}; exec {} check {scheme}://u:pw@127.0.0.1:{port}/ --socket {socket}",
        exe().display()
    );
    let run = Looptax::new("/bin/sh", &scratch).args(["-c", &command]).run();
    assert!(run.stdout.contains("--verbose"), "{}", run.stderr);
    for text in [&run.stdout, &run.stderr] {
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:.200}");
        assert!(text.len() < MOST_PRINTED_BYTES, "{} bytes", text.len());
    }
}

#[test]
fn a_server_of_mysql_that_sends_ten_megabytes_steers_nothing() {
    let mut message = vec![0xff, 0x10, 0x04];
    message.extend(STEERING.as_bytes());
    message.resize(N_BYTES, b'x');
    let mut packet = (message.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(0);
    packet.extend(message);
    check_harmless("mysql", &packet, false);

    // A greeting with a version string that never ends.
    let mut greeting = vec![10];
    greeting.extend(STEERING.as_bytes());
    greeting.resize(N_BYTES, b'9');
    let mut packet = (greeting.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(0);
    packet.extend(greeting);
    check_harmless("mysql", &packet, false);
}

#[test]
fn a_server_of_postgres_that_sends_ten_megabytes_steers_nothing() {
    let mut fields = b"SFATAL\0C28000\0M".to_vec();
    fields.extend(STEERING.as_bytes());
    fields.resize(N_BYTES, b'x');
    fields.extend([0, 0]);
    let mut message = vec![b'E'];
    message.extend((fields.len() as u32 + 4).to_be_bytes());
    message.extend(fields);
    check_harmless("postgres", &message, true);
}

#[test]
fn a_server_of_redis_that_sends_ten_megabytes_steers_nothing() {
    let mut reply = format!("-ERR {STEERING}").into_bytes();
    reply.resize(N_BYTES, b'x');
    reply.extend(b"\r\n");
    check_harmless("redis", &reply, true);
}
