//! Reads of whole tables as requests, on every server that has tables.

use looptax_model::dsn::Kind;
use looptax_testkit::scratch::Scratch;

use crate::fixture::{self, SHORT, Server, compare, is_installed, saved};

/// Six epochs and one for the warm-up, with four dumps each.
const N_DUMPS: u64 = 28;
/// Least size of a row of the table: its two texts have 119 and 59 characters.
const LEAST_ROW_BYTES: u64 = 178;

#[track_caller]
fn check(kind: Kind, options: &[&str], rows: u64, counted_per_dump: u64) {
    if !is_installed(kind) {
        return;
    }
    let scratch = Scratch::new();
    let run = compare(&scratch)
        .args([format!("private:{kind}")])
        // MySQL has an arm with TLS by default.
        .args(["--workload", "dump", "--fixed", "6", "-q", "--arms", "unix,tcp"])
        .args(["--rows", &rows.to_string()])
        .args(options)
        .run();
    run.expect_code(0);
    let record = saved(&scratch);
    let comparison = &record["comparisons"][0];
    let epochs = comparison["raw"]["epochs"].as_array().unwrap();
    assert_eq!(epochs.len(), 6);
    for epoch in epochs {
        let order = epoch["order"].as_str().unwrap();
        assert!(["boob", "obbo"].contains(&order), "{order}");
        assert_eq!(epoch["answers_agree"], true);
    }
    let bytes = comparison["workload"]["stream"]["bytes"].as_u64().unwrap();
    assert!(bytes >= rows * LEAST_ROW_BYTES, "{bytes}");
    let count = &comparison["server_count"];
    assert_eq!(count["sent"], N_DUMPS * counted_per_dump, "{count}");
    let counted = count["counted"].as_u64().unwrap();
    assert!(counted.abs_diff(N_DUMPS * counted_per_dump) <= 200, "{count}");
    assert!(run.stdout.contains("B/s") && run.stdout.contains("dump"), "{}", run.stdout);
    scratch.check_nothing_left();
}

#[test]
fn mariadb_streams_a_table_out() {
    check(Kind::Mariadb, &[], 20_000, 1);
    // Each of the four client models runs in separate epochs.
    check(Kind::Mariadb, &["--client", "all"], 500, 4);
}

#[test]
fn mysql_streams_a_table_out() {
    check(Kind::Mysql, &[], 20_000, 1);
}

#[test]
fn postgres_streams_a_table_out() {
    check(Kind::Postgres, &[], 20_000, 1);
}

#[test]
fn redis_streams_large_values_out() {
    // 20,000 rows of 188 bytes are 3.6 MiB, which are stored in four values.
    check(Kind::Redis, &[], 20_000, 4);
    check(Kind::Redis, &["--value-size", "100000"], 20_000, 38);
}

#[test]
fn valkey_streams_large_values_out() {
    check(Kind::Valkey, &[], 20_000, 4);
}

#[track_caller]
fn check_refused(args: &[&str], words: &[&str]) {
    fixture::check_refused(&[args, &["--workload", "dump", "-q"]].concat(), words);
}

#[test]
fn what_a_dump_does_not_have_is_refused() {
    let mariadb = "private:mariadb";
    check_refused(&["echo"], &["`dump` is not a workload for echo"]);
    check_refused(&[mariadb, "-c", "2"], &["one dump at a time"]);
    check_refused(&[mariadb, "--fixed", "10s"], &["does not know beforehand", "--fixed 6"]);
    check_refused(&[mariadb, "--slice-ms", "50"], &["--slice-ms does not apply to `dump`"]);
    check_refused(&[mariadb, "--rate", "10"], &["do not apply to `dump`"]);
    check_refused(&["private:postgres", "--protocol", "text"], &["--protocol does not apply"]);
    check_refused(&["private:redis", "--pipeline", "2"], &["--pipeline does not apply"]);
}

#[test]
fn more_rows_than_there_is_room_for_are_refused_before_anything_is_written() {
    let rows = ["--rows", "4294967295"];
    let args = |target: &'static str| [&[target][..], &rows].concat();
    let words = ["--rows 4294967295 needs about 2199", "free disk space in", "TMPDIR"];
    check_refused(&args("private:mariadb"), &words);
    check_refused(&args("private:postgres"), &words);
    check_refused(&args("private:redis"), &["free memory", "fewer rows"]);
}

#[test]
fn a_running_server_is_dumped_only_as_our_own_and_from_a_table_that_is_there() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let scratch = Scratch::new();
    let run = |options: &[&str]| {
        compare(&scratch)
            .args([server.url(), "--yes".to_owned()])
            .args(["--workload", "dump", "--fixed", "6", "--rows", "100", "-q"])
            .args(options)
            .run()
    };
    run(&[]).expect_error(2, &["reads a whole table again and again", "--own-server"]);
    run(&["--own-server"]).expect_error(2, &["found no table `sbtest1`"]);
    run(&["--own-server", "--write"]).expect_code(0);
    assert!(server.scratch_places().is_empty());
}

#[test]
fn short_runs_of_other_workloads_have_no_stream() {
    let scratch = Scratch::new();
    compare(&scratch).args(["echo"]).args(SHORT).run().expect_code(0);
    let record = saved(&scratch);
    assert!(record["comparisons"][0]["workload"]["stream"].is_null());
}
