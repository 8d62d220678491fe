//! Whole commands: common tools on both transports, and every way in which they can fail.

use std::fs;
use std::path::Path;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{Server, compare, exe, is_installed, is_there, saved, version_of};
use crate::record::{analyze, check_against_schema};

/// The shortest run that has an interval.
const SHORT: [&str; 5] = ["--fixed", "6", "--rows", "100", "-q"];

/// Runs with `args`; expects a record in which each arm used only its own transport.
#[track_caller]
fn seen(args: &[&str]) -> Value {
    let scratch = Scratch::new();
    compare(&scratch).args(args).args(SHORT).run().expect_code(0);
    scratch.check_nothing_left();
    let record = saved(&scratch);
    check_against_schema(&record);
    let comparison = record["comparisons"][0].clone();
    assert_eq!(comparison["raw"]["epochs"].as_array().unwrap().len(), 6);
    for (arm, own, other) in [(0, "n_unix", "n_tcp"), (1, "n_tcp", "n_unix")] {
        let seen = &comparison["arms"][arm]["proof"]["seen"];
        assert_eq!(seen["n_runs"], 13, "{seen}");
        assert!(seen[own].as_u64() > Some(0), "{seen}");
        assert_eq!(seen[other], 0, "{seen}");
    }
    comparison
}

/// Runs a tool, which has to reach a private server over both transports.
#[track_caller]
fn tool(kind: Kind, line: &str) {
    let program = line.split(' ').next().unwrap();
    if !is_installed(kind) || !is_there(program) {
        return;
    }
    let comparison = seen(&[&format!("private:{kind}"), "--exec", line]);
    assert_eq!(comparison["commands"]["template"], line);
    assert_eq!(comparison["workload"]["name"], "command");
    let tax = &comparison["tax"][0];
    for figure in ["client", "server", "both"] {
        assert!(tax["cpu_us"][figure]["value"].is_f64(), "{tax}");
    }
    assert!(tax["throughput_pct"]["lo"].is_f64(), "{tax}");
}

#[test]
fn mysqldump_is_led_to_mariadb() {
    tool(Kind::Mariadb, "mysqldump --single-transaction {transport} looptax");
}

#[test]
fn mariadb_dump_is_led_to_mariadb() {
    tool(Kind::Mariadb, "mariadb-dump {transport} --databases looptax");
}

/// PATH decides whose client `mysql` is; the client of MySQL can no longer log in to MariaDB.
#[test]
fn mysql_is_led_to_the_server_that_it_belongs_to() {
    let version = version_of("mysql").unwrap_or_default();
    let kind = if version.contains("MariaDB") { Kind::Mariadb } else { Kind::Mysql };
    tool(kind, "mysql {transport} -e 'SELECT SLEEP(0.02), COUNT(*) FROM sbtest1'");
}

#[test]
fn sysbench_is_led_to_mariadb() {
    let options = "--tables=1 --table-size=100 --time=0 --events=500";
    tool(Kind::Mariadb, &format!("sysbench oltp_point_select {options} {{transport}} run"));
}

#[test]
fn sysbench_is_led_to_postgres() {
    let options = "--tables=1 --table-size=100 --time=0 --events=500";
    tool(Kind::Postgres, &format!("sysbench oltp_point_select {options} {{transport}} run"));
}

#[test]
fn psql_is_led_to_postgres() {
    tool(Kind::Postgres, "psql -c 'SELECT pg_sleep(0.02), count(*) FROM sbtest1' {transport}");
}

#[test]
fn pg_dump_is_led_to_postgres() {
    tool(Kind::Postgres, "pg_dump {transport} -t sbtest1");
}

#[test]
fn pgbench_is_led_to_postgres() {
    let scratch = Scratch::new();
    let script = scratch.file("script.sql");
    fs::write(&script, "SELECT c FROM sbtest1 WHERE id = 1;\n").unwrap();
    let script = script.to_str().unwrap();
    tool(Kind::Postgres, &format!("pgbench -n -t 200 -f {script} {{transport}}"));
}

#[test]
fn redis_cli_is_led_to_redis() {
    tool(Kind::Redis, "redis-cli {transport} -r 2000 GET looptax:000000000001");
}

#[test]
fn redis_benchmark_is_led_to_redis() {
    tool(Kind::Redis, "redis-benchmark -q -t get -n 5000 {transport}");
}

#[test]
fn valkey_benchmark_is_led_to_valkey() {
    tool(Kind::Valkey, "valkey-benchmark -q -t get -n 5000 {transport}");
}

#[test]
fn any_program_is_told_where_the_server_is() {
    if !is_installed(Kind::Redis) || !is_there("redis-cli") {
        return;
    }
    let line = |way: &str| format!("sh -c 'REDISCLI_AUTH=$LOOPTAX_PASSWORD redis-cli {way} -r 2000 PING'");
    let comparison = seen(&[
        "private:redis",
        "--exec-unix",
        &line("-s $LOOPTAX_SOCKET"),
        "--exec-tcp",
        &line("-h $LOOPTAX_HOST -p $LOOPTAX_PORT"),
    ]);
    assert_eq!(comparison["commands"]["template"], Value::Null);
}

