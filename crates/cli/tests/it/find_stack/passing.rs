//! Connections that last for one request, as web servers and PHP make them by default.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use looptax_model::dsn::Kind;
use looptax_testkit::patience;
use looptax_testkit::ports::free_address;
use looptax_testkit::runner::Looptax;
use serde_json::Value;

use super::stacks::{FASTCGI, php_fpm};
use super::{are_there, hops, nginx, visitor};
use crate::application::php::Php;
use crate::application::{Group, PATIENCE, Place};
use crate::fixture::{Server, exe};

/// A page that connects to its database, runs a query, and takes a moment.
const PAGE: &str = "\
<?php
$db = new mysqli('127.0.0.1', '«user»', '«password»', '«database»', «port»);
$db->query('SELECT 1');
usleep(100000);
echo \"done\\n\";
";

/// nginx, php-fpm at an address or path, and MariaDB.
struct Shop {
    front: Group,
    fpm: Group,
    server: Server,
    place: Place,
}

impl Shop {
    fn open(by_socket: bool) -> Option<Self> {
        let php = Php::find("mysqli", &[])?;
        if !are_there(&["nginx"]) {
            return None;
        }
        let server = Server::start(Kind::Mariadb)?;
        let place = Place::beside(&server);
        super::open_folder(&place);
        place.write(&[("page.php", PAGE)]);
        let at = free_address().to_string();
        let (listen, pass) = if by_socket { ("«folder»/php.sock", "unix:«folder»/php.sock") } else { (&*at, &*at) };
        let fpm = php_fpm(&php, &place, listen);
        let front = nginx(&place, "«http»", &FASTCGI.replace("«pass»", pass));
        let shop = Self { front, fpm, server, place };
        patience::wait_for("the first page", PATIENCE, || shop.page().contains("done").then_some(()));
        Some(shop)
    }

    fn page(&self) -> String {
        let mut page = String::new();
        visitor(self.place.http).read_to_string(&mut page).ok();
        page
    }

    /// Runs `act` while two visitors request one page after the other.
    fn while_visited<T>(&self, act: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        self.page();
                    }
                });
            }
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
            is_over.store(true, Ordering::Relaxed);
            done.unwrap_or_else(|why| std::panic::resume_unwind(why))
        })
    }

    fn find(&self, args: &[&str]) -> Value {
        let run = Looptax::new(exe(), &self.place.scratch).args(["find", "--json"]);
        let run = run.args(args).run();
        run.expect_code(0);
        serde_json::from_str(&run.stdout).unwrap()
    }
}

/// Returns the hop from one process to another, if `find` reports it.
fn hop(found: &Value, client: u32, server: u32) -> Option<Value> {
    let chains = found["chains"].as_array().unwrap().iter();
    let mut hops = chains.flat_map(|it| it["hops"].as_array().unwrap());
    let is_it = |it: &&Value| it["client_pid"] == client && it["server_pid"] == server;
    hops.find(is_it).cloned()
}

fn is_counted(hop: &Value) -> bool {
    let n = |name: &str| hop[name].as_u64().unwrap();
    n("n_passing") + n("n_connections") > 0
}

#[track_caller]
fn check_seen_in_passing(by_socket: bool, way: &str) {
    let Some(shop) = Shop::open(by_socket) else {
        return;
    };
    let (front, fpm, database) = (shop.front.pid(), shop.fpm.pid(), shop.server.it.pid);
    let seen = shop.while_visited(|| {
        (0..20).find_map(|_| {
            let found = shop.find(&[]);
            let hops = [hop(&found, front, fpm)?, hop(&found, fpm, database)?];
            let is_by_kernel = found["counted_by"] == "kernel";
            let has_rate = |hop: &Value| {
                let what = if is_by_kernel { "opened_per_s" } else { "closed_per_s" };
                hop[what].as_f64() > Some(0.0)
            };
            let are_rated = has_rate(&hops[1]) && (by_socket && !is_by_kernel || has_rate(&hops[0]));
            (hops.iter().all(is_counted) && are_rated).then_some((is_by_kernel, hops))
        })
    });
    let (is_by_kernel, [first, second]) = seen.expect("both hops are seen, with what is opened or closed on them");
    assert_eq!(first["way"], way, "{first:#}");
    assert_eq!(second["way"], "loopback", "{second:#}");
    assert!(first["closed_per_s"].is_null() == (by_socket || is_by_kernel), "{first:#}");
    if is_by_kernel {
        // A page is one request on one connection; its connection to the database has a login and a statement.
        let per_connection =
            |hop: &Value| hop["requests_per_s"].as_f64().unwrap() / hop["opened_per_s"].as_f64().unwrap();
        assert!((0.5..=2.0).contains(&per_connection(&first)), "{first:#}");
        assert!(per_connection(&second) > 1.0, "{second:#}");
    }
}

#[test]
fn short_connections_over_tcp_are_seen_in_passing_and_counted() {
    check_seen_in_passing(false, "loopback");
}

#[test]
fn short_connections_over_a_socket_are_seen_in_passing_and_counted_by_the_kernel() {
    check_seen_in_passing(true, "unix");
}

/// The kernel does not know the owner of a closed connection, so looptax must not guess a process.
#[test]
fn one_look_says_that_who_asked_is_not_seen() {
    let Some(shop) = Shop::open(false) else {
        return;
    };
    let found = shop.find(&["--once"]);
    assert_eq!(hop(&found, shop.front.pid(), shop.fpm.pid()), None);
    let servers = found["servers"].as_array().unwrap();
    let fpm = servers.iter().find(|it| it["pid"] == shop.fpm.pid()).unwrap();
    assert_eq!(fpm["kind"], "php-fpm");
    assert!(fpm["n_closed_last_minute"].as_u64() > Some(0), "{fpm:#}");
    let chains = found["chains"].as_array().unwrap().iter();
    let of_fpm = chains.filter(|it| it["hops"][0]["server_pid"] == shop.fpm.pid());
    let [chain] = of_fpm.collect::<Vec<_>>()[..] else {
        panic!("{:#}", found["chains"]);
    };
    assert_eq!(hops(chain, &found), ["? loopback 0/0 php-fpm"]);
    assert_eq!(chain["begins_here"], false);
}
