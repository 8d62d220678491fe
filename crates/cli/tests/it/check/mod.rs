//! `looptax check`: every obstacle is created for real, and has to be reported.

mod account;
mod accounts;
mod grants;
mod matrix;
mod path;
pub(crate) mod queue;
mod roles;
mod way;
mod whose;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use looptax_model::dsn::Kind;
use looptax_testkit::ports::free_address;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{Alive, Server, exe, is_there};
use crate::record::check_fits;

pub(super) fn check(server: &Server, url: &str, args: &[&str]) -> Finished {
    let scratch = Scratch::new();
    Looptax::new(exe(), &scratch)
        .env("LOOPTAX_PASSWORD", server.password())
        .args(["check", url, "--json"])
        .args(args.iter().copied())
        .run()
}

/// Returns the server's URL without its password.
pub(super) fn url(server: &Server) -> String {
    server.url().replace(&format!(":{}@", server.password()), "@")
}

/// Returns the findings, one per line.
pub(super) fn told(run: &Finished) -> String {
    let points: Value = serde_json::from_str(&run.stdout).unwrap();
    let points = points.as_array().unwrap().iter();
    let lines = points.filter(|it| it["outcome"] != "pass");
    lines.map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Prints the result of a random test, for a person who runs this test separately.
#[allow(clippy::print_stdout, reason = "a figure to be read")]
pub(super) fn report(words: &str) {
    println!("{words}");
}

/// Returns how many cases a random test tries: from a variable that `cargo lab oracle accounts` sets, or the usual
/// number.
pub(super) fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// Returns the outcome of a topic, and all texts about it.
#[track_caller]
fn point(run: &Finished, topic: &str) -> (String, String) {
    let points: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| run.fail("no JSON"));
    check_fits("check", &points);
    let found = points.as_array().unwrap().iter().find(|it| it["topic"] == topic).cloned();
    let Some(found) = found else { run.fail(&format!("nothing about `{topic}`")) };
    (found["outcome"].as_str().unwrap().to_owned(), found.to_string())
}

#[track_caller]
pub(super) fn expect(run: &Finished, topic: &str, outcome: &str, words: &[&str]) {
    let (found, text) = point(run, topic);
    assert_eq!(found, outcome, "{text}");
    for word in words {
        assert!(text.contains(word), "{word} in {text}");
    }
}

/// Returns the advised steps of one kind.
#[track_caller]
pub(super) fn steps(run: &Finished, place: &str) -> Vec<String> {
    let points: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| run.fail("no JSON"));
    let points = points.as_array().unwrap().iter();
    let steps = points.filter_map(|it| it["steps"].as_array()).flatten();
    let steps = steps.filter(|it| it["place"] == place);
    steps.map(|it| it["text"].as_str().unwrap().to_owned()).collect()
}

/// Lets every user search a folder and the folders above it, until this value is dropped.
pub(super) struct Searchable(Vec<(std::path::PathBuf, fs::Permissions)>);

pub(super) fn open_up(folder: &Path) -> Searchable {
    let mut before = Vec::new();
    for folder in folder.ancestors().take_while(|it| *it != Path::new("/")) {
        let permissions = fs::metadata(folder).unwrap().permissions();
        if permissions.mode() & 0o001 == 0 {
            fs::set_permissions(folder, fs::Permissions::from_mode(permissions.mode() | 0o011)).unwrap();
            before.push((folder.to_owned(), permissions));
        }
    }
    Searchable(before)
}

impl Drop for Searchable {
    fn drop(&mut self) {
        for (folder, permissions) in self.0.drain(..) {
            fs::set_permissions(folder, permissions).ok();
        }
    }
}

#[test]
fn a_healthy_server_passes_every_point_that_can_be_known() {
    for kind in [Kind::Mariadb, Kind::Mysql, Kind::Postgres, Kind::Redis, Kind::Valkey] {
        let Some(server) = Server::start(kind) else {
            continue;
        };
        let run = check(&server, &url(&server), &["-c", "1"]);
        for topic in ["server", "path", "same server", "backlog"] {
            expect(&run, topic, "pass", &[]);
        }
        run.expect_code(0);
    }
}

#[test]
fn another_server_behind_the_socket_is_told() {
    let (Some(one), Some(two)) = (Server::start(Kind::Redis), Server::start(Kind::Redis)) else {
        return;
    };
    // The second server gets the password of the first, so that looptax asks for only one password.
    two.redis(&["CONFIG", "SET", "requirepass", one.password()]);
    let run = check(&one, &url(&one), &["--socket", &two.socket()]);
    expect(&run, "same server", "fail", &["two servers"]);
    run.expect_code(1);
}

#[test]
fn another_machine_is_told_and_nobody_logs_in() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["check", "mysql://u:pw@203.0.113.9/db", "--json"]).run();
    run.expect_code(1);
    expect(&run, "server", "fail", &["is not this machine"]);
    assert!(!run.stdout.contains("account"), "{}", run.stdout);
}

#[test]
fn a_port_where_nothing_listens_is_told_without_a_guess() {
    let address = free_address();
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["check", &format!("mysql://u:pw@{address}/"), "--json"]).run();
    run.expect_code(1);
    expect(&run, "server", "fail", &["nothing listens"]);
    assert!(!run.stdout.contains("/run/mysqld"), "{}", run.stdout);
}

#[test]
fn a_configuration_on_a_socket_that_is_gone_does_not_pass() {
    let scratch = Scratch::new();
    let file = scratch.file("wp-config.php");
    let php = "<?php\ndefine( 'DB_NAME', 'd' );\ndefine( 'DB_USER', 'u' );\n\
               define( 'DB_PASSWORD', 'pw' );\ndefine( 'DB_HOST', 'localhost:/gone/my.sock' );\n";
    fs::File::create(&file).and_then(|mut file| std::io::Write::write_all(&mut file, php.as_bytes())).unwrap();
    let run = Looptax::new(exe(), &scratch).args(["check", file.to_str().unwrap()]).run();
    run.expect_code(1);
    assert!(run.words().contains("does not see `/gone`"), "{}", run.stdout);
}

#[test]
fn a_process_on_the_socket_is_told_to_be_there_already() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_there("perl") {
        return;
    }
    let scratch = Scratch::new();
    let script = "use IO::Socket::UNIX; \
                  my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die; \
                  $| = 1; print \"up\\n\"; <STDIN>";
    let mut client = Alive::spawn(
        Command::new("perl")
            .args(["-e", script, &server.socket()])
            .current_dir(scratch.work())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped()),
    );
    let mut up = [0; 3];
    std::io::Read::read_exact(client.0.stdout.as_mut().unwrap(), &mut up).unwrap();
    let run = Looptax::new(exe(), &scratch).args(["check", "--pid", &client.0.id().to_string()]).run();
    run.expect_code(0);
    assert!(run.stdout.contains("on the socket already"), "{}", run.stdout);
}
