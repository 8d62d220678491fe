//! The rows that PostgreSQL reads for an answer: they grow with the sent rows, and not with their square.

use std::fs;

use looptax_fleet::VIEWS;
use looptax_model::dsn::Kind;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use super::looptax;
use super::made::Made;
use crate::fixture::Server;

const N_HOSTS: u32 = 500;
/// A report of each, a month after the other: the more partitions, the less does the planner know.
const N_LOOKS: u32 = 12;
const MONTH: u32 = 30 * 24;
/// Rows that the steps of a plan go through, for each row that was sent. The most that a view takes is 1.9; a join that
/// asks again for every machine took 14.
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
    // As the program asks.
    talk.execute("SET jit TO off").unwrap();
    let sql = format!("EXPLAIN (ANALYZE, TIMING off, FORMAT json) SELECT * FROM {view}");
    let rows = talk.query(&sql).unwrap();
    let plans: Value = serde_json::from_str(rows[0][0].as_ref().unwrap()).unwrap();
    of_step(&plans[0]["Plan"])
}

/// Of a step and of those below it.
fn of_step(step: &Value) -> f64 {
    let number = |name: &str| step[name].as_f64().unwrap_or_default();
    let removed = number("Rows Removed by Filter") + number("Rows Removed by Join Filter");
    let own = (number("Actual Rows") + removed) * number("Actual Loops");
    let below = step["Plans"].as_array().into_iter().flatten();
    own + below.map(of_step).sum::<f64>()
}
