//! Servers that accept connections and give no answer: a signal ends every wait for them, and looptax waits only once
//! for a silent server.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;

use crate::fixture::exe;

/// The data that the server sends on a connection: `first` immediately, then one answer to each of the first messages,
/// then nothing.
#[derive(Clone, Default)]
struct Words {
    first: Vec<u8>,
    answers: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Heard {
    over_tcp: AtomicUsize,
    /// The number of messages that got no answer.
    unanswered: AtomicUsize,
}

/// A server on a port and on a socket. It ends with the process of the test.
struct Silent {
    port: u16,
    socket: String,
    heard: Arc<Heard>,
}

impl Silent {
    fn start(scratch: &Scratch, words: &Words) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        // The clients of PostgreSQL get the folder and expect this name in it.
        let socket = scratch.file(&format!(".s.PGSQL.{port}"));
        let unix = UnixListener::bind(&socket).unwrap();
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
        let heard = Arc::<Heard>::default();
        let (over_tcp, over_socket) = (Arc::clone(&heard), Arc::clone(&heard));
        let (for_tcp, for_socket) = (words.clone(), words.clone());
        thread::spawn(move || {
            for stream in tcp.incoming().flatten() {
                over_tcp.over_tcp.fetch_add(1, Ordering::SeqCst);
                talk(stream, for_tcp.clone(), Arc::clone(&over_tcp));
            }
        });
        thread::spawn(move || {
            for stream in unix.incoming().flatten() {
                talk(stream, for_socket.clone(), Arc::clone(&over_socket));
            }
        });
        let socket = socket.to_str().unwrap().to_owned();
        Self { port, socket, heard }
    }

    fn url(&self, scheme: &str, rest: &str) -> String {
        format!("{scheme}127.0.0.1:{}{rest}", self.port)
    }

    fn n_over_tcp(&self) -> usize {
        self.heard.over_tcp.load(Ordering::SeqCst)
    }
}

/// Handles a connection in a separate thread.
fn talk(mut stream: impl Read + Write + Send + 'static, words: Words, heard: Arc<Heard>) {
    thread::spawn(move || {
        let _ = stream.write_all(&words.first);
        let mut answers = words.answers.into_iter();
        while let Ok(1..) = stream.read(&mut [0; 8 << 10]) {
            match answers.next() {
                Some(answer) => drop(stream.write_all(&answer)),
                None => drop(heard.unanswered.fetch_add(1, Ordering::SeqCst)),
            }
        }
    });
}

fn looptax<'a>(scratch: &'a Scratch, args: &[&str]) -> Looptax<'a> {
    Looptax::new(exe(), scratch).args(args.iter().copied())
}

/// Waits for the first connection and sends SIGTERM; checks that the signal ended the wait, not a time limit.
#[track_caller]
fn check_ends(command: Looptax<'_>, scratch: &Scratch, silent: &Silent) -> Finished {
    let mut run = command.spawn();
    run.wait_for("a connection", || (silent.n_over_tcp() > 0).then_some(()));
    run.signal(Signal::TERM);
    let run = run.wait();
    run.expect_code(130);
    for text in [&run.stdout, &run.stderr] {
        if text.contains("no answer") || text.contains("panicked") {
            run.fail("it waited for an answer");
        }
    }
    scratch.check_nothing_left();
    run
}

#[test]
fn check_ends_by_a_signal_while_a_server_is_silent() {
    for scheme in ["mysql", "postgres", "redis", "memcached", "mongodb"] {
        let scratch = Scratch::new();
        let silent = Silent::start(&scratch, &Words::default());
        let url = silent.url(&format!("{scheme}://u:x@"), "/d");
        let args = ["check", &url, "--socket", &silent.socket];
        check_ends(looptax(&scratch, &args), &scratch, &silent);
    }
}

#[test]
fn compare_and_why_end_by_a_signal_while_a_server_is_silent() {
    for scheme in ["mysql://u:x@", "postgres://u:x@", "redis://u:x@", "mongodb://u:x@", "http://"] {
        let scratch = Scratch::new();
        let silent = Silent::start(&scratch, &Words::default());
        let url = silent.url(scheme, "/d");
        let rest = ["--socket", &silent.socket, "--yes", "--quick"];
        let args = [&["compare", &url], &rest[..]].concat();
        check_ends(looptax(&scratch, &args), &scratch, &silent);
    }
    let scratch = Scratch::new();
    let silent = Silent::start(&scratch, &Words::default());
    let url = silent.url("http://", "/d");
    let args = ["why", &url, "--socket", &silent.socket, "--yes", "--quick"];
    check_ends(looptax(&scratch, &args), &scratch, &silent);
}

