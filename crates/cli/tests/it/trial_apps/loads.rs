//! The load on an application and its speed: lists of pages, the log of a site, several clients, a rate, a separate
//! load program.

use std::ffi::OsString;

use super::heard::General;
use super::plain::{PHP, plain};
use super::tried::{Contrast, LOOKS, READY, Tried, trial, words};

/// Tries the plain application with these arguments; returns the trial, and the connections that MariaDB counted, over
/// the socket and over TCP.
#[track_caller]
fn tried(args: &[&str], files: &[(&str, &str)]) -> Option<(Tried, [u64; 2])> {
    let (server, place) = plain()?;
    place.write(files);
    let log = General::listen(&server);
    let args: Vec<OsString> = words(&place, &[args, &["--json=r.json", "--"], &PHP].concat());
    let tried = Tried::expect_done(trial(&place, &[&server]).args(args).run(), &place);
    Some((tried, log.heard()))
}

fn urls(contrast: Contrast<'_>) -> Vec<String> {
    let pages = contrast.0["trial"]["pages"].as_array().unwrap();
    let urls = pages.iter().map(|it| it["url"].as_str().unwrap());
    urls.map(|it| it.rsplit('/').next().unwrap().to_owned()).collect()
}

#[test]
fn four_clients_ask_for_the_pages_of_a_list() {
    let list = "# two pages\nhttp://«http»/?a\nhttp://«http»/?b\n\nhttp://«http»/?a\n";
    let args = ["--urls", "urls", "--clients", "4"];
    let Some((tried, heard)) = tried(&args, &[("urls", list)]) else {
        return;
    };
    let contrast = tried.contrast();
    contrast.expect_flipped(1, 2, heard);
    assert_eq!(urls(contrast), ["?a", "?b"]);
    assert_eq!(contrast.number("/connections"), 4);
}

#[test]
fn the_pages_of_a_log_are_asked_for() {
    let line = |target: &str, status: u16| {
        format!("192.0.2.1 - - [23/Nov/2024:10:00:00 +0000] \"GET {target} HTTP/1.1\" {status} 16 \"-\" \"-\"\n")
    };
    let log = [("/?b", 200), ("/?none", 404), ("/?a", 200), ("/?b", 200)];
    let log: String = log.iter().map(|(it, status)| line(it, *status)).collect();
    let args = ["--from-log", "access.log", "--url", "http://«http»/"];
    let Some((tried, heard)) = tried(&args, &[("access.log", &log)]) else {
        return;
    };
    let contrast = tried.contrast();
    contrast.expect_flipped(1, 2, heard);
    let mut urls = urls(contrast);
    urls.sort_unstable();
    assert_eq!(urls, ["?a", "?b"]);
}

#[test]
fn pages_are_due_at_a_rate() {
    let args = ["--url", "http://«http»/", "--rate", "60"];
    let Some((tried, heard)) = tried(&args, &[]) else {
        return;
    };
    let contrast = tried.contrast();
    contrast.expect_flipped(1, 1, heard);
    assert_eq!(contrast.0["load"]["rate_per_s"], 60.0, "{:#}", contrast.0["load"]);
}

#[test]
fn a_load_of_ones_own_is_run_whole() {
    let load = "for page in 1 2 3; do curl -sSf -o /dev/null http://«http»/ || exit 1; done\n";
    let args = ["--url", "http://«http»/", "--exec-load", "sh load.sh"];
    let Some((tried, heard)) = tried(&args, &[("load.sh", load)]) else {
        return;
    };
    let contrast = tried.contrast();
    assert_eq!(contrast.design(), "flip");
    contrast.expect_pages(12);
    assert_eq!(contrast.0["trial"]["load_command"], "sh load.sh");
    // A run of the load counts as one page; it requests three pages.
    assert_eq!(contrast.pages(), [12, 12]);
    assert_eq!(contrast.connections(0, 0), [36, 0, 0]);
    assert_eq!(contrast.connections(1, 0), [0, 36, 0]);
    let n_runs = 2 * (6 + contrast.number("/schedule/warmup_epochs"));
    let all = LOOKS + 3 * n_runs;
    assert_eq!(heard, [all, all + READY]);
    tried.expect_told(&["load: sh load.sh"]);
}
