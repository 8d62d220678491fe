//! Web applications as people run them: PHP, Django, Node.

use super::heard::General;
use super::tried::{Tried, of_front_page, trial};
use crate::application::Place;
use crate::application::php::wordpress;
use crate::fixture::Server;

/// Tries an application whose front page makes `per_page` connections to MariaDB.
#[track_caller]
fn flipped_on_mariadb(server: &Server, place: &Place, per_page: u64, command: &[&str]) {
    let log = General::listen(server);
    let run = trial(place, &[server])
        .args(of_front_page(place, command))
        .run();
    let tried = Tried::expect_done(run, place);
    let heard = log.heard();
    let n = per_page * tried.contrast().pages()[0];
    tried.contrast().expect_flipped(per_page, 1, heard);
    tried.expect_told(&[
        &format!("at {} -> {}", server.it.tcp, server.socket()),
        "its pages connect anew to mariadbd: one process",
        "over TCP over the socket the socket saves",
        &format!("connections per page: mariadbd {per_page}; moved were {n} of {n} in the socket's turns, 0 of"),
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
