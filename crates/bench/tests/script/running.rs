//! Scripts that run: order, branches, pipelines, weights, and values as they are sent to the server.

use std::collections::HashSet;
use std::sync::Arc;

use looptax_bench::script::{Action, Dialect, Script, ScriptSet, Session, Statement};

use crate::{PRESETS, bits, session_of, set_of, trace};

const TPCB: &str = r"\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

#[track_caller]
fn check(text: &str, wanted: &[&str]) {
    let mut session = session_of(text, &[]);
    let seen = trace(&mut session, &mut bits());
    assert_eq!(seen.as_deref(), Ok(&wanted.iter().map(|&s| s.to_owned()).collect::<Vec<_>>()[..]));
}

#[test]
fn steps_through_the_documented_transaction() {
    let set = set_of(TPCB, Dialect::Postgres, &[]).unwrap();
    let sql: Vec<String> = set.statements().iter().map(Statement::prepared_sql).collect();
    assert_eq!(sql.len(), 7);
    assert_eq!(sql[0], "BEGIN");
    assert_eq!(sql[1], "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2");
    assert_eq!(set.statements()[5].n_parameters(), 4);
    let mut session = Session::new(Arc::new(set), PRESETS);
    let mut random = bits();
    let (mut accounts, mut scratch) = (HashSet::new(), Vec::new());
    for _ in 0..1000 {
        for wanted in 0..7 {
            let action = session.next(&mut random).unwrap();
            assert_eq!(action, Action::Send { statement_idx: wanted });
        }
        assert_eq!(session.next(&mut random).unwrap(), Action::Done);
        let mut values: Vec<i64> = Vec::new();
        let mut keep = |value: Option<&[u8]>| {
            values.push(std::str::from_utf8(value.unwrap()).unwrap().parse().unwrap());
        };
        session.parameters(5, &mut scratch, &mut keep).unwrap();
        let [tid, bid, aid, delta] = values[..] else {
            panic!("{values:?}");
        };
        assert!((1..=100).contains(&tid) && (1..=10).contains(&bid));
        assert!((1..=1_000_000).contains(&aid) && (-5000..=5000).contains(&delta));
        accounts.insert(aid);
    }
    assert!(accounts.len() > 900, "{}", accounts.len());
}

#[test]
fn takes_the_first_branch_that_is_true() {
    for (n, wanted) in [(1, "one"), (2, "two"), (3, "many"), (0, "many")] {
        let text = format!(
            "\\set n {n}\n\\if :n = 1\nSELECT 'one';\n\\elif :n = 2\nSELECT 'two';\n\\else\nSELECT 'many';\n\\endif\nEND;"
        );
        check(&text, &[&format!("SELECT '{wanted}'"), "END"]);
    }
}

#[test]
fn nests_branches() {
    let text = "\\if 1\n\\if 0\na;\n\\elif 0\nb;\n\\endif\nc;\n\\if null\nd;\n\\else\n\\if 2.5\ne;\n\\endif\n\\endif\n\\else\nf;\n\\endif";
    check(text, &["c", "e"]);
}

#[test]
fn skips_what_it_does_not_take() {
    check("\\if false\n\\set x 1 / 0\nSELECT :x;\n\\endif\nEND;", &["END"]);
    check("\\if false\nSELECT 1;\n\\endif", &[]);
}

#[test]
fn keeps_variables_from_one_transaction_to_the_next() {
    let text = "\\if :started = 0\n\\set n 0\n\\set started 1\n\\endif\n\\set n :n + 1\nSELECT :n;";
    let mut session = session_of(text, &["started=0"]);
    for n in 1..4 {
        let seen = trace(&mut session, &mut bits());
        assert_eq!(seen, Ok(vec![format!("SELECT {n}")]));
    }
}

#[test]
fn marks_pipelines_and_sleeps() {
    check(
        "\\startpipeline\na;\n\\syncpipeline\nb;\n\\endpipeline\n\\sleep 2 ms\n\\sleep 3\n\\set t 7\n\\sleep :t us\n\\sleep 4ms\nc;",
        &[
            "\\startpipeline",
            "a",
            "\\syncpipeline",
            "b",
            "\\endpipeline",
            "\\sleep 2000us",
            "\\sleep 3000000us",
            "\\sleep 7us",
            "\\sleep 4000us",
            "c",
        ],
    );
}

