//! The servers behind a web server: PHP-FPM, uWSGI and memcached. Each listens at a port and at a socket, and its
//! answers show which of them was used.

use std::path::{Path, PathBuf};

use super::place::{Place, Running, free_port, installed, is_root, php_fpm};
use looptax_testkit::patience::wait_for;

/// A server behind a web server, which listens at the port and at the socket.
pub(super) struct Backend {
    pub(super) port: u16,
    pub(super) socket: PathBuf,
    _running: Vec<Running>,
}

/// Starts PHP-FPM with a script that prints the pool that ran it, and the request.
pub(super) fn fpm(place: &Place) -> Option<Backend> {
    let program = php_fpm()?;
    let (port, socket) = (free_port(), place.file("php.sock"));
    let user = if is_root() { "user = www-data\n" } else { "" };
    let pool = |name: &str, listen: &str| {
        format!(
            "[{name}]\n{user}listen = {listen}\nlisten.mode = 0666\nenv[WAY] = {name}\npm = static\npm.max_children = 1\n"
        )
    };
    let text = format!(
        "[global]\nerror_log = {}\ndaemonize = no\n{}{}",
        place.file("fpm.log").display(),
        pool("tcp", &format!("127.0.0.1:{port}")),
        pool("socket", &socket.display().to_string())
    );
    let conf = place.write("fpm.conf", &text);
    place.write("page.php", "<?php echo getenv('WAY'), ' ', $_SERVER['HTTP_HOST'], ' ', $_SERVER['REQUEST_URI'];");
    let running = place.start(&program, &["-n", "-F", "-y", conf.to_str().unwrap()]);
    listens(port, &socket);
    Some(Backend { port, socket, _running: vec![running] })
}

pub(super) const WSGI: &str = "import os\n\
    def application(environ, start):\n    \
        body = ' '.join([os.environ.get('WAY', '-'), environ.get('HTTP_HOST', ''), environ['PATH_INFO']]).encode()\n    \
        start('200 OK', [('Content-Length', str(len(body)))])\n    \
        return [body]\n";

pub(super) fn uwsgi(place: &Place) -> Option<Backend> {
    let program = installed("uwsgi")?;
    let (port, socket) = (free_port(), place.file("uwsgi.sock"));
    place.write("app.py", WSGI);
    let start = |way: &str, at: &str| {
        let way = format!("WAY={way}");
        let words =
            ["--plugin", "python3", "--wsgi-file", "app.py", "--chmod-socket=666", "--env", &*way, "--socket", at];
        place.start(&program, &words)
    };
    let running = vec![start("tcp", &format!("127.0.0.1:{port}")), start("socket", &socket.display().to_string())];
    listens(port, &socket);
    Some(Backend { port, socket, _running: running })
}

/// Waits until a server listens at the port and at the socket.
pub(super) fn listens(port: u16, socket: &Path) {
    let is_there = || {
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
        std::os::unix::net::UnixStream::connect(socket).ok()
    };
    wait_for("a server behind", super::place::PATIENCE, is_there);
}
