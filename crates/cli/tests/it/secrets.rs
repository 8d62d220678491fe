//! Addresses of every accepted form with a marked secret are passed to every command that accepts addresses; only the
//! server may get the secret.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;

use looptax_model::dsn::Kind;
use looptax_testkit::fake_redis::{FakeRedis, Script};
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;

use crate::fixture::{SHORT, Server, compare, exe};

/// The beginning and the end of the secret, which stay the same in every encoding.
const MARKS: [&str; 2] = ["qZ7", "7Zq"];
const SECRET: &str = "qZ7 ü'\\@/:?#&=;,%+\"7Zq";

/// Returns the secret with everything except letters and digits as `%XX`.
fn percent() -> String {
    let encoded = SECRET.bytes().map(|byte| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

fn quoted() -> String {
    format!("'{}'", SECRET.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Returns addresses of all forms, with the secret in each place that may contain one.
fn addresses(port: u16) -> Vec<String> {
    let urls = [
        "mysql://u:S@127.0.0.1:P/d",
        "mariadb://ü:S@localhost:P",
        "mysql://u:qZ7 ü\\=;,+7Zq@127.0.0.1:P/d",
        "mysql://127.0.0.1:P/d?user=u&password=S",
        "mysql://u@127.0.0.1/d?p%61ssword=S&port=P",
        "postgres://u:S@127.0.0.1:P/d?sslmode=disable",
        "postgresql://localhost/d?host=127.0.0.1&port=P&user=u&password=S",
        "redis://:S@127.0.0.1:P",
        "valkey://u:S@127.0.0.1:P/0",
        "redis://127.0.0.1:P?password=S",
    ]
    .map(|url| url.replace('S', &percent()));
    let keywords =
        ["host=127.0.0.1 port=P user=u password=S dbname=d", "user=u password = S hostaddr=127.0.0.1 port=P"]
            .map(|text| text.replace('S', &quoted()));
    let all = urls.into_iter().chain(keywords);
    all.map(|text| text.replace('P', &port.to_string())).collect()
}

#[track_caller]
fn check_absent(text: &str, place: &str, address: &str) {
    let text = without_scratch_names(&without_packed(text));
    for mark in MARKS {
        assert!(!text.contains(mark), "{place} of {address}:\n{text}");
    }
}

/// Returns the text without packed latencies and without the records in a page: any long base64 may contain the three
/// letters of a mark.
fn without_packed(text: &str) -> String {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let words = text.split_inclusive(|c| !is_base64(c));
    words.filter(|it| it.len() < MOST_LETTERS).collect()
}

/// Words that are longer than this are base64.
const MOST_LETTERS: usize = 200;

/// Returns the text without the six random letters in the name of each scratch folder, which may contain a mark too.
fn without_scratch_names(text: &str) -> String {
    let mut parts = text.split("lt-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| {
        let name = part.bytes().take(6).take_while(u8::is_ascii_alphanumeric).count();
        kept + "lt-" + &part[name..]
    })
}

/// Checks that neither the output nor any remaining file contains the secret.
#[track_caller]
fn check_told(run: &Finished, scratch: &Scratch, address: &str) {
    check_absent(&run.stdout, "stdout", address);
    check_absent(&run.stderr, "stderr", address);
    if run.stderr.contains("panicked") {
        run.fail("it panicked");
    }
    check_files(&scratch.work(), address);
    check_files(&scratch.tmp(), address);
}

#[track_caller]
fn check_files(folder: &Path, address: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            check_files(&path, address);
        } else if entry.file_type().unwrap().is_file() {
            let text = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&text);
            check_absent(&text, &path.display().to_string(), address);
        }
    }
}

/// Checks the process list while the program waits for a server's greeting, which never comes.
#[track_caller]
fn check_held(args: &[&str], address_of: impl Fn(u16) -> String) {
    let (scratch, others) = (Scratch::new(), Scratch::new());
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    let socket = others.file("held.sock");
    let unix = UnixListener::bind(&socket).unwrap();
    let address = address_of(tcp.local_addr().unwrap().port());
    let mut run =
        Looptax::new(exe(), &scratch).args(args).args(["--socket", socket.to_str().unwrap(), &address]).spawn();
    let held = run.wait_for("a connection", || tcp.accept().ok());
    let list = fs::read(format!("/proc/{}/cmdline", run.pid())).unwrap();
    let list = String::from_utf8_lossy(&list).into_owned();
    assert!(list.contains(args[0]), "{list}");
    check_absent(&list, "the process list", &address);
    drop((held, tcp, unix));
    check_told(&run.wait(), &scratch, &address);
}

#[test]
fn compare_keeps_a_secret_from_whoever_looks() {
    for idx in 0..addresses(0).len() {
        check_held(&["compare", "--yes", "-o", "r.json"], |port| addresses(port).swap_remove(idx));
    }
}

#[test]
fn check_keeps_a_secret_from_whoever_looks() {
    for idx in 0..addresses(0).len() {
        check_held(&["check"], |port| addresses(port).swap_remove(idx));
    }
}

#[test]
fn run_keeps_a_secret_from_whoever_looks() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let (tcp, password) = (server.it.tcp, server.password());
    for url in [server.url(), format!("redis://{tcp}?password={password}")] {
        let scratch = Scratch::new();
        let show = ["--", "sh", "-c", "cat /proc/$PPID/cmdline"];
        let run = Looptax::new(exe(), &scratch).args(["run", "--login", &url]).args(show).run();
        run.expect_code(0);
        assert!(run.stdout.contains("run\0--login"), "{}", run.stdout);
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains(password), "{text}");
        }
    }
}

