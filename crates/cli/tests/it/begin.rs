//! Whether a run may begin: tested with real runs that wait for each other, and with a simulated load of the machine.

use std::fs;

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;

use crate::fixture::{compare, exe, is_root, is_there, run_in_own_network};

#[test]
fn what_forbids_a_beginning_is_looked_at_again_after_the_wait_for_another_run() {
    let scratch = Scratch::new();
    let compare = format!("{} compare echo --placement same -c 1 --slice-ms 10", exe().display());
    // The stop file is made while the second run waits for the end of the first.
    let script = format!(
        "{compare} --fixed 10000 -o one.json 2>one.err & one=$!
         until grep -q measuring one.err; do sleep 0.05; done
         {compare} --fixed 6 --wait --stop-file stop -o two.json 2>two.err & two=$!
         until grep -q 'waiting until it ends' two.err; do sleep 0.05; done
         touch stop; kill -TERM $one; wait $one
         until grep -q 'exists: waiting' two.err || ! kill -0 $two; do sleep 0.05; done
         kill -TERM $two; wait $two"
    );
    let Some(run) = run_in_own_network(&scratch, &script) else {
        return;
    };
    run.expect_code(130);
    let said = fs::read_to_string(scratch.file("two.err")).unwrap();
    assert!(said.contains("looptax does not measure while `stop` exists: waiting\n"), "{said}");
    assert!(!scratch.file("two.json").exists(), "{said}");
    scratch.check_nothing_left();
}

#[test]
fn a_stop_file_keeps_a_comparison_from_beginning() {
    let scratch = Scratch::new();
    fs::write(scratch.file("stop"), "").unwrap();
    let words = ["looptax does not measure while `stop` exists", "--wait"];
    compare(&scratch).args(["echo", "--stop-file", "stop"]).run().expect_error(2, &words);
}

/// Runs `compare` on one processor of a machine whose `/proc/loadavg` has this text; `None` if the tests cannot replace
/// that file.
fn on_loaded_machine(scratch: &Scratch, loadavg: &str, args: &str) -> Option<Finished> {
    if !is_root() || !is_there("unshare") || !is_there("taskset") {
        return None;
    }
    fs::write(scratch.file("loadavg"), loadavg).unwrap();
    let script = format!(
        "mount --bind loadavg /proc/loadavg
         one=$(taskset --cpu-list --pid $$ | sed 's/.*: \\([0-9]*\\).*/\\1/')
         exec taskset --cpu-list $one {} compare echo {args}",
        exe().display()
    );
    let run = Looptax::new("unshare", scratch).args(["--mount", "sh", "-ec", &script]).run();
    Some(run)
}

#[test]
fn the_load_of_the_machine_is_spread_over_its_processors_and_not_over_ours() {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let n_processors = stat.lines().filter(|it| it.starts_with("cpu")).count() - 1;
    let scratch = Scratch::new();
    // The load is three quarters of a task for each processor.
    let loadavg = format!("{:.2} 0.00 0.00 1/100 1000\n", 0.75 * n_processors as f64);
    if let Some(run) = on_loaded_machine(&scratch, &loadavg, "--max-load 0.5") {
        run.expect_error(2, &["is 0.75 per processor"]);
    }
}

#[test]
fn a_load_that_cannot_be_read_is_told_and_not_waited_for() {
    let scratch = Scratch::new();
    if let Some(run) = on_loaded_machine(&scratch, "", "--max-load 0.5 --wait") {
        run.expect_error(2, &["cannot determine the machine's load", "/proc/loadavg", "--max-load"]);
    }
}
