//! Stacks in one network namespace, over every kind of connection that a hop can use.

use looptax_model::dsn::Kind;

use super::{Pages, are_there, expect_chains, nginx, python_has};
use looptax_testkit::ports::free_address;

use crate::application::php::{Php, write_pool};
use crate::application::{Group, Place};
use crate::fixture::{Server, is_root};

pub(super) const POOL: &str = "\
[www]
«account»listen = «fpm»
listen.mode = 0666
pm = static
pm.max_children = 2
catch_workers_output = yes
";

pub(super) const FASTCGI: &str = "fastcgi_pass «pass»; \
    fastcgi_param SCRIPT_FILENAME «folder»/page.php; fastcgi_param REQUEST_METHOD GET;";

/// Writes a page in PHP that keeps its connection to a MariaDB open, over the socket if one is named.
pub(super) fn write_page(place: &Place, host: &str, socket: &str) {
    let page = { include_str!("files/page.php").replace("«host»", host) }.replace("«mysql_socket»", socket);
    place.write(&[("page.php", &page)]);
}

pub(super) fn php_fpm(php: &Php, place: &Place, listen: &str) -> Group {
    write_pool(place, &POOL.replace("«fpm»", listen));
    php.start_fpm(place)
}

#[track_caller]
fn check_php(fpm_by_socket: bool, database_by_socket: bool, expected: &[&str]) {
    let Some(php) = Php::find("mysqli", &[]) else {
        return;
    };
    if !are_there(&["nginx"]) {
        return;
    }
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    server.open_to_all();
    let place = Place::beside(&server);
    super::open_folder(&place);
    let (host, socket) = if database_by_socket { ("localhost", "«socket»") } else { ("127.0.0.1", "") };
    write_page(&place, host, socket);
    let fpm = free_address().to_string();
    let (listen, pass) =
        if fpm_by_socket { ("«folder»/php.sock", "unix:«folder»/php.sock") } else { (&*fpm, &*fpm) };
    let _fpm = php_fpm(&php, &place, listen);
    let front = nginx(&place, "«http»", &FASTCGI.replace("«pass»", pass));
    let pages = Pages::of(&place);
    let _visitors = pages.visitors(place.http, 2);
    expect_chains(&place.scratch, front.pid(), &[expected]);
}

#[test]
fn nginx_php_fpm_and_mariadb_are_a_chain_over_sockets() {
    check_php(true, true, &["nginx unix 2/1 php-fpm", "php-fpm unix 2/2 mariadb"]);
}

#[test]
fn nginx_php_fpm_and_mariadb_are_a_chain_over_tcp() {
    let expected = ["nginx loopback 2/1 php-fpm", "php-fpm loopback 2/2 mariadb"];
    check_php(false, false, &expected);
}

#[test]
fn a_chain_may_be_half_on_the_socket() {
    check_php(true, false, &["nginx unix 2/1 php-fpm", "php-fpm loopback 2/2 mariadb"]);
    check_php(false, true, &["nginx loopback 2/1 php-fpm", "php-fpm unix 2/2 mariadb"]);
}

