//! `looptax why` on the built-in server: the layers add up, the record contains the samples, and a user who may not
//! sample gets an error.

use std::fs;

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{exe, is_root, is_there};

/// Eighteen epochs: twelve with the sampler on, six without.
const SHORT: [&str; 7] = ["why", "echo", "--fixed", "18", "--warm-up", "0s", "--no-history"];

/// Whether the kernel takes no samples on this machine; if so, checks that one error with a next step reports this.
#[track_caller]
fn is_refused(run: &Finished) -> bool {
    if run.status.success() {
        return false;
    }
    run.expect_code(2);
    assert!(run.stderr.contains("perf_event"), "{}", run.stderr);
    assert!(run.stderr.contains("hint"), "{}", run.stderr);
    true
}

fn number(figure: &Value) -> f64 {
    figure["value"].as_f64().unwrap_or_else(|| panic!("{figure}"))
}

fn row<'a>(why: &'a Value, name: &str) -> Option<&'a Value> {
    why["rows"].as_array().unwrap().iter().find(|it| it["name"] == name)
}

/// Checks that the processes add up to the time of the layers in every epoch, and that no function exceeds its process.
#[track_caller]
fn each_process_has_its_functions(why: &Value) {
    let list = |name: &str| why[name].as_array().unwrap().clone();
    let ns = |part: &Value, epoch: usize, side: usize| part["ns"][epoch][side].as_u64().unwrap();
    let (processes, functions) = (list("processes"), list("functions"));
    assert!(functions.len() > 5, "{why}");
    for (epoch, sampled) in list("epochs").iter().enumerate() {
        for side in 0..2 {
            let layers = sampled["layer_ns"][side].as_array().unwrap().iter();
            let all: u64 = layers.map(|it| it.as_u64().unwrap()).sum();
            let of_processes = processes.iter().map(|it| ns(it, epoch, side));
            assert_eq!(of_processes.sum::<u64>(), all);
            for process in &processes {
                let own = functions.iter().filter(|it| it["process"] == process["process"]);
                let own: u64 = own.map(|it| ns(it, epoch, side)).sum();
                assert!(own <= ns(process, epoch, side), "{process}");
            }
        }
    }
}

#[test]
fn a_pooler_has_its_own_code_as_a_row() {
    if !is_there("pgbouncer") {
        return;
    }
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch)
        .args(["why", "private:pgbouncer"])
        .args(&SHORT[2..])
        .args(["--arms", "unix+unix,tcp+unix", "-o", "record.json"])
        .run();
    if is_refused(&run) {
        return;
    }
    let record = fs::read(scratch.work().join("record.json")).unwrap();
    let saved: Value = serde_json::from_slice(&record).unwrap();
    let why = &saved["comparisons"][0]["why"][0];
    let own = |role: &str| row(why, &format!("{role}, its own code"));
    assert!(number(&own("pooler").unwrap()["arms"][0]) > 0.0);
    assert!(own("port proxy").is_none_or(|it| number(&it["arms"][0]) == 0.0));
}

#[test]
fn layers_add_up_and_travel_in_the_record() {
    let scratch = Scratch::new();
    let (record, folded) = (scratch.work().join("record.json"), scratch.work().join("chains.folded"));
    let run = Looptax::new(exe(), &scratch)
        .args(SHORT)
        .args(["-o", "record.json", "--folded", "chains.folded"])
        .args(["--pprof", "chains.pb.gz"])
        .run();
    if is_refused(&run) {
        return;
    }
    let saved: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    let why = &saved["comparisons"][0]["why"][0];
    assert_eq!(why["epochs"].as_array().unwrap().len(), 12);
    assert_eq!(saved["comparisons"][0]["raw"]["epochs"].as_array().unwrap().len(), 6);
    for side in 0..2 {
        let rows = why["rows"].as_array().unwrap().iter();
        let sum: f64 = rows.map(|it| number(&it["arms"][side])).sum();
        let told = number(&why["sum"]["arms"][side]);
        assert!((sum - told).abs() < 1e-9 * told, "{sum} {told}");
    }
    each_process_has_its_functions(why);
    assert!(run.stdout.contains("CPU time of a request by layer"), "{}", run.stdout);
    let chains = fs::read_to_string(&folded).unwrap();
    for start in ["unix;client;", "unix;server;", "tcp;client;", "tcp;server;"] {
        assert!(chains.lines().any(|it| it.starts_with(start)), "{start}\n{chains}");
    }
    // The file is compressed with gzip; the tests of the report check its contents.
    let profile = fs::read(scratch.work().join("chains.pb.gz")).unwrap();
    assert_eq!(profile[..2], [0x1f, 0x8b]);
    if is_root() && why["sampling"]["sees_kernel"] == true {
        let way = |name, side: usize| row(why, name).map_or(0.0, |it| number(&it["arms"][side]));
        assert!(way("Unix socket", 0) > 10.0 * way("Unix socket", 1), "{why}");
        assert!(way("TCP, IP", 1) > 10.0 * way("TCP, IP", 0), "{why}");
        // Without tracefs, as in a container, nothing is counted, and a note reports this.
        if why["counted"].as_array().unwrap().is_empty() {
            let notes = why["sampling"]["notes"].to_string();
            assert!(notes.contains("are not counted"), "{why}");
        } else {
            let mut counts = why["counts"].as_array().unwrap().iter();
            let packets = counts.find(|it| it["name"] == "packets sent by devices");
            let packets = &packets.unwrap()["arms"];
            assert!(number(&packets[0]) < 0.1, "{why}");
            assert!(number(&packets[1]) > 1.5, "{why}");
        }
    }
    let again = Looptax::new(exe(), &scratch).args(["show", "record.json", "--json"]).run();
    again.expect_code(0);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["comparisons"][0]["why"][0]["rows"], why["rows"]);
    assert_eq!(again["comparisons"][0]["why"][0]["sum"], why["sum"]);
}

