//! Common web applications: PHP, Django and Node.

use looptax_testkit::runner::Looptax;
use rustix::process::Signal;

use super::heard::{Connections, General};
use super::tried::{Tried, of_front_page, trial};
use crate::application::Place;
use crate::application::php::wordpress;
use crate::application::programs::{GUNICORN, NODE, django, node};
use crate::fixture::Server;

/// Tries an application whose front page makes `per_page` connections to MariaDB.
#[track_caller]
fn flipped_on_mariadb(server: &Server, place: &Place, per_page: u64, command: &[&str]) {
    let log = General::listen(server);
    let run = trial(place, &[server]).args(of_front_page(place, command)).run();
    let tried = Tried::expect_done(run, place);
    let heard = log.heard();
    let n = per_page * tried.contrast().pages()[0];
    tried.contrast().expect_flipped(per_page, 1, heard);
    tried.expect_told(&[
        &format!("at {} -> {}", server.it.tcp, server.socket()),
        "the application's pages open connections to mariadbd: one process",
        "over TCP over the socket the socket saves",
        &format!("connections per page: mariadbd {per_page}; moved: {n} of {n} in the socket's turns, 0 of"),
    ]);
}

#[test]
fn wordpress_under_phps_own_server_is_flipped() {
    let Some((_, server, place)) = wordpress() else {
        return;
    };
    let command = ["php", "-S", "«http»", "-t", "site"];
    flipped_on_mariadb(&server, &place, 1, &command);
}

#[test]
fn wordpress_under_php_fpm_is_flipped() {
    let Some((php, server, place)) = wordpress() else {
        return;
    };
    let line = php.line(&place, "site");
    flipped_on_mariadb(&server, &place, 1, &["sh", "-c", &line]);
}

#[test]
fn django_that_connects_for_each_page_is_flipped() {
    let Some((server, place)) = django("0") else {
        return;
    };
    let log = Connections::listen(&server);
    let run = trial(&place, &[&server]).args(of_front_page(&place, &GUNICORN));
    let tried = Tried::expect_done(run.run(), &place);
    tried.contrast().expect_flipped(1, 1, log.heard());
    tried.expect_told(&["the application's pages open connections to postgres: one process"]);
}

/// Connections in the first look: it starts the application once, over TCP, and a start makes one connection.
const FIRST_LOOK: u64 = 1;

/// Returns a trial whose starts are short.
fn restarted<'a>(place: &'a Place, server: &Server, command: &[&str]) -> Looptax<'a> {
    let words = of_front_page(place, command);
    trial(place, &[server]).args(["--start-ms", "50"]).args(words)
}

#[test]
fn node_with_a_pool_is_started_for_each_turn() {
    let Some((server, place)) = node() else {
        return;
    };
    let log = General::listen(&server);
    let tried = Tried::expect_done(restarted(&place, &server, &NODE).run(), &place);
    // One client needs one connection of the pool. The first look has started the application once, over TCP.
    let n_epochs = tried.contrast().expect_restarted(6);
    assert_eq!(log.heard(), [2 * n_epochs, 2 * n_epochs + FIRST_LOOK]);
    tried.expect_told(&[
        "the application keeps its connections to mariadbd: the application is restarted for each turn",
        "over TCP over the socket the socket saves",
    ]);
}

#[test]
fn django_that_keeps_its_connections_is_started_for_each_turn() {
    let Some((server, place)) = django("600") else {
        return;
    };
    let log = Connections::listen(&server);
    let one_worker = GUNICORN.map(|it| if it == "2" { "1" } else { it });
    let mut run = restarted(&place, &server, &one_worker).spawn();
    // Wait for the start in the first look, at most three epochs, and a turn of the next epoch, which is not finished.
    run.wait_for("the turns of some epochs", || (log.heard().iter().sum::<u64>() > 1 + 3 * 4).then_some(()));
    run.signal(Signal::INT);
    let run = run.wait();
    run.expect_code(130);
    place.scratch.check_nothing_left();
    let tried = Tried::read(run, &place);
    assert_eq!(tried.record["interrupted"], true);
    let n_epochs = tried.contrast().epochs();
    let done = 2 * tried.contrast().expect_restarted(n_epochs);
    assert!(n_epochs >= 2, "{n_epochs}");
    let [unix, tcp] = log.heard();
    let (unix, tcp) = (unix - done, tcp - FIRST_LOOK - done);
    assert!(unix <= 2 && tcp <= 2, "{unix} and {tcp} in an unfinished epoch");
}
