//! A process that was inspected once may have another identity at its next connection.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use libtest_mimic::Trial;

use crate::refusals::{NOBODY, is_root};
use crate::server::Server;
use crate::supervise::Run;
use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("groups_that_change_are_those_of_the_next_connection", || {
            check(
                "other-groups",
                &[
                    "uid=0 gid=0 groups=[5]",
                    "uid=0 gid=0 groups=[4, 7]",
                    "uid=0 gid=0 groups=[4, 7]",
                    "uid=0 gid=0 groups=[]",
                    "uid=0 gid=0 groups=[4, 7]",
                ],
                "",
            );
        }),
        trial("a_user_that_changes_is_that_of_the_next_connection", || {
            check(
                "other-user",
                &["uid=0 gid=0 groups=[5]", "uid=65534 gid=0 groups=[5]", "uid=0 gid=0 groups=[5]"],
                "",
            );
        }),
        trial("rights_that_are_given_up_are_gone_at_the_next_connection", || {
            check("fewer-rights", &["own", "tcp"], "Denied:1");
        }),
        trial("a_root_that_changes_is_that_of_the_next_connection", || {
            check("other-root", &["own", "tcp"], "OtherRoot:1");
        }),
        trial("users_that_change_are_those_of_the_next_connection", || {
            check("other-users", &["own", "tcp"], "OtherUsers:1");
        }),
        trial("r18_a_thread_that_executes_takes_its_own_groups", || {
            let ways = ["uid=0 gid=0 groups=[27, 42]", "uid=0 gid=0 groups=[]"];
            check("groups-by-thread", &ways, "");
        }),
        trial("a_thread_that_executes_takes_its_world_along", || {
            check("other-thread", &["own", "tcp"], "OtherRoot:1");
        }),
    ]
}

/// Runs a case and checks how each of its connections arrives: `own` for the socket with our own account, `tcp`, or the
/// account that the server sees.
fn check(case: &str, ways: &[&str], left: &str) {
    if !is_root() {
        return;
    }
    let server = Server::start();
    if case == "fewer-rights" {
        fs::set_permissions(&server.socket, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&server.socket, Some(NOBODY), None).unwrap();
    }
    let told = server.tcp.to_string();
    let folder = server.folder.path().to_str().unwrap();
    let exe = std::env::current_exe().unwrap();
    let words = [exe.to_str().unwrap(), "client", case, &told, folder];
    let run = Run::command(&words).route(server.tcp, &server.socket);
    let done = run.run().good();
    let arrived: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(arrived.len(), ways.len(), "{done:#?}");
    for (arrived, way) in arrived.iter().zip(ways) {
        match *way {
            "own" => assert!(arrived.starts_with("way unix uid=0"), "{arrived}"),
            "tcp" => assert!(arrived.starts_with("way tcp"), "{arrived}"),
            account => assert_eq!(*arrived, format!("way unix {account}")),
        }
    }
    let n_moved = ways.iter().filter(|it| **it != "tcp").count() as u64;
    done.expect_counts(n_moved, left);
}
