//! Tests that the programs in the kernel count what these tests do.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use looptax_host::eyes::{Asked, Counts, End, Eyes, Look, Name, Reach, Refused};
use looptax_testkit::skips::skip;

const QUESTION: &[u8; 8] = b"question";
const ANSWER: &[u8; 6] = b"answer";
/// Time for the last answers, which are still on their way through other threads.
const SETTLING: Duration = Duration::from_millis(50);

fn eyes() -> Option<Eyes> {
    eyes_for(Reach::Here)
}

fn eyes_for(reach: Reach) -> Option<Eyes> {
    match Eyes::open(reach) {
        Ok(eyes) => Some(eyes),
        Err(refused @ (Refused::Rights | Refused::NoTypes | Refused::NoTracepoint(_) | Refused::Lockdown)) => {
            skip(&format!("eyes: {refused}"));
            None
        }
        Err(refused) => panic!("{refused}"),
    }
}

/// Answers each request after `pause`, until the client is gone.
fn answer(mut stream: impl Read + Write, pause: Duration) {
    let mut question = *QUESTION;
    while stream.read_exact(&mut question).is_ok() {
        thread::sleep(pause);
        stream.write_all(ANSWER).unwrap();
    }
}

fn ask(stream: &mut (impl Read + Write), n: usize) {
    let mut answer = *ANSWER;
    for _ in 0..n {
        stream.write_all(QUESTION).unwrap();
        stream.read_exact(&mut answer).unwrap();
    }
}

fn tcp_server(address: &str, pause: Duration) -> std::net::SocketAddr {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || answer(stream, pause));
        }
    });
    address
}

fn unix_server(listener: UnixListener) {
    thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            thread::spawn(move || answer(stream, Duration::ZERO));
        }
    });
}

/// Returns the sum of a process's requests to one address.
fn counts(look: &Look, client: u32, is_it: impl Fn(&Asked) -> bool) -> Counts {
    let mut sum = Counts::default();
    for it in &look.counted {
        if it.client.as_ref().is_some_and(|it| it.pid == client) && is_it(&it.asked) {
            sum.add(&it.counts);
        }
    }
    sum
}

fn at(address: std::net::SocketAddr) -> impl Fn(&Asked) -> bool {
    move |asked| matches!(asked, Asked::Tcp { to, .. } if *to == address)
}

fn called(name: Name) -> impl Fn(&Asked) -> bool {
    move |asked| matches!(asked, Asked::Unix { name: own, .. } if *own == name)
}

#[track_caller]
fn check(counts: &Counts, n_opened: u64, n_turns: u64) {
    assert_eq!((counts.n_opened, counts.n_overlapping), (n_opened, 0));
    // If both ends are faster than the kernel's reports about them, about one turn of ten thousand is lost.
    let n_counted = counts.n_turns();
    assert!((n_turns - n_turns / 500..=n_turns).contains(&n_counted), "{n_counted} of {n_turns}");
    // One of eight turns is timed; on each connection the first timed turn is a different one.
    let timed = n_turns / 16..=n_turns / 4 + n_opened;
    assert!(timed.contains(&counts.served.n()), "{} not in {timed:?}", counts.served.n());
    if n_counted == n_turns {
        let bytes = (counts.n_bytes_asked, counts.n_bytes_answered);
        assert_eq!(bytes, (n_turns * QUESTION.len() as u64, n_turns * ANSWER.len() as u64));
    }
}

#[test]
fn every_request_and_connection_is_counted_over_each_way() {
    for reach in [Reach::Here, Reach::Elsewhere] {
        count_over_each_way(reach);
    }
}

fn count_over_each_way(reach: Reach) {
    let Some(mut eyes) = eyes_for(reach) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    unix_server(UnixListener::bind(&path).unwrap());
    let name = format!("looptax-eyes-{}-{reach:?}", std::process::id()).into_bytes();
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    unix_server(UnixListener::bind_addr(&address).unwrap());
    let (v4, v6) = (tcp_server("127.0.0.1:0", Duration::ZERO), tcp_server("[::1]:0", Duration::ZERO));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| ask(&mut UnixStream::connect(&path).unwrap(), 500));
            scope.spawn(|| ask(&mut UnixStream::connect_addr(&address).unwrap(), 300));
            scope.spawn(|| ask(&mut TcpStream::connect(v4).unwrap(), 400));
            scope.spawn(|| ask(&mut TcpStream::connect(v6).unwrap(), 200));
        }
    });
    for _ in 0..50 {
        ask(&mut TcpStream::connect(v4).unwrap(), 1);
        ask(&mut UnixStream::connect(&path).unwrap(), 1);
    }
    thread::sleep(SETTLING);
    let look = eyes.look().unwrap();
    let own = std::process::id();
    check(&counts(&look, own, called(Name::Path(path.clone()))), 53, 1_550);
    check(&counts(&look, own, called(Name::Abstract(name))), 3, 900);
    let over_v4 = counts(&look, own, at(v4));
    check(&over_v4, 53, 1_250);
    check(&counts(&look, own, at(v6)), 3, 600);
    assert_eq!(look.n_lost, 0);
    // Nothing may be counted twice.
    let mut later = counts(&eyes.look().unwrap(), own, at(v4));
    // A connection is closed when both ends are closed; a server that gets no processor time takes a while for that.
    for _ in 0..100 {
        if over_v4.n_closed + later.n_closed >= 53 {
            break;
        }
        thread::sleep(SETTLING);
        later.add(&counts(&eyes.look().unwrap(), own, at(v4)));
    }
    check(&later, 0, 0);
    assert_eq!(over_v4.n_closed + later.n_closed, 53);
}

