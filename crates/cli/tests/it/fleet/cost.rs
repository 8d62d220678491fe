//! The rows that PostgreSQL reads for an answer: their number grows in proportion to the rows that were sent, not to
//! their square.

use std::fs;

use looptax_fleet::VIEWS;
use looptax_model::dsn::Kind;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use super::looptax;
use super::made::Made;
use crate::fixture::Server;

const N_HOSTS: u32 = 500;
/// Number of reports of each machine, a month apart, so that there are many partitions, about which the planner knows
/// little.
const N_LOOKS: u32 = 12;
const MONTH: u32 = 30 * 24;
/// Most rows that the steps of a plan may read, per row that was sent. The views need at most 1.9; a join that ran
/// again for every machine needed 14.
const AT_MOST: f64 = 5.0;

#[test]
fn no_view_of_postgres_goes_through_all_rows_for_each_machine() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let scratch = Scratch::new();
    let mut n_rows = 0;
    let lines: String = (0..N_HOSTS * N_LOOKS)
        .map(|n| {
            let (host, look) = (n / N_LOOKS, n % N_LOOKS);
            let mut made = Made::new(host, look * MONTH);
            made.measured_us = host.is_multiple_of(10).then_some(3.0);
            made.lines()
        })
        .inspect(|lines| n_rows += lines.lines().count())
        .collect();
    fs::write(scratch.file("r.jsonl"), lines).unwrap();
    let url = server.url();
    looptax(&scratch, &["fleet", "init", &url]).expect_code(0);
    looptax(&scratch, &["fleet", "send", &url, "--from", "r.jsonl"]).expect_code(0);
    server.talk().execute("ANALYZE").unwrap();
    for view in VIEWS {
        let n = rows_gone_through(&server, view.name) / n_rows as f64;
        assert!(n < AT_MOST, "{}: {n} rows for each that was sent", view.name);
    }
}

fn rows_gone_through(server: &Server, view: &str) -> f64 {
    let mut talk = server.talk();
    // looptax sets this too before it queries.
    talk.execute("SET jit TO off").unwrap();
    let sql = format!("EXPLAIN (ANALYZE, TIMING off, FORMAT json) SELECT * FROM {view}");
    let rows = talk.query(&sql).unwrap();
    let plans: Value = serde_json::from_str(rows[0][0].as_ref().unwrap()).unwrap();
    of_step(&plans[0]["Plan"])
}

/// Returns the rows that a step and the steps below it read.
fn of_step(step: &Value) -> f64 {
    let number = |name: &str| step[name].as_f64().unwrap_or_default();
    let removed = number("Rows Removed by Filter") + number("Rows Removed by Join Filter");
    let own = (number("Actual Rows") + removed) * number("Actual Loops");
    let below = step["Plans"].as_array().into_iter().flatten();
    own + below.map(of_step).sum::<f64>()
}
