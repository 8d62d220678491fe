//! Every workload on a real private server: it runs, its answers are right, and the server's counts match ours.

use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{Server, check_refused, compare, exe, is_installed, saved};

/// The server's count and ours may differ by this share.
const APART: f64 = 0.01;
/// The counts may also differ by this number: looptax sends some queries per epoch to the server.
const QUESTIONS: f64 = 200.0;

/// Makes a short run with two connections; returns its comparison.
#[track_caller]
pub(crate) fn run(kind: Kind, options: &[&str]) -> Option<Value> {
    if !is_installed(kind) {
        return None;
    }
    let scratch = Scratch::new();
    compare(&scratch)
        .args([format!("private:{kind}")])
        .args(["--fixed", "6", "-c", "2", "--slice-ms", "10", "-q", "--warm-up", "0s"])
        .args(["--rows", "2000", "--placement", "same"])
        // MySQL has an arm with TLS by default.
        .args(if kind == Kind::Mysql { &["--arms", "unix,tcp"][..] } else { &[] })
        .args(options)
        .run()
        .expect_code(0);
    let record = saved(&scratch);
    scratch.check_nothing_left();
    Some(record["comparisons"][0].clone())
}

#[track_caller]
pub(crate) fn check(kind: Kind, options: &[&str], per_request: [u64; 2]) {
    let Some(comparison) = run(kind, options) else {
        return;
    };
    let workload = &comparison["workload"];
    let [statements, pipeline] = per_request;
    assert_eq!(workload["statements"], statements, "{workload}");
    assert_eq!(workload["pipeline"], pipeline, "{workload}");
    let count = &comparison["server_count"];
    let [sent, counted] = ["sent", "counted"].map(|name| count[name].as_f64().unwrap());
    assert!(sent > 0.0, "{count}");
    assert!((counted - sent).abs() <= (APART * sent).max(QUESTIONS), "{count}");
    assert_eq!(comparison["raw"]["epochs"].as_array().unwrap().len(), 6);
}

/// The workloads of both SQL servers, with the number of statements per request.
const SQL: [(&str, u64); 10] = [
    ("point-select", 1),
    ("select-only", 1),
    ("read-only", 16),
    ("read-write", 20),
    ("write-only", 6),
    ("update-index", 1),
    ("update-non-index", 1),
    ("insert", 1),
    ("delete", 1),
    ("tpcb", 7),
];

#[test]
fn mariadb_counts_each_workload_s_statements_as_we_do() {
    for (workload, statements) in SQL {
        check(Kind::Mariadb, &["--workload", workload], [statements, 1]);
    }
}

#[test]
fn mysql_counts_each_workload_s_statements_as_we_do() {
    for (workload, statements) in SQL {
        check(Kind::Mysql, &["--workload", workload], [statements, 1]);
    }
}

#[test]
fn postgres_counts_each_workload_s_transactions_as_we_do() {
    for (workload, statements) in SQL {
        check(Kind::Postgres, &["--workload", workload], [statements, 1]);
    }
}

#[test]
fn text_is_counted_and_checked_like_prepared_statements() {
    for kind in [Kind::Mariadb, Kind::Mysql, Kind::Postgres] {
        for (workload, statements) in [("point-select", 1), ("read-write", 20)] {
            let options = ["--workload", workload, "--protocol", "text"];
            check(kind, &options, [statements, 1]);
        }
    }
}

#[test]
fn redis_counts_each_workload_s_commands_as_we_do() {
    counts_commands(Kind::Redis);
}

#[test]
fn valkey_counts_each_workload_s_commands_as_we_do() {
    counts_commands(Kind::Valkey);
}

#[track_caller]
fn counts_commands(kind: Kind) {
    for workload in ["get", "set", "mixed:3:1", "incr", "lpush"] {
        check(kind, &["--workload", workload], [1, 1]);
        let options = ["--workload", workload, "--pipeline", "16"];
        check(kind, &options, [1, 16]);
    }
    let large = ["--workload", "mixed", "--value-size", "20000"];
    check(kind, &large, [1, 1]);
}

#[test]
fn memcached_counts_each_workload_s_commands_as_we_do_over_all_its_processes() {
    for workload in ["get", "set", "mixed:3:1", "ping"] {
        check(Kind::Memcached, &["--workload", workload], [1, 1]);
        let options = ["--workload", workload, "--pipeline", "16"];
        check(Kind::Memcached, &options, [1, 16]);
    }
    let large = ["--workload", "mixed", "--value-size", "20000"];
    check(Kind::Memcached, &large, [1, 1]);
}

