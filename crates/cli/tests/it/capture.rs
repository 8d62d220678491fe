//! `looptax watch -w`: which data of real conversations is in the file, and which is not.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use looptax_host::eyes::Refused;
use looptax_host::eyes::bytes::{Chosen, Loaded};
use looptax_model::dsn::Kind;
use looptax_testkit::patience;
use looptax_testkit::runner::{Looptax, Running};
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use rustix::process::Signal;

use crate::fixture::{Server, exe, is_root, is_there};

const NOBODY: u32 = 65_534;
/// Time until looptax has read the packets that were sent.
const SETTLING: Duration = Duration::from_millis(300);

/// Starts a capture into `w.pcapng`; prints a message and returns `None` if the kernel does not allow it.
fn capture<'a>(scratch: &'a Scratch, args: &[&str]) -> Option<Running<'a>> {
    if !is_root() {
        skip("bytes: tests run without root");
        return None;
    }
    if let Err(refused) = Loaded::new(&Chosen::default()) {
        assert!(!matches!(refused, Refused::Verifier(_) | Refused::Object), "{refused}");
        skip(&format!("bytes: {refused}"));
        return None;
    }
    let looptax = Looptax::new(exe(), scratch).args(["watch", "-w", "w.pcapng", "--yes"]).args(args.to_vec());
    let mut running = looptax.spawn();
    let is_there = || scratch.work().join("w.pcapng").exists().then_some(());
    running.wait_for("the file is there", is_there);
    running.wait_for_stderr("writing to");
    Some(running)
}

/// Ends the capture with Ctrl-C, as a user does; returns what it printed.
fn end(running: Running<'_>) -> String {
    thread::sleep(SETTLING);
    running.signal(Signal::INT);
    let finished = running.wait();
    finished.expect_code(0);
    finished.stdout.clone()
}

/// Returns the bytes that client and server sent, from all packets. The whole file has to have the form of pcapng.
fn sent(file: &Path) -> (Vec<u8>, Vec<u8>) {
    let bytes = fs::read(file).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (mut client, mut server) = (Vec::new(), Vec::new());
    let mut next: std::collections::HashMap<Vec<u8>, u32> = std::collections::HashMap::new();
    let mut at = 0;
    while at < bytes.len() {
        let n_block = word(at + 4);
        assert_eq!(word(at + n_block - 4), n_block);
        if word(at) == 6 {
            let packet = &bytes[at + 28..at + 28 + word(at + 20)];
            assert_eq!(packet[0], 0x45);
            let (from, to) = ([packet[20], packet[21]], [packet[22], packet[23]]);
            let payload = &packet[40..];
            // The sequence numbers have no gap and no overlap: no byte is missing, and none is repeated.
            let sequence = u32::from_be_bytes(packet[24..28].try_into().unwrap());
            let is_syn = packet[33] & 2 != 0;
            let place = next.entry([&packet[12..16], &from, &to].concat()).or_insert(sequence);
            if is_syn {
                *place = sequence;
            }
            assert_eq!(*place, sequence);
            *place = sequence.wrapping_add(payload.len() as u32 + u32::from(is_syn));
            // Only the servers of these tests use these ports: a client's port is invented or from the kernel, and is
            // higher.
            let is_client = well_known(to);
            (if is_client { &mut client } else { &mut server }).extend_from_slice(payload);
        }
        at += n_block;
    }
    (client, server)
}

fn well_known(port: [u8; 2]) -> bool {
    matches!(u16::from_be_bytes(port), 3306 | 5432 | 6379 | 11_211)
}

#[track_caller]
fn has(bytes: &[u8], text: &str, is_there: bool) {
    assert_eq!(bytes.windows(text.len()).any(|it| it == text.as_bytes()), is_there, "{text}");
}

