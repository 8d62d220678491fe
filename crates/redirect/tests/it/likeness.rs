//! Runs each case of the client plain and moved. Both must have the same results, and the moved client must reach the
//! server over the socket.

use libtest_mimic::Trial;

use crate::server::Server;
use crate::supervise::{Done, Run};
use crate::trial;

/// The client's cases, each with the number of its connections that are moved.
const CASES: [(&str, u64); 40] = [
    ("blocking", 1),
    ("non-blocking", 1),
    ("asked-again", 1),
    ("second", 1),
    ("read-only", 1),
    ("bad-address", 1),
    ("udp", 0),
    ("unmapped", 0),
    ("refused-then-mapped", 1),
    ("half-close", 1),
    ("receive-flags", 1),
    ("port-of-the-kernel", 1),
    ("dissolved", 2),
    ("wrong-family", 0),
    ("names", 1),
    ("bad-names", 1),
    ("listen", 0),
    ("options", 2),
    ("odd-options", 1),
    ("early-options", 1),
    ("reuse-port", 1),
    ("info", 1),
    ("flags", 4),
    ("settings", 1),
    ("epoll-before", 1),
    ("epoll-edge-before", 1),
    ("epoll-once-before", 1),
    ("epoll-after", 1),
    ("epoll-two-queues", 1),
    ("epoll-late-queue", 3),
    ("epoll-high", 12),
    ("dup-after", 1),
    ("dup-before", 1),
    ("dup-far", 1),
    ("dup-watched", 1),
    ("fork", 1),
    ("exec", 1),
    ("pass", 1),
    ("own-table", 2),
    ("fork-then-connect", 3),
];

/// The features that a kernel may lack.
const FEATURES: [&str; 7] =
    ["sync-wake-up", "wait-killable", "thread-pidfd", "pidfs", "pidfd-info", "netns-cookie", "kcmp"];

const EXCEPTIONS: [(&str, &str); 1] = [("thread-pidfd", "own-table")];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = CASES
        .into_iter()
        .map(|(name, n_moved)| {
            trial(&format!("moved_is_like_plain_{name}"), move || {
                check(name, n_moved, &[], "127.0.0.1:0");
            })
        })
        .collect();
    trials.push(trial("moved_is_like_plain_lengths", lengths));
    trials.push(trial("r50_a_socket_for_ipv6_alone_reaches_no_ipv4", || mapped("one-family", 1)));
    for (name, n_moved) in [("blocking", 1), ("names", 1), ("options", 2)] {
        trials.push(trial(&format!("moved_is_like_plain_over_ipv6_{name}"), move || {
            check(name, n_moved, &[], "[::1]:0");
        }));
        trials.push(trial(&format!("moved_is_like_plain_over_mapped_{name}"), move || {
            mapped(name, n_moved);
        }));
    }
    for feature in FEATURES {
        trials.push(trial(&format!("works_without_{feature}"), move || {
            for (name, n_moved) in CASES {
                // Only the thread's pidfd shows a thread's own table of descriptors. Without it, the connection stays
                // on TCP.
                if !EXCEPTIONS.contains(&(feature, name)) {
                    check(name, n_moved, &[feature], "127.0.0.1:0");
                }
            }
        }));
    }
    trials.push(trial("works_without_any_feature", || {
        for name in ["blocking", "epoll-before", "fork", "options"] {
            let n_moved = CASES.iter().find(|it| it.0 == name).unwrap().1;
            check(name, n_moved, &FEATURES, "127.0.0.1:0");
        }
    }));
    trials.push(trial("a_thread_with_its_own_table_is_in_doubt_without_thread_pidfd", || {
        let server = Server::start();
        let run = Run::client(&["own-table", &server.tcp.to_string()]);
        let run = run.route(server.tcp, &server.socket).without("thread-pidfd");
        run.run().good().expect_counts(1, "");
        assert_eq!(server.counts(), (1, 1));
    }));
    trials.push(trial("what_cannot_be_pretended_is_refused", refused_options));
    trials.push(trial("an_unsupervised_receiver_has_a_working_socket", abstract_name));
    trials
}

#[track_caller]
fn check(name: &str, n_moved: u64, without: &[&str], address: &str) {
    let server = Server::start_at(address);
    let told = server.tcp.to_string();
    let run = Run::client(&[name, &told]).route(server.tcp, &server.socket);
    let plain = run.clone().plain().run().good();
    let run = without.iter().fold(run, |run, it| run.without(it));
    compare(name, &plain, &run.run().good(), n_moved, &server);
}

#[track_caller]
fn compare(name: &str, plain: &Done, moved: &Done, n_moved: u64, server: &Server) {
    assert_eq!(rest(plain), rest(moved), "{name}: {moved:#?}");
    moved.expect_counts(n_moved, "");
    let ways: Vec<&str> = ways(moved).collect();
    assert!(ways.iter().all(|way| way.starts_with("unix")), "{ways:?}");
    assert!(self::ways(plain).all(|way| way.starts_with("tcp")), "{plain:#?}");
    assert_eq!(server.counts().1 as u64, n_moved);
}

fn ways(done: &Done) -> impl Iterator<Item = &str> {
    done.stdout.lines().filter_map(|line| line.strip_prefix("way "))
}

/// Returns the lines that must not differ.
fn rest(done: &Done) -> Vec<&str> {
    let lines = done.stdout.lines();
    lines.filter(|line| !line.starts_with("way ")).collect()
}

/// An address shorter than a `sockaddr_in` is not inspected; an address longer than any valid one fails as it does over
/// TCP.
fn lengths() {
    check("lengths", 4, &[], "127.0.0.1:0");
}

/// Runs a case with an IPv4 address inside an IPv6 one.
fn mapped(name: &str, n_moved: u64) {
    let server = Server::start();
    let told = format!("[::ffff:127.0.0.1]:{}", server.tcp.port());
    let run = Run::client(&[name, &told]).route(server.tcp, &server.socket);
    let plain = run.clone().plain().run().good();
    compare(name, &plain, &run.run().good(), n_moved, &server);
}

fn refused_options() {
    let server = Server::start();
    let run = Run::client(&["refused-options", &server.tcp.to_string()]);
    let moved = run.route(server.tcp, &server.socket).run().good();
    let refused = -i64::from(libc::ENOPROTOOPT);
    let wanted: Vec<String> = vec![refused.to_string(); 3];
    assert_eq!(rest(&moved)[..3], wanted);
}

/// Tests a route to an abstract name.
fn abstract_name() {
    use std::io::{Read, Write};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    let name = format!("looptax-test-{}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"unix\n").unwrap();
        let mut part = [0; 5];
        stream.read_exact(&mut part).unwrap();
        stream.write_all(&part).unwrap();
    });
    let server = Server::start();
    let run = Run::client(&["blocking", &server.tcp.to_string()]);
    let moved = run.route(server.tcp, format!("@{name}").as_ref()).run().good();
    moved.expect_counts(1, "");
    thread.join().unwrap();
}
