//! Reports about the machine on which the tests run.

use std::fs;

use looptax_model::record::Reported;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use serde_json::Value;

use super::{command, looptax};
use crate::fixture::is_root;
use crate::record::{check_all_fit, check_fits};

/// Whether this machine has the identifier that its reports need; prints a message if not.
pub(crate) fn has_number() -> bool {
    let text = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let is_there = looptax_fleet::host_id(&text).is_some();
    if !is_there {
        skip("this machine has no /etc/machine-id");
    }
    is_there
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
}

#[test]
fn a_dry_run_prints_the_report_and_keeps_nothing() {
    if !has_number() {
        return;
    }
    let scratch = Scratch::new();
    let run = looptax(&scratch, &["fleet", "send", "clickhouse://u@127.0.0.1:1/x", "--dry-run", "--spool", "s"]);
    run.expect_code(0);
    let rows = lines(&run.stdout);
    assert_eq!(rows.last().unwrap()["table"], "reports");
    assert!(!scratch.file("s").exists());
    let own = fs::read_to_string("/etc/machine-id").unwrap();
    assert!(!run.stdout.contains(own.trim()));
}

#[test]
fn names_can_be_left_out() {
    if !has_number() {
        return;
    }
    let scratch = Scratch::new();
    fs::write(scratch.file("key"), "one key of the whole fleet\n").unwrap();
    let run = looptax(&scratch, &["fleet", "send", "-", "--anonymous", "--key-file", "key", "--spool", "s"]);
    run.expect_code(0);
    let rows = lines(&run.stdout);
    let host = rows.last().unwrap()["host"].as_str().unwrap().to_owned();
    assert!(host.len() == 12 && host.bytes().all(|it| it.is_ascii_hexdigit()), "{host}");
    for (bytes, words) in [("\n", "it is empty"), ("secret", "at least 16")] {
        fs::write(scratch.file("key"), bytes).unwrap();
        let anonymous = ["fleet", "send", "-", "--anonymous", "--key-file", "key"];
        looptax(&scratch, &anonymous).expect_error(2, &["key", words]);
    }
}

#[test]
fn an_address_with_a_slip_in_it_is_no_folder_and_shows_no_password() {
    let scratch = Scratch::new();
    for address in [
        "clickhouse//w:swordfish@127.0.0.1:8123/looptax",
        "postgres:/w:swordfish@127.0.0.1/looptax",
        "w:swordfish@127.0.0.1",
    ] {
        let run = looptax(&scratch, &["fleet", "send", address, "--from", "."]);
        run.expect_error(2, &["cannot contain `//`"]);
        assert!(!(run.stdout + &run.stderr).contains("swordfish"), "{address}");
    }
    assert_eq!(fs::read_dir(scratch.work()).unwrap().count(), 0);
}

#[test]
fn of_two_passwords_none_is_chosen_in_silence() {
    let scratch = Scratch::new();
    fs::write(scratch.file("p"), "one").unwrap();
    let both = ["fleet", "send", "clickhouse://w:other@127.0.0.1:1/looptax", "--from", ".", "--password-file", "p"];
    looptax(&scratch, &both).expect_error(2, &["contains a password", "only one"]);
}

#[test]
fn records_are_told_of_once() {
    if !has_number() {
        return;
    }
    let scratch = Scratch::new();
    let measure = [
        "compare",
        "echo",
        "--placement",
        "same",
        "-c",
        "1",
        "--fixed",
        "6",
        "--slice-ms",
        "10",
        "-q",
        "--warm-up",
        "0s",
    ];
    looptax(&scratch, &measure).expect_code(0);
    let verdicts = |which: &str| {
        let args = ["fleet", "send", "./out", "--spool", "s", "--json", "--records", which];
        let run = looptax(&scratch, &args);
        run.expect_code(0);
        check_fits("fleet-send", &serde_json::from_str(&run.stdout).unwrap());
        let said: Reported = serde_json::from_str(&run.stdout).unwrap();
        said.verdicts
    };
    assert_eq!(verdicts("none"), 0);
    assert_eq!(verdicts("new"), 1);
    assert_eq!(verdicts("new"), 0);
    assert_eq!(verdicts("all"), 1);
    looptax(&scratch, &measure).expect_code(0);
    assert_eq!(verdicts("new"), 1);
    let reports = fs::read_dir(scratch.file("out")).unwrap();
    let texts: Vec<String> = reports.map(|it| fs::read_to_string(it.unwrap().path()).unwrap()).collect();
    assert_eq!(texts.len(), 5);
    check_all_fit("report-line", &lines(&texts.concat()));
}

#[test]
fn nothing_is_done_while_the_stop_file_is_there() {
    let scratch = Scratch::new();
    fs::write(scratch.file("stop"), "").unwrap();
    let args = ["fleet", "send", "clickhouse://u@127.0.0.1:1/x", "--spool", "s", "--stop-file", "stop"];
    let run = looptax(&scratch, &args);
    run.expect_code(0);
    assert!(run.stdout.contains("while `stop` exists"), "{}", run.stdout);
    assert!(!scratch.file("s").exists());
}

#[test]
fn a_password_is_in_no_list_of_processes() {
    let scratch = Scratch::new();
    let url = "postgres://u:qZ7secret7Zq@127.0.0.1:1/x";
    let args = ["fleet", "send", url, "--jitter", "3600", "--spool", "s"];
    let mut running = command(&scratch, &args).env("LOOPTAX_COLLECTOR_PASSWORD", "qZ7other7Zq").spawn();
    let pid = running.pid();
    let words = running.wait_for("the password to be hidden", || {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let variables = fs::read_to_string(format!("/proc/{pid}/environ")).ok()?;
        // The second thread handles signals; before it exists, a signal ends the program in the default way.
        let n_threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.count();
        let is_hidden = line.contains("xxx") && !variables.contains("qZ7");
        (is_hidden && n_threads > 1).then_some(line + &variables)
    });
    assert!(!words.contains("qZ7"), "{words}");
    running.signal(rustix::process::Signal::TERM);
    running.wait().expect_code(130);
}

/// The numbers from capabilities(7): `CAP_CHOWN`, `CAP_DAC_OVERRIDE`, `CAP_DAC_READ_SEARCH`, `CAP_FOWNER`,
/// `CAP_SYS_PTRACE`.
const LOOKING_AND_WRITING: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 19;

#[test]
fn r44_a_report_of_root_keeps_what_looking_and_writing_need_and_nothing_comes_back() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let args = ["fleet", "send", "./reports", "--jitter", "3600", "--spool", "s"];
    let mut running = command(&scratch, &args).spawn();
    let pid = running.pid();
    // The thread for signals starts after looptax has given up its capabilities.
    let statuses = running.wait_for("the thread for signals", || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
        let status = |it: fs::DirEntry| fs::read_to_string(it.path().join("status")).ok();
        let statuses: Vec<String> = threads.filter_map(status).collect();
        (statuses.len() > 1).then_some(statuses)
    });
    for status in statuses {
        for set in ["CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "CapInh:"] {
            let line = status.lines().find_map(|it| it.strip_prefix(set)).unwrap();
            let rights = u64::from_str_radix(line.trim(), 16).unwrap();
            assert_eq!(rights & !LOOKING_AND_WRITING, 0, "{status}");
        }
        assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
    }
    running.signal(rustix::process::Signal::TERM);
    running.wait().expect_code(130);
}
