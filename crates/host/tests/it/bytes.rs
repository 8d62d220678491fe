//! Tests that `eyes::bytes` reads the same bytes of connections that these tests send.

use std::io::{IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use looptax_host::eyes::bytes::{Bytes, Chosen, Connection, Event, Loaded, ServerPlace, Side, socket_file};
use looptax_host::eyes::{Asked, Name, Refused};
use looptax_testkit::skips::skip;

const WAIT: Duration = Duration::from_millis(100);
const NO_LIMIT: u64 = 1 << 30;

fn open(chosen: &Chosen) -> Option<Bytes> {
    match Loaded::new(chosen).and_then(Loaded::attach) {
        Ok(bytes) => Some(bytes),
        Err(refused @ (Refused::Rights | Refused::NoTypes | Refused::NoTracepoint(_) | Refused::Lockdown)) => {
            skip(&format!("bytes: {refused}"));
            None
        }
        Err(refused) => panic!("{refused}"),
    }
}

/// The bytes that one connection sent and received.
#[derive(Debug)]
struct Seen {
    connection: Connection,
    sent: Vec<u8>,
    received: Vec<u8>,
    n_missing: u64,
}

/// Reads until no more items arrive.
fn read(bytes: &mut Bytes) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    let mut each = |event: Event<'_>| {
        match event {
            Event::Connection(connection) => {
                seen.push(Seen { connection, sent: Vec::new(), received: Vec::new(), n_missing: 0 });
            }
            Event::Piece(piece) => {
                let its = seen.iter_mut().find(|it| it.connection.cookie == piece.cookie).unwrap();
                its.n_missing += u64::from(piece.n_missing);
                let stream = if piece.is_received { &mut its.received } else { &mut its.sent };
                stream.extend_from_slice(piece.bytes);
            }
        }
        Ok(true)
    };
    for _ in 0..3 {
        while bytes.read(WAIT, &mut each).unwrap() {}
    }
    seen
}

/// Sends back everything that it receives.
fn echo(mut stream: impl Read + Write) {
    let mut some = [0; 5000];
    while let Ok(n @ 1..) = stream.read(&mut some) {
        stream.write_all(&some[..n]).unwrap();
    }
}

fn unix_echo(folder: &tempfile::TempDir) -> std::path::PathBuf {
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || listener.incoming().map(Result::unwrap).for_each(echo));
    path
}

fn tcp_echo(address: &str) -> std::net::SocketAddr {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().map(Result::unwrap).for_each(echo));
    address
}

