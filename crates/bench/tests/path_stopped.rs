//! Checks that a signal ends each wait for a peer, however long its limit is. This is a separate process, because the
//! signal ends all waits of the process.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use looptax_bench::path::{Endpoint, Limits, Link, PathError, TlsClient, WebAddress};
use looptax_host::waiting;

/// Far longer than any test may take.
const HOUR: Duration = Duration::from_secs(3600);
const LIMITS: Limits = Limits { connect: HOUR, io: HOUR };

#[test]
fn r44_a_signal_ends_waits_for_answers_and_for_connections() {
    let folder = looptax_testkit::scratch::Scratch::new();
    let path = folder.file("s");
    // Both listeners queue connections, and never answer.
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let unix = UnixListener::bind(&path).expect("a socket");
    let at = tcp.local_addr().expect("it has one");
    let read = |stream: &mut dyn Read| stream.read(&mut [0]).map(drop);
    let over = |endpoint: Endpoint| {
        let mut link = Link::open(&endpoint, LIMITS).expect("it listens");
        move || read(&mut link)
    };
    let page = |tls_name: Option<&str>| {
        let tls_name = tls_name.map(str::to_owned);
        let tls = TlsClient::trusting_anybody().expect("fits");
        let opened = WebAddress { at, tls_name }.open(&tls, HOUR);
        let mut stream = opened.expect("it listens");
        move || stream.write_all(b"GET").and_then(|()| read(&mut stream))
    };
    let mut waits: Vec<Box<dyn FnMut() -> io::Result<()> + Send>> = vec![
        Box::new(over(Endpoint::Tcp(at))),
        Box::new(over(Endpoint::Unix(path.clone()))),
        Box::new(page(None)),
        Box::new(page(Some("localhost"))),
        // Connects until the queue is full; the last connect then waits and is not connected.
        Box::new(|| {
            let mut held = Vec::new();
            loop {
                match Link::open(&Endpoint::Unix(path.clone()), LIMITS) {
                    Ok(link) => held.push(link),
                    Err(PathError::ConnectUnix { source, .. }) => return Err(source),
                    Err(other) => return Err(io::Error::other(other.to_string())),
                }
            }
        }),
    ];
    thread::scope(|scope| {
        let waiting: Vec<_> = { waits.iter_mut() }.map(|wait| scope.spawn(wait)).collect();
        waiting::stop();
        for wait in waiting {
            let stopped = wait.join().expect("no panic").expect_err("nobody answers");
            assert_eq!(stopped.to_string(), waiting::stopped().to_string());
        }
    });
    waiting::allow_again();
    // A connection that was stopped in the middle of a query sends no other query.
    let again = waits[0]().expect_err("it is over");
    assert_eq!(again.to_string(), waiting::stopped().to_string());
    drop((tcp, unix));
}
