//! nginx, Apache, Caddy and `HAProxy`: looptax reads the file with the port, and changes it as it advises. The same
//! page then comes over the socket.

use std::path::Path;

use super::backends::{self, Backend};
use super::http::{ask_port, serve_both};
use super::place::{Place, Running, free_port, installed, moved};

/// A web server: the path of its file, the whole file with an unused port, and the function that starts the server.
pub(super) struct Front {
    path: &'static str,
    pub(super) text: String,
    start: fn(&Place, &Path, &Path) -> Running,
    program: std::path::PathBuf,
    port: u16,
}

/// Makes a web server whose file has these lines, in front of a server at this port.
pub(super) type Make = fn(&Place, &str, u16) -> Option<Front>;

impl Front {
    /// Starts the web server with this file, and returns its answer for a page.
    #[track_caller]
    pub(super) fn answer(&self, place: &Place, text: &str, page: &str) -> String {
        let name = Path::new(self.path).file_name().unwrap().to_str().unwrap();
        let file = place.write(name, text);
        let _running = (self.start)(place, &self.program, &file);
        place.answer(self.path, || ask_port(self.port, page))
    }

    /// Asks for the page with the old file, then with the changed file. The first answer has to come over the port, the
    /// second over the socket. `ends` are the texts that follow the transport in the answers.
    #[track_caller]
    fn follow(&self, place: &Place, (port, socket): (u16, &Path), page: &str, ends: [&str; 2]) {
        let [before, after] = ends;
        let found = self.answer(place, &self.text, page);
        expect_line(&found, &format!("tcp {before}"), place);
        let new = moved(self.path, &self.text, port, socket);
        let found = self.answer(place, &new, page);
        expect_line(&found, &format!("socket {after}"), place);
    }
}

#[track_caller]
fn expect_line(answer: &str, wanted: &str, place: &Place) {
    let is_there = answer.lines().any(|it| it == wanted);
    assert!(is_there, "no `{wanted}` in {answer}\n{}", place.log());
}

/// Tests a file in front of the HTTP server.
#[track_caller]
fn over_http(front: Make, lines: &str, page: &str, ends: [&str; 2]) {
    let place = Place::new();
    let socket = place.file("app.sock");
    let port = serve_both(&socket);
    let Some(front) = front(&place, lines, port) else {
        return;
    };
    let ends = ends.map(|it| it.replace("PORT", &port.to_string()));
    front.follow(&place, (port, &socket), page, [&ends[0], &ends[1]]);
}

/// Tests a file in front of PHP-FPM or uWSGI.
#[track_caller]
fn over(backend: fn(&Place) -> Option<Backend>, front: Make, lines: &str, page: &str) {
    let place = Place::new();
    let Some(backend) = backend(&place) else {
        return;
    };
    let Some(front) = front(&place, lines, backend.port) else {
        return;
    };
    let end = format!("shop.example {page}");
    front.follow(&place, (backend.port, &backend.socket), page, [&end, &end]);
}

pub(super) fn nginx(place: &Place, lines: &str, behind: u16) -> Option<Front> {
    let program = installed("nginx")?;
    let port = free_port();
    let here = place.scratch.work().display().to_string();
    let temp: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|it| format!("    {it}_temp_path {here}/{it};\n"))
        .concat();
    let lines = lines.replace("PORT", &behind.to_string()).replace("HERE", &here);
    let (outside, inside) = lines.split_once("---\n").unwrap_or(("", &lines));
    let user = if super::place::is_root() { "user root;\n" } else { "" };
    let text = format!(
        "{user}daemon off;\npid {here}/nginx.pid;\nerror_log {here}/error.log;\nevents {{ }}\nhttp {{\n    access_log off;\n{temp}\
         {outside}    server {{\n        listen 127.0.0.1:{port};\n{inside}    }}\n}}\n"
    );
    Some(Front {
        path: "/etc/nginx/nginx.conf",
        text,
        program,
        port,
        start: |place, program, file| {
            let log = place.file("error.log").display().to_string();
            place.start(program, &["-e", &log, "-c", file.to_str().unwrap()])
        },
    })
}