#[test]
fn an_ordinary_user_sees_programs_or_is_told_why_not() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    scratch.give_to(65_534);
    let run = Looptax::new(exe(), &scratch).args(SHORT).args(["--json"]).uid(65_534).run();
    if is_refused(&run) {
        return;
    }
    let record: Value = serde_json::from_str(&run.stdout).unwrap();
    let why = &record["comparisons"][0]["why"][0];
    let may_see_kernel = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    let may_see_kernel = may_see_kernel.trim().parse::<i32>().unwrap() < 2;
    assert_eq!(why["sampling"]["sees_kernel"], may_see_kernel);
    if !may_see_kernel {
        for layer in ["TCP, IP", "Unix socket", "copying the bytes"] {
            assert!(row(why, layer).is_none(), "{why}");
        }
        assert!(!why["sampling"]["notes"].as_array().unwrap().is_empty());
    }
}

#[test]
fn what_is_no_request_is_refused() {
    let scratch = Scratch::new();
    for option in [&["--exec", "true"][..], &["--remedies"]] {
        let run = Looptax::new(exe(), &scratch).args(["why", "echo"]).args(option).run();
        run.expect_code(2);
        assert!(run.stderr.contains("looptax compare"), "{}", run.stderr);
    }
}

/// The second run has a slower client: the difference has to be in the layer of the client's own code.
#[track_caller]
#[test]
fn two_records_show_the_layer_that_became_dearer() {
    let scratch = Scratch::new();
    let why = |more: &[&str]| {
        Looptax::new(exe(), &scratch)
            .args(SHORT.into_iter().filter(|it| *it != "--no-history"))
            .args(more.iter().copied())
            .run()
    };
    if is_refused(&why(&["-o", "a.json", "--label", "before"])) {
        return;
    }
    // This is twenty times the usual time of the client's own code, so noise cannot hide it.
    why(&["-o", "b.json", "--inject-ns", "20000"]).expect_code(0);
    let both = |more: &[&str]| {
        Looptax::new(exe(), &scratch).args(["why", "a.json", "b.json"]).args(more.iter().copied()).run()
    };
    let run = both(&["--json"]);
    run.expect_code(0);
    let diff: Value = serde_json::from_str(&run.stdout).unwrap();
    let layers = diff["pairs"][0]["layers"].as_array().unwrap();
    let change = |arm: &str, over: Value| {
        let mut of_arm = layers.iter();
        let of_arm = of_arm.find(|it| it["arm"] == arm && it["over"] == over);
        let rows = of_arm.unwrap()["rows"].as_array().unwrap();
        let row = rows.iter().find(|it| it["name"] == "client, its own code");
        row.unwrap().clone()
    };
    for over in [Value::Null, Value::from("unix")] {
        let client = change("tcp", over);
        let us = number(&client["change_us"]);
        assert!((10.0..40.0).contains(&us), "{client}");
        assert!(client["p"].as_f64().unwrap() < 0.05, "{client}");
    }
    let unix = change("unix", Value::Null);
    assert!(number(&unix["change_us"]).abs() < 5.0, "{unix}");
    // The runs are found by label and by name in the history, as in `diff`.
    let by_name = Looptax::new(exe(), &scratch).args(["why", "before", "last", "--json"]).run();
    by_name.expect_code(0);
    assert_eq!(by_name.stdout, run.stdout);
    let told = both(&[]).stdout;
    assert!(told.contains("what tcp adds to unix"), "{told}");
    assert!(told.contains("dearer"), "{told}");
    // Without samples in a record, `why` has nothing to compare.
    Looptax::new(exe(), &scratch)
        .args(["compare", "echo", "--fixed", "6", "--warm-up", "0s", "--no-history", "-q"])
        .args(["-o", "c.json"])
        .run()
        .expect_code(0);
    Looptax::new(exe(), &scratch)
        .args(["why", "a.json", "c.json"])
        .run()
        .expect_error(2, &["`c.json` has no samples", "looptax why TARGET"]);
}

