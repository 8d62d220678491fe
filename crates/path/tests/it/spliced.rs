//! Which connections are spliced, and what is counted of them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, TcpStream};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use looptax_path::{OwnCgroup, Sockmap, SockmapCounts};
use looptax_testkit::patience::wait_for;

use crate::bpf::{self, Object};
use crate::moved::{Deed, Moved, say, wait_for_the_test};
use crate::traffic::{self, connect, ping_pong};
use crate::trial;

const N_MESSAGES: u64 = 10_000;
const PATIENCE: Duration = Duration::from_secs(30);

/// Tests that are done by one moved process alone.
pub(crate) const ALONE: &[Deed] = &[
    (
        "messages_to_the_one_address_are_handed_over_and_to_the_other_not",
        both,
    ),
    ("an_address_that_is_not_named_is_left_alone", plain),
    ("a_server_can_be_named_after_the_start", later),
    (
        "a_server_that_listens_on_ipv6_for_both_is_spliced_too",
        dual,
    ),
    ("one_after_another_in_one_process_leave_nothing", again),
];

pub(crate) const DEEDS: &[Deed] = &[("outside", outside), ("beside", beside)];

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_server_that_was_started_before_is_not_spliced",
            started_before,
        ),
        trial("two_at_once_do_not_disturb_each_other", two_at_once),
    ]
}

/// What a test begins with.
pub(crate) fn started() -> (OwnCgroup, Sockmap) {
    let cgroup = OwnCgroup::create().unwrap();
    let sockmap = Sockmap::start(&cgroup).unwrap();
    (cgroup, sockmap)
}

#[track_caller]
fn check_counts(sockmap: &Sockmap, n_messages: u64, n_sockets: u64) {
    let counts = sockmap.counts().unwrap();
    let SockmapCounts {
        n_redirected,
        n_plain,
        ..
    } = counts;
    // The first may be sent before the kernel has taken note of the server's end.
    assert!(n_redirected + 2 >= n_messages, "{counts:?}");
    assert_eq!(n_redirected + n_plain, n_messages, "{counts:?}");
    assert_eq!((counts.n_sockets, counts.n_refused), (n_sockets, 0));
}

fn both(_: &[String]) {
    let (_cgroup, sockmap) = started();
    let (spliced, plain) = traffic::echo_server_on_both();
    sockmap.splice(spliced).unwrap();
    thread::scope(|scope| {
        for to in [spliced, plain] {
            scope.spawn(move || ping_pong(&mut connect(to), N_MESSAGES, &[64]));
        }
    });
    check_counts(&sockmap, 2 * N_MESSAGES, 2);
}

fn plain(_: &[String]) {
    let (_cgroup, sockmap) = started();
    let (spliced, plain) = traffic::echo_server_on_both();
    sockmap.splice(spliced).unwrap();
    ping_pong(&mut connect(plain), N_MESSAGES, &[64]);
    assert_eq!(sockmap.counts().unwrap(), SockmapCounts::default());
}

fn later(_: &[String]) {
    let (_cgroup, sockmap) = started();
    let server = traffic::spliced_server();
    let mut before = connect(server);
    ping_pong(&mut before, 10, &[64]);
    sockmap.splice(server).unwrap();
    // An open connection is not picked up.
    ping_pong(&mut before, 10, &[64]);
    assert_eq!(sockmap.counts().unwrap(), SockmapCounts::default());
    ping_pong(&mut connect(server), 100, &[64]);
    check_counts(&sockmap, 200, 2);
}

/// As MariaDB does by default.
fn dual(_: &[String]) {
    let (_cgroup, sockmap) = started();
    let port = traffic::echo_server((Ipv6Addr::UNSPECIFIED, 0).into()).port();
    let server = SocketAddrV4::new(traffic::SPLICED, port);
    sockmap.splice(server).unwrap();
    ping_pong(&mut connect(server), N_MESSAGES, &[64]);
    check_counts(&sockmap, 2 * N_MESSAGES, 2);
    // A socket of IPv6 calls itself 127.0.0.6 where it is asked for an IPv4 address.
    sockmap
        .splice(SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 6), port))
        .unwrap();
    let mut six = TcpStream::connect((Ipv6Addr::LOCALHOST, port)).unwrap();
    ping_pong(&mut six, 10, &[64]);
    check_counts(&sockmap, 2 * N_MESSAGES, 2);
}

fn again(_: &[String]) {
    for _ in 0..3 {
        let (cgroup, sockmap) = started();
        let server = traffic::spliced_server();
        sockmap.splice(server).unwrap();
        ping_pong(&mut connect(server), 100, &[64]);
        check_counts(&sockmap, 200, 2);
        let folder = cgroup.folder().to_owned();
        let objects = bpf::objects_of(std::process::id());
        assert!(objects.iter().all(Object::exists));
        drop((sockmap, cgroup));
        assert!(!folder.exists());
        // The sockets keep them until the server, too, has closed its end.
        wait_for("the end of programs and maps", PATIENCE, || {
            (!objects.iter().any(Object::exists)).then_some(())
        });
    }
}

/// Connects from a cgroup to a server that is outside.
fn outside(words: &[String]) {
    let (_cgroup, sockmap) = started();
    let server: SocketAddrV4 = words[0].parse().unwrap();
    sockmap.splice(server).unwrap();
    ping_pong(&mut connect(server), N_MESSAGES, &[64]);
    let counts = sockmap.counts().unwrap();
    // Only the client's end and messages are seen, and none of them is handed over.
    assert_eq!(
        (counts.n_redirected, counts.n_plain, counts.n_sockets),
        (0, N_MESSAGES, 1)
    );
}

fn started_before() {
    let server = traffic::spliced_server();
    Moved::start(&[], &["outside", &server.to_string()]).finish();
}

fn beside(_: &[String]) {
    let (_cgroup, sockmap) = started();
    let server = traffic::spliced_server();
    sockmap.splice(server).unwrap();
    say("ready");
    ping_pong(&mut connect(server), N_MESSAGES, &[64]);
    check_counts(&sockmap, 2 * N_MESSAGES, 2);
    say("done");
    wait_for_the_test();
    check_counts(&sockmap, 2 * N_MESSAGES, 2);
}

fn two_at_once() {
    let mut both = [0; 2].map(|_| Moved::start(&[], &["beside"]));
    for it in &mut both {
        assert_eq!(it.line(), "ready");
    }
    for it in &mut both {
        assert_eq!(it.line(), "done");
    }
    for it in both {
        it.finish();
    }
}
