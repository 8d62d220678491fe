//! What accounts need: who reports may insert and nothing else.

use std::fs;

use looptax_dsn::Kind;
use looptax_fleet::{Access, Collector, Destination, FleetError, Question};
use looptax_testkit::scratch::Scratch;

use super::made::Made;
use super::{ask, looptax};
use crate::fixture::Server;

#[test]
fn an_account_that_may_only_insert_is_enough_and_one_that_may_only_read_asks() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let scratch = Scratch::new();
    looptax(&scratch, &["fleet", "init", &server.url()]).expect_code(0);
    // As `--print` has them.
    let printed = looptax(&scratch, &["fleet", "init", &server.url(), "--print"]);
    let grants = printed
        .stdout
        .lines()
        .filter_map(|it| it.strip_prefix("-- "));
    let grants = grants.filter(|it| it.ends_with(';'));
    let mut n_grants = 0;
    for grant in grants {
        server.talk().query(&grant.replace('…', "pw")).unwrap();
        n_grants += 1;
    }
    assert_eq!(n_grants, 6, "{}", printed.stdout);
    server
        .talk()
        .query("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        .unwrap();
    server
        .talk()
        .query("GRANT USAGE ON SCHEMA public TO looptax_writer, looptax_reader")
        .unwrap();
    let url_of = |user: &str| format!("postgres://{user}:pw@{}/looptax", server.it.tcp);
    let (writer, reader) = (url_of("looptax_writer"), url_of("looptax_reader"));
    fs::write(scratch.file("r.jsonl"), Made::new(1, 1).lines()).unwrap();
    for _ in 0..2 {
        looptax(&scratch, &["report-to", &writer, "--from", "r.jsonl"]).expect_code(0);
    }
    assert_eq!(ask(&reader, "latest_findings", &[]).rows.len(), 2);
    let question = Question {
        view: "latest_reports",
        ..Question::default()
    };
    let destination = Destination::parse(&writer).unwrap();
    let asked = Collector::open(&destination, &Access::default())
        .unwrap()
        .ask(&question);
    assert!(
        matches!(asked, Err(FleetError::Refused { .. })),
        "{asked:?}"
    );
    looptax(&scratch, &["report-to", &reader, "--from", "r.jsonl"])
        .expect_error(2, &["permission denied"]);
    fs::write(scratch.file("pw"), "pw\n").unwrap();
    let bare = format!("postgres://looptax_writer@{}/looptax", server.it.tcp);
    looptax(
        &scratch,
        &[
            "report-to",
            &bare,
            "--from",
            "r.jsonl",
            "--password-file",
            "pw",
        ],
    )
    .expect_code(0);
    looptax(&scratch, &["report-to", &bare, "--from", "r.jsonl"]).expect_error(2, &["password"]);
}
