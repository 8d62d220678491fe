//! The rights of a Redis user: a right that is missing is reported, and not mistaken for another problem.

use std::io::Read;
use std::process::{Command, Stdio};

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;

use super::short;
use crate::check::{check, expect};
use crate::fixture::{Alive, Server, exe};

/// Starts a Redis that requires no password.
fn open_to_all() -> Option<Server> {
    let server = Server::start(Kind::Redis)?;
    // This Redis rejects a login with a password only if the default user has no password.
    server.redis(&["CONFIG", "SET", "requirepass", ""]);
    Some(server)
}

fn looptax(scratch: &Scratch, words: &[&str]) -> Finished {
    Looptax::new(exe(), scratch).env("LOOPTAX_PASSWORD", "nobody-asked").args(words.iter().copied()).run()
}

#[test]
fn r20_a_password_that_the_server_does_not_want_is_left_out() {
    let Some(server) = open_to_all() else { return };
    let url = format!("redis://{}", server.it.tcp);
    let run = check(&server, &url, &["-c", "1"]);
    expect(&run, "login", "pass", &["works over TCP and over the socket", "without LOOPTAX_PASSWORD"]);
    run.expect_code(0);
    let scratch = Scratch::new();
    let run = short(&scratch, &url, &[]).env("LOOPTAX_PASSWORD", "nobody-asked");
    run.run().expect_code(0);
}

#[test]
fn r20_a_process_on_a_redis_without_password_is_checked_with_a_login() {
    let Some(server) = open_to_all() else { return };
    let (ip, port) = (server.it.tcp.ip(), server.it.tcp.port());
    let script = format!("exec 3<>/dev/tcp/{ip}/{port} && echo up && read -r _");
    let mut client = Alive::spawn(
        Command::new("/bin/bash")
            .args(["-c", &script])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped()),
    );
    let stdout = client.0.stdout.as_mut().unwrap();
    stdout.read_exact(&mut [0; 3]).unwrap();
    let scratch = Scratch::new();
    let pid = client.0.id().to_string();
    let run = looptax(&scratch, &["check", "--pid", &pid, "-c", "1", "--verbose"]);
    assert!(run.stdout.contains("works over TCP and over the socket"), "{}", run.stdout);
    assert!(!run.stdout.contains("USER@"), "{}", run.stdout);
}

#[test]
fn r20_a_server_of_another_kind_on_the_port_is_named() {
    let Some(server) = open_to_all() else { return };
    let scratch = Scratch::new();
    let url = format!("postgres://app@{}/", server.it.tcp);
    let run = looptax(&scratch, &["check", &url, "--json"]);
    expect(&run, "server", "fail", &["redis-server", "does not speak PostgreSQL"]);
    run.expect_code(1);
}