#[test]
fn a_number_of_epochs_that_gives_no_verdict_is_told_before_measuring() {
    let scratch = Scratch::new();
    let plan = |fixed: &str| {
        let run = Looptax::new(exe(), &scratch).args(["why", "echo", "--dry-run", "--fixed", fixed]).run();
        run.expect_code(0);
        run.stdout
    };
    let short = plan("17");
    for words in [
        "judged by 5 of at most 17 epochs (only the epochs without the sampler count)",
        "warning: only 5 of these 17 epochs are without the sampler, but a verdict needs 6: pass --fixed 18 to get a \
         verdict",
    ] {
        assert!(short.contains(words), "no {words:?} in\n{short}");
    }
    let enough = plan("18");
    assert!(enough.contains("judged by 6 of at most 18 epochs"), "{enough}");
    assert!(!enough.contains("warning"), "{enough}");
    assert!(plan("1s").contains("pass --fixed 18 to get a verdict"));
}

/// Checks that `why` refuses these arguments, with these words.
#[track_caller]
fn check_refused(scratch: &Scratch, args: &[&str], words: &[&str]) {
    Looptax::new(exe(), scratch).args(["why"]).args(args.iter().copied()).run().expect_error(2, words);
}

#[test]
fn a_record_that_is_missing_or_alone_is_told_as_one() {
    let scratch = Scratch::new();
    fs::write(scratch.work().join("before.json"), "{}").unwrap();
    let check = |args: &[&str], words: &[&str]| check_refused(&scratch, args, words);
    check(&["gone.json", "later.json"], &["gone.json", "No such file"]);
    check(
        &["before.json"],
        &["`before.json` is a record, and `why` compares an earlier record with", "why before.json LATER"],
    );
    check(&["before.json", "b.json", "c.json"], &["compares two records", "3 words were given"]);
    check(&["before.json", "mysql://u:secret@127.0.0.1/db"], &["`before.json` is a record and `mysql://"]);
    let options = ["--html", "x.html", "--fixed", "18", "-q", "--json"];
    check(&[&["before.json", "before.json"], &options[..]].concat(), &["--fixed, --html do not work with two records"]);
    check(&["before.json", "before.json", "--folded", "-"], &["--folded does not work with two records"]);
    check(&["mariadb"], &["`mariadb` is not a target", "two records of `why`"]);
}

#[test]
fn who_takes_no_samples_refuses_a_file_for_call_chains_before_measuring() {
    let scratch = Scratch::new();
    for args in [&["compare", "echo", "--pprof", "x"][..], &["compare", "--folded", "x"]] {
        Looptax::new(exe(), &scratch)
            .args(args.iter().copied())
            .run()
            .expect_error(2, &["needs call chains", "`looptax why TARGET --"]);
    }
}

#[test]
fn its_help_names_no_option_that_it_refuses_and_its_own_defaults() {
    let scratch = Scratch::new();
    let help = |command: &str| Looptax::new(exe(), &scratch).args(["help", command]).run().stdout;
    let (why, compare) = (help("why"), help("compare"));
    for option in ["--remedies", "--list\n", "--exec", "--exec-unix", "--exec-timeout"] {
        assert!(compare.contains(option), "{option}\n{compare}");
        assert!(!why.contains(option), "{option}\n{why}");
    }
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "take the most time with this number of connections. Default: 1",
        "a verdict needs 18 epochs or more. Default: 40s",
        "two records of `why`",
    ] {
        assert!(why.contains(words), "no {words:?} in\n{why}");
    }
}