#[test]
fn statements_are_written_as_sent_and_passwords_are_not() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let Some(server) = Server::start(kind) else { continue };
        let scratch = Scratch::new();
        let Some(running) = capture(&scratch, &["--socket", &server.socket()]) else { return };
        assert_eq!(server.column("SELECT 'a statement'"), ["a statement"]);
        let words = end(running);
        assert!(words.contains("1 connection, ") && words.contains("of logins were replaced by `*`"), "{words}");
        let file = scratch.work().join("w.pcapng");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let (client, answers) = sent(&file);
        has(&client, "SELECT 'a statement'", true);
        has(&answers, "a statement", true);
        has(&client, server.password(), false);
        has(&client, "****", true);
        has(&fs::read(&file).unwrap(), &format!("unix:{}", server.socket()), true);
    }
}

/// Returns the values of a field, as tshark reads them; tshark has to be able to decode each packet.
fn dissected(file: &Path, filter: &str, field: &str) -> String {
    let run = |filter: &str, field: &str| {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(file).args(["-Y", filter, "-T", "fields", "-e", field]);
        let output = tshark.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run("_ws.malformed || tcp.analysis.flags", "frame.number"), "");
    run(filter, field)
}

#[test]
fn wireshark_reads_statements_and_logins_by_itself() {
    if !is_there("tshark") {
        return;
    }
    let cases = [
        (Kind::Mariadb, "mysql.user", "mysql.query"),
        (Kind::Postgres, "pgsql.parameter_name == \"user\"", "pgsql.query"),
    ];
    for (kind, login, query) in cases {
        let Some(server) = Server::start(kind) else { continue };
        let scratch = Scratch::new();
        let Some(running) = capture(&scratch, &["--socket", &server.socket()]) else { return };
        server.column("SELECT 'a statement'");
        end(running);
        let file = scratch.work().join("w.pcapng");
        assert!(dissected(&file, query, query).contains("SELECT 'a statement'"));
        assert_eq!(dissected(&file, login, "frame.number").lines().count(), 1, "{kind}");
    }
    let Some(server) = Server::start(Kind::Redis) else { return };
    let scratch = Scratch::new();
    let Some(running) = capture(&scratch, &["--socket", &server.socket()]) else { return };
    server.redis(&["ECHO", "a word"]);
    end(running);
    let info = dissected(&scratch.work().join("w.pcapng"), "resp", "_ws.col.Info");
    assert!(info.contains("ECHO a word") && info.contains("****"), "{info}");
}

#[test]
fn logins_of_redis_are_hidden_unless_they_are_asked_for() {
    let Some(server) = Server::start(Kind::Redis) else { return };
    for (option, is_there) in [(None, false), (Some("--with-logins"), true)] {
        let scratch = Scratch::new();
        let pid = server.it.pid.to_string();
        let args: Vec<&str> = ["--pid", &pid].into_iter().chain(option).collect();
        let Some(running) = capture(&scratch, &args) else { return };
        let mut stream = UnixStream::connect(server.socket()).unwrap();
        let mut answer = [0; 500];
        let password = server.password();
        let pipeline = format!(
            "*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nauth\r\n${}\r\n{password}\r\nAUTH {password}\r\nGET a\r\n",
            password.len()
        );
        for byte in pipeline.as_bytes() {
            stream.write_all(&[*byte]).unwrap();
        }
        let mut n = 0;
        while !answer[..n].ends_with(b"$-1\r\n") {
            n += stream.read(&mut answer[n..]).unwrap();
        }
        end(running);
        let (client, answers) = sent(&scratch.work().join("w.pcapng"));
        has(&client, password, is_there);
        has(&client, "GET a\r\n", true);
        assert_eq!(client.len(), pipeline.len());
        assert_eq!(answers, answer[..n]);
    }
}

#[test]
fn it_ends_by_itself_when_the_file_is_full_or_the_time_is_over() {
    let Some(server) = Server::start(Kind::Redis) else { return };
    let scratch = Scratch::new();
    let Some(running) = capture(&scratch, &["--socket", &server.socket(), "--max", "64K"]) else { return };
    let mut stream = UnixStream::connect(server.socket()).unwrap();
    let value = "x".repeat(5000);
    let echo = format!("*2\r\n$4\r\nECHO\r\n$5000\r\n{value}\r\n");
    for _ in 0..20 {
        stream.write_all(echo.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 20]).unwrap();
    }
    let finished = running.wait();
    finished.expect_code(0);
    assert!(finished.stdout.contains("looptax stopped at the limit of --max"), "{}", finished.stdout);
    let file = scratch.work().join("w.pcapng");
    assert!((32_000..=65_536).contains(&fs::metadata(&file).unwrap().len()));
    sent(&file);
    let scratch = Scratch::new();
    let Some(running) = capture(&scratch, &["--socket", &server.socket(), "--for", "1s"]) else { return };
    running.wait().expect_code(0);
    sent(&scratch.work().join("w.pcapng"));
}

