//! Rules about reports, machines and tables that must not affect one another.

use std::fs;
use std::thread;
use std::time::Duration;

use looptax_fleet::{Value, from_lines};
use looptax_model::dsn::Kind;
use looptax_model::record::{Fleet, Reported};
use looptax_testkit::scratch::Scratch;

use super::made::Made;
use super::{Engine, ask, looptax};
use crate::fixture::Server;

/// A little more than one second, so that a clock with whole seconds shows another second.
const A_SECOND: Duration = Duration::from_millis(1_100);

fn postgres(scratch: &Scratch) -> Option<Server> {
    let server = Server::start(Kind::Postgres)?;
    looptax(scratch, &["fleet", "init", &server.url()]).expect_code(0);
    Some(server)
}

fn value(server: &Server, sql: &str) -> String {
    let rows = server.talk().query(sql).unwrap();
    rows[0][0].clone().unwrap_or_default()
}

#[track_caller]
fn execute(server: &Server, statements: &[&str]) {
    let mut talk = server.talk();
    for sql in statements {
        talk.execute(sql).unwrap();
    }
}

#[test]
fn tables_of_another_application_that_are_called_the_same_stay() {
    let scratch = Scratch::new();
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    execute(
        &server,
        &[
            "CREATE SCHEMA other",
            "CREATE TABLE other.reports (at timestamptz NOT NULL) PARTITION BY RANGE (at)",
            "CREATE TABLE other.reports_2020_01 PARTITION OF other.reports FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')",
            "INSERT INTO other.reports VALUES ('2020-01-05')",
        ],
    );
    let next = value(&server, "SELECT to_char(now() AT TIME ZONE 'UTC', '\"reports_\"YYYY_MM')");
    let theirs = format!(
        "CREATE TABLE other.{next} PARTITION OF other.reports FOR VALUES FROM ('2021-01-01') TO ('2021-02-01')"
    );
    execute(&server, &[&theirs]);
    // The other schema comes second in the path, so that a name without a schema could mean its tables.
    let database = value(&server, "SELECT current_database()");
    execute(&server, &[&format!("ALTER DATABASE {database} SET search_path = public, other")]);
    for _ in 0..2 {
        let init = ["fleet", "init", &server.url(), "--keep", "30"];
        looptax(&scratch, &init).expect_code(0);
        assert_eq!(value(&server, "SELECT count(*) FROM other.reports"), "1");
        let ours = format!("SELECT to_regclass('public.{next}')::text");
        assert_eq!(value(&server, &ours), next);
    }
}

#[test]
fn a_report_with_absurd_numbers_breaks_no_sum() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        let absurd = [
            ("\"connections\":3", "\"connections\":9223372036854775807"),
            ("\"requests_per_s\":100.5", "\"requests_per_s\":1e308"),
            ("\"cpus\":0", "\"cpus\":18446744073709551615"),
        ];
        let mut lines = Made::new(9, 1).lines();
        for (n, (was, is)) in (1..).zip(absurd) {
            lines += &Made::new(n, 1).lines().replace(was, is);
        }
        fs::write(scratch.file("r.jsonl"), lines).unwrap();
        let run = looptax(&scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]);
        run.expect_code(1);
        assert_eq!(engine.count("latest_reports"), 1, "{}", run.stdout);
        looptax(&scratch, &["fleet", "report", &engine.url]).expect_code(0);
    }
}

#[test]
fn the_rules_of_the_tables_hold_for_who_goes_past_looptax() {
    let scratch = Scratch::new();
    let Some(server) = postgres(&scratch) else {
        return;
    };
    fs::write(scratch.file("r.jsonl"), Made::new(1, 1).lines()).unwrap();
    looptax(&scratch, &["fleet", "send", &server.url(), "--from", "r.jsonl"]).expect_code(0);
    for (column, value) in [
        ("connections", "9223372036854775807"),
        ("connections", "-1"),
        ("requests_per_s", "'NaN'"),
        ("requests_per_s", "1e300"),
        ("client", "repeat('x', 201)"),
    ] {
        let sql = format!("UPDATE findings SET {column} = {value}");
        let refused = server.talk().execute(&sql);
        assert!(refused.is_err(), "{sql}");
    }
}