#[test]
fn the_password_shows_nowhere() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_there("redis-benchmark") {
        return;
    }
    // This tool accepts its password only on its command line.
    let line = "redis-benchmark -q -c 4 -t ping -n 2000 {transport}";
    let scratch = Scratch::new();
    let run = compare(&scratch).args([&server.url(), "--yes", "--own-server", "--exec", line]).args(&SHORT[..4]).run();
    run.expect_code(0);
    let record = fs::read_to_string(scratch.file("r.json")).unwrap();
    assert!(record.contains("-a '****'"), "{record}");
    for text in [&record, &run.stdout, &run.stderr] {
        assert!(!text.contains(server.password()), "{text}");
    }
}

#[test]
fn a_known_difference_comes_out_and_is_judged_again_bit_for_bit() {
    let scratch = Scratch::new();
    let args = ["--exec-unix", "sleep 0.1", "--exec-tcp", "sleep 0.15"];
    let run = compare(&scratch).args(args).args(SHORT).run();
    run.expect_code(0);
    assert!(run.stdout.contains("time per run"), "{}", run.stdout);
    let (first, again) = (&saved(&scratch)["comparisons"][0], &analyze(&scratch)["comparisons"][0]);
    for name in ["tax", "arms", "warnings", "stalls", "commands"] {
        assert_eq!(first[name], again[name], "{name}");
    }
    let tax = &first["tax"][0];
    let end = |name: &str| tax["throughput_pct"][name].as_f64().unwrap();
    // TCP's command takes 50 % longer, so it loses a third of the throughput; starting the processes lengthens both
    // arms a little.
    assert!(end("lo") < 40.0 && end("hi") > 25.0, "{tax}");
    assert!(end("value") > 15.0 && end("value") < 50.0, "{tax}");
    let warnings = first["warnings"].to_string();
    assert!(warnings.contains("saw no connection of tcp"), "{warnings}");
}

#[test]
fn arms_may_change_places() {
    let scratch = Scratch::new();
    let args = ["--exec-unix", "true", "--exec-tcp", "sh -c :", "--baseline", "tcp"];
    compare(&scratch).args(args).args(SHORT).run().expect_code(0);
    let comparison = &saved(&scratch)["comparisons"][0];
    assert_eq!(comparison["tax"][0]["baseline"], "tcp");
    assert_eq!(comparison["commands"]["lines"][1]["line"], "true");
}

#[test]
fn an_arm_can_be_held_against_itself() {
    let scratch = Scratch::new();
    let args = ["--exec-unix", "true", "--exec-tcp", "false", "--arms", "unix,unix"];
    compare(&scratch).args(args).args(SHORT).run().expect_code(0);
    let comparison = &saved(&scratch)["comparisons"][0];
    assert_eq!(comparison["tax"][0]["n_epochs"], 6);
    assert_eq!(analyze(&scratch)["comparisons"][0]["tax"], comparison["tax"]);
}

#[test]
fn the_plan_alone_starts_nothing() {
    let scratch = Scratch::new();
    let line = "mysqldump -pgeheim {transport} looptax";
    let run = compare(&scratch).args(["private:mariadb", "--exec", line, "--dry-run"]).run();
    run.expect_code(0);
    for words in ["whole runs of: mysqldump '-p****' {transport} looptax", "MYSQL_PWD"] {
        assert!(run.stdout.contains(words), "{}", run.stdout);
    }
    scratch.check_nothing_left();
}

#[track_caller]
fn fails(args: &[&str], code: i32, words: &[&str]) {
    let scratch = Scratch::new();
    let run = compare(&scratch).args(args).args(SHORT).run();
    run.expect_error(code, words);
    assert!(!scratch.file("r.json").exists(), "a record of nothing");
    scratch.check_nothing_left();
}

#[test]
fn what_cannot_be_meant_is_told() {
    let redis = "private:redis";
    fails(&[redis, "--exec", "redis-cli ping"], 2, &["{transport}", "--exec-unix"]);
    fails(&[redis, "--exec", "./page.sh {transport}"], 2, &["page.sh", "--exec-unix"]);
    fails(&["--exec", "redis-cli {transport} ping"], 2, &["needs a server"]);
    fails(&[redis, "--exec", "psql {transport}"], 2, &["does not talk to private:redis"]);
    fails(&["echo", "--exec", "psql {transport}"], 2, &["does not talk to echo"]);
    fails(&[redis, "--exec", "redis-cli '{transport}"], 2, &["quote"]);
    fails(&["--exec-unix", "true", "--exec-tcp", ""], 2, &["--exec-tcp has no command"]);
    let timeout = ["--exec-unix", "true", "--exec-tcp", "true", "--exec-timeout", "soon"];
    fails(&timeout, 2, &["`--exec-timeout soon`"]);
    let arms = ["--exec-unix", "true", "--exec-tcp", "true", "--arms", "unix,tcp,tcp"];
    fails(&arms, 2, &["exactly two arms"]);
}

