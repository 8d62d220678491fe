//! An application with two servers: looptax tries both together, and each of them separately.

use std::fs;
use std::net::SocketAddr;

use looptax_model::dsn::Kind;

use super::heard::General;
use super::plain::{PHP, page};
use super::tried::{LOOKS, READY, Tried, of_front_page, trial};
use looptax_testkit::ports::free_address;

use crate::application::Place;
use crate::application::php::wordpress;
use crate::fixture::Server;

/// Returns the pages' connections that Redis has counted, over the socket and over TCP.
fn noted(redis: &Server) -> [u64; 2] {
    ["unix", "tcp"].map(|way| redis.redis(&["HGET", "ways", way]).parse().unwrap())
}

/// Checks that there are three contrasts, that each page had a connection to both servers, and that the servers at
/// these addresses counted `heard` of them, `[unix, tcp]`.
#[track_caller]
fn expect_three(tried: &Tried, servers: [SocketAddr; 2], heard: [[u64; 2]; 2]) {
    let contrasts = tried.comparisons();
    assert_eq!(contrasts.len(), 3);
    // All pages count: those of the first look, of the warm-ups and of the counted epochs.
    let (mut n_all, mut n_counted) = (READY + 2 * LOOKS, [[0; 2]; 2]);
    for contrast in &contrasts {
        assert_eq!(contrast.design(), "flip");
        contrast.expect_pages(3 * contrast.slices_per_epoch());
        let [unix, tcp] = contrast.pages();
        assert_eq!(unix, tcp);
        n_all += 2 * contrast.slices_with_warm_up() * unix / (3 * contrast.slices_per_epoch());
        let only = contrast.0["trial"]["only"].as_u64();
        for (server, n_counted) in n_counted.iter_mut().enumerate() {
            let [moved, left] = [0, 1].map(|arm| contrast.connections(arm, server));
            n_counted[0] += moved[0] + left[0];
            n_counted[1] += moved[1] + left[1];
            if only.is_none_or(|it| it == server as u64) {
                assert_eq!((moved, left), ([unix, 0, 0], [0, unix, 0]));
            } else {
                // The coin of each epoch decides, so both arms have the same numbers.
                assert_eq!(moved, left);
                assert_eq!(moved[0] + moved[1], unix);
                assert_eq!((moved[0] % (unix / 6), moved[2]), (0, 0));
            }
        }
    }
    let all = tried.contrast_servers();
    let own = servers.map(|at| {
        let is_it = |from: &String| *from == at.to_string();
        all.iter().position(is_it).unwrap()
    });
    for (server, heard) in own.into_iter().zip(heard) {
        assert_eq!(heard[0] + heard[1], n_all, "{heard:?}");
        assert!(heard[0] >= n_counted[server][0], "{heard:?} {n_counted:?}");
        assert!(heard[1] >= n_counted[server][1], "{heard:?} {n_counted:?}");
    }
    let onlys = contrasts.iter().map(|it| it.0["trial"]["only"].as_u64());
    assert_eq!(onlys.collect::<Vec<_>>(), [None, Some(0), Some(1)]);
    expect_bill(tried);
}

/// Checks that the bill has both servers, and is computed from the counted epochs.
#[track_caller]
fn expect_bill(tried: &Tried) {
    let bill = &tried.record["comparisons"][0]["trial"]["bill"];
    assert_eq!(bill["without_supervisor"], true, "{bill:#}");
    let value = |pointer: &str| {
        let found = bill.pointer(pointer).and_then(serde_json::Value::as_f64);
        found.unwrap_or_else(|| panic!("no {pointer} in {bill:#}"))
    };
    for idx in [0, 1] {
        assert_eq!(bill["parts"][idx]["server"], idx);
        value(&format!("/parts/{idx}/time_us/value"));
    }
    for pointer in ["/in_all_us", "/left_over_us"] {
        value(&format!("{pointer}/value"));
        assert_eq!(bill.pointer(pointer).unwrap()["n"], 6);
    }
    tried.expect_told(&[
        "the bill: what TCP adds to a page, by server, without looptax's own part",
        "all together, measured",
    ]);
}