#[test]
fn r44_reports_to_a_silent_collector_end_by_the_first_signal() {
    for scheme in ["clickhouse://w:x@", "postgres://w:x@"] {
        for from_file in [false, true] {
            let scratch = Scratch::new();
            let silent = Silent::start(&scratch, &Words::default());
            let url = silent.url(scheme, "/l");
            let gathered = scratch.work().join("gathered.jsonl");
            fs::write(&gathered, "").unwrap();
            let rest: &[&str] = if from_file { &["--from", gathered.to_str().unwrap()] } else { &["--spool", "spool"] };
            let args = [&["fleet", "send", &url], rest].concat();
            check_ends(looptax(&scratch, &args), &scratch, &silent);
            let kept = fs::read_dir(scratch.work().join("spool"));
            assert_eq!(kept.is_ok_and(|it| it.count() > 0), !from_file);
        }
    }
}

#[test]
fn fleet_ends_by_a_signal_while_the_collector_is_silent() {
    for scheme in ["clickhouse://w:x@", "postgres://w:x@"] {
        for words in [&["report"][..], &["init"], &["programs"]] {
            let scratch = Scratch::new();
            let silent = Silent::start(&scratch, &Words::default());
            let url = silent.url(scheme, "/l");
            let args = [&["fleet"], words, &[&*url]].concat();
            check_ends(looptax(&scratch, &args), &scratch, &silent);
        }
    }
}

/// Returns MySQL's greeting from a server without TLS, which asks for the old login method.
fn greeting_of_mysql() -> Vec<u8> {
    let mut body = b"\x0a8.0.36\0\x4d\0\0\0abcdefgh\0".to_vec();
    // The flags mean: protocol 4.1, a database at login, transactions, this plugin; then UTF-8 and autocommit.
    body.extend(b"\x0b\xa2\x2d\x02\0\x2a\0\x15\0\0\0\0\0\0\0\0\0\0");
    body.extend(b"ijklmnopqrst\0mysql_native_password\0");
    packet(0, &body)
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    [&[length[0], length[1], length[2], number], body].concat()
}

/// Accepts a login, and then sends nothing.
fn logged_in(protocol: &str) -> Words {
    if protocol == "mysql" {
        return Words { first: greeting_of_mysql(), answers: vec![packet(2, b"\0\0\0\x02\0\0\0")] };
    }
    let version = b"S\0\0\0\x18server_version\x0015.3\0";
    let answer = [&b"R\0\0\0\x08\0\0\0\0"[..], version, b"Z\0\0\0\x05I"].concat();
    Words { first: Vec::new(), answers: vec![answer] }
}

/// Sends a row of one cell after a header that announces five.
fn wrong_count() -> Words {
    let column = b"\x03def\0\0\0\x01c\0\x0c\x2d\0\xe8\x03\0\0\xfd\0\0\0\0";
    let end = b"\xfe\0\0\x02\0";
    let answer = [packet(1, b"\x05"), packet(2, column), packet(3, end), packet(4, b"\x01x"), packet(5, end)];
    let mut words = logged_in("mysql");
    words.answers.push(answer.concat());
    words
}

/// Runs the command to its end. looptax must send nothing more to an endpoint that was silent, on any connection.
#[track_caller]
fn check_waits_once(words: &Words, scheme: &str, args: &[&str], n_unanswered: usize) -> Finished {
    let scratch = Scratch::new();
    let silent = Silent::start(&scratch, words);
    let url = silent.url(&format!("{scheme}://u:x@"), "/d");
    let socket = ["--socket", &silent.socket];
    let command = [args, &[&*url], &socket].concat();
    let run = looptax(&scratch, &command).run();
    let heard = &silent.heard;
    assert_eq!(heard.over_tcp.load(Ordering::SeqCst), 1, "over TCP");
    assert_eq!(heard.unanswered.load(Ordering::SeqCst), n_unanswered, "questions");
    run
}

#[test]
fn r44_check_waits_once_for_each_silent_endpoint() {
    // "No answer within 10s" was printed only after a minute, because each query had its own limit.
    let run = check_waits_once(&wrong_count(), "mysql", &["check"], 0);
    run.expect_code(3);
    if !run.stdout.contains("no answer within 10s") {
        run.fail("a silence was expected");
    }
    check_waits_once(&logged_in("postgres"), "postgres", &["check"], 2).expect_code(3);
}

#[test]
fn r44_compare_waits_once_for_a_silent_server() {
    let compare = ["compare", "--yes", "--quick"];
    for protocol in ["mysql", "postgres"] {
        check_waits_once(&logged_in(protocol), protocol, &compare, 1).expect_error(2, &["no answer within 10s"]);
    }
}
