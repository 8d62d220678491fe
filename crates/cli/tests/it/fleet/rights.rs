//! The rights of accounts: an account that sends reports may only insert; and the error for an account with wrong
//! rights.

use std::fs;

use looptax_fleet::{Access, Collector, Destination, FleetError, Question};
use looptax_model::dsn::Kind;
use looptax_testkit::scratch::Scratch;

use super::made::Made;
use super::{Engine, ask, looptax};
use crate::fixture::Server;

#[test]
fn an_account_that_may_only_insert_is_enough_and_one_that_may_only_read_asks() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let scratch = Scratch::new();
    looptax(&scratch, &["fleet", "init", &server.url()]).expect_code(0);
    // The grants that `--print` prints.
    let printed = looptax(&scratch, &["fleet", "init", &server.url(), "--print"]);
    let grants = printed.stdout.lines().filter_map(|it| it.strip_prefix("-- "));
    let grants = grants.filter(|it| it.ends_with(';'));
    let mut n_grants = 0;
    for grant in grants {
        server.talk().execute(&grant.replace('…', "pw")).unwrap();
        n_grants += 1;
    }
    assert_eq!(n_grants, 9, "{}", printed.stdout);
    server.talk().execute("REVOKE ALL ON SCHEMA public FROM PUBLIC").unwrap();
    server.talk().execute("GRANT USAGE ON SCHEMA public TO looptax_writer, looptax_reader").unwrap();
    let url_of = |user: &str| format!("postgres://{user}:pw@{}/looptax", server.it.tcp);
    let (writer, reader) = (url_of("looptax_writer"), url_of("looptax_reader"));
    fs::write(scratch.file("r.jsonl"), Made::new(1, 1).lines()).unwrap();
    for _ in 0..2 {
        looptax(&scratch, &["fleet", "send", &writer, "--from", "r.jsonl"]).expect_code(0);
    }
    assert_eq!(ask(&reader, "latest_findings", &[]).rows.len(), 2);
    let question = Question { view: "latest_reports", ..Question::default() };
    let destination = Destination::parse(&writer).unwrap();
    let asked = Collector::open(&destination, &Access::default()).unwrap().ask(&question);
    assert!(matches!(asked, Err(FleetError::Refused { .. })), "{asked:?}");
    looptax(&scratch, &["fleet", "send", &reader, "--from", "r.jsonl"]).expect_error(2, &["permission denied"]);
    fs::write(scratch.file("pw"), "pw\n").unwrap();
    let bare = format!("postgres://looptax_writer@{}/looptax", server.it.tcp);
    looptax(&scratch, &["fleet", "send", &bare, "--from", "r.jsonl", "--password-file", "pw"]).expect_code(0);
    looptax(&scratch, &["fleet", "send", &bare, "--from", "r.jsonl"]).expect_error(2, &["password"]);
}

#[test]
fn what_an_engine_refuses_comes_with_its_own_next_step() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        fs::write(scratch.file("r.jsonl"), Made::new(1, 1).lines()).unwrap();
        let refused = |url: &str, words: &str| {
            looptax(&scratch, &["fleet", "send", url, "--from", "r.jsonl"]).expect_error(2, &[words]);
        };
        let other_database = engine.url.rsplit_once('/').unwrap().0;
        refused(&format!("{other_database}/nowhere"), "after the host");
        let (_, host) = engine.url.rsplit_once('@').unwrap();
        let scheme = engine.url.split_once("//").unwrap().0;
        refused(&format!("{scheme}//nobody:wrong@{host}"), "write user and password into");
    }
}

/// The rows of a month came before the partition of this month was made, as after `fleet init --print | psql`.
#[test]
fn a_partition_takes_over_the_rows_that_came_before_it() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let scratch = Scratch::new();
    let printed = looptax(&scratch, &["fleet", "init", &server.url(), "--print"]);
    server.talk().execute(&printed.stdout).unwrap();
    let now = jiff::Timestamp::now().as_millisecond();
    let mut reports = String::new();
    for (host, at_ms) in [(1, now), (2, now - 40 * 86_400_000), (3, 0)] {
        let made = Made { at_ms, ..Made::new(host, 1) };
        reports += &made.lines();
    }
    fs::write(scratch.file("r.jsonl"), reports).unwrap();
    let url = server.url();
    looptax(&scratch, &["fleet", "send", &url, "--from", "r.jsonl"]).expect_code(0);
    let count = |table: &str| {
        let rows = server.talk().query(&format!("SELECT count(*) FROM {table}"));
        rows.unwrap()[0][0].clone().unwrap()
    };
    let newest = |url: &str| ask(url, "latest_findings", &[]).rows.len();
    assert_eq!((count("findings_other"), newest(&url)), ("6".to_owned(), 6));
    for _ in 0..2 {
        let run = looptax(&scratch, &["fleet", "init", &url]);
        run.expect_code(0);
        assert!(!run.stdout.contains("missing features"), "{}", run.stdout);
        // Rows with the year 1970 from a wrong clock belong to no partition of a month.
        assert_eq!((count("findings_other"), count("findings")), ("2".to_owned(), "6".to_owned()));
        assert_eq!((count("reports_other"), newest(&url)), ("1".to_owned(), 6));
    }
}
