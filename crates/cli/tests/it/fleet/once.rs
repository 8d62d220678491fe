//! Every sent report is in the collector exactly once, in both engines alike, however often it is sent and whatever it
//! contains.

use std::fs;
use std::time::Duration;

use looptax_fleet::{Row, Value};
use looptax_model::record::Fleet;
use looptax_testkit::patience;
use looptax_testkit::scratch::Scratch;

use super::made::Made;
use super::{Engine, looptax};
use crate::record::check_fits;

const PATIENCE: Duration = Duration::from_secs(60);

/// Names that an attacker might choose, and the form in which a machine sends each.
const STRANGE: [(&str, &str); 9] = [
    ("'; DROP TABLE findings; --", "'; DROP TABLE findings; --"),
    ("</script><b>", "</script><b>"),
    ("a\\tb\\N\\.\\", "a\\tb\\N\\.\\"),
    ("a\0b\tc\nd\re", "a b c d e"),
    ("\\N", "\\N"),
    ("\u{202e}txt", " txt"),
    ("ü\u{1f980}\"`$(reboot)", "ü\u{1f980}\"`$(reboot)"),
    ("{db}{reports}%s%n", "{db}{reports}%s%n"),
    ("", ""),
];

fn texts(rows: &[Row], column: usize) -> Vec<String> {
    let texts = rows.iter().map(|row| match &row[column] {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    });
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts
}

#[test]
fn strange_names_arrive_as_they_were_cleaned_and_once() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        let long = "x".repeat(10 << 10);
        let mut made = Made::new(1, 1);
        made.host = STRANGE[0].0.to_owned();
        let names = STRANGE.iter().map(|(name, _)| (*name).to_owned());
        made.clients = names.chain([long.clone()]).map(|it| (it, true)).collect();
        fs::write(scratch.file("r.jsonl"), made.lines()).unwrap();
        for _ in 0..3 {
            looptax(&scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]).expect_code(0);
        }
        let mut wanted: Vec<String> = STRANGE.iter().map(|(_, clean)| (*clean).to_owned()).collect();
        wanted.push(format!("{}…", &long[..199]));
        wanted.sort();
        let found = engine.ask("latest_findings", &["client"]);
        assert_eq!(texts(&found.rows, 0), wanted);
        assert_eq!(texts(&engine.ask("latest_reports", &["host"]).rows, 0), [STRANGE[0].1]);
        let filtered = engine.ask("pairs", &["client", "hosts"]);
        assert_eq!(filtered.rows.len(), STRANGE.len() + 1);
        for (_, name) in STRANGE {
            assert_eq!(only(&engine, name), 1, "{name:?}");
        }
        assert_eq!(only(&engine, "' OR 1=1 --"), 0);
    }
}

/// Returns the number of rows of `pairs` with this client; the name is passed as a parameter.
fn only(engine: &Engine, name: &str) -> usize {
    use looptax_fleet::{Access, Collector, Destination, Only, Question};
    let destination = Destination::parse(&engine.url).unwrap();
    let mut collector = Collector::open(&destination, &Access::default()).unwrap();
    let question = Question { view: "pairs", only: Some(Only { column: "client", is: name }), ..Question::default() };
    collector.ask(&question).unwrap().rows.len()
}

#[test]
fn both_engines_say_the_same_of_a_fleet() {
    let engines = Engine::all();
    let mut said = Vec::new();
    for engine in &engines {
        let scratch = Scratch::new();
        let mut lines = String::new();
        for host in 0..10 {
            for n in [1, 2, 400] {
                let mut made = Made::new(host, n);
                // On half of the machines one of the programs moved to the socket.
                made.clients[0].1 = n < 400 || host % 2 == 0;
                made.clients[1].1 = host < 3;
                lines += &made.lines();
            }
        }
        fs::write(scratch.file("r.jsonl"), lines).unwrap();
        let run = looptax(&scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]);
        run.expect_code(0);
        assert!(run.stdout.contains("30 reports with 60 findings"), "{}", run.stdout);
        let rows = |view: &str, columns: &[&str]| {
            let mut rows = engine.ask(view, columns).rows;
            rows.sort_by_key(|row| format!("{row:?}"));
            rows
        };
        let movers = rows("movers", &["host", "client", "before", "now", "direction"]);
        assert_eq!(movers.len(), 5, "{movers:?}");
        assert_eq!(movers[0][4], Value::Text("to socket".to_owned()));
        assert_eq!(rows("conditions", &[])[0][3], Value::Count(10));
        said.push([
            rows("pairs", &[]),
            movers,
            rows("conditions", &[]),
            rows("fell_back", &[]),
            rows("silent_hosts", &[]),
            rows("shared_ids", &[]),
            rows("latest_findings", &["report_id", "n", "at", "client", "is_tcp", "cpu_ms_per_s"]),
        ]);
    }
    assert!(said.windows(2).all(|pair| pair[0] == pair[1]), "{said:?}");
}