#[test]
fn pgbouncer_counts_each_workload_s_queries_as_we_do() {
    let asked = |options: &[&'static str]| {
        let arms = ["--arms", "unix+unix,tcp+tcp", "--workload"];
        [&arms[..], options].concat()
    };
    for (workload, statements) in [("point-select", 1), ("read-write", 20), ("ping", 1)] {
        check(Kind::Pgbouncer, &asked(&[workload]), [statements, 1]);
    }
    let text = asked(&["point-select", "--protocol", "text"]);
    check(Kind::Pgbouncer, &text, [1, 1]);
}

#[test]
fn both_hops_of_pgbouncer_are_proved_and_its_bill_has_both() {
    proves_both_hops(Kind::Pgbouncer);
}

#[test]
fn both_hops_of_pgpool_are_proved_and_its_bill_has_both() {
    proves_both_hops(Kind::Pgpool);
}

fn proves_both_hops(kind: Kind) {
    let Some(comparison) = run(kind, &["-c", "1"]) else {
        return;
    };
    let socket = "local socket of process ";
    let tcp = "TCP from 127.0.0.1:";
    let wanted = [
        ("unix+unix", socket, "; from the pooler to the server, a local socket"),
        ("tcp+unix", tcp, "; from the pooler to the server, a local socket"),
        ("unix+tcp", socket, "; from the pooler to the server, TCP from 127.0.0.1:"),
        ("tcp+tcp", tcp, "; from the pooler to the server, TCP from 127.0.0.1:"),
    ];
    let arms = comparison["arms"].as_array().unwrap();
    assert_eq!(arms.len(), wanted.len());
    for (arm, (name, first, second)) in arms.iter().zip(wanted) {
        assert_eq!(arm["name"], name);
        assert_eq!(arm["verified"], true, "{arm}");
        let view = arm["proof"]["server_view"].as_str().unwrap();
        assert!(view.starts_with(first) && view.contains(second), "{view}");
    }
    let steps = comparison["bill"]["steps"].as_array().unwrap();
    let steps: Vec<_> = steps.iter().map(|it| it["arm"].as_str().unwrap()).collect();
    assert_eq!(steps, ["tcp+unix", "unix+tcp", "tcp+tcp"]);
}

#[test]
fn php_fpm_and_http_count_each_page_as_we_do() {
    for kind in [Kind::PhpFpm, Kind::Http] {
        for workload in ["hello", "page:1000", "upload:100000"] {
            check(kind, &["--workload", workload], [1, 1]);
        }
        check(kind, &["--reconnect-every", "1"], [1, 1]);
        check(kind, &["--client", "poll"], [1, 1]);
    }
    check(Kind::Http, &["--workload", "page:300000"], [1, 1]);
}

#[test]
fn php_fpm_s_connections_have_a_process_each_which_is_told_and_pinned() {
    let Some(comparison) = run(Kind::PhpFpm, &[]) else {
        return;
    };
    let master = comparison["target"]["pid"].as_u64().unwrap();
    let arms = comparison["arms"].as_array().unwrap();
    for (arm, sees) in arms.iter().zip(["local socket of process ", "TCP from 127.0.0.1:"]) {
        let proof = &arm["proof"];
        assert_eq!(proof["server_identity"], format!("pid={master}"), "{arm}");
        assert!(proof["server_view"].as_str().unwrap().starts_with(sees), "{arm}");
    }
    let epochs = comparison["raw"]["epochs"].as_array().unwrap();
    for epoch in epochs {
        assert!(epoch["slices"][0]["server_cpu_ns"].is_u64(), "{epoch}");
    }
}

#[test]
fn memcached_s_arms_are_processes_of_their_own_that_are_alike() {
    let Some(comparison) = run(Kind::Memcached, &[]) else {
        return;
    };
    let target = &comparison["target"];
    assert_eq!(target["processes_per_arm"], 2, "{target}");
    assert_eq!(target["pid"], Value::Null, "{target}");
    let arms = comparison["arms"].as_array().unwrap();
    let of_both = |name: &str| [0, 1].map(|idx| arms[idx]["proof"][name].clone());
    let [unix, tcp] = of_both("server_identity");
    assert_eq!(unix, tcp);
    assert!(unix.as_str().unwrap().contains("memcached -t 1 "), "{unix}");
    let [unix, tcp] = of_both("server_view").map(|it| it.as_str().unwrap().to_owned());
    assert!(unix.starts_with("local socket of process "), "{unix}");
    assert!(tcp.starts_with("TCP from 127.0.0.1:"), "{tcp}");
    for arm in arms {
        assert_eq!(arm["verified"], true);
        assert!(arm["endpoint"].as_str().unwrap().contains(" or "), "{arm}");
    }
    // The worker of this server is pinned and its CPU time is read, as for any other server.
    let epochs = comparison["raw"]["epochs"].as_array().unwrap();
    assert!(epochs.iter().all(|epoch| epoch["slices"][0]["server_cpu_ns"].is_u64()));
}

