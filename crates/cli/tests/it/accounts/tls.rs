//! Accounts that the server accepts only over TLS.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_bench::path::{Conversation, Endpoint, Limits, Sealing};
use looptax_host::eyes::bytes::{Chosen, Loaded};
use looptax_model::dsn::Kind;
use looptax_testkit::skips::skip;
use serde_json::Value;

use super::{execute, rule, short, with_tls};
use crate::check::{check, expect};
use crate::fixture::{Server, exe, is_root, saved};
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

/// Checks which arms a run compared.
#[track_caller]
fn check_arms(server: &str, options: &[&str], arms: [&str; 2], problem: &str) {
    let scratch = Scratch::new();
    short(&scratch, server, options).run().expect_code(0);
    let record = saved(&scratch);
    let comparisons = record["comparisons"].as_array().unwrap();
    let names = |comparison: &Value| -> Vec<String> {
        let arms = comparison["arms"].as_array().unwrap().iter();
        arms.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    let found: Vec<Vec<String>> = comparisons.iter().map(names).collect();
    assert_eq!(found, [arms], "{server} {options:?}");
    let problems = record["problems"].to_string();
    assert!(problems.contains(problem), "{problems}");
}

fn with_accounts(kind: Kind) -> Option<Server> {
    let server = with_tls(kind)?;
    execute(
        &server,
        &[
            "CREATE USER 'both'@'localhost' IDENTIFIED BY 'pw' REQUIRE SSL",
            "CREATE USER 'both'@'127.0.0.1' IDENTIFIED BY 'pw' REQUIRE SSL",
            "CREATE USER 'tcp'@'localhost' IDENTIFIED BY 'pw'",
            "CREATE USER 'tcp'@'127.0.0.1' IDENTIFIED BY 'pw' REQUIRE SSL",
        ],
    );
    Some(server)
}

#[test]
fn r20_check_logs_in_over_tls_where_the_account_requires_it() {
    for server in [Kind::Mariadb, Kind::Mysql].into_iter().filter_map(with_accounts) {
        let url = |user: &str| format!("mysql://{user}:pw@{}/", server.it.tcp);
        let run = check(&server, &url("tcp"), &["-c", "1"]);
        expect(&run, "account", "note", &["same rights"]);
        expect(&run, "TLS", "note", &["over TCP the server accepts this login only with TLS"]);
        run.expect_code(0);
        let run = check(&server, &url("both"), &["-c", "1"]);
        let advice = "ALTER USER 'both'@'localhost' REQUIRE NONE";
        let words = ["'both'@'localhost' demands TLS (SSL), on the socket too", advice];
        assert!(words.iter().all(|it| run.stdout.contains(it)), "{}", run.stdout);
        // The driver uses TLS over TCP today, and may also use TLS over the socket.
        run.expect_code(3);
        execute(&server, &[advice]);
        check(&server, &url("both"), &["-c", "1"]).expect_code(0);
    }
}

#[test]
fn r20_compare_takes_the_arms_that_an_account_allows() {
    for server in [Kind::Mariadb, Kind::Mysql].into_iter().filter_map(with_accounts) {
        let url = |user: &str| format!("mysql://{user}:pw@{}/", server.it.tcp);
        let tls = ["unix", "tls"];
        check_arms(&url("tcp"), &[], tls, "tcp is not measured");
        for demand in ["ssl=true", "ssl-mode=REQUIRED", "sslmode=require", "tls=true"] {
            check_arms(&format!("{}?{demand}", url("tcp")), &[], tls, "tcp is not measured");
        }
        let sealed = ["tls-unix", "tls"];
        check_arms(&url("both"), &["--arms", "tls-unix,tls"], sealed, "");
        let scratch = Scratch::new();
        let run = short(&scratch, &url("both"), &[]).run();
        run.expect_error(2, &["over unix and tcp", "only with TLS", "--arms tls-unix,tls"]);
    }
}

/// `check` reports encrypted sessions from the server's own list (MariaDB has such a list only if it is configured);
/// `find` recognizes them by the bytes that are sent.
#[test]
fn encrypted_sessions_of_this_machine_are_named() {
    for (kind, way) in [(Kind::Mysql, "on the socket"), (Kind::Mariadb, "on the socket"), (Kind::Postgres, "over TCP")]
    {
        let Some(server) = with_tls(kind) else {
            continue;
        };
        let endpoint = match kind {
            Kind::Postgres => Endpoint::Tcp(server.it.tcp),
            _ => Endpoint::unix(&server.it.socket).unwrap(),
        };
        let (protocol, login) = (server.it.protocol, &server.it.login);
        let open =
            |sealing| Conversation::open_as_wanted(protocol, &endpoint, login, sealing, Limits::default()).unwrap();
        let (mut plain, mut sealed) = (open(Sealing::Never), open(Sealing::Always));
        if is_root() && Loaded::new(&Chosen::default()).is_ok() {
            let notes = found_while_asked(&server, [&mut plain, &mut sealed]);
            assert_eq!(notes.len(), 1, "{kind}: {notes:?}");
            assert!(notes[0].contains(way) && notes[0].contains("encrypts a connection"), "{kind}: {notes:?}");
        } else {
            skip("bytes: the kernel does not let us read");
        }
        if kind != Kind::Mariadb {
            let password = login.password.reveal();
            let url = format!("{protocol}://{}:{password}@{}/", login.user, server.it.tcp);
            expect(&check(&server, &url, &["-c", "1"]), "TLS", "note", &["encrypted", way]);
        }
    }
}

/// Returns the notes of `find` about encrypted connections to this server, while these connections are in use.
fn found_while_asked(server: &Server, talks: [&mut Conversation; 2]) -> Vec<String> {
    let is_over = AtomicBool::new(false);
    let run = thread::scope(|scope| {
        for talk in talks {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    talk.cell("SELECT 1").unwrap();
                    thread::sleep(Duration::from_millis(10));
                }
            });
        }
        let run = Looptax::new(exe(), &Scratch::new()).args(["find", "--json"]).run();
        is_over.store(true, Ordering::Relaxed);
        run
    });
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    let notes = found["notes"].as_array().unwrap().iter();
    let notes = notes.filter(|it| it["code"].as_str().unwrap().starts_with("sealed-"));
    let what = notes.map(|it| it["what"].as_str().unwrap().to_owned());
    what.filter(|it| it.contains(&format!(" {} ", server.it.pid))).collect()
}