/// Returns bytes in which an exchange of two parts would be noticed.
fn text(n_bytes: usize) -> Vec<u8> {
    (0..n_bytes as u32).map(|it| (it.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn every_byte_of_a_server_s_connections_is_read_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = unix_echo(&folder);
    let (v4, v6) = (tcp_echo("127.0.0.1:0"), tcp_echo("[::1]:0"));
    let places = vec![ServerPlace::Address(v4), ServerPlace::Port(v6.port())];
    let chosen = Chosen { places, files: vec![socket_file(&path).unwrap()], most_bytes: NO_LIMIT, ..Chosen::default() };
    let Some(mut bytes) = open(&chosen) else { return };
    let whole = text(200_001);
    let ask = |mut stream: Box<dyn Stream>| {
        for part in [&whole[..1], &whole[1..300], &whole[300..]] {
            let mut answer = vec![0; part.len()];
            for few in part.chunks(50_000) {
                stream.write_all(few).unwrap();
                stream.read_exact(&mut answer[..few.len()]).unwrap();
            }
        }
    };
    ask(Box::new(UnixStream::connect(&path).unwrap()));
    ask(Box::new(TcpStream::connect(v4).unwrap()));
    ask(Box::new(TcpStream::connect(v6).unwrap()));
    // A connection to a server that was not chosen is not read.
    ask(Box::new(TcpStream::connect(tcp_echo("127.0.0.1:0")).unwrap()));
    let seen = read(&mut bytes);
    assert_eq!(seen.len(), 3);
    for its in &seen {
        assert_eq!((its.connection.side, its.connection.is_old, its.n_missing), (Side::Server, false, 0));
        assert_eq!(its.connection.pid, std::process::id());
        assert!(its.received == whole && its.sent == whole, "{:?}", its.connection);
    }
    let asked: Vec<Asked> = seen.iter().map(|it| it.connection.asked()).collect();
    assert!(matches!(&asked[0], Asked::Unix { name: Name::Path(its), .. } if *its == path), "{asked:?}");
    for (asked, address) in [(&asked[1], v4), (&asked[2], v6)] {
        assert!(matches!(asked, Asked::Tcp { to, .. } if *to == address), "{asked:?}");
    }
    assert_eq!(bytes.missing().unwrap(), looptax_host::eyes::bytes::Missing::default());
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

#[test]
fn both_ends_of_a_chosen_process_are_told_apart_and_children_belong_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = unix_echo(&folder);
    let mut old = UnixStream::connect(&path).unwrap();
    let chosen = Chosen { pids: vec![std::process::id()], most_bytes: NO_LIMIT, ..Chosen::default() };
    let Some(mut bytes) = open(&chosen) else { return };
    old.write_all(b"question").unwrap();
    old.read_exact(&mut [0; 8]).unwrap();
    let tcp = tcp_echo("127.0.0.1:0");
    let talk = format!("exec 3<>/dev/tcp/127.0.0.1/{} && printf question >&3 && head -c 8 <&3", tcp.port());
    let output = std::process::Command::new("bash").args(["-c", &talk]).output().unwrap();
    assert_eq!(output.stdout, b"question");
    let seen = read(&mut bytes);
    let of = |is_it: &dyn Fn(&Connection) -> bool| -> Vec<&Seen> {
        seen.iter().filter(|it| is_it(&it.connection)).collect()
    };
    let is_at =
        |connection: &Connection| matches!(connection.asked(), Asked::Unix { name: Name::Path(it), .. } if it == path);
    for side in [Side::Client, Side::Server] {
        let [its] = of(&|it| is_at(it) && it.side == side)[..] else { panic!("{seen:?}") };
        assert!(its.connection.is_old);
        assert_eq!((&its.sent[..], &its.received[..]), (b"question" as _, b"question" as _));
    }
    let is_child = |it: &Connection| it.comm == "bash" && it.side == Side::Client && !it.is_old;
    let [bash] = of(&|it| is_child(it) && matches!(it.asked(), Asked::Tcp { to, .. } if to == tcp))[..] else {
        panic!("{seen:?}")
    };
    assert_eq!(bash.sent, b"question");
}

#[test]
fn buffers_in_parts_are_read_and_what_is_behind_the_limit_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = unix_echo(&folder);
    let chosen = Chosen { pids: vec![std::process::id()], most_bytes: 1000, ..Chosen::default() };
    let Some(mut bytes) = open(&chosen) else { return };
    let mut stream = UnixStream::connect(&path).unwrap();
    let whole = text(1300);
    let parts = [IoSlice::new(&whole[..10]), IoSlice::new(&[]), IoSlice::new(&whole[10..400])];
    assert_eq!(stream.write_vectored(&parts).unwrap(), 400);
    stream.read_exact(&mut [0; 400]).unwrap();
    // The rest is sent by `sendmsg`.
    let parts = [IoSlice::new(&whole[400..401]), IoSlice::new(&whole[401..])];
    let mut nothing = rustix::net::SendAncillaryBuffer::default();
    let n = rustix::net::sendmsg(&stream, &parts, &mut nothing, rustix::net::SendFlags::empty()).unwrap();
    assert_eq!(n, 900);
    stream.read_exact(&mut [0; 900]).unwrap();
    stream.write_all(&whole).unwrap();
    stream.read_exact(&mut [0; 1300]).unwrap();
    let seen = read(&mut bytes);
    let client = seen.iter().find(|it| {
        let is_it = matches!(it.connection.asked(), Asked::Unix { name: Name::Path(it), .. } if it == path);
        is_it && it.connection.side == Side::Client
    });
    let client = client.unwrap();
    let expected: Vec<u8> = [&whole[..], &whole[..1000]].concat();
    assert!(client.sent == expected, "{}", client.sent.len());
    assert!(client.n_missing >= 300);
    assert!(bytes.missing().unwrap().n_snapped >= 300);
    assert_eq!(bytes.missing().unwrap().n_unreadable, 0);
}
