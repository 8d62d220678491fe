//! The official Python client of the protocol, in both of its modes: it lists the tools, calls each, and compares every
//! result with the tool's schema.

use std::fs;
use std::path::Path;
use std::process::Command;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use serde_json::{Value, json};

use super::{SHORT, text};
use crate::fixture::{Server, compare, exe, is_root};

/// The Python that `clients/setup.sh` installs.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/clients/python/bin/python");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/client.py");

/// Returns a Python that has the client library: that of `clients/setup.sh`, or the system's.
fn python() -> Option<&'static str> {
    let has_client =
        |it: &&str| Command::new(it).args(["-c", "import mcp"]).output().is_ok_and(|it| it.status.success());
    let found = [PYTHON, "python3"].into_iter().find(has_client);
    if found.is_none() {
        skip("mcp (Python) is not installed");
    }
    found
}

#[test]
fn the_protocol_s_own_client_lists_and_calls_every_tool() {
    let Some(python) = python() else {
        return;
    };
    let (redis, postgres) = (Server::start(Kind::Redis), Server::start(Kind::Postgres));
    let scratch = Scratch::new();
    compare(&scratch).args(SHORT).run().expect_code(0);
    let servers: Vec<&Server> = redis.iter().chain(&postgres).collect();
    let addresses = servers.iter().map(|it| it.url_with("").replace(":@", "@"));
    let mut calls = vec![
        json!(["find", {}]),
        json!(["find", {"once": true}]),
        json!(["dsn", {"address": "mysql://u@127.0.0.1/d"}]),
        json!(["show", {"run": "r.json"}]),
        json!(["show", {}]),
        json!(["diff", {"before": "r.json", "after": "r.json"}]),
    ];
    calls.extend(addresses.map(|it| json!(["check", { "target": it }])));
    if is_root() {
        calls.push(json!(["watch", {"seconds": 1}]));
    }
    for (mode, version) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        if mode == "auto" {
            // The comparison takes half a minute, so it is called in only one of the modes.
            calls.push(json!(["compare", {"target": "echo", "seconds": 600}]));
        } else {
            calls.pop();
        }
        let calls_text = serde_json::to_string(&calls).unwrap();
        let program = exe().to_str().unwrap();
        assert!(Path::new(SCRIPT).is_file());
        let run = Looptax::new(python, &scratch).args([SCRIPT, program, mode, &calls_text]).run();
        run.expect_code(0);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(answer["version"], version);
        let names: Vec<&str> = answer["tools"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(names, ["find", "check", "dsn", "watch", "show", "diff", "compare"]);
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), calls.len());
        for (call, result) in calls.iter().zip(results) {
            assert_eq!(result["isError"], false, "{call}: {}", text(result));
            assert!(result["structuredContent"].is_object() && !text(result).is_empty(), "{call}");
        }
        // `find` has to list the servers of this test.
        for server in &servers {
            let seen = results[0]["structuredContent"]["servers"].as_array().unwrap();
            assert!(seen.iter().any(|it| it["pid"] == server.it.pid), "{seen:?}");
        }
        scratch.check_nothing_left();
    }
    // No file of the comparison is kept, and no other file except the list of runs.
    let listed = Looptax::new(exe(), &scratch).args(["show", "--json"]).run();
    assert_eq!(serde_json::from_str::<Value>(&listed.stdout).unwrap().as_array().unwrap().len(), 1);
    let data = fs::read_dir(scratch.file(".local/share/looptax")).unwrap();
    let names: Vec<_> = data.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["history.sqlite"]);
}
