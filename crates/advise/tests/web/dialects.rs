//! The texts that `dsn` prints for the web stack, copied into files of the real programs: the request then comes over
//! the socket.
//!
//! `crates/advise/data/proved.toml` lists these dialects as proved, each with the versions with which it was first
//! seen.

use std::fs;
use std::path::Path;

use looptax_advise::{Dialect, Fields, dialects};
use looptax_model::dsn::Kind;

use super::backends::{self, Backend, WSGI};
use super::fronts::{Make, apache, caddy, haproxy, nginx};
use super::http::{ask_socket, serve_both};
use super::place::{Place, Running, installed, is_root, php_fpm};

/// The dialect's text for a socket. Checks that the dialect is proved.
#[track_caller]
fn text(kind: Kind, name: &str, socket: &Path) -> String {
    let is_it = |it: &&Dialect| it.kind == kind && it.name == name;
    let dialect = dialects().iter().find(is_it).expect("the table has it");
    assert!(dialect.proof().is_some(), "{kind} {name} is not in proved.toml");
    dialect.text(&Fields { socket: socket.display().to_string(), ..Fields::default() })
}

/// Checks a dialect of a web server in front of PHP-FPM or uWSGI. `lines` contains `DIALECT` in place of the text.
#[track_caller]
fn before(backend: fn(&Place) -> Option<Backend>, kind: Kind, name: &str, make: Make, lines: &str) {
    let place = Place::new();
    let Some(backend) = backend(&place) else {
        return;
    };
    pasted(&place, &backend.socket, kind, (name, make, lines), "/page.php");
}

/// Checks a dialect of a web server in front of the HTTP server.
#[track_caller]
fn before_http(name: &str, make: Make, lines: &str) {
    let place = Place::new();
    let socket = place.file("app.sock");
    serve_both(&socket);
    pasted(&place, &socket, Kind::Http, (name, make, lines), "/x");
}

#[track_caller]
fn pasted(place: &Place, socket: &Path, kind: Kind, (name, make, lines): (&str, Make, &str), page: &str) {
    let text = text(kind, name, socket);
    let Some(front) = make(place, &lines.replace("DIALECT", &text), 0) else {
        return;
    };
    let found = front.answer(place, &front.text, page);
    let came = found.lines().any(|it| it.starts_with("socket ") && it.ends_with(page));
    assert!(came, "{text}\n{found}\n{}", place.log());
}

#[test]
fn web_servers_reach_php_by_what_is_printed() {
    let fpm = |name, make: Make, lines: &str| before(backends::fpm, Kind::PhpFpm, name, make, lines);
    let parameters = "fastcgi_param SCRIPT_FILENAME HERE/page.php; fastcgi_param REQUEST_METHOD GET; \
                      fastcgi_param REQUEST_URI $request_uri; fastcgi_param HTTP_HOST $host;";
    fpm("nginx", nginx, &format!("location / {{\nDIALECT\n{parameters}\n}}\n"));
    let all = "DocumentRoot HERE\n<Directory HERE>\nRequire all granted\n</Directory>\n";
    fpm("apache", apache, &format!("{all}<FilesMatch \\.php$>\nDIALECT\n</FilesMatch>\n"));
    fpm("caddy", caddy, "\troot * HERE\n\tDIALECT\n");
    let app = "fcgi-app php\n    docroot HERE\n    path-info ^(/.+\\.php)(/.*)?$\n";
    fpm("haproxy", haproxy, &format!("backend app\n    use-fcgi-app php\n    DIALECT\n{app}"));
}

#[test]
fn web_servers_reach_applications_by_what_is_printed() {
    before_http("nginx", nginx, "location / {\nDIALECT\n}\n");
    before_http("apache", apache, "DIALECT\n");
    before_http("caddy", caddy, "\tDIALECT\n");
    before_http("haproxy", haproxy, "backend app\n    DIALECT\n");
    let uwsgi = |name, make: Make, lines: &str| before(backends::uwsgi, Kind::Uwsgi, name, make, lines);
    let parameters = "uwsgi_param REQUEST_METHOD GET; uwsgi_param PATH_INFO $uri;";
    uwsgi("nginx", nginx, &format!("location / {{\nDIALECT\n{parameters}\n}}\n"));
    uwsgi("apache", apache, "DIALECT\n");
}

/// Checks a dialect for a server's own file: the server that was started with the text answers on the socket.
#[track_caller]
fn own_side(kind: Kind, name: &str, start: impl Fn(&Place, &str) -> Option<Running>) {
    let place = Place::new();
    let socket = place.file("own.sock");
    place.write("app.py", WSGI);
    let text = text(kind, name, &socket);
    let Some(_running) = start(&place, &text) else {
        return;
    };
    let answer = || match kind {
        Kind::Http => ask_socket(&socket, "/x").filter(|it| it.contains("200 OK")),
        // Such a server speaks no HTTP, so it is enough that a process listens.
        _ => std::os::unix::net::UnixStream::connect(&socket).ok().map(|_| String::new()),
    };
    place.answer(&text, answer);
}

fn with_file(place: &Place, program: &Path, name: &str, text: &str, args: &[&str]) -> Running {
    let file = place.write(name, text);
    let file = file.display().to_string();
    let words: Vec<&str> = args.iter().map(|it| if *it == "FILE" { &*file } else { it }).collect();
    place.start(program, &words)
}

#[test]
fn servers_listen_by_what_is_printed() {
    own_side(Kind::Http, "gunicorn", |place, text| {
        let program = installed("gunicorn")?;
        Some(with_file(place, &program, "c.py", text, &["-c", "FILE", "app:application"]))
    });
    own_side(Kind::Http, "uvicorn", |place, text| {
        let line = format!("exec '{}' asgi:app {text}", installed("uvicorn")?.display());
        place.write("asgi.py", super::own_side::ASGI);
        Some(place.start(Path::new("sh"), &["-c", &line]))
    });
    own_side(Kind::Http, "puma", |place, text| {
        let text = format!("app do |env|\n  [200, {{}}, ['x']]\nend\n{text}\n");
        Some(with_file(place, &installed("puma")?, "puma.rb", &text, &["-C", "FILE"]))
    });
    own_side(Kind::Http, "node", |place, text| {
        let text = format!("const server = require('http').createServer((q, r) => r.end('x'));\n{text}\n");
        Some(with_file(place, &installed("node")?, "server.js", &text, &["FILE"]))
    });
    for kind in [Kind::Http, Kind::Uwsgi] {
        own_side(kind, "uwsgi", |place, text| {
            let text = format!("[uwsgi]\nplugins = python3\nwsgi-file = app.py\n{text}\n");
            Some(with_file(place, &installed("uwsgi")?, "uwsgi.ini", &text, &["--ini", "FILE"]))
        });
    }
    own_side(Kind::PhpFpm, "php-fpm", |place, text| {
        let program = php_fpm()?;
        let log = place.file("fpm.log").display().to_string();
        // Only root may change the owner of the socket.
        let text = if is_root() {
            format!("user = www-data\n{text}")
        } else {
            text.replace("listen.owner", ";").replace("listen.group", ";")
        };
        let text =
            format!("[global]\nerror_log = {log}\ndaemonize = no\n[www]\n{text}\npm = static\npm.max_children = 1\n");
        let running = with_file(place, &program, "fpm.conf", &text, &["-n", "-F", "-y", "FILE"]);
        place.answer("php-fpm", || fs::metadata(place.file("own.sock")).ok().map(|_| String::new()));
        Some(running)
    });
}
