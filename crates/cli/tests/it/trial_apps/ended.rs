//! Trials that are ended early: no process of the application is left, however and whenever the trial is ended.

use std::fs;
use std::time::Duration;

use looptax_testkit::dice::Dice;
use looptax_testkit::runner::Running;
use rustix::process::Signal;

use super::plain::{PHP, page};
use super::tried::{Tried, of_front_page, trial};
use crate::application::Place;
use crate::fixture::Server;

/// Time limit for the guards, far longer than they need.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of moments at which a trial is killed.
const MOMENTS: usize = 10;
/// The last page at which a trial may be killed: it is well after the first look, among the turns of the arms.
const LAST_PAGE: usize = 60;

/// Returns the plain application, with a page that counts its visits and takes some time.
fn counting() -> Option<(Server, Place)> {
    let counts = "$n = (int) @file_get_contents('n');\nfile_put_contents('n', $n + 1);\nusleep(10000);";
    let script = include_str!("files/page.php");
    page(&script.replacen("<?php", &format!("<?php\n{counts}"), 1))
}

fn spawn<'a>(place: &'a Place, server: &Server) -> Running<'a> {
    fs::write(place.path("n"), "0").unwrap();
    let words = of_front_page(place, &PHP);
    trial(place, &[server]).args(words).spawn()
}

fn wait_for_pages(run: &mut Running<'_>, place: &Place, n_pages: usize) {
    run.wait_for("pages", || {
        let n = fs::read_to_string(place.path("n")).ok()?.parse::<usize>();
        (n.ok()? >= n_pages).then_some(())
    });
}

#[test]
fn ctrl_c_in_the_first_look_ends_the_application() {
    let Some((server, place)) = counting() else {
        return;
    };
    let mut run = spawn(&place, &server);
    wait_for_pages(&mut run, &place, 2);
    run.signal(Signal::INT);
    let run = run.wait();
    run.expect_code(130);
    place.scratch.check_nothing_left();
}

#[test]
fn r44_a_page_that_is_silent_is_not_waited_for_after_a_signal() {
    let silent = "$n = (int) @file_get_contents('n');\nfile_put_contents('n', $n + 1);\nif ($n > 1) { sleep(600); }";
    let script = include_str!("files/page.php");
    let Some((server, place)) = page(&script.replacen("<?php", &format!("<?php\n{silent}"), 1)) else {
        return;
    };
    fs::write(place.path("n"), "0").unwrap();
    let words = of_front_page(&place, &PHP);
    let mut run = trial(&place, &[&server]).args(["--page-limit", "10m"]).args(words).spawn();
    wait_for_pages(&mut run, &place, 3);
    run.signal(Signal::TERM);
    run.wait().expect_code(130);
    place.scratch.check_nothing_left();
}

#[test]
fn ctrl_c_in_the_turns_ends_the_application_and_keeps_what_was_measured() {
    let Some((server, place)) = counting() else {
        return;
    };
    let mut run = spawn(&place, &server);
    run.wait_for_stderr("measuring http://");
    run.signal(Signal::INT);
    let run = run.wait();
    run.expect_code(130);
    place.scratch.check_nothing_left();
    let tried = Tried::read(run, &place);
    assert_eq!(tried.record["interrupted"], true);
}

#[test]
fn a_trial_that_is_killed_at_any_time_leaves_nothing() {
    let Some((server, place)) = counting() else {
        return;
    };
    let mut dice = Dice::new(23);
    for _ in 0..MOMENTS {
        let n_pages = dice.below(LAST_PAGE);
        let mut run = spawn(&place, &server);
        wait_for_pages(&mut run, &place, n_pages);
        run.signal(Signal::KILL);
        run.wait();
        place.scratch.check_nothing_left_after(PATIENCE);
    }
    // looptax is killed immediately, before it is known to run.
    let run = spawn(&place, &server);
    run.signal(Signal::KILL);
    run.wait();
    place.scratch.check_nothing_left_after(PATIENCE);
}
