//! Running servers: looptax only reads unless `--write` is given, removes what it made, and hides passwords.

use std::fs;

use looptax_experiment::servers::pooler::PoolMode;
use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{SHORT, Server, compare, exe, is_there, saved};

/// Returns the contents of a Redis server, and the counts of the commands that write.
fn redis_contents(server: &Server) -> [String; 3] {
    let commands = server.redis(&["INFO", "commandstats"]);
    let writes = commands.lines().filter(|line| {
        ["set", "del", "expire", "mset", "flushall"].iter().any(|name| line.starts_with(&format!("cmdstat_{name}:")))
    });
    [server.redis(&["DBSIZE"]), server.redis(&["INFO", "keyspace"]), writes.collect::<Vec<_>>().join("\n")]
}

#[test]
fn nothing_is_written_to_redis_unasked() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    server.redis(&["SET", "somebody's", "value"]);
    let before = redis_contents(&server);
    let scratch = Scratch::new();
    server.compare(&scratch).run().expect_code(0);
    scratch.check_nothing_left();
    assert_eq!(redis_contents(&server), before);
    let statistics = server.redis(&["INFO", "commandstats"]);
    assert!(statistics.contains("cmdstat_get:"), "it was measured");
}

#[test]
fn a_server_that_nobody_else_uses_counts_with_us() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let count = |options: &[&str]| {
        let scratch = Scratch::new();
        server.compare(&scratch).args(options).run().expect_code(0);
        let record = fs::read(scratch.file("r.json")).unwrap();
        let record: Value = serde_json::from_slice(&record).unwrap();
        record["comparisons"][0]["server_count"].clone()
    };
    assert_eq!(count(&[]), Value::Null);
    let own = count(&["--own-server"]);
    let [sent, counted] = ["sent", "counted"].map(|name| own[name].as_f64().unwrap());
    assert!(sent > 0.0 && (counted - sent).abs() <= 0.01 * sent, "{own}");
}

#[test]
fn what_write_writes_to_redis_is_gone_afterwards() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    server.redis(&["SET", "somebody's", "value"]);
    let scratch = Scratch::new();
    server.compare(&scratch).args(["--write"]).run().expect_code(0);
    let statistics = server.redis(&["INFO", "commandstats"]);
    assert!(statistics.contains("cmdstat_del:calls=100,"), "{statistics}");
    assert_eq!(server.redis(&["DBSIZE"]), "1");
}

fn mariadb_changes(server: &Server) -> Vec<String> {
    server.column(
        "SELECT CONCAT(VARIABLE_NAME, '=', VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS \
         WHERE VARIABLE_NAME REGEXP '^COM_(CREATE|DROP|ALTER|INSERT|UPDATE|DELETE|REPLACE|GRANT|SET_)' \
         ORDER BY 1",
    )
}

#[test]
fn nothing_is_written_to_mariadb_unasked() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let before = mariadb_changes(&server);
    assert!(before.len() > 10, "{before:?}");
    let scratch = Scratch::new();
    server.compare(&scratch).run().expect_code(0);
    scratch.check_nothing_left();
    assert_eq!(mariadb_changes(&server), before);
    assert_eq!(server.scratch_places(), [""; 0]);
}

/// Checks which workload looptax uses if none is named.
#[track_caller]
fn check_asked(url: String, expected: &str) {
    let scratch = Scratch::new();
    let run = compare(&scratch).args([url, "--yes".to_owned()]).args(SHORT).run();
    assert_eq!(saved(&scratch)["comparisons"][0]["workload"]["name"], *expected, "{}", run.words());
}

#[test]
fn a_row_of_the_servers_own_tables_is_asked_for_where_the_account_may_read_it() {
    if let Some(server) = Server::start(Kind::Postgres) {
        check_asked(server.url(), "system-row");
    }
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    check_asked(server.url(), "system-row");
    for host in ["localhost", "127.0.0.1"] {
        server.talk().execute(&format!("CREATE USER 'poor'@'{host}' IDENTIFIED BY 'pw'")).unwrap();
    }
    check_asked(format!("mysql://poor:pw@{}/", server.it.tcp), "ping");
}