#[test]
fn haproxy_nginx_gunicorn_pgbouncer_and_postgres_are_one_chain() {
    if !are_there(&["haproxy", "nginx", "pgbouncer"]) || !python_has("gunicorn, psycopg2") || !is_root() {
        return;
    }
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let place = Place::beside(&server);
    super::open_folder(&place);
    let [bouncer, app, web] = [free_address(), free_address(), free_address()];
    let config = format!(
        "[databases]\n* = host=127.0.0.1 port=«port» user=«user» password=«password»\n\
         [pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={}\nunix_socket_dir=«folder»/b\nauth_type=any\n",
        bouncer.port()
    );
    let script = { include_str!("files/postgres_app.py") }
        .replace("«host»", "«folder»/b")
        .replace("«pg_port»", &bouncer.port().to_string());
    let front = format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 1m\n  timeout server 1m\n\
         listen one\n  bind «http»\n  server web {web}\n"
    );
    place.write(&[("pgbouncer.ini", &config), ("b/empty", ""), ("shop.py", &script), ("haproxy.cfg", &front)]);
    super::give_all(&place.path("b"));
    super::give_all(&place.path("pgbouncer.ini"));
    let _pooler = place.start("pgbouncer", &["-q", "-u", "nobody", "«folder»/pgbouncer.ini"]);
    let app_at = app.to_string();
    let words = ["-m", "gunicorn", "-w", "2", "-b", &app_at, "shop:app", "--timeout", "90"];
    let _app = place.start("/usr/bin/python3", &words);
    let _web = nginx(&place, &web.to_string(), &format!("proxy_pass http://{app};"));
    let first = place.start("haproxy", &["-db", "-f", "«folder»/haproxy.cfg"]);
    let pages = Pages::of(&place);
    let _visitors = pages.visitors(place.http, 1);
    let expected = [
        "haproxy loopback 1/1 nginx",
        "nginx loopback 1/1 gunicorn",
        "gunicorn unix 1/1 pgbouncer",
        "pgbouncer loopback 1/1 postgres",
    ];
    expect_chains(&place.scratch, first.pid(), &[&expected]);
}

#[test]
fn uwsgi_is_known_with_its_workers() {
    if !are_there(&["nginx", "uwsgi"]) {
        return;
    }
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let place = Place::beside(&server);
    super::open_folder(&place);
    let script = include_str!("files/redis_app.py").replace("«redis»", "127.0.0.1");
    place.write(&[("shop.py", &script)]);
    let words = "--plugin python3 --master --processes 2 --socket «folder»/uwsgi.sock --chmod-socket=666 \
        --wsgi-file «folder»/shop.py --callable app";
    let words: Vec<&str> = words.split(' ').filter(|it| !it.is_empty()).collect();
    let _app = place.start("uwsgi", &words);
    let upstream = "uwsgi_pass unix:«folder»/uwsgi.sock; uwsgi_param REQUEST_METHOD GET; \
        uwsgi_param PATH_INFO /; uwsgi_param SERVER_NAME x; uwsgi_param SERVER_PORT 1; uwsgi_param SERVER_PROTOCOL HTTP/1.1;";
    let front = nginx(&place, "«http»", upstream);
    let pages = Pages::of(&place);
    let _visitors = pages.visitors(place.http, 2);
    let expected = ["nginx unix 2/1 uwsgi", "uwsgi loopback 2/2 redis"];
    expect_chains(&place.scratch, front.pid(), &[&expected]);
}

#[test]
fn an_application_without_a_name_counts_when_a_web_server_asks_it() {
    if !are_there(&["nginx", "python3"]) {
        return;
    }
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let place = Place::beside(&server);
    super::open_folder(&place);
    let [asked, idle] = [free_address(), free_address()];
    let script = include_str!("files/redis_app.py").replace("«redis»", "«socket»");
    for (name, at) in [("asked.py", asked), ("idle.py", idle)] {
        let script = script.replace("«app_port»", &at.port().to_string());
        place.write(&[(name, &script)]);
    }
    let app = place.start("/usr/bin/python3", &["asked.py"]);
    let bystander = place.start("/usr/bin/python3", &["idle.py"]);
    let front = nginx(&place, "«http»", &format!("proxy_pass http://{asked};"));
    let pages = Pages::of(&place);
    let _visitors = pages.visitors(place.http, 1);
    let python = std::fs::read_link(format!("/proc/{}/exe", app.pid())).unwrap();
    let python = python.file_name().unwrap().to_string_lossy().into_owned();
    let expected = [format!("nginx loopback 1/1 {python}"), format!("{python} unix 1/1 redis")];
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    let found = expect_chains(&place.scratch, front.pid(), &[&expected]);
    let servers = found["servers"].as_array().unwrap();
    assert!(servers.iter().any(|it| it["pid"] == app.pid() && it["kind"] == "http"));
    assert!(!servers.iter().any(|it| it["pid"] == bystander.pid()));
}
