//! Who may connect to the socket: if PHP-FPM's pool sets no owner, nginx may not connect; after the change that looptax
//! advises, it may.

use std::fs;

use super::http::ask_port;
use super::place::{Place, expect_closed, free_port, installed, is_root, moved, php_fpm};
use looptax_testkit::patience::wait_for;
use looptax_testkit::skips::skip;

#[test]
fn nginx_is_kept_out_of_php_until_the_pool_says_whose_the_socket_is() {
    if !is_root() {
        skip("needs root");
        return;
    }
    let (Some(fpm), Some(nginx)) = (php_fpm(), installed("nginx")) else {
        return;
    };
    let place = Place::new();
    let here = place.scratch.work().display().to_string();
    let (behind, port) = (free_port(), free_port());
    let pool = format!("[www]\nuser = www-data\nlisten = 127.0.0.1:{behind}\npm = static\npm.max_children = 1\n");
    let socket = place.file("php.sock");
    place.write("page.php", "<?php echo 'done';");
    let temp: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|it| format!("{it}_temp_path {here}/{it};\n"))
        .concat();
    let site = format!(
        "user www-data;\ndaemon off;\npid {here}/nginx.pid;\nerror_log {here}/error.log;\nevents {{ }}\nhttp {{\n{temp}access_log off;\n\
         server {{\n    listen 127.0.0.1:{port};\n    location / {{\n        fastcgi_pass 127.0.0.1:{behind};\n        \
         fastcgi_param SCRIPT_FILENAME {here}/page.php;\n        fastcgi_param REQUEST_METHOD GET;\n    }}\n}}\n}}\n"
    );
    let pool = moved("/etc/php/8.2/fpm/pool.d/www.conf", &pool, behind, &socket);
    let site = moved("/etc/nginx/nginx.conf", &site, behind, &socket);
    let site = place.write("nginx.conf", &site);
    let owner = "listen.owner = www-data\nlisten.group = www-data\nlisten.mode = 0660\nlisten.backlog = 511\n";
    for (more, expected) in [("", "502 Bad Gateway"), (owner, "done")] {
        fs::remove_file(&socket).ok();
        let text = format!("[global]\nerror_log = {here}/fpm.log\ndaemonize = no\n{pool}{more}");
        let conf = place.write("fpm.conf", &text);
        let _fpm = place.start(&fpm, &["-n", "-F", "-y", conf.to_str().unwrap()]);
        wait_for("the pool's socket", super::place::PATIENCE, || socket.exists().then_some(()));
        let _nginx = place.start(&nginx, &["-e", &format!("{here}/error.log"), "-c", site.to_str().unwrap()]);
        let answer = place.answer("nginx", || ask_port(port, "/"));
        assert!(answer.contains(expected), "{more}: {answer}\n{}", place.log());
        expect_closed(behind);
    }
}

#[test]
fn a_reload_moves_the_pool_to_the_socket() {
    let Some(fpm) = php_fpm() else {
        return;
    };
    let place = Place::new();
    let behind = free_port();
    let socket = place.file("php.sock");
    let user = if is_root() { "user = www-data\n" } else { "" };
    let pool = format!("[www]\n{user}listen = 127.0.0.1:{behind}\npm = static\npm.max_children = 1\n");
    let log = place.file("fpm.log").display().to_string();
    let write = |pool: &str| place.write("fpm.conf", &format!("[global]\nerror_log = {log}\ndaemonize = no\n{pool}"));
    let conf = write(&pool);
    let running = place.start(&fpm, &["-n", "-F", "-y", conf.to_str().unwrap()]);
    let is_open = || std::net::TcpStream::connect(("127.0.0.1", behind)).ok();
    wait_for("the pool's port", super::place::PATIENCE, is_open);
    write(&moved("/etc/php/8.2/fpm/pool.d/www.conf", &pool, behind, &socket));
    running.signal("-USR2");
    let is_there = || socket.exists().then_some(());
    wait_for("the pool's socket", super::place::PATIENCE, is_there);
    expect_closed(behind);
}
