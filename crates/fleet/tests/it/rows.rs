//! Checks rows against their tables, and lines against the rows that they were made from.

use looptax_fleet::sent::{findings, verdicts};
use looptax_fleet::{FallenClient, FleetError, Names, TABLES, Value, from_lines, to_lines};
use looptax_model::record::Verdict;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::made_up::{batch, found, record, sender};

#[test]
fn tables_have_plain_names_and_known_keys() {
    for table in TABLES {
        let is_plain = |name: &str| {
            let mut bytes = name.bytes();
            bytes.all(|it| it.is_ascii_lowercase() || it == b'_')
        };
        assert!(is_plain(table.name), "{}", table.name);
        let names: Vec<&str> = table.columns.iter().map(|it| it.name).collect();
        for (idx, column) in table.columns.iter().enumerate() {
            assert!(is_plain(column.name), "{}", column.name);
            assert!(!names[..idx].contains(&column.name), "{} twice", column.name);
            assert!(column.doc.ends_with('.'), "{}", column.doc);
        }
        assert!(table.key.iter().all(|key| names.contains(key)), "{}", table.name);
    }
}

#[test]
fn whatever_names_say_rows_fit_and_lines_are_read_as_they_were_written() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(26);
    for n in 0..250 {
        let names = if n % 2 == 0 { Names::default() } else { Names::hashed(b"key") };
        let batch = batch(&mut rng, n, &names);
        for (table, rows) in batch.tables() {
            for row in rows {
                assert!(table.fits(row), "{}: {row:?}", table.name);
                let texts = row.iter().filter_map(|it| match it {
                    Value::Text(text) => Some(text),
                    _ => None,
                });
                for text in texts {
                    assert!(text.chars().count() <= 200, "{text}");
                    assert!(!text.chars().any(char::is_control), "{text:?}");
                }
            }
        }
        let lines = to_lines(&batch);
        assert_eq!(lines.lines().count(), batch.rows.iter().map(Vec::len).sum::<usize>());
        assert_eq!(from_lines(&lines).unwrap(), batch);
    }
}

#[test]
fn hashed_names_tell_nothing() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(27);
    for n in 0..50 {
        let lines = to_lines(&batch(&mut rng, n, &Names::hashed(b"key")));
        let rows: Vec<serde_json::Value> = lines.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        for name in ["client", "client_user", "host"] {
            let shown = rows.iter().filter_map(|row| row[name].as_str());
            for shown in shown {
                let is_hash = shown.len() == 12 && shown.bytes().all(|it| it.is_ascii_hexdigit());
                assert!(shown.is_empty() || is_hash, "{name}: {shown}");
            }
        }
    }
}

#[test]
fn a_large_machine_sends_its_busiest_pairs() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(28);
    let found = found(&mut rng, 10_000);
    let (rows, n_left_out) = findings::rows(&sender(1), &found, &[], &Names::default());
    let known = found.clients.iter().filter(|it| it.server_pid < 3).count();
    assert_eq!((rows.len(), rows.len() + n_left_out), (2_000, known));
    let column = findings::FINDINGS.columns.iter().position(|it| it.name == "requests_per_s");
    let rate = |row: &Vec<Value>| match row[column.unwrap()] {
        Value::Number(rate) => rate.unwrap_or(0.0),
        _ => unreachable!("rows fit"),
    };
    assert!(rows.windows(2).all(|pair| rate(&pair[0]) >= rate(&pair[1])));
}

#[test]
fn who_fell_back_is_told_of_tcp_alone() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(29);
    let found = found(&mut rng, 40);
    let fallen = (100..140).flat_map(|pid| [1, 2].map(|server_pid| FallenClient { pid, server_pid }));
    let fallen: Vec<FallenClient> = fallen.collect();
    let (rows, _) = findings::rows(&sender(1), &found, &fallen, &Names::default());
    let at = |name: &str| findings::FINDINGS.columns.iter().position(|it| it.name == name).unwrap();
    assert!(rows.iter().all(|row| row[at("fell_back")] == row[at("is_tcp")]));
}

#[test]
fn who_fell_back_on_one_server_did_not_on_the_others() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(31);
    let mut found = found(&mut rng, 2);
    for (server, kind) in found.servers.iter_mut().zip(["mysql", "redis"]) {
        kind.clone_into(&mut server.kind);
    }
    // One process is connected over TCP to both servers; the switch had moved only its connections to the first server.
    for (client, server_pid) in found.clients.iter_mut().zip([1, 2]) {
        client.peer.pid = Some(100);
        client.peer.way = looptax_model::record::Way::Loopback;
        client.server_pid = server_pid;
    }
    let fallen = [FallenClient { pid: 100, server_pid: 1 }];
    let (rows, _) = findings::rows(&sender(1), &found, &fallen, &Names::default());
    let at = |name: &str| findings::FINDINGS.columns.iter().position(|it| it.name == name).unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let is_moved = row[at("server")] == Value::Text("mysql".to_owned());
        assert_eq!(row[at("fell_back")], Value::Flag(is_moved), "{row:?}");
    }
}

#[test]
fn an_invalid_verdict_has_no_effect() {
    let theta = |verdict| {
        let rows = verdicts::rows(&sender(1), &record("r", verdict));
        let at = verdicts::VERDICTS.columns.iter().position(|it| it.name == "theta");
        rows[0][at.unwrap()].clone()
    };
    assert_eq!(theta(Verdict::Difference), Value::Number(Some(0.25)));
    assert_eq!(theta(Verdict::Invalid), Value::Number(None));
}

#[test]
fn what_is_no_report_is_refused_with_its_line() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(30);
    let lines = to_lines(&batch(&mut rng, 1, &Names::default()));
    let last = lines.lines().count();
    for (text, at) in [
        (String::new(), 0),
        ("nonsense".to_owned(), 1),
        (lines.replace("\"schema_version\":1", "\"schema_version\":2"), 1),
        (lines.replace("\"table\":\"reports\"", "\"table\":\"other\""), last),
        (lines.replace("\"sees_all\":true", "\"sees_all\":1"), last),
        (lines.lines().take(last - 1).collect::<Vec<_>>().join("\n"), last - 1),
        (lines.clone() + lines.lines().last().unwrap(), last + 1),
    ] {
        let found = from_lines(&text);
        let Err(FleetError::NoReport { line, .. }) = found else {
            panic!("{text} was read: {found:?}");
        };
        assert_eq!(line, at, "{text}");
    }
    // Lines that are cut off anywhere give an error or the report, and no panic.
    for end in (0..lines.len()).filter(|end| lines.is_char_boundary(*end)).step_by(7) {
        from_lines(&lines[..end]).ok();
    }
}
