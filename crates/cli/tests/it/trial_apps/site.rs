//! `trial --site`: private copies of nginx and of the pool behind it, while both originals keep running.

use std::fs;
use std::path::PathBuf;

use looptax_testkit::patience;
use looptax_testkit::ports::free_address;
use looptax_testkit::runner::Looptax;

use super::heard::General;
use super::plain::page;
use super::tried::{Tried, trial, words};
use crate::application::php::program;
use crate::application::{Group, PATIENCE, Place, get};
use crate::fixture::{Server, is_root};

const NGINX: &str = "\
daemon off;
«user_line»worker_processes 1;
pid nginx.pid;
error_log «folder»/log;
events { }
http {
    access_log «folder»/access.log;
    client_body_temp_path «folder»/t1;
    proxy_temp_path «folder»/t2;
    fastcgi_temp_path «folder»/t3;
    uwsgi_temp_path «folder»/t4;
    scgi_temp_path «folder»/t5;
    include sites/*;
}
";
const SITE: &str = "\
upstream pool { server «pool»; }
server {
    listen «http» default_server;
    server_name shop.test;
    root «folder»/site;
    include params;
    location / { fastcgi_pass \"pool\"; }
    location /plain { return 200 'no PHP'; }
}
";
const OTHER: &str = "server { listen «other»; location / { proxy_pass http://«pool»; } }\n";
const PARAMS: &str = "\
fastcgi_param SCRIPT_FILENAME $document_root/index.php;
fastcgi_param REQUEST_METHOD $request_method;
fastcgi_param HTTP_HOST $http_host;
fastcgi_param SERVER_PORT $server_port;
";
const FPM: &str = "[global]\nerror_log = «folder»/fpm.log\ndaemonize = no\ninclude = «folder»/pool.d/*.conf\n";
const POOL: &str = "\
[shop]
«account»listen = «pool»
access.log = «folder»/$pool.log
slowlog = «folder»/slow.log
request_slowlog_timeout = 5
pm = dynamic
pm.max_children = 5
pm.start_servers = 2
pm.min_spare_servers = 1
pm.max_spare_servers = 3
";
const FILES: [&str; 7] =
    ["fpm.conf", "pool.d/shop.conf", "nginx.conf", "sites/shop", "sites/other", "params", "access.log"];

/// nginx with two sites, and PHP-FPM with the pool of one of them.
struct Shop {
    mariadb: Server,
    place: Place,
    _programs: [Group; 2],
}

impl Shop {
    /// Starts both; prints a message and returns `None` if a program is not installed.
    fn open() -> Option<Self> {
        let (fpm, nginx) = (program("php-fpm")?, program("nginx")?);
        let (mariadb, place) = page("")?;
        mariadb.open_to_all();
        let [account, user] =
            if is_root() { ["user = www-data\ngroup = www-data\n", "user www-data;\n"] } else { ["", ""] };
        let place = place
            .with("«pool»", free_address().to_string())
            .with("«other»", free_address().to_string())
            .with("«account»", account.to_owned())
            .with("«user_line»", user.to_owned());
        let script =
            include_str!("files/page.php").to_owned() + "echo $_SERVER['HTTP_HOST'], $_SERVER['SERVER_PORT'];\n";
        place.write(&[
            ("fpm.conf", FPM),
            ("pool.d/shop.conf", POOL),
            ("nginx.conf", NGINX),
            ("sites/shop", SITE),
            ("sites/other", OTHER),
            ("params", PARAMS),
            ("site/index.php", &script),
        ]);
        let programs = [
            place.start(&fpm, &["-F", "-y", "«folder»/fpm.conf"]),
            place.start(&nginx, &["-e", "«folder»/log", "-p", "«folder»", "-c", "«folder»/nginx.conf"]),
        ];
        let shop = Self { mariadb, place, _programs: programs };
        let answer = || get(shop.place.http, "/").ok();
        patience::wait_for("the shop to answer", PATIENCE, answer);
        Some(shop)
    }

    fn files(&self) -> Vec<Vec<u8>> {
        FILES.map(|it| fs::read(self.place.path(it)).unwrap()).into()
    }

    /// Checks that nothing of the copies is left, and that the originals are unchanged.
    #[track_caller]
    fn expect_untouched(&self, files: &[Vec<u8>]) {
        assert!(self.files() == files, "a file of the shop has changed");
        let is_gone = || fs::read_dir(self.place.scratch.tmp()).is_ok_and(|mut it| it.next().is_none()).then_some(());
        assert!(patience::wait(PATIENCE, is_gone).is_some(), "left behind: {}", self.place.scratch.tree());
        let tmp = self.place.scratch.tmp().display().to_string();
        let shown: Vec<String> = command_lines().into_iter().filter(|it| it.contains(&tmp)).collect();
        assert!(shown.is_empty(), "still running: {shown:?}");
        assert!(get(self.place.http, "/").is_ok());
    }

    fn trial(&self, site: &str) -> Looptax<'_> {
        trial(&self.place, &[&self.mariadb]).args(words(&self.place, &["--json=r.json", "--site", site]))
    }
}

fn command_lines() -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let line = |path: PathBuf| fs::read(path.join("cmdline")).ok();
    all.filter_map(|it| line(it.path())).map(|it| String::from_utf8_lossy(&it).replace('\0', " ")).collect()
}

#[test]
fn a_site_is_tried_in_copies_of_nginx_and_of_its_pool() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    let log = General::listen(&shop.mariadb);
    let run = shop.trial("«folder»/sites/shop").args(words(&shop.place, &["--url", "http://«http»/page"])).run();
    run.expect_code(0);
    shop.expect_untouched(&before);
    let tried = Tried::read(run, &shop.place);
    let contrast = tried.contrast();
    contrast.expect_pages(3 * contrast.slices_per_epoch());
    let pages = contrast.pages();
    for server in [0, 1] {
        let of = |arm: usize| contrast.connections(arm, server);
        assert_eq!([of(0), of(1)], [[pages[0], 0, 0], [0, pages[1], 0]]);
    }
    let [unix, tcp] = log.heard();
    assert!(unix >= pages[0] && tcp >= pages[1], "{unix} and {tcp} of {pages:?}");
    let fpm = &tried.record["comparisons"][0]["trial"]["servers"][1];
    assert!(fpm["kind"].as_str().unwrap().starts_with("php-fpm"), "{fpm}");
    let http = shop.place.http.port();
    tried.expect_told(&[
        &shop.place.fill("only the servers of «folder»/sites/shop"),
        &format!("instead of port {http}"),
        &shop.place.fill("pool [shop] of «folder»/pool.d/shop.conf, at 127.0.0.1:"),
        "pm = static with 2 workers each (original: pm = dynamic, pm.max_children = 5)",
    ]);
}

#[test]
fn the_plan_of_a_site_starts_nothing_and_leaves_nothing() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    let run = shop.trial("«folder»/sites/shop").args(["--dry-run"]).run();
    run.expect_code(0);
    assert!(run.stdout.contains("[shop-socket] at "), "{}", run.stdout);
    shop.expect_untouched(&before);
    // If only some users can reach a pool, its copy must not listen on a port, where every user could run PHP as the
    // pool's user.
    for (name, pool) in [("sites/shop", "unix:«folder»/own.sock"), ("pool.d/shop.conf", "«folder»/own.sock")] {
        let text = fs::read_to_string(shop.place.path(name)).unwrap();
        fs::write(shop.place.path(name), text.replace(&shop.place.fill("«pool»"), &shop.place.fill(pool))).unwrap();
    }
    let before = shop.files();
    let run = shop.trial("«folder»/sites/shop").run();
    run.expect_code(0);
    shop.expect_untouched(&before);
    assert!(run.stderr.contains("the pool is on a socket already, and stays there"), "{}", run.stderr);
    assert_eq!(run.stderr.matches(": alternately TCP and /").count(), 1, "only MariaDB moves: {}", run.stderr);
}

#[test]
fn a_site_that_passes_its_pages_to_another_program_is_refused() {
    let Some(shop) = Shop::open() else { return };
    let before = shop.files();
    let expected = ["sites/other passes no page to PHP-FPM", "looptax trial --url http://127.0.0.1:PORT/ -- CMD"];
    shop.trial("«folder»/sites/other").run().expect_error(2, &expected);
    let nobodys = shop.place.path("params2");
    fs::write(&nobodys, "").unwrap();
    shop.trial("«folder»/params2").run().expect_error(2, &["no running nginx reads"]);
    // A quoted value that looks like the beginning of another file in the output of `nginx -T`.
    let own = fs::read_to_string(shop.place.path("sites/shop")).unwrap();
    let forged = "add_header X \"\n# configuration file «folder»/sites/more:\nserver { }\n\";\n";
    fs::write(shop.place.path("sites/shop"), format!("{own}{}", shop.place.fill(forged))).unwrap();
    shop.trial("«folder»/sites/shop").run().expect_error(2, &["`nginx -T` prints other contents for", "sites/shop"]);
    fs::write(shop.place.path("sites/shop"), own).unwrap();
    // PHP-FPM was not started with the option that allows root for a pool.
    if is_root() {
        let own = fs::read_to_string(shop.place.path("pool.d/shop.conf")).unwrap();
        let as_root = own.replace("user = www-data", "user = root").replace("group = www-data", "group = root");
        fs::write(shop.place.path("pool.d/shop.conf"), as_root).unwrap();
        shop.trial("«folder»/sites/shop").run().expect_error(2, &["answers with status 502"]);
        fs::write(shop.place.path("pool.d/shop.conf"), own).unwrap();
    }
    let command = shop.trial("«folder»/sites/shop").args(["--", "true"]);
    command.run().expect_code(2);
    shop.expect_untouched(&before);
}
