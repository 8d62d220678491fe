//! Which processes get a password: servers, and not a process that only listens at the expected place.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use looptax_model::dsn::Kind;
use looptax_testkit::fake::{Answer, Fake, Script, Speaks};
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use crate::fixture::{Server, exe, is_root};

const NOBODY: u32 = 65_534;

/// Returns a folder in which every user may write, like /tmp.
fn folder(scratch: &Scratch) -> PathBuf {
    let folder = scratch.work();
    set_permissions(&folder, Permissions::from_mode(0o1777)).unwrap();
    set_permissions(folder.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Starts a process that asks every client for its password in clear text.
fn stranger(scratch: &Scratch, speaks: Speaks) -> Fake {
    let script = Script { wants_password: true, uid: Some(NOBODY), ..Script::new(speaks, Answer::Done) };
    Fake::start(&folder(scratch), script)
}

fn looptax<'a>(scratch: &'a Scratch, args: &[&str]) -> Looptax<'a> {
    Looptax::new(exe(), scratch).args(args)
}

#[track_caller]
fn check_nothing_heard(fake: &Fake, args: &[&str]) {
    let scratch = Scratch::new();
    let run = looptax(&scratch, args).run();
    let said = format!("{}{}", run.stdout, run.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("(uid 65534)"), "{args:?}: {said}");
    assert!(said.contains("--trust-peer"), "{args:?}: {said}");
    assert_eq!(fake.heard(), b"", "{args:?}");
    let wanted = if args[0] == "check" { 3 } else { 2 };
    assert_eq!(run.status.code(), Some(wanted), "{args:?}: {said}");
}

#[test]
fn r44_another_users_socket_beside_the_true_server_hears_no_password() {
    if !is_root() {
        return;
    }
    for (kind, speaks) in
        [(Kind::Mariadb, Speaks::Mysql), (Kind::Postgres, Speaks::Postgres), (Kind::Redis, Speaks::Redis)]
    {
        let Some(server) = Server::start(kind) else {
            continue;
        };
        let scratch = Scratch::new();
        let fake = stranger(&scratch, speaks);
        let socket = fake.socket.to_str().unwrap();
        let folder = fake.socket.parent().unwrap().to_str().unwrap();
        let url = server.url();
        check_nothing_heard(&fake, &["check", &url, "--socket", socket]);
        check_nothing_heard(&fake, &["compare", &url, "--yes", "-q", "--socket", socket]);
        if speaks != Speaks::Postgres {
            check_nothing_heard(&fake, &["check", &url, "--socket", folder]);
        }
    }
}

#[test]
fn r44_another_user_on_the_port_hears_no_password() {
    if !is_root() {
        return;
    }
    for speaks in [Speaks::Mysql, Speaks::Postgres, Speaks::Redis] {
        let scratch = Scratch::new();
        let fake = stranger(&scratch, speaks);
        let socket = fake.socket.to_str().unwrap();
        let url = fake.url();
        check_nothing_heard(&fake, &["check", &url, "--socket", socket]);
        check_nothing_heard(&fake, &["compare", &url, "--yes", "-q"]);
        check_nothing_heard(&fake, &["why", &url, "--yes", "-q"]);
    }
}

#[test]
fn r44_who_insists_by_name_logs_in_to_anybody() {
    if !is_root() {
        return;
    }
    for speaks in [Speaks::Postgres, Speaks::Redis] {
        let scratch = Scratch::new();
        let fake = stranger(&scratch, speaks);
        let socket = fake.socket.to_str().unwrap();
        let url = fake.url();
        let own = Scratch::new();
        looptax(&own, &["check", &url, "--socket", socket, "--trust-peer"]).run();
        let heard = fake.heard();
        let has_password = heard.windows(11).any(|it| it == b"s3cr3t-w0rd");
        assert!(has_password, "{speaks:?}");
    }
}

#[test]
fn r44_mysql_clear_password_is_answered_where_mysqls_own_word_enables_it() {
    let scratch = Scratch::new();
    let script = Script { wants_password: true, ..Script::new(Speaks::Mysql, Answer::Done) };
    let fake = Fake::start(&scratch.work(), script);
    let socket = fake.socket.to_str().unwrap();
    let url = fake.url();
    let heard_password = || fake.heard().windows(11).any(|it| it == b"s3cr3t-w0rd");
    let args = ["check", &url, "--socket", socket, "--verbose"];
    let run = looptax(&scratch, &args).run();
    assert!(!heard_password());
    assert!(run.stdout.contains("mysql_clear_password"), "{}", run.stdout);
    looptax(&scratch, &args).env("LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN", "1").run();
    assert!(heard_password());
}
