//! The socket is found for an account that may not query its path, and for a user that sees no process of the server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use super::{execute, rule, short};
use crate::check::{expect, open_up};
use crate::fixture::{Server, exe, is_root, saved};

/// A user that owns none of the servers' processes.
const STRANGER: u32 = 12_345;

fn with_role() -> Option<(Server, String)> {
    let server = Server::start(Kind::Postgres)?;
    execute(&server, &["CREATE ROLE app LOGIN PASSWORD 'pw'"]);
    rule(&server, "local all app scram-sha-256\nhost all app 127.0.0.1/32 scram-sha-256");
    let url = format!("postgres://app:pw@{}/postgres", server.it.tcp);
    Some((server, url))
}

#[test]
fn r20_an_ordinary_role_of_postgres_is_compared() {
    let Some((server, url)) = with_role() else {
        return;
    };
    let scratch = Scratch::new();
    short(&scratch, &url, &[]).run().expect_code(0);
    let endpoint = saved(&scratch)["comparisons"][0]["arms"][0]["endpoint"].clone();
    assert_eq!(endpoint, server.socket());
}

#[test]
fn r20_a_stranger_finds_the_socket_whose_process_nobody_shows_him() {
    let Some((server, url)) = with_role().filter(|_| is_root()) else {
        return;
    };
    let socket = server.socket();
    let _reachable = open_up(Path::new(&socket).parent().unwrap());
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
    let scratch = Scratch::new();
    short(&scratch, &url, &[]).uid(STRANGER).run().expect_code(0);
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).uid(STRANGER).args(["check", &url, "-c", "1", "--json"]).run();
    run.expect_code(0);
    expect(&run, "server", "pass", &[]);
    expect(&run, "same server", "pass", &["TCP and the socket lead to the same server"]);
}

#[test]
fn r20_a_folder_given_as_the_socket_means_the_socket_in_it() {
    for kind in [Kind::Postgres, Kind::Mariadb, Kind::Redis] {
        let Some(server) = Server::start(kind) else {
            continue;
        };
        let socket = server.socket();
        let folder = Path::new(&socket).parent().unwrap().to_str().unwrap();
        let scratch = Scratch::new();
        short(&scratch, &server.url(), &["--socket", folder]).run().expect_code(0);
        let scratch = Scratch::new();
        let run = Looptax::new(exe(), &scratch).args(["check", &server.url(), "--socket", folder, "-c", "1"]).run();
        run.expect_code(0);
    }
}
