//! `--workload script:FILE`: a user's own transaction on real servers, and mistakes in such scripts.

use std::fs;

use looptax_model::dsn::Kind;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{compare, is_installed, saved};

/// pgbench's built-in transaction from the manual, with an added condition that changes nothing.
const TPCB: &str = "\
\\set aid random(1, 2000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random_gaussian(1, 10 * :scale, 2.5)
\\set delta random(-5000, 5000)
\\if :delta > 5000
SELECT 1/0;
\\endif
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

/// Makes a short run of `script` on a private server; returns its comparison.
#[track_caller]
fn run(kind: Kind, script: &str, options: &[&str]) -> Option<Value> {
    if !is_installed(kind) {
        return None;
    }
    let scratch = Scratch::new();
    fs::write(scratch.file("my.sql"), script).unwrap();
    fs::write(scratch.file("other.sql"), "SELECT 1;\n").unwrap();
    compare(&scratch)
        .args([format!("private:{kind}")])
        .args(["--workload", "script:my.sql@3,other.sql", "-c", "2"])
        .args(["--fixed", "6", "--slice-ms", "10", "-q", "--rows", "2000"])
        .args(["--warm-up", "0s", "--placement", "same"])
        .args(options)
        .run()
        .expect_code(0);
    let record = saved(&scratch);
    scratch.check_nothing_left();
    Some(record["comparisons"][0].clone())
}

#[test]
fn pgbench_s_transaction_runs_on_each_kind_prepared_and_as_text() {
    for kind in [Kind::Postgres, Kind::Mariadb, Kind::Mysql] {
        // Only PostgreSQL accepts END for COMMIT.
        let script = match kind {
            Kind::Postgres => TPCB.to_owned(),
            _ => TPCB.replace("END;", "COMMIT;"),
        };
        for protocol in ["prepared", "text"] {
            let Some(comparison) = run(kind, &script, &["--protocol", protocol]) else {
                continue;
            };
            let workload = &comparison["workload"];
            assert_eq!(workload["name"], "script:my.sql@3,other.sql");
            assert_eq!(workload["protocol"], protocol);
            let requests = &comparison["raw"]["epochs"][0]["slices"][0];
            assert!(requests["requests"].as_u64().unwrap() > 0);
            // Three of four requests need seven messages, and the fourth needs one.
            let ratio = requests["sends"].as_f64().unwrap() / requests["requests"].as_f64().unwrap();
            assert!((1.0..=7.0).contains(&ratio), "{ratio}");
        }
    }
}

#[test]
fn a_pipeline_is_one_message() {
    let script = "\\startpipeline\nSELECT 1;\nSELECT :n;\nSELECT 3;\n\\endpipeline\n";
    let Some(comparison) = run(Kind::Postgres, script, &["-D", "n=7"]) else {
        return;
    };
    let slice = &comparison["raw"]["epochs"][0]["slices"][0];
    assert_eq!(slice["sends"], slice["requests"]);
}

#[track_caller]
fn check_refused(target: &str, script: &str, options: &[&str], words: &[&str]) {
    let scratch = Scratch::new();
    fs::write(scratch.file("my.sql"), script).unwrap();
    let run = compare(&scratch)
        .args([target, "--workload", "script:my.sql", "--fixed", "6", "-q"])
        .args(["--rows", "100"])
        .args(options)
        .run();
    run.expect_error(2, words);
    scratch.check_nothing_left();
}

#[test]
fn mistakes_are_shown_with_line_and_column() {
    let postgres = "private:postgres";
    check_refused(postgres, "SELECT 1;\n\\sett x 1\n", &[], &["my.sql:2:1:", "sett", "\\set"]);
    check_refused(postgres, "\\set x 1 +\nSELECT :x;\n", &[], &["my.sql:1:"]);
    check_refused(postgres, "SELECT :unknown;\n", &[], &["my.sql:1:8:", "unknown"]);
    check_refused(
        "private:mariadb",
        "\\startpipeline\nSELECT 1;\n\\endpipeline\n",
        &[],
        &["my.sql:1:1:", "MySQL has no pipelines"],
    );
    check_refused("private:redis", "SELECT 1;\n", &[], &["scripts are SQL"]);
    check_refused(postgres, "SELECT 1;\n", &["-D", "x"], &["cannot define `x`"]);
}

#[test]
fn what_fails_while_it_runs_names_its_place() {
    if !is_installed(Kind::Postgres) {
        return;
    }
    let postgres = "private:postgres";
    check_refused(
        postgres,
        "SELECT 1;\nSELECT nothing FROM nowhere;\n",
        &[],
        &["error: the server refuses the statement at my.sql:2:1", "nowhere", "hint: correct the statement"],
    );
    check_refused(postgres, "\\set x 1 / 0\nSELECT :x;\n", &[], &["my.sql:1:", "division by zero"]);
    check_refused(postgres, "SELECT 1;\n\\sleep 5 ms\n", &[], &["use --think to pause between transactions"]);
    check_refused(postgres, "\\if false\nSELECT 1;\n\\endif\n", &[], &["the script sent nothing"]);
}

#[test]
fn a_missing_file_is_named() {
    let scratch = Scratch::new();
    let run = compare(&scratch).args(["private:postgres", "--workload", "script:gone.sql"]).run();
    run.expect_code(2);
    assert!(run.stderr.contains("`gone.sql`"), "{}", run.stderr);
}
