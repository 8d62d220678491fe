//! `--json-stream` prints an object per line while a run lasts, for programs; some of these programs end before the
//! run.

use std::fs;
use std::path::Path;

use looptax_model::dsn::Kind;
use looptax_testkit::fake_redis::{FakeRedis, Script};
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{SHORT, exe, is_installed, is_there};
use crate::record::{check_against_schema, check_all_fit};

/// Runs a bash script with looptax as `$0` and these arguments as `"$@"`.
fn piped(scratch: &Scratch, script: &str, args: &[&str]) -> Finished {
    let words = ["-c", script].into_iter().map(str::to_owned);
    let words = words.chain([exe().display().to_string()]);
    Looptax::new("bash", scratch).args(words).args(args.iter().copied()).run()
}

fn lines(run: &Finished) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_line_of_a_run_fits_the_schema_and_the_last_one_is_the_record() {
    check_run(&SHORT);
}

#[test]
fn every_line_of_a_quick_run_fits_the_schema_too() {
    check_run(&["--quick", "-c", "1"]);
}

#[track_caller]
fn check_run(more: &[&str]) {
    if !is_installed(Kind::Redis) {
        return;
    }
    let scratch = Scratch::new();
    let args = ["compare", "private:redis", "--placement", "same", "--json-stream"];
    let run = Looptax::new(exe(), &scratch).args(args).args(more.iter().copied()).run();
    run.expect_code(0);
    scratch.check_nothing_left();
    let lines = lines(&run);
    check_all_fit("stream", &lines);
    assert!(lines.iter().all(|line| line["version"] == 1));
    let of_type = |name: &str| lines.iter().filter(|line| line["type"] == name).collect::<Vec<_>>();
    assert_eq!((&lines[0]["type"], &lines[lines.len() - 1]["type"]), (&"plan".into(), &"result".into()));
    assert_eq!((of_type("start").len(), of_type("verdict").len(), of_type("result").len()), (1, 1, 1));
    let epochs = of_type("epoch");
    let counted: Vec<_> = epochs.iter().filter(|it| it["is_warm_up"] == false).collect();
    assert!(counted.len() < epochs.len(), "it warms up");

    let record = &lines[lines.len() - 1];
    check_against_schema(record);
    let comparison = &record["comparisons"][0];
    assert_eq!(comparison["raw"]["epochs"].as_array().unwrap().len(), counted.len());
    let arms = of_type("arm");
    for (arm, name) in arms.iter().zip(["unix", "tcp"]) {
        assert_eq!((&arm["arm"], &arm["verified"]), (&name.into(), &true.into()));
    }
    assert_eq!(arms.len(), comparison["arms"].as_array().unwrap().len());
    for (name, value) in comparison["tax"][0].as_object().unwrap() {
        assert_eq!(&of_type("verdict")[0][name], value, "{name}");
    }
    // Other commands can read the last line as a record.
    fs::write(scratch.file("last.json"), run.stdout.lines().last().unwrap()).unwrap();
    let again = Looptax::new(exe(), &scratch).args(["show", "last.json", "--json"]).run();
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["comparisons"][0]["tax"][0]["verdict"], comparison["tax"][0]["verdict"]);
}

