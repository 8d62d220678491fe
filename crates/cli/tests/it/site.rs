//! Pages behind a web server: of a private PHP-FPM and HTTP server, and of a running application.

use std::fs;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use looptax_experiment::servers::pooler::{self, PoolMode};
use looptax_model::dsn::Kind;
use looptax_testkit::ports::free_address;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::application::php::program;
use crate::fixture::{SHORT, check_refused, compare, is_there, saved};

/// An application with one page; all other pages do not exist.
const APPLICATION: &str = "
def application(environ, start_response):
    is_page = environ['PATH_INFO'] == '/page' and environ['QUERY_STRING'] == 'a=b'
    body = b'x' * 700 if is_page else b''
    start_response('200 OK' if is_page else '404 Not Found', [('Content-Length', str(len(body)))])
    return [body]
";

/// gunicorn on a socket and on a port; it ends when this value is dropped.
struct Gunicorn {
    child: Child,
    port: u16,
    socket: String,
}

impl Gunicorn {
    fn start(scratch: &Scratch, options: &[&str]) -> Option<Self> {
        if !is_there("gunicorn") {
            return None;
        }
        fs::write(scratch.file("app.py"), APPLICATION).unwrap();
        let port = free_address().port();
        let socket = scratch.file("g.sock").display().to_string();
        let child = Command::new("gunicorn")
            .args(["--bind", &format!("unix:{socket}"), "--bind", &format!("127.0.0.1:{port}")])
            .args(options)
            .arg("app:application")
            .current_dir(scratch.file("app.py").parent().unwrap())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "gunicorn does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self { child, port, socket })
    }

    fn url(&self, page: &str) -> String {
        format!("http://127.0.0.1:{}{page}", self.port)
    }
}

impl Drop for Gunicorn {
    fn drop(&mut self) {
        // gunicorn itself ends its workers after SIGTERM.
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        self.child.wait().ok();
    }
}

const THREADS: [&str; 4] = ["--worker-class", "gthread", "--threads", "8"];

#[test]
fn an_application_s_page_is_measured_over_its_socket_and_its_port() {
    let scratch = Scratch::new();
    let Some(server) = Gunicorn::start(&scratch, &THREADS) else {
        return;
    };
    let run = compare(&scratch).args([&server.url("/page?a=b"), "--socket", &server.socket, "--yes"]).args(SHORT).run();
    run.expect_code(0);
    let record: Value = saved(&scratch);
    let comparison = &record["comparisons"][0];
    assert_eq!(comparison["target"]["kind"], "http");
    assert_eq!(comparison["target"]["version"], "gunicorn");
    assert_eq!(comparison["workload"]["name"], "page");
    for (arm, sees) in [(0, "local socket of process "), (1, "TCP from 127.0.0.1:")] {
        let arm = &comparison["arms"][arm];
        assert_eq!(arm["verified"], true, "{arm}");
        let view = arm["proof"]["server_view"].as_str().unwrap();
        assert!(view.starts_with(sees), "{view}");
    }
}

/// If no arm is a socket, the kernel's data about the known process has to prove the arms.
#[track_caller]
fn expect_twice(arm: &str, scratch: &Scratch, target: &[&str]) {
    let arms = [arm, arm].join(",");
    let run = compare(scratch).args(target).args(["--arms", &arms]);
    run.args(SHORT).run().expect_code(0);
    let record: Value = saved(scratch);
    for arm in [0, 1] {
        let arm = &record["comparisons"][0]["arms"][arm];
        assert_eq!(arm["verified"], true, "{arm}");
    }
}

#[test]
fn two_arms_of_tcp_are_proved_without_a_socket() {
    let scratch = Scratch::new();
    expect_twice("tcp", &Scratch::new(), &["private:http"]);
    if program("php-fpm").is_some() {
        expect_twice("tcp", &Scratch::new(), &["private:php-fpm"]);
    }
    for pooler in ["pgbouncer", "pgpool"] {
        if is_there(pooler) {
            let target = format!("private:{pooler}");
            expect_twice("tcp+unix", &Scratch::new(), &[&target]);
        }
    }
    if let Some(server) = Gunicorn::start(&scratch, &THREADS) {
        let url = server.url("/page?a=b");
        expect_twice("tcp", &scratch, &[&url, "--socket", &server.socket, "--yes"]);
    }
}

#[test]
fn a_pooler_pools_as_it_is_told() {
    if !is_there("pgbouncer") {
        return;
    }
    for mode in ["transaction", "statement"] {
        let scratch = Scratch::new();
        let pooled = ["private:pgbouncer", "--pool-mode", mode];
        let run = compare(&scratch).args(pooled).args(["--protocol", "text"]);
        run.args(SHORT).run().expect_code(0);
        let record = saved(&scratch);
        let comparison = &record["comparisons"][0];
        for arm in comparison["arms"].as_array().unwrap() {
            assert_eq!(arm["verified"], true, "{arm}");
        }
        let settings = comparison["target"]["settings"].to_string();
        assert!(settings.contains(mode), "{settings}");
        let command = record["command"].to_string();
        assert!(command.contains("--pool-mode"), "{command}");
    }
    let old = ["private:pgbouncer", "--pool-mode", "transaction"];
    let (_, keeps_prepared) = pooler::keeps_prepared(Kind::Pgbouncer, PoolMode::Transaction).unwrap();
    if !keeps_prepared {
        check_refused(&old, &["keeps prepared statements", "--protocol text"]);
    }
    check_refused(&["echo", "--pool-mode", "transaction"], &["a pooler that looptax starts"]);
    check_refused(
        &["private:pgpool", "--pool-mode", "transaction"],
        &["Pgpool-II does not have the pool mode transaction"],
    );
}

#[test]
fn two_servers_are_not_taken_for_one() {
    let scratches = [Scratch::new(), Scratch::new()];
    let servers = scratches.each_ref().map(|scratch| Gunicorn::start(scratch, &THREADS));
    let [Some(one), Some(other)] = servers else {
        return;
    };
    let run =
        compare(&scratches[0]).args([&one.url("/page?a=b"), "--socket", &other.socket, "--yes"]).args(SHORT).run();
    run.expect_code(3);
    let words = ["the arms lead to different servers", "is not at the other end"];
    for words in words {
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}

#[test]
fn what_cannot_be_measured_of_a_page_is_said_in_a_line() {
    let scratch = Scratch::new();
    let Some(server) = Gunicorn::start(&scratch, &THREADS) else {
        return;
    };
    let said = |url: String| {
        let run = compare(&scratch).args([&url, "--socket", &server.socket, "--yes"]).args(SHORT).run();
        run.expect_code(2);
        run.stderr.clone()
    };
    let missing = said(server.url("/nothing"));
    assert!(missing.contains("404"), "{missing}");
    drop(server);
    let scratch = Scratch::new();
    let Some(server) = Gunicorn::start(&scratch, &[]) else {
        return;
    };
    let run = compare(&scratch).args([&server.url("/page?a=b"), "--socket", &server.socket, "--yes"]).args(SHORT).run();
    run.expect_code(2);
    let said = &run.stderr;
    assert!(said.contains("closes the connection after its answer"), "{said}");
    assert!(said.contains("keep-alive"), "{said}");
}