#[test]
fn an_ordinary_account_leaves_no_error_in_postgres() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    server.talk().execute("CREATE ROLE poor LOGIN PASSWORD 'pw'").unwrap();
    // Each error would roll back a transaction.
    let rolled_back = || server.column("SELECT sum(xact_rollback)::text FROM pg_stat_database");
    let before = rolled_back();
    check_asked(format!("postgres://poor:pw@{}/postgres", server.it.tcp), "system-row");
    assert_eq!(rolled_back(), before);
    // looptax still finds the server's own tables.
    server.talk().execute("CREATE TABLE sbtest1 (id int PRIMARY KEY, c text)").unwrap();
    server.talk().execute("INSERT INTO sbtest1 SELECT it, 'x' FROM generate_series(1, 50) it").unwrap();
    server.talk().execute("GRANT SELECT ON sbtest1 TO poor").unwrap();
    let database = server.it.login.database.as_deref().unwrap_or("postgres");
    check_asked(format!("postgres://poor:pw@{}/{database}", server.it.tcp), "point-select");
}

/// With `--write` there is a scratch schema or database during the run, and none after it.
#[track_caller]
fn scratch_place(kind: Kind, signal: Option<Signal>) {
    let Some(server) = Server::start(kind) else {
        return;
    };
    let scratch = Scratch::new();
    // The run goes on until it is interrupted, or else long enough for the test to see it.
    let n_epochs = if signal.is_some() { "10000" } else { "20" };
    let mut run = compare(&scratch)
        .args([&server.url(), "--yes", "--write", "-c", "1", "-q"])
        .args(["--fixed", n_epochs, "--slice-ms", "10", "--rows", "100"])
        .spawn();
    let place = run.wait_for("the scratch place", || server.scratch_places().pop());
    assert!(place.ends_with(&run.pid().to_string()), "{place}");
    if let Some(signal) = signal {
        run.signal(signal);
    }
    let code = if signal.is_some() { 130 } else { 0 };
    run.wait().expect_code(code);
    assert_eq!(server.scratch_places(), [""; 0]);
    scratch.check_nothing_left();
}

#[test]
fn a_scratch_place_on_mariadb_is_gone_afterwards() {
    scratch_place(Kind::Mariadb, None);
}

#[test]
fn a_scratch_place_on_mariadb_is_gone_after_ctrl_c() {
    scratch_place(Kind::Mariadb, Some(Signal::INT));
}

#[test]
fn a_scratch_place_on_mysql_is_gone_after_ctrl_c() {
    scratch_place(Kind::Mysql, Some(Signal::INT));
}

#[test]
fn a_scratch_place_on_postgres_is_gone_afterwards() {
    scratch_place(Kind::Postgres, None);
}

#[test]
fn a_scratch_place_on_postgres_is_gone_after_ctrl_c() {
    scratch_place(Kind::Postgres, Some(Signal::INT));
}

#[test]
fn the_password_shows_nowhere() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let mut run = compare(&scratch)
        .args([&server.url(), "--yes", "-c", "1", "--fixed", "10000"])
        .args(["--slice-ms", "10"])
        .spawn();
    run.wait_for_stderr("plan");
    let command_line = fs::read(format!("/proc/{}/cmdline", run.pid())).unwrap();
    // The second connection, besides the one of this test, shows that the run has begun.
    run.wait_for("the first connection", || {
        let clients = server.redis(&["CLIENT", "LIST"]);
        (clients.lines().count() > 1).then_some(())
    });
    run.signal(Signal::INT);
    let run = run.wait();
    run.expect_code(130);
    let record = fs::read(scratch.file("r.json")).unwrap_or_default();
    let said = [
        String::from_utf8_lossy(&command_line).into_owned(),
        String::from_utf8_lossy(&record).into_owned(),
        run.stderr,
        run.stdout,
    ];
    assert!(said[0].contains("redis://") && said[2].contains("redis://"));
    for text in said {
        assert!(!text.contains(server.password()), "{text}");
    }
}

