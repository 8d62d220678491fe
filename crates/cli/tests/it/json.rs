//! `--json` means the same for all commands: without a value it prints, with `=FILE` it writes, and it never uses the
//! next word as its file.

use std::fs;
use std::path::Path;

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{SHORT, exe};

fn looptax(scratch: &Scratch, line: &str) -> Finished {
    Looptax::new(exe(), scratch).args(line.split_whitespace()).run()
}

/// Makes a folder with a record in it.
fn with_record() -> Scratch {
    let scratch = Scratch::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/records");
    fs::copy(folder.join("record.json"), scratch.file("a.json")).unwrap();
    scratch
}

#[test]
fn r20_json_is_printed_by_the_flag_alone_and_written_behind_a_sign() {
    let scratch = with_record();
    for command in [
        "find --once",
        "show a.json",
        "diff a.json a.json",
        "dsn redis://h --for redis-py --socket /s",
        "check redis://127.0.0.1:1",
        "show",
    ] {
        for option in ["--json", "--json=-"] {
            let run = looptax(&scratch, &format!("{command} {option}"));
            let printed = serde_json::from_str::<Value>(&run.stdout);
            assert!(printed.is_ok(), "{command}: {}{}", run.stdout, run.stderr);
        }
        let run = looptax(&scratch, &format!("{command} --json=out.json"));
        let text = fs::read_to_string(scratch.file("out.json")).unwrap_or_default();
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{command}: {}", run.stderr);
        let is_text = serde_json::from_str::<Value>(&run.stdout).is_err();
        assert!(is_text && !run.stdout.is_empty(), "{command}: {}", run.stdout);
        fs::remove_file(scratch.file("out.json")).unwrap();
    }
}

#[test]
fn r20_a_server_behind_json_is_a_server() {
    let scratch = Scratch::new();
    let line = format!("compare --json echo --placement same --no-history {}", SHORT.join(" "));
    let run = looptax(&scratch, &line);
    run.expect_code(0);
    let record: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(record["comparisons"][0]["target"]["kind"], "echo");
    scratch.check_nothing_left();
}

#[test]
fn r20_the_form_of_earlier_versions_is_refused_with_what_to_type() {
    let scratch = with_record();
    let check = |line: &str, words: &str| {
        let run = looptax(&scratch, line);
        run.expect_code(2);
        assert!(run.stderr.contains(words), "{line}: {}", run.stderr);
    };
    check("find --json out.json", "--json=out.json");
    check("find --json -", "`--json` prints");
    check("compare echo --json out.json", "--json=out.json");
    check("--json out.json", "--json=out.json");
    check("show a.json --json out.json", "--json=out.json");
    check("show --json - a.json", "`--json` prints");
    check("reproduce --json out.json percona", "--json=out.json");
    check("doctor --json r.json", "--json=r.json");
    // A record may be the next word after `--json`.
    looptax(&scratch, "show --json a.json").expect_code(0);
}