#[test]
fn refuses_pipelines_that_do_not_fit_and_starts_anew() {
    for (text, wanted) in [
        ("\\startpipeline\n\\startpipeline\na;", "a.sql:2:1: a pipeline is already open"),
        ("a;\n\\endpipeline", "a.sql:2:1: no pipeline is open"),
        ("\\syncpipeline\na;", "a.sql:1:1: no pipeline is open"),
        ("\\startpipeline\na;", "a.sql:2:3: the script ends within a pipeline"),
        ("\\set t -1\n\\sleep :t\na;", "a.sql:2:1: expected a time to sleep"),
        ("\\if 0\n\\set x 1\n\\endif\na :x;", "a.sql:4:3: the variable `x` has no value yet"),
    ] {
        let mut session = session_of(text, &[]);
        for _ in 0..2 {
            let error = trace(&mut session, &mut bits()).unwrap_err();
            assert!(error.starts_with(wanted), "{error}");
            session.restart();
        }
    }
}

#[test]
fn fills_in_presets_and_definitions() {
    let text = "SELECT :client_id, :scale, :random_seed, :default_seed, :table, :code;";
    let mut session = session_of(text, &["table=t 1", "scale=5", "code=007"]);
    let seen = trace(&mut session, &mut bits());
    assert_eq!(seen, Ok(vec!["SELECT 3, 5, 42, 5432, t 1, 007".to_owned()]));
}

#[test]
fn sends_null_as_null() {
    let mut session = session_of("\\set x null\nSELECT :x, :y, 1;", &["y=NULL"]);
    assert_eq!(trace(&mut session, &mut bits()), Ok(vec!["SELECT NULL, NULL, 1".to_owned()]));
    let mut seen = Vec::new();
    let mut keep = |value: Option<&[u8]>| seen.push(value.map(<[u8]>::to_vec));
    session.parameters(0, &mut Vec::new(), &mut keep).unwrap();
    assert_eq!(seen, [None, None]);
}

#[test]
fn keeps_a_minus_before_a_negative_value_from_making_a_comment() {
    check("\\set d -5\nSELECT 1 -:d, 1-:d;", &["SELECT 1 - -5, 1- -5"]);
}

#[test]
fn chooses_scripts_by_weight_and_shares_their_variables() {
    let parse = |name, text| Script::parse(name, text, Dialect::Mysql).unwrap();
    let scripts = vec![
        (parse("a.sql", "\\set n 1\nSELECT :n, :m;"), 3),
        (parse("b.sql", "\\set m 2\nUPDATE :m, :n;"), 1),
        (parse("c.sql", "never;"), 0),
    ];
    let set = Arc::new(ScriptSet::new(scripts, Vec::new()).unwrap());
    let sql: Vec<String> = set.statements().iter().map(Statement::prepared_sql).collect();
    assert_eq!(sql, ["SELECT ?, ?", "UPDATE ?, ?", "never"]);
    let mut session = Session::new(Arc::clone(&set), PRESETS);
    let mut random = bits();
    let mut counts = [0_u32; 3];
    for _ in 0..40_000 {
        let action = session.next(&mut random).unwrap();
        let statement_idx = session.script_idx();
        assert_eq!(action, Action::Send { statement_idx });
        counts[session.script_idx()] += 1;
        assert_eq!(session.next(&mut random).unwrap(), Action::Done);
    }
    // The expected count is 3/4 of 40,000, and its standard deviation is 87.
    assert!((29_600..30_400).contains(&counts[0]) && counts[2] == 0, "{counts:?}");
    let mut sql = Vec::new();
    session.write_sql(0, &mut sql).unwrap();
    assert_eq!(sql, b"SELECT 1, 2");
    assert_eq!(set.place_of(1).unwrap().to_string(), "b.sql:2:1");
    assert_eq!(set.script_name(2), Some("c.sql"));
}

#[test]
fn repeats_a_run_from_its_seed() {
    let text = "\\set a random(1, 1000000)\n\\set b random_gaussian(1, 1000000, 3)\n\\set c random_zipfian(1, 1000000, 1.1)\n\\set d random_exponential(1, 1000000, 5)\nSELECT :a, :b, :c, :d;";
    let run = || trace(&mut session_of(text, &[]), &mut bits()).unwrap();
    assert_eq!(run(), run());
}