#[test]
fn when_it_is_killed_the_file_is_readable_and_nothing_stays_in_the_kernel() {
    let Some(server) = Server::start(Kind::Redis) else { return };
    let scratch = Scratch::new();
    let Some(running) = capture(&scratch, &["--socket", &server.socket()]) else { return };
    let folder = format!("/proc/{}/fdinfo", running.pid());
    let texts = fs::read_dir(folder).unwrap().filter_map(|it| fs::read_to_string(it.unwrap().path()).ok());
    let ids: Vec<String> = texts
        .filter_map(|text| Some(text.lines().find_map(|it| it.strip_prefix("prog_id:"))?.trim().to_owned()))
        .collect();
    assert!(ids.len() >= 3, "{ids:?}");
    let mut stream = UnixStream::connect(server.socket()).unwrap();
    stream.write_all(b"PING\r\n").unwrap();
    assert!(stream.read(&mut [0; 200]).unwrap() > 0);
    let file = scratch.work().join("w.pcapng");
    let is_written = || fs::read(&file).unwrap().windows(4).any(|it| it == b"PING").then_some(());
    patience::wait_for("it is in the file", Duration::from_secs(10), is_written);
    running.signal(Signal::KILL);
    drop(running.wait());
    has(&sent(&file).0, "PING", true);
    let is_gone = |id: &String| !aya::programs::loaded_programs().flatten().any(|it| it.id().to_string() == *id);
    patience::wait_for("programs are gone", Duration::from_secs(10), || ids.iter().all(is_gone).then_some(()));
}

#[test]
fn what_it_cannot_or_may_not_do_it_says_with_a_next_step() {
    let scratch = Scratch::new();
    let refused = |args: &[&str], words: &[&str]| {
        let run = Looptax::new(exe(), &scratch).args(["watch", "-w"]).args(args.to_vec()).run();
        run.expect_error(2, words);
    };
    refused(&["w.pcapng"], &["chooses the connections", "--pid PID"]);
    fs::write(scratch.work().join("there"), "").unwrap();
    let own = std::process::id().to_string();
    refused(&["there", "--pid", &own, "--yes"], &["exists already", "new file"]);
    refused(&["-", "--pid", &own, "--yes"], &["ordinary file"]);
    refused(&["w.pcapng", "--pid", "4194305", "--yes"], &["process 4194305 does not exist"]);
    refused(&["w.pcapng", "--socket", "there", "--yes"], &["not a socket"]);
    if !is_root() {
        return skip("bytes: tests run without root");
    }
    let run = Looptax::new(exe(), &scratch).args(["watch", "-w", "w.pcapng", "--pid", &own]).uid(NOBODY).run();
    run.expect_error(2, &["only root"]);
    refused(&["w.pcapng", "--pid", &own], &["without a terminal", "--yes"]);
    refused(&["w.pcapng", "--server", "1", "--yes"], &["no server", "--with-logins"]);
    assert!(!scratch.work().join("w.pcapng").exists());
}

#[test]
fn a_socket_that_is_not_there_is_named_and_no_file_is_made() {
    let scratch = Scratch::new();
    let watch =
        |socket: &str| Looptax::new(exe(), &scratch).args(["watch", "-w", "w.pcapng", "--socket", socket]).run();
    watch("/nonexistent/s.sock").expect_error(2, &["there is no socket at /nonexistent/s.sock"]);
    watch("/dev/null").expect_error(2, &["/dev/null is not a socket"]);
    assert!(!scratch.file("w.pcapng").exists());
}