#[test]
fn r20_postgres_with_hostssl_alone_is_measured_and_checked_over_tls() {
    let Some(server) = with_tls(Kind::Postgres) else {
        return;
    };
    execute(&server, &["CREATE ROLE app LOGIN PASSWORD 'pw'"]);
    rule(&server, "local all app scram-sha-256\nhostssl all app 127.0.0.1/32 scram-sha-256");
    let url = format!("postgres://app:pw@{}/postgres", server.it.tcp);
    let socket = server.socket();
    let tls = ["unix", "tls"];
    check_arms(&url, &["--socket", &socket], tls, "tcp is not measured");
    check_arms(&format!("{url}?sslmode=require"), &["--socket", &socket], tls, "demands TLS");
    let run = check(&server, &url, &["-c", "1"]);
    expect(&run, "login", "pass", &["works over TCP and over the socket"]);
    expect(&run, "TLS", "unknown", &["only with TLS", "node-pg"]);
    run.expect_code(0);
}

#[test]
fn r20_run_leaves_a_login_on_tcp_that_the_server_takes_over_tls_alone() {
    let Some(server) = with_accounts(Kind::Mariadb) else {
        return;
    };
    let port = server.it.tcp.port().to_string();
    for user in ["tcp", "both"] {
        let scratch = Scratch::new();
        let url = format!("mysql://{user}:pw@{}/", server.it.tcp);
        let run = Looptax::new(exe(), &scratch)
            .args(["run", "--dry-run", "--port", &port, "--login", &url, "--", "true"])
            .run();
        run.expect_code(1);
        assert!(run.stdout.contains("only with TLS"), "{}", run.stdout);
    }
}

#[test]
fn r20_redis_is_named_by_its_port_for_tls() {
    let Some(server) = with_tls(Kind::Redis) else {
        return;
    };
    let Some(tls) = server.it.instances[0].tls else {
        return;
    };
    let url = format!("rediss://:{}@{tls}", server.password());
    check_arms(&url, &[], ["unix", "tls"], "demands TLS");
    let run = check(&server, &url, &["-c", "1"]);
    expect(&run, "login", "pass", &["works over TCP and over the socket"]);
    run.expect_code(0);
}
