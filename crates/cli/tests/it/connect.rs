//! Whole connections as requests: each is opened, logged in, used for one request and closed, on every kind of server.

use std::process::Command;

use looptax_model::dsn::Kind;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use serde_json::Value;

use crate::fixture::{self, SHORT, Server, compare, exe, is_installed, saved};

/// The server's count and ours may differ by this share.
const APART: f64 = 0.01;
/// The counts may also differ by this number: some connections per epoch are for proofs and queries.
const QUESTIONS: f64 = 200.0;

#[track_caller]
fn check(kind: Kind, connections: &str, least_calls: [f64; 2]) {
    if !is_installed(kind) {
        return;
    }
    let target = match kind {
        Kind::Echo => "echo".to_owned(),
        kind => format!("private:{kind}"),
    };
    let scratch = Scratch::new();
    let run = compare(&scratch)
        .args([target.as_str(), "--workload", "connect"])
        .args(["--fixed", "6", "--slice-ms", "20", "-q", "-c", connections])
        .args(["--warm-up", "0s", "--placement", "same", "--verbose"])
        .run();
    run.expect_code(0);
    let record = saved(&scratch);
    let comparison = &record["comparisons"][0];
    assert_eq!(comparison["client"], "block");
    for arm in comparison["arms"].as_array().unwrap() {
        assert_eq!(arm["verified"], true, "{arm}");
        let calls = ["send", "receive"].map(|it| arm["syscalls_per_query"][it].as_f64().unwrap());
        assert!(calls[0] >= least_calls[0] && calls[1] >= least_calls[1], "{arm}");
        assert!(arm["cpu_us_per_query"]["server"]["value"].is_number(), "{arm}");
    }
    assert!(comparison["time_wait"]["local_ports"].as_u64().unwrap() > 0);
    if kind != Kind::Echo {
        let count = &comparison["server_count"];
        let [sent, counted] = ["sent", "counted"].map(|name| count[name].as_f64().unwrap());
        assert!(sent > 0.0 && (counted - sent).abs() <= (APART * sent).max(QUESTIONS), "{count}");
    }
    assert!(run.stdout.contains("TIME_WAIT"), "{}", run.stdout);
    scratch.check_nothing_left();
}

// The least number of calls on each side: a login, one query and a closing message; the server also has to close.

#[test]
fn mariadb_counts_connections_as_we_do() {
    check(Kind::Mariadb, "2", [3.0, 4.0]);
}

#[test]
fn mysql_counts_connections_as_we_do() {
    check(Kind::Mysql, "2", [3.0, 4.0]);
}

#[test]
fn valkey_counts_connections_as_we_do() {
    check(Kind::Valkey, "2", [2.0, 3.0]);
}

#[test]
fn postgres_counts_sessions_as_we_do() {
    check(Kind::Postgres, "2", [4.0, 4.0]);
}

#[test]
fn redis_counts_connections_as_we_do() {
    check(Kind::Redis, "2", [2.0, 3.0]);
}

#[test]
fn echo_takes_connections_too() {
    check(Kind::Echo, "3", [2.0, 3.0]);
}

#[test]
fn a_running_server_takes_them_only_as_our_own() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let options = ["--workload", "connect"];
    let refused = server.compare(&scratch).args(options).run();
    refused.expect_error(2, &["thousands of connections per second", "--own-server"]);
    let run = server.compare(&scratch).args(options).args(["--own-server"]).run();
    run.expect_code(0);
    assert!(run.stdout.contains("opens a connection"), "{}", run.stdout);
}

#[track_caller]
fn check_refused(options: &[&str], words: &[&str]) {
    let connect: &[&str] = &["echo", "--workload", "connect"];
    fixture::check_refused(&[connect, options, &SHORT].concat(), words);
}

#[test]
fn what_a_connection_does_not_have_is_refused() {
    check_refused(&["--client", "event"], &["--client event does not apply to `connect`"]);
    check_refused(&["--pipeline", "4"], &["--pipeline does not apply to `connect`"]);
    check_refused(&["--nodelay", "off"], &["--nodelay does not apply to `connect`"]);
    check_refused(&["--rate", "100"], &["do not apply to `connect`"]);
}

/// Enters a separate network namespace with few local ports, which are not used again while they are in `TIME_WAIT`.
const FEW_PORTS: &str = "ip link set lo up && echo 40000 40040 > /proc/sys/net/ipv4/ip_local_port_range \
                         && echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse && exec \"$@\"";

#[test]
fn ports_that_run_out_are_named_with_their_cause() {
    let may_unshare = Command::new("unshare").args(["-n", "true"]).status();
    if !may_unshare.is_ok_and(|it| it.success()) {
        skip("no network namespace of its own");
        return;
    }
    let scratch = Scratch::new();
    let ended = Command::new("unshare")
        .args(["-n", "sh", "-c", FEW_PORTS, "sh"])
        .arg(exe())
        .args(["compare", "echo", "--workload", "connect", "-o", "r.json"])
        .args(SHORT)
        .current_dir(scratch.work())
        .env("TMPDIR", scratch.tmp())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    // The last port may go to a request, or to one of the connections that are opened between the slices.
    assert!(matches!(ended.status.code(), Some(2 | 3)), "{stderr}");
    for words in ["Cannot assign requested address", "TIME_WAIT", "for 41 local ports", "tcp_tw_reuse 0"] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    scratch.check_nothing_left();
}

/// Returns the total of a count over all slices of all epochs. In this run one request in four opens a new connection.
fn total(comparison: &Value, name: &str) -> u64 {
    let epochs = comparison["raw"]["epochs"].as_array().unwrap();
    let slices = epochs.iter().flat_map(|epoch| epoch["slices"].as_array().unwrap());
    slices.map(|slice| slice[name].as_u64().unwrap()).sum()
}

#[test]
fn connections_are_opened_anew_after_so_many_requests() {
    for kind in [Kind::Mariadb, Kind::Mysql, Kind::Postgres, Kind::Redis, Kind::Valkey] {
        if !is_installed(kind) {
            continue;
        }
        let scratch = Scratch::new();
        compare(&scratch)
            .args([format!("private:{kind}")])
            .args(["--reconnect-every", "4", "--placement", "same"])
            .args(SHORT)
            .run()
            .expect_code(0);
        let record = saved(&scratch);
        let comparison = &record["comparisons"][0];
        assert_eq!(comparison["load"]["reconnect_every"], 4);
        assert_eq!(comparison["client"], "block");
        // A login needs at least one send, and only the first request of a session has a login. On a busy machine a
        // single slice may contain no login, but all slices together contain some.
        let [sends, requests] = ["sends", "requests"].map(|name| total(comparison, name));
        assert!(sends > requests || matches!(kind, Kind::Redis | Kind::Valkey), "{sends} {requests}");
        scratch.check_nothing_left();
    }
}