#[test]
fn what_only_reads_an_address_does_not_repeat_its_secret() {
    for address in addresses(1) {
        for args in [
            &["dsn", &*address, "--for", "all"][..],
            &["dsn", &address, "--for", "all", "--json"],
            &["dsn", &address, "--for", "all", "--explain"],
            &["check", &address, "--json"],
            &["compare", &address, "--dry-run"],
            &["compare", "--exec", "redis-cli {transport} ping", &address, "--dry-run"],
            &["doctor", &address],
            &["run", "--login", &address, "--dry-run"],
            &["run", "--login", &address, "--", "sh", "-c", "cat /proc/$PPID/cmdline"],
        ] {
            let scratch = Scratch::new();
            let run = Looptax::new(exe(), &scratch).args(args).run();
            check_told(&run, &scratch, &address);
        }
    }
    let scratch = Scratch::new();
    let url = format!("mysql://u:{}@127.0.0.1/d", percent());
    let args = ["dsn", &url, "--for", "all", "--show-password"];
    let run = Looptax::new(exe(), &scratch).args(args).run();
    run.expect_code(0);
    assert!(MARKS.iter().all(|mark| run.stdout.contains(mark)));
}

#[test]
fn what_cannot_be_read_is_refused_without_its_secret() {
    for (address, words) in [
        ("mysql://u:qZ7@127.0.0.1:7Zq/d", "invalid port number"),
        ("mysql:/u:qZ7-7Zq@127.0.0.1/d", ""),
        ("oracle://u:qZ7-7Zq@127.0.0.1/d", "`oracle://`"),
        ("mysql://u:1?qZ7-7Zq@127.0.0.1/d", ""),
        ("mysql://u:qZ7-7Zq@127.0.0.1/d?charset=utf8mb4", "`charset=`"),
        ("postgres://u:qZ7-7Zq@127.0.0.1/d?connect_timeout=3", "`connect_timeout=`"),
        ("host=example.com password=qZ7-7Zq", "`example.com`"),
    ] {
        let scratch = Scratch::new();
        let run = compare(&scratch).args([address, "--yes"]).run();
        run.expect_error(2, &[words]);
        check_told(&run, &scratch, address);
    }
}

#[test]
fn an_address_in_a_wrong_place_is_not_repeated() {
    let address = "mysql://u:qZ7-7Zq@127.0.0.1/d";
    for args in [
        &["compare", "--arms", address, "echo"][..],
        &["compare", "--rows", address, "echo"],
        &["compare", "--seed=mysql://u:qZ7-7Zq@127.0.0.1/d", "echo"],
        &["run", "--map", address, "--", "true"],
        &["show", address],
        &["show", "--forget", address],
        &["gate", address],
        &["find", address],
        &["reproduce", address],
        &["nothing", address],
        &[address],
    ] {
        let scratch = Scratch::new();
        let run = Looptax::new(exe(), &scratch).args(args).run();
        assert!(!run.status.success(), "{args:?}");
        check_told(&run, &scratch, address);
    }
}

#[test]
fn what_a_url_says_of_tls_and_its_socket_goes_with_the_options() {
    let scratch = Scratch::new();
    let refused = |args: &[&str], words: &[&str]| {
        let run = compare(&scratch).args(args).args(["--yes"]).run();
        run.expect_error(2, words);
    };
    let url = "postgres://u@127.0.0.1:1/d?sslmode=disable";
    let words = ["`sslmode=disable` in the URL forbids TLS"];
    refused(&[url, "--arms", "unix,tls"], &words);
    let words = ["names the socket /a, but --socket names /b", "leave out the socket"];
    refused(&["mysql://127.0.0.1:1?socket=/a", "--socket", "/b"], &words);
}

#[test]
fn a_whole_run_leaves_no_secret_in_record_history_and_page() {
    let (scratch, others) = (Scratch::new(), Scratch::new());
    let fake = FakeRedis::start(&others.work(), Script::default());
    let (tcp, socket) = (fake.tcp, fake.socket.display());
    let url = format!("redis://u:{}@{tcp}?socket={socket}", percent());
    let run = compare(&scratch).args([&*url, "--yes"]).args(SHORT).run();
    run.expect_code(0);
    check_told(&run, &scratch, &url);
    let record = fs::read_to_string(scratch.file("r.json")).unwrap();
    assert!(record.contains(&format!("redis://u@{tcp}")), "{record}");
    for args in [
        &["show", "r.json", "--html", "page.html"][..],
        &["show", "r.json"],
        &["show", "--json"],
        &["show", "last"],
        &["gate", "r.json", "r.json"],
    ] {
        let run = Looptax::new(exe(), &scratch).args(args).run();
        check_told(&run, &scratch, &url);
    }
}

#[test]
fn r51_a_server_that_repeats_a_password_is_not_repeated() {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("redis://{}/0", listener.local_addr().unwrap());
    // This thread ends with the test's process.
    std::thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut sent = [0; 4096];
                while let Ok(n @ 1..) = peer.read(&mut sent) {
                    let words = String::from_utf8_lossy(&sent[..n]).replace("\r\n", " ");
                    if peer.write_all(format!("-WRONGPASS no {words}\r\n").as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let scratch = Scratch::new();
    let mut n_masked = 0;
    for args in [&["check", &address][..], &["check", &address, "--json"], &["compare", &address, "--quick", "--yes"]] {
        let run = Looptax::new(exe(), &scratch).env("LOOPTAX_PASSWORD", "qZ7secret7Zq").args(args).run();
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(!said.contains("7Zq"), "{said}");
        n_masked += usize::from(said.contains("****"));
    }
    assert!(n_masked > 0, "the server was not heard: {n_masked}");
}