#[test]
fn a_clock_that_is_off_and_a_new_name_make_no_second_machine() {
    const DAYS: i64 = 86_400_000;
    for engine in Engine::all() {
        let scratch = Scratch::new();
        let send = |made: &Made| {
            fs::write(scratch.file("r.jsonl"), made.lines()).unwrap();
            looptax(&scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]).expect_code(0);
        };
        let mut ahead = Made::new(7, 1);
        ahead.at_ms += 3 * DAYS;
        send(&ahead);
        // The clock was corrected, and the machine renamed. One engine stores arrival times in whole seconds; for
        // reports that arrive in the same second, the machine's clock decides.
        let mut now = Made::new(7, 2);
        now.host = "renamed".to_owned();
        now.clients.truncate(1);
        let mut n = 1;
        patience::wait_for("a report that arrived later", PATIENCE, || {
            n += 1;
            now.id = Made::new(7, n).id;
            send(&now);
            let latest = engine.ask("latest_reports", &["host"]).rows;
            (latest[0][0] == Value::Text(now.host.clone())).then_some(())
        });
        // Reports of other machines whose clocks are far off, in both directions.
        for (host, at_ms) in [(8, 0), (9, i64::MAX), (10, -1), (11, 4_000 * 365 * DAYS)] {
            let mut off = Made::new(host, 1);
            off.at_ms = at_ms;
            send(&off);
        }
        let reports = engine.ask("latest_reports", &["host_id", "host", "findings"]).rows;
        assert_eq!(reports.len(), 5, "{reports:?}");
        let of_seven = reports.iter().find(|row| row[0] == Value::Text(now.host_id.clone()));
        assert_eq!(of_seven.unwrap()[1], Value::Text("renamed".to_owned()));
        assert_eq!(engine.count("latest_findings"), 1 + 4 * 2);
        // A report that is sent again later does not count as newer.
        send(&ahead);
        let again = engine.ask("latest_reports", &["host_id", "host"]).rows;
        let of_seven = again.iter().find(|row| row[0] == Value::Text(now.host_id.clone()));
        assert_eq!(of_seven.unwrap()[1], Value::Text("renamed".to_owned()));
    }
}

#[test]
fn copies_of_one_machine_are_named_and_a_renamed_machine_is_not() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        // Two copies report in turn, one machine gets a new name, and one machine is ordinary.
        let names = [(1, ["a", "b", "a", "b"]), (2, ["old", "old", "new", "new"]), (3, ["c"; 4])];
        let reports = names.iter().flat_map(|(host, names)| {
            names.iter().zip(1..).map(|(name, n)| Made { host: (*name).to_owned(), ..Made::new(*host, n) }.lines())
        });
        fs::write(scratch.file("r.jsonl"), reports.collect::<String>()).unwrap();
        looptax(&scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]).expect_code(0);
        let run = looptax(&scratch, &["fleet", "report", &engine.url, "--json"]);
        run.expect_code(0);
        let fleet: Fleet = serde_json::from_str(&run.stdout).unwrap();
        let shared: Vec<(&str, u64)> = fleet.shared.rows.iter().map(|it| (it.host.as_str(), it.reports)).collect();
        assert_eq!(shared, [("a", 2), ("b", 2)]);
        let run = looptax(&scratch, &["fleet", "report", &engine.url]);
        assert!(run.stdout.contains("systemd-machine-id-setup"), "{}", run.stdout);
    }
}

#[test]
fn init_again_changes_nothing_and_rows_can_be_given_a_time() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        let init = |more: &[&str]| {
            let args = [&["fleet", "init", &engine.url, "--json"][..], more].concat();
            let run = looptax(&scratch, &args);
            run.expect_code(0);
            let said: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
            check_fits("fleet-init", &said);
            said["done"].as_array().unwrap().len()
        };
        assert_eq!(init(&[]), 0);
        init(&["--keep", "90"]);
        assert_eq!(init(&["--keep", "90"]), 0);
        let made = Made::new(1, 1);
        fs::write(scratch.file("r.jsonl"), made.lines()).unwrap();
        looptax(&scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]).expect_code(0);
        assert_eq!(engine.count("latest_findings"), 2);
        let printed = looptax(&scratch, &["fleet", "init", &engine.url, "--print"]);
        printed.expect_code(0);
        assert!(printed.stdout.contains("GRANT INSERT"), "{}", printed.stdout);
        assert!(!printed.stdout.contains(&engine.url), "{}", printed.stdout);
    }
}
