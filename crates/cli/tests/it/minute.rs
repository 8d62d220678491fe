//! A bare `looptax`: each installed kind of server within a minute, in about twenty lines.

use std::fs;

use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::exe;
use crate::record::check_against_schema;

/// The kinds of server that have a row in the table, and the beginning of each row.
const ROWS: [(Kind, &str); 5] = [
    (Kind::Redis, "Redis "),
    (Kind::Memcached, "memcached "),
    (Kind::Mariadb, "MariaDB "),
    (Kind::Postgres, "PostgreSQL "),
    (Kind::Echo, "echo (no database) "),
];

#[test]
fn a_bare_run_says_of_every_installed_server_what_it_loses() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["--at", "800/s", "--json=copy.json"]).run();
    run.expect_code(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    // The list of other servers on this machine may have any number of lines.
    let own = lines.iter().skip_while(|it| !it.starts_with("measuring"));
    assert!(own.count() <= 18, "{}", run.stdout);
    let record: Value = serde_json::from_slice(&fs::read(scratch.file("copy.json")).unwrap()).unwrap();
    check_against_schema(&record);
    let measured: Vec<&str> =
        { record["comparisons"].as_array().unwrap().iter() }.map(|it| it["target"]["kind"].as_str().unwrap()).collect();
    // On a busy machine a minute may be too short for all of them; their rows then say that they were not measured.
    for (kind, words) in ROWS.iter().filter(|(kind, _)| find_binary(*kind).is_some()) {
        let name = kind.name();
        let begins = |line: &&&str| {
            let line = line.trim_start();
            line.starts_with(words) || line.starts_with(name) && line.contains("not measured")
        };
        let row = lines.iter().find(begins);
        let row = row.unwrap_or_else(|| panic!("no row of {name}:\n{}", run.stdout));
        assert_eq!(measured.contains(&name), !row.contains("not measured"), "{row}");
    }
    assert!(measured.contains(&"redis") || find_binary(Kind::Redis).is_none());
    assert!(run.stdout.contains("at 800 requests/s"), "{}", run.stdout);
    let history = Looptax::new(exe(), &scratch).args(["show"]).run();
    assert!(history.stdout.contains(record["id"].as_str().unwrap()));
    scratch.check_nothing_left();
}

#[test]
fn a_server_without_a_command_is_told_the_command() {
    let scratch = Scratch::new();
    for (word, target) in [("mysql", "private:mysql"), ("private:redis", "private:redis"), ("echo", "echo")] {
        let run = Looptax::new(exe(), &scratch).args([word]).run();
        run.expect_code(2);
        assert!(run.stderr.contains(&format!("looptax compare {target}")), "{}", run.stderr);
    }
}

#[test]
fn a_rate_that_is_none_is_refused() {
    for wrong in ["0", "fast", "1e12", "/s"] {
        let scratch = Scratch::new();
        let run = Looptax::new(exe(), &scratch).args(["--at", wrong]).run();
        run.expect_code(2);
        assert!(run.stderr.contains("for example 800/s"), "{}", run.stderr);
    }
}

#[test]
fn what_every_command_takes_may_stand_before_it_and_nothing_else() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["-q", "find", "--once"]).run();
    run.expect_code(0);
    let run = Looptax::new(exe(), &scratch).args(["--label", "x", "find"]).run();
    run.expect_code(2);
    assert!(run.stderr.contains("put them after"), "{}", run.stderr);
}