#[test]
fn times_are_those_that_the_client_waits() {
    let Some(mut eyes) = eyes() else { return };
    let slow = tcp_server("127.0.0.1:0", Duration::from_millis(20));
    let mut client = TcpStream::connect(slow).unwrap();
    ask(&mut client, 10);
    let counts = counts(&eyes.look().unwrap(), std::process::id(), at(slow));
    assert_eq!(counts.n_turns(), 10);
    for times in [&counts.times, &counts.served] {
        let (least, mean) = (times.quantile_ns(0.0).unwrap(), times.mean_ns().unwrap());
        assert!(least > 18e6 && mean >= 20e6, "{times:?}");
    }
}

#[test]
fn a_connection_that_was_there_before_is_known_by_its_ends_and_not_as_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    unix_server(UnixListener::bind(&path).unwrap());
    let tcp = tcp_server("127.0.0.1:0", Duration::ZERO);
    let mut clients = (TcpStream::connect(tcp).unwrap(), UnixStream::connect(&path).unwrap());
    ask(&mut clients.0, 3);
    ask(&mut clients.1, 3);
    let Some(mut eyes) = eyes() else { return };
    ask(&mut clients.0, 7);
    ask(&mut clients.1, 5);
    let look = eyes.look().unwrap();
    let own = std::process::id();
    check(&counts(&look, own, at(tcp)), 0, 7);
    check(&counts(&look, own, called(Name::Path(path))), 0, 5);
}

#[test]
fn a_request_in_pieces_is_one_and_a_look_without_taking_is_none() {
    let Some(mut eyes) = eyes() else { return };
    let tcp = tcp_server("127.0.0.1:0", Duration::ZERO);
    let mut client = TcpStream::connect(tcp).unwrap();
    client.set_nodelay(true).unwrap();
    for _ in 0..20 {
        for byte in QUESTION {
            client.write_all(&[*byte]).unwrap();
        }
        let mut answer = *ANSWER;
        assert!(client.peek(&mut answer).unwrap() > 0);
        client.read_exact(&mut answer[..2]).unwrap();
        client.read_exact(&mut answer[2..]).unwrap();
    }
    let counts = counts(&eyes.look().unwrap(), std::process::id(), at(tcp));
    assert_eq!((counts.n_turns(), counts.n_overlapping), (20, 0));
    // The part of the last answer that is read later belongs to the next turn.
    assert_eq!((counts.n_bytes_asked, counts.n_bytes_answered), (160, 20 * 6 - 4));
}

#[test]
fn requests_that_overlap_are_said_to() {
    let Some(mut eyes) = eyes() else { return };
    let tcp = tcp_server("127.0.0.1:0", Duration::ZERO);
    let mut client = TcpStream::connect(tcp).unwrap();
    client.set_nodelay(true).unwrap();
    let mut waiting = [0; 20 * ANSWER.len()];
    for n in 1..=20 {
        client.write_all(QUESTION).unwrap();
        while client.peek(&mut waiting).unwrap() < n * ANSWER.len() {}
    }
    client.read_exact(&mut [0; 20 * ANSWER.len()]).unwrap();
    let counts = counts(&eyes.look().unwrap(), std::process::id(), at(tcp));
    assert_eq!((counts.n_turns(), counts.n_overlapping), (20, 19));
}

#[test]
fn a_program_that_has_ended_keeps_its_name_and_its_parent() {
    let Some(mut eyes) = eyes() else { return };
    let tcp = tcp_server("127.0.0.1:0", Duration::ZERO);
    let talk = format!("exec 3<>/dev/tcp/127.0.0.1/{} && printf question >&3 && head -c 6 <&3", tcp.port());
    let output = Command::new("bash").args(["-c", &talk]).output().unwrap();
    assert_eq!(output.stdout, ANSWER, "{}", String::from_utf8_lossy(&output.stderr));
    let look = eyes.look().unwrap();
    let mut ends = look.counted.iter().filter(|it| at(tcp)(&it.asked)).filter_map(|it| it.client.as_ref());
    let is_it = |it: &End| it.comm == "bash" && it.parent == std::process::id() && it.has_ended;
    assert!(ends.any(is_it), "{:?}", look.counted);
}