pub(super) fn apache(place: &Place, lines: &str, behind: u16) -> Option<Front> {
    let program = installed("apache2")?;
    let port = free_port();
    let here = place.scratch.work().display().to_string();
    let modules: String = [
        "mpm_event",
        "authz_core",
        "proxy",
        "proxy_http",
        "proxy_fcgi",
        "proxy_uwsgi",
        "proxy_balancer",
        "slotmem_shm",
        "lbmethod_byrequests",
    ]
    .map(|it| format!("LoadModule {it}_module /usr/lib/apache2/modules/mod_{it}.so\n"))
    .concat();
    let user = if super::place::is_root() { "User www-data\nGroup www-data\n" } else { "" };
    let lines = lines.replace("PORT", &behind.to_string()).replace("HERE", &here);
    let text = format!(
        "ServerRoot {here}\nServerName localhost\n{modules}{user}PidFile {here}/apache.pid\nDefaultRuntimeDir {here}\n\
         ErrorLog {here}/error.log\nListen 127.0.0.1:{port}\n<VirtualHost 127.0.0.1:{port}>\n{lines}</VirtualHost>\n"
    );
    Some(Front {
        path: "/etc/apache2/apache2.conf",
        text,
        program,
        port,
        start: |place, program, file| place.start(program, &["-D", "FOREGROUND", "-f", file.to_str().unwrap()]),
    })
}

pub(super) fn caddy(place: &Place, lines: &str, behind: u16) -> Option<Front> {
    let program = installed("caddy")?;
    let port = free_port();
    let here = place.scratch.work().display().to_string();
    let lines = lines.replace("PORT", &behind.to_string()).replace("HERE", &here);
    let text = format!("{{\n\tadmin off\n\tauto_https off\n}}\nhttp://:{port} {{\n\tbind 127.0.0.1\n{lines}}}\n");
    Some(Front {
        path: "/etc/caddy/Caddyfile",
        text,
        program,
        port,
        start: |place, program, file| {
            let file = file.to_str().unwrap();
            place.start(program, &["run", "--config", file, "--adapter", "caddyfile"])
        },
    })
}

pub(super) fn haproxy(place: &Place, lines: &str, behind: u16) -> Option<Front> {
    let program = installed("haproxy")?;
    let port = free_port();
    let here = place.scratch.work().display().to_string();
    let lines = lines.replace("PORT", &behind.to_string()).replace("HERE", &here);
    let text = format!(
        "defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    timeout server 20s\n\
         frontend web\n    bind 127.0.0.1:{port}\n    default_backend app\n{lines}"
    );
    Some(Front {
        path: "/etc/haproxy/haproxy.cfg",
        text,
        program,
        port,
        start: |place, program, file| place.start(program, &["-db", "-f", file.to_str().unwrap()]),
    })
}

#[test]
fn nginx_proxies_to_the_socket_with_the_same_page_and_another_host() {
    let lines = "        location /a/ {\n            proxy_pass http://127.0.0.1:PORT/b/;\n        }\n";
    over_http(nginx, lines, "/a/x?y=1", ["127.0.0.1:PORT /b/x?y=1", "localhost /b/x?y=1"]);
}

#[test]
fn nginx_proxies_to_the_socket_with_the_page_and_host_as_asked() {
    let lines = "        location / {\n            proxy_set_header Host $host;\n            proxy_pass http://127.0.0.1:PORT;\n        }\n";
    over_http(nginx, lines, "/x%20y", ["shop.example /x%20y"; 2]);
}

#[test]
fn nginx_proxies_to_the_socket_of_an_upstream() {
    let lines = "    upstream app {\n        server 127.0.0.1:PORT fail_timeout=0;\n    }\n---\n        location / {\n            \
                 proxy_pass http://app;\n        }\n";
    over_http(nginx, lines, "/x", ["app /x"; 2]);
}

const FASTCGI: &str = "            fastcgi_param SCRIPT_FILENAME HERE/page.php;\n            fastcgi_param REQUEST_METHOD GET;\n            \
    fastcgi_param REQUEST_URI $request_uri;\n            fastcgi_param HTTP_HOST $host;\n        }\n";

#[test]
fn nginx_reaches_php_over_the_socket() {
    let lines = format!("        location / {{\n            fastcgi_pass 127.0.0.1:PORT;\n{FASTCGI}");
    over(backends::fpm, nginx, &lines, "/page.php?a=b");
}

#[test]
fn nginx_reaches_php_over_the_socket_of_an_upstream() {
    let lines = format!(
        "    upstream php {{ server 127.0.0.1:PORT; }}\n---\n        location / {{\n            fastcgi_pass php;\n{FASTCGI}"
    );
    over(backends::fpm, nginx, &lines, "/page.php");
}

#[test]
fn nginx_reaches_uwsgi_over_the_socket() {
    let lines = "        location / {\n            uwsgi_pass 127.0.0.1:PORT;\n            uwsgi_param REQUEST_METHOD GET;\n            \
                 uwsgi_param PATH_INFO $uri;\n            uwsgi_param HTTP_HOST $host;\n        }\n";
    over(backends::uwsgi, nginx, lines, "/x");
}

