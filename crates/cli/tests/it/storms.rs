//! `compare --workload storm` with a real server: the report about the storms; they are kept in the history like other
//! runs.

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{exe, is_there};

/// Runs storms on a Redis that is stopped while they connect; the smaller of the two sizes fits into its queue.
#[track_caller]
fn storms(scratch: &Scratch, queue: &str, more: &[&str]) -> Finished {
    let words = ["compare", "private:redis", "--workload", "storm", "-c", "20,60", "--storms", "3", "--stall", "200ms"];
    let run = Looptax::new(exe(), scratch).args(words).args(["--queue", queue]).args(more.iter().copied()).run();
    run.expect_code(0);
    run
}

#[test]
fn r49_storms_have_a_verdict_a_next_step_and_a_place_in_the_history() {
    if !is_there("redis-server") {
        return;
    }
    let scratch = Scratch::new();
    let run = storms(&scratch, "20", &["--label", "short"]);
    let said = run.words();
    for words in [
        // The socket accepts one connection more than the size of its queue.
        "while the server is stopped for 200 ms: over the socket 65.0 % [",
        "] of 60 connections fail (EAGAIN), none of 20; over TCP none of 20 or 60 connections fails",
        "next: set `tcp-backlog` (which also applies to the socket), to at least 59 (these storms had 20)",
        "60 connections: 59 is the smallest queue at which no connection failed on the socket in 3 storms",
        "record: ",
    ] {
        assert!(said.contains(words), "no `{words}` in\n{}", run.stdout);
    }
    let enough = storms(&scratch, "100", &["--json"]);
    let record: Value = serde_json::from_str(&enough.stdout).unwrap();
    assert_eq!(record["storms"]["sizes"][1]["smallest_queue"], 59, "{record:#}");
    assert_eq!(record["comparisons"].as_array().map(Vec::len), Some(0));
    let looptax = |args: &[&str]| Looptax::new(exe(), &scratch).args(args.iter().copied()).run();
    let list = looptax(&["show"]).words();
    for (arm, tax, verdict) in [("unix", "65.0 % [", "fail to connect"), ("tcp", "0.0 % [", "none fails")] {
        let of_arm = format!("storm as hiredis, connections 60, placement free, arm {arm}, tax {tax}");
        let row = list.split("server redis").find(|it| it.contains(&of_arm));
        assert!(row.is_some_and(|it| it.contains(verdict)), "no `{of_arm}` with `{verdict}` in {list}");
    }
    let last = looptax(&["show", "last"]);
    last.expect_error(2, &["was only printed, not saved"]);
    let again = looptax(&["show", "short"]);
    assert!(
        again.words().contains(&said[said.find("as ").unwrap()..said.find("record: ").unwrap()]),
        "{}",
        again.stdout
    );
    let markdown = looptax(&["show", "short", "--md", "-"]);
    assert!(markdown.stdout.contains("fail (EAGAIN), none of 20"), "{}", markdown.stdout);
}