#[test]
fn a_thread_with_its_own_name_is_its_process_which_still_runs() {
    let Some(mut eyes) = eyes() else { return };
    let tcp = tcp_server("127.0.0.1:0", Duration::ZERO);
    let thread = thread::Builder::new().name("pool-thread-7".to_owned());
    thread.spawn(move || ask(&mut TcpStream::connect(tcp).unwrap(), 3)).unwrap().join().unwrap();
    let look = eyes.look().unwrap();
    let mut ends = look.counted.iter().filter(|it| at(tcp)(&it.asked)).filter_map(|it| it.client.as_ref());
    let name = std::fs::read_to_string("/proc/self/comm").unwrap();
    let is_it = |it: &End| it.comm == name.trim_end() && it.pid == std::process::id() && !it.has_ended;
    assert!(ends.all(is_it), "{:?}", look.counted);
}

#[test]
fn what_is_asked_by_sendfile_counts() {
    let Some(mut eyes) = eyes() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    unix_server(UnixListener::bind(&path).unwrap());
    let tcp = tcp_server("127.0.0.1:0", Duration::ZERO);
    let file = folder.path().join("question");
    std::fs::write(&file, QUESTION).unwrap();
    let file = std::fs::File::open(file).unwrap();
    let mut over_tcp = TcpStream::connect(tcp).unwrap();
    let mut over_unix = UnixStream::connect(&path).unwrap();
    let mut answer = *ANSWER;
    for _ in 0..20 {
        rustix::fs::sendfile(&over_tcp, &file, Some(&mut 0), QUESTION.len()).unwrap();
        over_tcp.read_exact(&mut answer).unwrap();
        rustix::fs::sendfile(&over_unix, &file, Some(&mut 0), QUESTION.len()).unwrap();
        over_unix.read_exact(&mut answer).unwrap();
    }
    let look = eyes.look().unwrap();
    let own = std::process::id();
    check(&counts(&look, own, at(tcp)), 1, 20);
    check(&counts(&look, own, called(Name::Path(path))), 1, 20);
}

#[test]
fn a_pair_that_a_program_has_made_for_itself_is_left_out() {
    let Some(mut eyes) = eyes() else { return };
    let (mut one, mut other) = UnixStream::pair().unwrap();
    one.write_all(QUESTION).unwrap();
    other.read_exact(&mut [0; QUESTION.len()]).unwrap();
    let look = eyes.look().unwrap();
    let nameless = look
        .counted
        .iter()
        .find(|it| matches!(&it.asked, Asked::Unix { name: Name::Path(path), .. } if path.as_os_str().is_empty()));
    assert!(nameless.is_none(), "{nameless:?}");
}

#[test]
fn two_pairs_of_eyes_do_not_see_each_other() {
    let (Some(mut one), Some(mut other)) = (eyes(), eyes()) else { return };
    let tcp = tcp_server("127.0.0.1:0", Duration::ZERO);
    ask(&mut TcpStream::connect(tcp).unwrap(), 30);
    thread::sleep(SETTLING);
    let own = std::process::id();
    for eyes in [&mut one, &mut other] {
        check(&counts(&eyes.look().unwrap(), own, at(tcp)), 1, 30);
    }
}

/// Accepts a connection late; then either the client sends a request first, or the server sends first.
fn accept_late<S: Read + Write>(connect: impl FnOnce() -> S + Send, accept: impl FnOnce() -> S, server_sends: bool) {
    let (mut question, mut answer) = (*QUESTION, *ANSWER);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut stream = connect();
            if server_sends {
                stream.read_exact(&mut answer).unwrap();
            }
            ask(&mut stream, 1);
        });
        thread::sleep(LATE);
        let mut stream = accept();
        if server_sends {
            stream.write_all(ANSWER).unwrap();
        }
        stream.read_exact(&mut question).unwrap();
        stream.write_all(ANSWER).unwrap();
    });
}

const LATE: Duration = Duration::from_millis(30);

#[test]
fn a_connection_waits_until_its_server_accepts_it_whoever_sends_first() {
    let Some(mut eyes) = eyes() else { return };
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = tcp.local_addr().unwrap();
    let name = SocketAddr::from_abstract_name(format!("late-{}", std::process::id())).unwrap();
    let unix = UnixListener::bind_addr(&name).unwrap();
    for server_sends in [false, true] {
        accept_late(|| TcpStream::connect(to).unwrap(), || tcp.accept().unwrap().0, server_sends);
        accept_late(|| UnixStream::connect_addr(&name).unwrap(), || unix.accept().unwrap().0, server_sends);
        let look = eyes.look().unwrap();
        let is_tcp = |it: &Asked| matches!(it, Asked::Tcp { to: other, .. } if *other == to);
        let is_unix =
            |it: &Asked| matches!(it, Asked::Unix { name: Name::Abstract(it), .. } if it.starts_with(b"late-"));
        let ways: [&dyn Fn(&Asked) -> bool; 2] = [&is_tcp, &is_unix];
        for is_it in ways {
            let waited = look.accepted.iter().find(|it| is_it(it.0)).unwrap().1;
            assert_eq!(waited.n(), 1);
            let ms = waited.mean_ns().unwrap() / 1e6;
            // On a busy machine the client may connect later than it should.
            assert!((5.0..2_000.0).contains(&ms), "{ms}");
        }
    }
}