#[test]
fn r20_a_plan_for_a_running_server_names_its_load_and_is_shown_where_it_is_asked_about() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let run = compare(&scratch).args([&server.url(), "-c", "3", "--dry-run"]).run();
    run.expect_code(0);
    let load = "load: up to 6 connections, up to 3 connections send requests at a time, as fast as the server \
                answers, and keep up to 3 cores busy";
    assert!(run.stdout.contains(load), "{}", run.stdout);
    if !is_there("script") {
        return;
    }
    // `script` gives looptax a terminal as stdin, on which no answer arrives.
    let line = format!("{} compare {} -q --no-history", exe().display(), server.url());
    let run = Looptax::new("script", &scratch).args(["-qec", &line, "/dev/null"]).run();
    run.expect_code(2);
    let asked = run.stdout.find("as planned?").unwrap();
    assert!(run.stdout[..asked].contains("load: "), "{}", run.stdout);
}

#[test]
fn a_running_pooler_is_measured_as_what_it_is() {
    for kind in [Kind::Pgbouncer, Kind::Pgpool] {
        let Some(server) = Server::start(kind) else {
            continue;
        };
        measured_as_what_it_is(kind, &server);
    }
}

fn measured_as_what_it_is(kind: Kind, server: &Server) {
    let scratch = Scratch::new();
    server.compare(&scratch).run().expect_code(0);
    let record = fs::read(scratch.file("r.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    let comparison = &record["comparisons"][0];
    assert_eq!(comparison["target"]["kind"], kind.name());
    // The server reports the version of PostgreSQL, not its own.
    assert_eq!(comparison["target"]["version"], "");
    let arms = comparison["arms"].as_array().unwrap();
    for (arm, sees) in arms.iter().zip(["local socket of process ", "TCP from 127.0.0.1:"]) {
        assert_eq!(arm["verified"], true, "{arm}");
        let view = arm["proof"]["server_view"].as_str().unwrap();
        assert!(view.starts_with(sees) && !view.contains("behind"), "{view}");
    }
}

/// A prepared statement of looptax would still exist for the next client of the pooler's connection, and would disturb
/// looptax itself.
#[test]
fn what_a_pooler_would_lose_is_not_prepared_there() {
    let Some(server) = Server::start_pooling(PoolMode::Transaction) else {
        return;
    };
    for _ in 0..2 {
        let scratch = Scratch::new();
        let run = server.compare(&scratch).run();
        if keeps_prepared() {
            run.expect_code(0);
        } else {
            run.expect_error(2, &["to one client after another", "--protocol text"]);
        }
        let names = "SELECT name FROM pg_prepared_statements WHERE name LIKE 'looptax%'";
        assert!({ server.talk() }.query(names).unwrap().is_empty());
    }
    let scratch = Scratch::new();
    let run = server.compare(&scratch).args(["--protocol", "text"]);
    run.run().expect_code(0);
}

/// Whether the installed `PgBouncer` keeps the statements that clients prepare in every mode.
fn keeps_prepared() -> bool {
    let mode = PoolMode::Transaction;
    looptax_experiment::servers::pooler::keeps_prepared(Kind::Pgbouncer, mode).unwrap().1
}

/// Settings of a session would stay in the pooler's connection, for the next client.
#[test]
fn a_scratch_schema_leaves_nothing_with_the_connections_of_a_pooler() {
    let Some(server) = Server::start_pooling(PoolMode::Transaction) else {
        return;
    };
    for workload in ["point-select", "read-write", "tpcb"] {
        let scratch = Scratch::new();
        let run = server.compare(&scratch).args(["--write", "--protocol", "text"]);
        run.args(["--workload", workload]).run().expect_code(0);
        let mut talk = server.talk();
        let mut ask = |sql: &str| talk.query(sql).unwrap()[0][0].clone().unwrap();
        assert_eq!(ask("SHOW search_path"), "\"$user\", public");
        let tables = "relname LIKE 'sbtest%' OR relname LIKE 'pgbench%'";
        assert_eq!(ask(&format!("SELECT count(*) FROM pg_class WHERE {tables}")), "0");
        let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'looptax%'";
        assert_eq!(ask(schemas), "0");
    }
}