/// The reader ends after some lines, or at the first line with certain words; looptax then ends in order, and prints no
/// error.
#[track_caller]
fn check_ends(reader: &str, args: &[&str]) {
    let scratch = Scratch::new();
    let script = format!(r#""$0" "$@" --json-stream | {reader}; echo "${{PIPESTATUS[0]}}""#);
    let run = piped(&scratch, &script, args);
    assert_eq!(run.stdout.lines().last(), Some("0"), "{reader}: {}{}", run.stdout, run.stderr);
    assert_eq!(run.stderr, "", "{reader}");
    scratch.check_nothing_left();
}

#[test]
fn a_reader_that_ends_ends_the_run_and_its_servers() {
    if !is_installed(Kind::Redis) {
        return;
    }
    let args = ["compare", "private:redis", "-q", "-c", "1", "--placement", "same", "--fixed", "10m"];
    for reader in ["head -n 1", "head -n 2", r#"grep -m 1 '"is_warm_up":true'"#, r#"grep -m 1 '"is_warm_up":false'"#] {
        check_ends(reader, &args);
    }
}

#[test]
fn a_reader_that_ends_ends_whole_commands_and_storms() {
    let commands = ["--exec-unix", "true", "--exec-tcp", "true"];
    check_ends("head -n 1", &[&["compare", "-q", "--fixed", "10m"][..], &commands].concat());
    if is_installed(Kind::Mariadb) {
        for reader in ["head -n 1", "grep -m 1 'storm 1'"] {
            check_ends(reader, &["compare", "private:mariadb", "-q", "--workload", "storm", "-c", "4"]);
        }
    }
}

#[test]
fn a_dry_run_prints_the_plan_as_its_only_line() {
    let scratch = Scratch::new();
    let args = ["compare", "echo", "--remedies", "-c", "1", "--placement", "same", "--json-stream", "--dry-run"];
    let run = Looptax::new(exe(), &scratch).args(args).run();
    run.expect_code(0);
    let plan = lines(&run);
    check_all_fit("stream", &plan);
    assert_eq!((plan.len(), &plan[0]["type"]), (1, &"plan".into()));
    assert!(plan[0]["steps"].as_array().unwrap().len() > 1, "{:#}", plan[0]);
}

#[test]
fn a_run_that_fails_says_so_and_ends_with_what_it_has() {
    let (scratch, others) = (Scratch::new(), Scratch::new());
    let script = Script { closes_at: Some(5), ..Script::default() };
    let fake = FakeRedis::start(&others.work(), script);
    let url = format!("redis://{}", fake.tcp);
    let args = ["compare", &url, "--socket", fake.socket.to_str().unwrap(), "--yes", "-c", "1", "--fixed", "6"];
    let run = Looptax::new(exe(), &scratch).args(args).args(["-q", "--slice-ms", "10", "--json-stream"]).run();
    run.expect_error(3, &["failed in priming"]);
    let lines = lines(&run);
    check_all_fit("stream", &lines);
    let [.., warning, result] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&warning["type"], &warning["code"]), (&"warning".into(), &"failed".into()));
    assert!(warning["what"].as_str().unwrap().contains("failed in priming"), "{warning}");
    assert_eq!((&result["type"], &result["comparisons"]), (&"result".into(), &Value::Array(Vec::new())));
}

#[test]
fn two_forms_of_one_result_are_not_printed_at_once() {
    let check = |more: &str, words: &str| {
        let scratch = Scratch::new();
        let run = Looptax::new(exe(), &scratch).args(["compare", "echo", "--json-stream", more]).run();
        run.expect_code(2);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    };
    check("--json", "--json and --json-stream cannot both go to standard output");
    check("--md=-", "cannot both go to standard output");
    check("--live", "--json-stream");
}

#[test]
fn files_are_written_beside_json_that_is_printed() {
    for json in ["--json", "--json-stream"] {
        let scratch = Scratch::new();
        let args = ["compare", "echo", "--placement", "same", json, "--csv", "r.csv"];
        let run = Looptax::new(exe(), &scratch).args(args).args(SHORT).run();
        run.expect_code(0);
        let record: Value =
            serde_json::from_str(if json == "--json" { &run.stdout } else { run.stdout.lines().last().unwrap() })
                .unwrap();
        let csv = fs::read_to_string(scratch.file("r.csv")).unwrap();
        assert!(csv.contains(record["id"].as_str().unwrap()), "{csv}");
    }
}

/// Returns the block of code in this language on a page of the book.
fn block(page: &str, language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src").join(page);
    let text = fs::read_to_string(path).unwrap();
    let (_, block) = text.split_once(&format!("```{language}\n")).unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_book_s_consumer_prints_the_verdict() {
    if !is_there("python3") {
        return;
    }
    let scratch = Scratch::new();
    fs::write(scratch.file("verdict.py"), block("formats.md", "python")).unwrap();
    let args = [&["compare", "echo", "--placement", "same"][..], &SHORT].concat();
    let run = piped(&scratch, r#""$0" "$@" --json-stream | tee s.jsonl | python3 verdict.py"#, &args);
    run.expect_code(0);
    let text = fs::read_to_string(scratch.file("s.jsonl")).unwrap();
    let record: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let verdict = record["comparisons"][0]["tax"][0]["verdict"].as_str().unwrap();
    let is_it = |line: &&str| line.contains("tcp vs unix") && line.contains(verdict);
    assert_eq!(run.stdout.lines().filter(is_it).count(), 1, "{}", run.stdout);
    // Lines and fields of later versions are not errors.
    let later = text.replace(r#""version":1"#, r#""version":1,"later":[1]"#) + "{\"version\":1,\"type\":\"later\"}\n";
    fs::write(scratch.file("later.jsonl"), later).unwrap();
    let again = piped(&scratch, "python3 verdict.py < later.jsonl", &[]);
    again.expect_code(0);
    assert_eq!(again.stdout, run.stdout);
}
