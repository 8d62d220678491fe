//! Pages of a real WordPress: each page is proved on its transport, and nothing is left behind, even after kill -9.

use std::fs;

use looptax_experiment::servers::wordpress::find;
use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{exe, is_installed};

/// Whether a WordPress is installed; prints a message if not.
fn is_there() -> bool {
    let missing = find().err();
    if let Some(error) = &missing {
        skip(&error.to_string());
    }
    missing.is_none() && is_installed(Kind::Mariadb)
}

fn pages(scratch: &Scratch) -> Looptax<'_> {
    let words = ["reproduce", "wordpress", "-q", "-o", "out", "--json", "--epochs"];
    Looptax::new(exe(), scratch).args(words)
}

/// Checks the published figures next to the measured ones: the three claims of the article, and figures that were not
/// published.
#[track_caller]
fn check_rows(part: &Value) {
    let rows = part["rows"].as_array().unwrap();
    let claims = rows.iter().map(|row| row["claim"].as_str().unwrap());
    assert_eq!(
        claims.collect::<Vec<_>>(),
        ["query_time", "query_time_variation", "share_of_page", "part", "part", "part", "part", "part"]
    );
    let published = |idx: usize| rows[idx]["published"]["value"].as_f64().unwrap();
    assert!((published(0) - 100.0 / 3.0).abs() < 1e-6, "25 % less on the socket");
    assert!((published(1) - 25.0).abs() < 1e-6, "20 % less on the socket");
    assert!((published(2) - 4.5).abs() < 1e-6);
    for row in rows {
        assert!(row["measured"]["lo"].is_number(), "{row:#}");
        assert_eq!(row["proof"]["server_count"]["sent"], row["proof"]["server_count"]["counted"]);
        assert_eq!(row["verdict"].is_string(), row["claim"] != "part");
    }
    assert_eq!(part["findings"].as_array().unwrap().len(), 2);
    assert_eq!(part["missing"], Value::Array(Vec::new()));
}

#[test]
fn pages_of_both_sites_are_proved_on_every_transport() {
    if !is_there() {
        return;
    }
    let scratch = Scratch::new();
    let run = pages(&scratch).args(["6"]).run();
    run.expect_code(0);
    let result: Value = serde_json::from_str(&run.stdout).unwrap();
    check_rows(&result["parts"][0]);
    let found = fs::read(scratch.file("out/wordpress.json")).unwrap();
    let found: Value = serde_json::from_slice(&found).unwrap();
    assert_eq!(found["without_redirect"], Value::Null, "{found:#}");
    let sites = found["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 2);
    for (site, n_queries) in sites.iter().zip([54, 18]) {
        check_site(site, n_queries);
    }
    scratch.check_nothing_left();
}

#[track_caller]
fn check_site(site: &Value, n_queries: u64) {
    // Six epochs of two contrasts, with four pages over each transport in an epoch.
    assert_eq!((&site["pages"], &site["moved"]), (&96.into(), &24.into()));
    assert_eq!(site["queries"][0], n_queries, "{site:#}");
    assert_eq!(site["all_queries"], site["server_count"]);
    assert!(site["all_queries"].as_u64().unwrap() >= 96 * n_queries);
    assert!(site["fifteen"]["queries"][0].as_u64().unwrap() >= 15 * n_queries);
    let figures = [("sides", "query_us"), ("sides", "page_us"), ("sides", "client_us")];
    let ratios = ["query", "query_sd", "page", "client"].map(|name| ("contrasts", name));
    for (list, name) in figures.into_iter().chain(ratios) {
        let all = site[list].as_array().unwrap();
        assert_eq!(all.len(), if list == "sides" { 4 } else { 2 });
        for it in all {
            let [value, lo, hi] = [0, 1, 2].map(|idx| it[name][idx].as_f64().unwrap());
            assert!(0.0 < lo && lo <= value && value <= hi, "{name}: {it:#}");
        }
    }
}

#[test]
fn a_killed_measurement_leaves_neither_php_nor_folders() {
    if !is_there() {
        return;
    }
    let scratch = Scratch::new();
    let mut run = pages(&scratch).args(["1000"]).spawn();
    // The second php-fpm belongs to `looptax run`; each php-fpm has a master and one worker.
    let php = scratch_program();
    run.wait_for("both php-fpm", || (scratch.processes_of(&php).len() >= 4).then_some(()));
    run.signal(Signal::KILL);
    run.wait();
    scratch.check_nothing_left_after(std::time::Duration::from_secs(30));
}

/// Returns the name of the program of php-fpm on this machine: `php-fpm8.2`.
fn scratch_program() -> String {
    let found = find().expect("the caller has looked for it").php_fpm;
    let found = std::fs::canonicalize(found).expect("it is there");
    let name = found.file_name().expect("a program has a name");
    name.to_string_lossy().into_owned()
}