#[test]
fn apache_proxies_to_the_socket_with_the_same_page_and_host() {
    let lines =
        "ProxyPass \"/a/\" \"http://127.0.0.1:PORT/b/\"\nProxyPassReverse \"/a/\" \"http://127.0.0.1:PORT/b/\"\n";
    over_http(apache, lines, "/a/x?y=1", ["127.0.0.1:PORT /b/x?y=1"; 2]);
}

#[test]
fn apache_proxies_to_the_socket_within_a_location() {
    let lines =
        "ProxyPreserveHost On\n<Location \"/\">\n    ProxyPass \"http://127.0.0.1:PORT/\" timeout=20\n</Location>\n";
    over_http(apache, lines, "/x", ["shop.example /x"; 2]);
}

#[test]
fn apache_balances_to_the_socket() {
    let lines = "<Proxy \"balancer://app\">\n    BalancerMember \"http://127.0.0.1:PORT\"\n</Proxy>\nProxyPass \"/\" \"balancer://app/\"\n";
    over_http(apache, lines, "/x", ["127.0.0.1:PORT /x"; 2]);
}

#[test]
fn apache_reaches_php_over_the_socket_by_handler() {
    let lines = "DocumentRoot HERE\n<Directory HERE>\n    Require all granted\n</Directory>\n<FilesMatch \\.php$>\n    \
                 SetHandler \"proxy:fcgi://127.0.0.1:PORT\"\n</FilesMatch>\n";
    over(backends::fpm, apache, lines, "/page.php?a=b");
}

#[test]
fn apache_reaches_php_over_the_socket_by_pattern() {
    let lines = "ProxyPassMatch ^/(.*\\.php)$ fcgi://127.0.0.1:PORTHERE/$1\n";
    over(backends::fpm, apache, lines, "/page.php");
}

#[test]
fn apache_reaches_uwsgi_over_the_socket() {
    let lines = "ProxyPass \"/\" \"uwsgi://127.0.0.1:PORT/\"\n";
    over(backends::uwsgi, apache, lines, "/x");
}

#[test]
fn caddy_proxies_to_the_socket() {
    let lines = "\treverse_proxy /x* 127.0.0.1:PORT\n";
    over_http(caddy, lines, "/x?y=1", ["shop.example /x?y=1"; 2]);
}

#[test]
fn caddy_proxies_to_the_socket_from_a_block() {
    let lines = "\treverse_proxy {\n\t\tto http://127.0.0.1:PORT\n\t}\n";
    over_http(caddy, lines, "/x", ["shop.example /x"; 2]);
}

#[test]
fn caddy_reaches_php_over_the_socket() {
    let lines = "\troot * HERE\n\tphp_fastcgi 127.0.0.1:PORT\n";
    over(backends::fpm, caddy, lines, "/page.php?a=b");
}

#[test]
fn haproxy_proxies_to_the_socket() {
    let lines = "backend app\n    server one 127.0.0.1:PORT\n";
    over_http(haproxy, lines, "/x", ["shop.example /x"; 2]);
}

#[test]
fn haproxy_reaches_php_over_the_socket() {
    let lines = "backend app\n    use-fcgi-app php\n    server one 127.0.0.1:PORT proto fcgi\nfcgi-app php\n    docroot HERE\n    \
                 path-info ^(/.+\\.php)(/.*)?$\n";
    over(backends::fpm, haproxy, lines, "/page.php");
}

#[test]
fn haproxy_in_a_chroot_looks_for_the_socket_below_it() {
    if !super::place::is_root() {
        looptax_testkit::skips::skip("needs root");
        return;
    }
    let place = Place::new();
    let jail = place.file("jail");
    std::fs::create_dir(&jail).unwrap();
    let behind = serve_both(&jail.join("app.sock"));
    let lines = "backend app\n    server one 127.0.0.1:PORT\n";
    let Some(front) = haproxy(&place, lines, behind) else {
        return;
    };
    let text = format!("global\n    chroot {}\n{}", jail.display(), front.text);
    for (socket, expected) in
        [(jail.join("app.sock"), "503 Service Unavailable"), ("/app.sock".into(), "socket shop.example /x")]
    {
        let new = moved(front.path, &text, behind, &socket);
        let found = front.answer(&place, &new, "/x");
        assert!(found.contains(expected), "{found}");
    }
}