#[test]
fn the_list_has_a_line_for_each_workload() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["compare", "--list"]).run();
    run.expect_code(0);
    for (workload, _) in SQL {
        assert!(run.stdout.contains(workload), "{}", run.stdout);
    }
}

#[test]
fn what_cannot_be_asked_is_refused_before_a_server_starts() {
    let redis = "private:redis";
    let mariadb = "private:mariadb";
    check_refused(&[mariadb, "--workload", "lpush"], &["`lpush` is not a workload for MySQL", "read-write", "--list"]);
    check_refused(&[mariadb, "--pipeline", "4"], &["--pipeline 4 does not apply to MySQL", "Redis"]);
    check_refused(&[mariadb, "--protocol", "text", "--pipeline", "4"], &["--pipeline 4 does not apply to MySQL"]);
    check_refused(&[redis, "--protocol", "text"], &["--protocol text does not apply to Redis"]);
    check_refused(&[redis, "--workload", "mixed:0:0"], &["`mixed:0:0` contains no valid proportion", "mixed:9:1"]);
    check_refused(&[redis, "--workload", "incr", "--value-size", "9"], &["--value-size does not apply to `incr`"]);
    check_refused(
        &[redis, "--workload", "set", "--value-size", "1000000", "--pipeline", "100"],
        &["in one send", "64 MiB"],
    );
    let memcached = "private:memcached";
    check_refused(
        &[memcached, "--workload", "incr"],
        &["`incr` is not a workload for memcached", "get, set, mixed:R:W"],
    );
    check_refused(
        &[memcached, "--value-size", "1048576"],
        &["accepts no value of 1048576 bytes", "--value-size 1048320 at most"],
    );
    check_refused(
        &[memcached, "--exec", "redis-cli {transport} ping"],
        &["looptax cannot compare whole commands on memcached"],
    );
}

#[test]
fn keys_that_do_not_fit_into_a_memcached_are_told_before_anything_is_measured() {
    if !is_installed(Kind::Memcached) {
        return;
    }
    let scratch = Scratch::new();
    let run = compare(&scratch).args(["private:memcached", "--rows", "2000"]).args(["--value-size", "500000"]).run();
    run.expect_error(2, &["cannot fill", "out of memory", "fewer --rows"]);
    scratch.check_nothing_left();
}

#[test]
fn a_running_server_is_read_from_tables_that_are_there_and_written_to_in_scratch_alone() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let scratch = Scratch::new();
    let run = server.compare(&scratch).args(["--workload", "read-write"]).run();
    run.expect_code(2);
    assert!(run.stderr.contains("`read-write` writes"), "{}", run.stderr);
    let run = server.compare(&scratch).args(["--workload", "select-only"]).run();
    run.expect_code(2);
    assert!(run.stderr.contains("pgbench_accounts"), "{}", run.stderr);
    let run = server.compare(&scratch).args(["--workload", "tpcb", "--write"]).run();
    run.expect_code(0);
    assert!(server.scratch_places().is_empty());
}

#[test]
fn a_running_redis_gets_no_keys_that_stay() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let run = server.compare(&scratch).args(["--workload", "incr", "--write"]).run();
    run.expect_code(2);
    assert!(run.stderr.contains("do not expire"), "{}", run.stderr);
    let run = server.compare(&scratch).args(["--workload", "mixed:1:1", "--write"]).run();
    run.expect_code(0);
    assert_eq!(server.redis(&["DBSIZE"]), "0");
}

#[test]
fn r7_several_pairs_of_arms_write_different_content() {
    // Two pairs wrote the same content into the same row one after the other. MariaDB counts only rows that have
    // changed, so it reported that there were none.
    for seed in ["1", "2", "3"] {
        let options = ["--workload", "read-write", "--arms", "unix,tcp,tcp6"];
        let Some(comparison) = run(Kind::Mariadb, &[&options[..], &["--seed", seed]].concat()) else {
            return;
        };
        assert_eq!(comparison["tax"].as_array().unwrap().len(), 2);
    }
}