#[test]
fn a_running_server_needs_a_word_that_it_is_ours() {
    let line = "redis-cli {transport} ping";
    let args = ["redis://127.0.0.1:1", "--yes", "--exec", line];
    fails(&args, 2, &["cannot limit", "--own-server"]);
}

#[test]
fn a_program_that_is_not_there_is_told() {
    let missing = "/nonexistent/program --now";
    fails(
        &["--exec-unix", "true", "--exec-tcp", missing],
        2,
        &["`tcp` failed in its warm-up run", missing, "cannot start", "PATH"],
    );
    if is_installed(Kind::Mariadb) {
        let line = "/nonexistent/mysqldump {transport} looptax";
        fails(&["private:mariadb", "--exec", line], 2, &["cannot start `/nonexistent/mysqldump`"]);
    }
}

#[test]
fn an_exit_code_is_told_with_the_last_words() {
    let broken = "sh -c 'echo no such table >&2; exit 4'";
    fails(
        &["--exec-unix", broken, "--exec-tcp", "true"],
        2,
        &["`unix` failed in its warm-up run", "exit code 4", "no such table"],
    );
}

#[test]
fn a_tool_that_fails_on_the_server_is_told() {
    if is_installed(Kind::Postgres) && is_there("psql") {
        let line = "psql -c 'SELECT nothing_of_this' {transport}";
        fails(&["private:postgres", "--exec", line], 2, &["exit code 1", "nothing_of_this"]);
    }
}

#[test]
fn a_killed_command_is_told() {
    let args = ["--exec-unix", "true", "--exec-tcp", "sh -c 'kill -9 $$'"];
    fails(&args, 2, &["`tcp`", "signal 9"]);
}

#[test]
fn a_run_over_its_time_is_stopped() {
    let args = ["--exec-unix", "sleep 600", "--exec-tcp", "sleep 600", "--exec-timeout", "1s"];
    fails(&args, 2, &["did not end within 1s", "--exec-timeout"]);
}

/// If a run of the command fails after others have succeeded, the earlier runs are kept, and the record is invalid.
#[test]
fn a_late_failure_makes_the_record_invalid() {
    let scratch = Scratch::new();
    let count = scratch.file("count");
    let count = count.to_str().unwrap();
    let script = format!("sh -c 'echo x >> {count}; test $(wc -l < {count}) -lt 8'");
    let args = ["--exec-unix", &script, "--exec-tcp", "true"];
    let run = compare(&scratch).args(args).args(SHORT).run();
    run.expect_error(3, &["`unix` failed in run 7", "exit code 1"]);
    let tax = &saved(&scratch)["comparisons"][0]["tax"][0];
    assert_eq!(tax["verdict"], "invalid");
    assert!(tax["reason"].to_string().contains("run 7"), "{tax}");
    let again = Looptax::new(exe(), &scratch).args(["show", "r.json"]).run();
    again.expect_code(3);
}

#[test]
fn the_wrong_transport_makes_it_invalid() {
    if !is_installed(Kind::Redis) || !is_there("redis-cli") {
        return;
    }
    let way = "-h $LOOPTAX_HOST -p $LOOPTAX_PORT";
    let line = format!("sh -c 'REDISCLI_AUTH=$LOOPTAX_PASSWORD redis-cli {way} -r 2000 PING'");
    fails(&["private:redis", "--exec-unix", &line, "--exec-tcp", &line], 3, &["`unix` failed", "the command used tcp"]);
}

#[test]
fn ctrl_c_keeps_the_epochs_before_it() {
    let scratch = Scratch::new();
    let mut run = compare(&scratch)
        .args(["--exec-unix", "sleep 0.01", "--exec-tcp", "sleep 0.01", "--fixed", "10000"])
        .on_terminal()
        .spawn();
    run.wait_for_stderr("epoch 3 of");
    run.signal(Signal::INT);
    run.wait().expect_code(130);
    let record = saved(&scratch);
    assert_eq!(record["interrupted"], true);
    let tax = &record["comparisons"][0]["tax"][0];
    assert!(tax["n_epochs"].as_u64() >= Some(3), "{tax}");
    assert_eq!(analyze(&scratch)["comparisons"][0]["tax"][0], *tax);
}

#[test]
fn ctrl_c_ends_a_command_with_all_that_it_has_started() {
    let scratch = Scratch::new();
    let file = scratch.file("pid");
    let line = format!("sh -c 'sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait'", file.display());
    let mut run = compare(&scratch).args(["--exec-unix", &line, "--exec-tcp", &line]).spawn();
    let pid = run.wait_for("the command", || fs::read_to_string(&file).ok());
    run.signal(Signal::INT);
    let run: Finished = run.wait();
    run.expect_code(130);
    assert!(!scratch.file("r.json").exists());
    let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    assert!(stat.is_err() || stat.unwrap().contains(") Z "));
}
