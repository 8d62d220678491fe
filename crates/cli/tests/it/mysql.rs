//! Features that only MySQL has, with a real MySQL 9: its login method, its threads, its second protocol, and the TLS
//! of its client. Other tests treat MySQL as one of several kinds.

use std::fs;
use std::process::Command;

use looptax_model::dsn::Kind;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use serde_json::Value;

use crate::fixture::{SHORT, Server, compare, is_installed, saved, version_of};

/// Checks that both arms are proved, also by what the server sees, and that the server's threads run on the chosen
/// cores.
#[track_caller]
fn check_proofs(comparison: &Value, placement: &str) {
    for (arm, view) in [(0, "local socket"), (1, "127.0.0.1:")] {
        let arm = &comparison["arms"][arm];
        assert_eq!(arm["verified"], true, "{arm}");
        let seen = arm["proof"]["server_view"].as_str().unwrap();
        assert!(seen.contains(view), "{arm}");
        let identity = arm["proof"]["server_identity"].as_str().unwrap();
        assert!(identity.contains("server_uuid="), "{arm}");
        assert_eq!(arm["proof"]["tls"], Value::Null, "{arm}");
        assert!(arm["cpu_us_per_query"]["server"]["value"].is_number(), "{arm}");
    }
    for epoch in comparison["raw"]["epochs"].as_array().unwrap() {
        let is_same = epoch["client_cores"] == epoch["server_cores"];
        assert_eq!(is_same, placement == "same", "{epoch}");
    }
}

#[test]
fn its_threads_are_found_and_pinned_beside_the_client_or_away_from_it() {
    if !is_installed(Kind::Mysql) {
        return;
    }
    for placement in ["same", "split"] {
        let scratch = Scratch::new();
        compare(&scratch).args(["private:mysql", "--placement", placement]).args(SHORT).run().expect_code(0);
        check_proofs(&saved(&scratch)["comparisons"][0], placement);
        scratch.check_nothing_left();
    }
}

/// No client has logged in to this server since it started, so the server's cache of logins is empty.
#[test]
fn a_running_one_with_a_cold_cache_is_measured() {
    for workload in ["ping", "connect"] {
        let Some(server) = Server::start(Kind::Mysql) else {
            return;
        };
        let scratch = Scratch::new();
        let run = server.compare(&scratch).args(["--workload", workload, "--own-server"]).run();
        run.expect_code(0);
        for arm in saved(&scratch)["comparisons"][0]["arms"].as_array().unwrap() {
            assert_eq!(arm["verified"], true, "{arm}");
        }
        scratch.check_nothing_left();
    }
}

#[test]
fn its_process_is_itself_and_its_second_protocol_is_off() {
    let Some(server) = Server::start(Kind::Mysql) else {
        return;
    };
    let program = fs::read_link(format!("/proc/{}/exe", server.it.pid)).unwrap();
    assert!(program.ends_with("mysqld"), "{}", program.display());
    let status = server.column("SELECT plugin_status FROM information_schema.plugins WHERE plugin_name = 'mysqlx'");
    assert_ne!(status, ["ACTIVE"]);
}

/// Returns `Ssl_cipher` as MySQL's own client sees it, without an option about TLS from us.
#[track_caller]
fn cipher(server: &Server, way: &[&str]) -> String {
    let output = Command::new("mysql")
        .arg("--no-defaults")
        .args(way)
        .args(["--user=looptax", "--skip-column-names", "--batch"])
        .args(["--execute", "SHOW SESSION STATUS LIKE 'Ssl_cipher'"])
        .env("MYSQL_PWD", server.password())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let row = String::from_utf8_lossy(&output.stdout).into_owned();
    let (name, cipher) = row.trim_end_matches('\n').split_once('\t').unwrap();
    assert_eq!(name, "Ssl_cipher");
    cipher.to_owned()
}

#[test]
fn its_own_client_takes_tls_over_tcp_and_none_over_the_socket() {
    let Some(server) = Server::start(Kind::Mysql) else {
        return;
    };
    if version_of("mysql").is_none_or(|it| it.contains("MariaDB")) {
        skip("the client of MySQL is not installed");
        return;
    }
    let port = format!("--port={}", server.it.tcp.port());
    let over_tcp = cipher(&server, &["--host=127.0.0.1", &port]);
    assert!(over_tcp.starts_with("TLS_"), "{over_tcp}");
    let socket = format!("--socket={}", server.socket());
    assert_eq!(cipher(&server, &["--host=localhost", &socket]), "");
}