#[test]
fn a_report_that_the_collector_refuses_holds_up_no_other() {
    let scratch = Scratch::new();
    let Some(server) = postgres(&scratch) else {
        return;
    };
    execute(&server, &["ALTER TABLE findings ADD CHECK (client <> 'puma2')"]);
    // The reports wait in a spool, as after a day without the collector.
    let mut refused = Made::new(2, 1);
    refused.clients[1].0 = "puma2".to_owned();
    let spool = scratch.file("s");
    fs::create_dir(&spool).unwrap();
    for (name, made) in [("a", Made::new(1, 1)), ("b", refused), ("c", Made::new(3, 1))] {
        from_lines(&made.lines()).unwrap();
        fs::write(spool.join(format!("{name}.jsonl")), made.lines()).unwrap();
    }
    if !super::has_number() {
        return;
    }
    let args = ["fleet", "send", &server.url(), "--spool", "s", "--json"];
    let run = looptax(&scratch, &args);
    run.expect_code(0);
    let said: Reported = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((said.reports, said.waiting), (3, 0), "{said:?}");
    assert!(said.notes.iter().any(|it| it.contains("b.refused")), "{said:?}");
    assert!(spool.join("b.refused").exists());
    assert_eq!(value(&server, "SELECT count(*) FROM reports"), "3");
}

#[test]
fn a_verdict_that_two_reports_bring_counts_once_and_stays_as_old_as_it_is() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        let mut first = Made::new(1, 1);
        first.measured_us = Some(3.0);
        let first = first.lines();
        let again = first.replace(&Made::new(1, 1).id, &Made::new(1, 2).id);
        // Both reports contain the same run.
        let run_id = format!("\"run_id\":\"{}\"", Made::new(1, 2).id);
        let again = again.replace(&run_id, &format!("\"run_id\":\"{}\"", Made::new(1, 1).id));
        let at = |made: Made| format!("\"at\":{}", made.at_ms);
        let again = again.replace(&at(Made::new(1, 1)), &at(Made::new(1, 2)));
        for lines in [&first, &again] {
            fs::write(scratch.file("r.jsonl"), lines).unwrap();
            looptax(&scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]).expect_code(0);
            // The collector's clock counts whole seconds.
            thread::sleep(A_SECOND);
        }
        assert_eq!(engine.count("latest_reports"), 1);
        let verdicts = engine.ask("latest_verdicts", &["report_id"]).rows;
        assert_eq!(verdicts, [[Value::Text(Made::new(1, 1).id)]]);
    }
}

#[test]
fn a_newer_verdict_without_a_figure_hides_no_older_one() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        let mut known = Made::new(1, 1);
        known.measured_us = Some(3.0);
        let mut cut = Made::new(1, 2);
        cut.measured_us = Some(9.0);
        let cut = cut.lines().replace("\"cpu_us_lo\":8.7", "\"cpu_us_lo\":null");
        for lines in [known.lines(), cut] {
            fs::write(scratch.file("r.jsonl"), lines).unwrap();
            looptax(&scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]).expect_code(0);
            thread::sleep(A_SECOND);
        }
        let measured = engine.ask("measurements", &["cpu_us"]).rows;
        assert_eq!(measured, [[Value::Number(Some(3.0))]]);
    }
}

#[test]
fn a_machine_that_is_gone_is_in_no_sum() {
    let scratch = Scratch::new();
    let Some(server) = postgres(&scratch) else {
        return;
    };
    let lines: String = (1..4).map(|host| Made::new(host, 1).lines()).collect();
    fs::write(scratch.file("r.jsonl"), lines).unwrap();
    let url = server.url();
    looptax(&scratch, &["fleet", "send", &url, "--from", "r.jsonl"]).expect_code(0);
    for table in ["findings", "reports", "newest"] {
        let old = format!("UPDATE {table} SET received = received - interval '8 days' WHERE host_id = '{:032x}'", 2);
        execute(&server, &[&old]);
    }
    let run = looptax(&scratch, &["fleet", "report", &url, "--json"]);
    run.expect_code(0);
    let fleet: Fleet = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((fleet.hosts, fleet.hosts_over_tcp), (2, 2));
    assert_eq!((fleet.pairs.rows[0].hosts, fleet.silent.n), (2, 1));
    assert_eq!(ask(&url, "pairs", &[]).rows.len(), 2);
    looptax(&scratch, &["fleet", "host", "web2", &url]).expect_code(0);
}

#[test]
fn an_answer_longer_than_a_conversation_may_have_comes_in_pieces() {
    let scratch = Scratch::new();
    let Some(server) = postgres(&scratch) else {
        return;
    };
    fs::write(scratch.file("r.jsonl"), Made::new(1, 1).lines()).unwrap();
    let url = server.url();
    looptax(&scratch, &["fleet", "send", &url, "--from", "r.jsonl"]).expect_code(0);
    // About 80 MB of rows; the dropped constraint would refuse them.
    let many = "INSERT INTO findings SELECT more.* FROM findings f, generate_series(10, 160009) m, \
                LATERAL jsonb_populate_record(NULL::findings, to_jsonb(f) || jsonb_build_object('n', m, 'client', m || repeat('x', 190))) more \
                WHERE f.n = 0";
    execute(&server, &["ALTER TABLE findings DROP CONSTRAINT findings_n_check", many]);
    assert_eq!(ask(&url, "payers", &[]).rows.len(), 2 + 160_000);
}
