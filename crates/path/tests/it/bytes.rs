//! No byte of a spliced connection is lost, changed or overtaken, whatever its ends do.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::moved::Deed;
use crate::spliced::started;
use crate::traffic::{self, Pattern, connect, ping_pong};

/// Tests that are done by one moved process alone.
pub(crate) const ALONE: &[Deed] = &[
    ("many_connections_at_once_keep_their_bytes_apart", many),
    (
        "messages_sent_at_once_after_connecting_stay_in_order",
        burst,
    ),
    (
        "a_message_never_overtakes_one_that_went_before_both_ends_were_there",
        deferred,
    ),
    ("an_end_that_closes_with_data_unread_ends_the_other", unread),
    ("detaching_in_the_middle_of_a_stream_loses_nothing", detach),
    ("at_the_end_all_goes_on_as_plain_tcp", after),
];

fn many(_: &[String]) {
    const N_CONNECTIONS: u64 = 64;
    let (_cgroup, sockmap) = started();
    let server = traffic::spliced_server();
    sockmap.splice(server).unwrap();
    let sizes = [1, 7, 64, 1400, 4096, 16_384, 65_536, 200_000];
    thread::scope(|scope| {
        for _ in 0..N_CONNECTIONS {
            scope.spawn(|| ping_pong(&mut connect(server), 200, &sizes));
        }
    });
    let counts = sockmap.counts().unwrap();
    assert_eq!(counts.n_sockets, 2 * N_CONNECTIONS);
    assert!(counts.n_redirected >= 2 * N_CONNECTIONS * 190, "{counts:?}");
}

/// Each client sends several messages without waiting, as soon as it is connected.
fn burst(_: &[String]) {
    const N_CONNECTIONS: usize = 4000;
    let (_cgroup, sockmap) = started();
    let server = traffic::spliced_server();
    sockmap.splice(server).unwrap();
    thread::scope(|scope| {
        for client_idx in 0..4 {
            scope.spawn(move || {
                for connection_idx in 0..N_CONNECTIONS / 4 {
                    let mut stream = connect(server);
                    let sent = Pattern((client_idx << 32 | connection_idx) as u64).next(5 * 32);
                    for message in sent.chunks(32) {
                        stream.write_all(message).unwrap();
                    }
                    let mut back = vec![0; sent.len()];
                    stream.read_exact(&mut back).unwrap();
                    assert!(back == sent, "connection {connection_idx} was mixed up");
                }
            });
        }
    });
    // What is sent before the reply is read may be joined, but not be less.
    let counts = sockmap.counts().unwrap();
    let n_counted = counts.n_redirected + counts.n_plain;
    assert!(n_counted >= 6 * N_CONNECTIONS as u64, "{counts:?}");
    assert_eq!(counts.n_sockets, 2 * N_CONNECTIONS as u64);
}

/// The kernel makes the server's end only when the first message arrives, so that one goes as plain TCP,
/// and waits for its reader in another queue than messages that are handed over.
fn deferred(_: &[String]) {
    const N_MESSAGES: u64 = 10;
    let (_cgroup, sockmap) = started();
    let listener = TcpListener::bind((traffic::SPLICED, 0)).unwrap();
    traffic::defer_accept(&listener);
    let server = traffic::v4(listener.local_addr().unwrap());
    sockmap.splice(server).unwrap();
    for _ in 0..100 {
        let mut client = connect(server);
        let sent = Pattern(1).next(32 * N_MESSAGES as usize);
        for message in sent.chunks(32) {
            client.write_all(message).unwrap();
        }
        let (mut accepted, _) = listener.accept().unwrap();
        let mut received = vec![0; sent.len()];
        accepted.read_exact(&mut received).unwrap();
        assert!(received == sent, "a message has overtaken another");
        // The other direction is handed over.
        accepted.write_all(&sent).unwrap();
        client.read_exact(&mut received).unwrap();
        assert!(received == sent);
    }
    let counts = sockmap.counts().unwrap();
    assert_eq!(counts.n_plain, 100 * N_MESSAGES, "{counts:?}");
    assert_eq!(counts.n_redirected, 100, "{counts:?}");
}

fn unread(_: &[String]) {
    let (_cgroup, sockmap) = started();
    let listener = TcpListener::bind((traffic::SPLICED, 0)).unwrap();
    let server = traffic::v4(listener.local_addr().unwrap());
    sockmap.splice(server).unwrap();
    for _ in 0..100 {
        let mut client = connect(server);
        let (mut accepted, _) = listener.accept().unwrap();
        accepted.write_all(&[1; 5000]).unwrap();
        client.read_exact(&mut [0; 1000]).unwrap();
        drop(client);
        // Plain TCP says ECONNRESET here; spliced, the end looks like any other.
        match accepted.read(&mut [0; 10]) {
            Ok(n_bytes) => assert_eq!(n_bytes, 0),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
        }
    }
    let counts = sockmap.counts().unwrap();
    assert_eq!((counts.n_sockets, counts.n_refused), (200, 0));
    assert!(counts.n_redirected > 0);
}

/// One thread streams, another reads slowly enough that there is always something unread.
fn detach(_: &[String]) {
    const N_BYTES: usize = 32 << 20;
    const BLOCK_BYTES: usize = 8 << 10;
    let (cgroup, sockmap) = started();
    let listener = TcpListener::bind((traffic::SPLICED, 0)).unwrap();
    let server = traffic::v4(listener.local_addr().unwrap());
    sockmap.splice(server).unwrap();
    let mut client = connect(server);
    let (mut accepted, _) = listener.accept().unwrap();
    let reader = thread::spawn(move || {
        let mut expected = Pattern(7);
        let mut n_read = 0;
        let mut buffer = vec![0; BLOCK_BYTES];
        while n_read < N_BYTES {
            let n = accepted.read(&mut buffer).unwrap();
            assert_ne!(n, 0, "ended after {n_read} bytes");
            assert!(
                expected.next(n) == buffer[..n],
                "others after {n_read} bytes"
            );
            n_read += n;
        }
        accepted.write_all(b"all").unwrap();
        n_read
    });
    let mut sent = Pattern(7);
    let mut parts = Some((cgroup, sockmap));
    for block_idx in 0..N_BYTES / BLOCK_BYTES {
        client.write_all(&sent.next(BLOCK_BYTES)).unwrap();
        if block_idx == N_BYTES / BLOCK_BYTES / 2 {
            let (cgroup, sockmap) = parts.take().unwrap();
            assert!(sockmap.counts().unwrap().n_redirected > 0);
            drop(sockmap);
            drop(cgroup);
        }
    }
    client.read_exact(&mut [0; 3]).unwrap();
    assert_eq!(reader.join().unwrap(), N_BYTES);
}

fn after(_: &[String]) {
    let (cgroup, sockmap) = started();
    let server = traffic::spliced_server();
    sockmap.splice(server).unwrap();
    let mut old = connect(server);
    ping_pong(&mut old, 100, &[64]);
    // The one byte stands for connecting.
    assert_eq!(traffic::n_bytes_over_tcp(&old), 1);
    drop((sockmap, cgroup));
    let mut new = connect(server);
    for stream in [&mut old, &mut new] {
        ping_pong(stream, 100, &[64]);
        assert_eq!(traffic::n_bytes_over_tcp(stream), 1 + 100 * 64);
    }
}