/// Returns a page that uses both servers, and the servers; `None` if something for it is not installed.
fn of_both() -> Option<(Server, Server, Place)> {
    let (mariadb, place) = page("")?;
    let redis = Server::start(Kind::Redis)?;
    let script = include_str!("files/both.php")
        .replace("«redis_port»", &redis.it.tcp.port().to_string())
        .replace("«redis_password»", redis.password());
    place.write(&[("page.php", &script)]);
    Some((mariadb, redis, place))
}

#[test]
fn a_page_that_one_socket_breaks_names_it_and_what_was_named_in_vain() {
    let Some((mariadb, redis, place)) = of_both() else {
        return;
    };
    // Over the socket this name belongs to another account.
    let account = &mariadb.it.login.user;
    for sql in [
        "CREATE USER 'visitor'@'127.0.0.1' IDENTIFIED BY 'secret'",
        "GRANT SELECT ON *.* TO 'visitor'@'127.0.0.1'",
        "CREATE USER 'visitor'@'localhost' IDENTIFIED BY 'another'",
    ] {
        mariadb.talk().execute(sql).unwrap();
    }
    let login = format!("'{account}', '{}'", mariadb.password());
    let script = fs::read_to_string(place.path("page.php")).unwrap();
    place.write(&[("page.php", &script.replace(&login, "'visitor', 'secret'"))]);
    let run = trial(&place, &[&mariadb, &redis]).args(of_front_page(&place, &PHP));
    let run = run.run();
    run.expect_error(2, &["answers with status 500 over the socket of mariadbd, but works"]);

    place.write(&[("page.php", &script)]);
    let nowhere = free_address();
    let also = format!("--also={nowhere}=/run/nowhere.sock");
    let run = trial(&place, &[&redis]).args(["--each", &also]);
    let run = run.args(of_front_page(&place, &PHP)).run();
    let tried = Tried::expect_done(run, &place);
    tried.expect_told(&[
        &format!("no page connects to {nowhere}, for which a socket was given"),
        "--each found only one server, so there is only one comparison",
    ]);
}

#[test]
fn a_page_of_mariadb_and_redis_has_three_contrasts() {
    let Some((mariadb, redis, place)) = of_both() else {
        return;
    };
    let log = General::listen(&mariadb);
    let run = trial(&place, &[&mariadb, &redis]).args(["--each"]);
    let run = run.args(of_front_page(&place, &PHP)).run();
    let tried = Tried::expect_done(run, &place);
    let heard = [log.heard(), noted(&redis)];
    expect_three(&tried, [mariadb.it.tcp, redis.it.tcp], heard);
    tried.expect_told(&["differ only in the transport of mariadbd", "differ only in the transport of redis-server"]);
}

/// Returns the number of pages in the logs of the pools, `[unix, tcp]`.
fn logged(place: &Place) -> [u64; 2] {
    ["unix", "tcp"].map(|way| {
        let log = fs::read_to_string(place.path(&format!("{way}.log")));
        log.unwrap_or_default().lines().count() as u64
    })
}

#[test]
fn wordpress_behind_nginx_and_php_fpm_has_a_bill_of_both_hops() {
    let Some((php, mariadb, place)) = wordpress() else {
        return;
    };
    let pool = free_address();
    let place = place.with("«pool»", pool.to_string());
    let Some(line) = php.line_behind_nginx(&place) else {
        return;
    };
    let log = General::listen(&mariadb);
    let also = place.fill("--also=«pool»=«folder»/unix.sock");
    let run = trial(&place, &[&mariadb]).args(["--each", &also]);
    let run = run.args(of_front_page(&place, &["sh", "-c", &line])).run();
    let tried = Tried::expect_done(run, &place);
    expect_three(&tried, [mariadb.it.tcp, pool], [log.heard(), logged(&place)]);
    let servers = &tried.record["comparisons"][0]["trial"]["servers"];
    let fpm = servers.as_array().unwrap().last().unwrap();
    assert!(fpm["kind"].as_str().unwrap().starts_with("php-fpm"), "{fpm}");
    tried.expect_told(&[&place.fill("+ php-fpm8.2 at «pool»").replace("8.2", php.version())]);
}
