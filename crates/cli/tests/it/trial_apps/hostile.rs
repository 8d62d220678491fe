//! Applications that are not suitable for a trial: each leads to one clear error with the next step, and nothing is
//! left behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::plain::{PHP, has_php, page, plain};
use super::tried::{trial, words};
use crate::application::Place;
use crate::fixture::{Server, is_root, is_there};

/// The source of the plain application's page.
const PAGE: &str = include_str!("files/page.php");

/// Checks that the trial of an application ends with this code, these words and one hint, and leaves nothing behind.
#[track_caller]
fn check((server, place): &(Server, Place), args: &[&str], command: &[&str], code: i32, said: &[&str]) {
    let run = trial(place, &[server])
        .args(words(place, &["--url", "http://«http»/"]))
        .args(words(place, &[args, &["--"], command].concat()))
        .run();
    let said: Vec<String> = said.iter().map(|it| place.fill(it)).collect();
    run.expect_error(code, &said.iter().map(String::as_str).collect::<Vec<_>>());
    place.scratch.check_nothing_left();
}

/// Checks that a trial of the plain application fails with code 2 and these words.
#[track_caller]
fn refused(args: &[&str], command: &[&str], said: &[&str]) {
    if let Some(app) = plain() {
        check(&app, args, command, 2, said);
    }
}

/// Checks that a trial of an application with this script as its page ends with this code and these words.
#[track_caller]
fn script_refused(args: &[&str], script: &str, code: i32, said: &[&str]) {
    if let Some(app) = page(script) {
        check(&app, args, &PHP, code, said);
    }
}

/// Returns the source of the page with more code at its beginning.
fn page_after(words: &str) -> String {
    PAGE.replacen("<?php", &format!("<?php\n{words}\n"), 1)
}

#[test]
fn an_application_that_ends_at_its_start_is_told_with_its_words() {
    let line = "echo no such table >&2; exit 7";
    let said = ["the application ended (exit code 7)", "no such table", "without `looptax trial`"];
    refused(&[], &["sh", "-c", line], &said);
}

#[test]
fn an_application_that_is_not_there_is_told() {
    let said = ["no-such-server", "install the program"];
    refused(&[], &["no-such-server", "«http_port»"], &said);
}

#[test]
fn an_application_that_is_no_program_is_told() {
    refused(&[], &["./page.php"], &["page.php", "that you may execute it"]);
}

#[test]
fn an_application_that_ends_in_the_middle_is_told() {
    // A page kills the process of its own server, some time after the first look.
    let script = page_after(
        "$n = (int) @file_get_contents('n');\nfile_put_contents('n', $n + 1);\n\
         if ($n >= 40) { posix_kill(getmypid(), 9); }",
    );
    let said = ["the application ended (signal 9)", "without `looptax trial`"];
    script_refused(&[], &script, 2, &said);
}

#[test]
fn an_application_that_ends_with_its_first_page_is_told() {
    let script = page_after("posix_kill(getmypid(), 9);");
    let said = ["the application ended (signal 9)", "without `looptax trial`"];
    script_refused(&[], &script, 2, &said);
}

#[test]
fn a_page_that_hangs_is_told() {
    let script = page_after("sleep(60);");
    let said = ["http://«http»/ does not answer", "allow more time for a page with --page-limit"];
    script_refused(&["--page-limit", "1s"], &script, 2, &said);
}

#[test]
fn a_page_that_hangs_in_the_middle_is_told() {
    let script = page_after(
        "$n = (int) @file_get_contents('n');\nfile_put_contents('n', $n + 1);\nif ($n >= 40) { sleep(60); }",
    );
    let said = ["pages failed", "the first was http://«http»/", "the application's log, which may show the cause"];
    script_refused(&["--page-limit", "200ms"], &script, 3, &said);
}

#[test]
fn a_page_that_answers_500_is_told() {
    let script = page_after("http_response_code(500);");
    let said = ["http://«http»/ answers with status 500", "pass a page that works, with --url"];
    script_refused(&[], &script, 2, &said);
}

#[test]
fn a_page_that_works_over_tcp_alone_is_told() {
    let Some((server, place)) = plain() else {
        return;
    };
    // MariaDB prefers the account with the more specific host: over the socket this is another account.
    let account = &server.it.login.user;
    for sql in [
        "CREATE USER 'visitor'@'127.0.0.1' IDENTIFIED BY 'secret'",
        "CREATE USER 'visitor'@'localhost' IDENTIFIED BY 'another'",
        "GRANT SELECT ON *.* TO 'visitor'@'127.0.0.1'",
    ] {
        server.talk().execute(sql).unwrap();
    }
    let login = format!("'{account}', '{}'", server.password());
    let script = place.fill(PAGE).replace(&login, "'visitor', 'secret'");
    assert!(script.contains("visitor"), "{script}");
    place.write(&[("page.php", &script)]);
    let said = [
        "http://«http»/ answers with status 500 over the socket, but works over TCP",
        "`looptax check` to see what the socket needs; nothing was changed",
    ];
    check(&(server, place), &[], &PHP, 2, &said);
}

#[test]
fn an_application_that_listens_late_is_waited_for() {
    let Some((server, place)) = plain() else {
        return;
    };
    let line = place.fill("sleep 2; exec php -S «http» page.php");
    let run =
        trial(&place, &[&server]).args(words(&place, &["--url", "http://«http»/", "--", "sh", "-c", &line])).run();
    run.expect_code(0);
    place.scratch.check_nothing_left();
}

#[test]
fn an_application_that_never_listens_is_told() {
    let said = ["does not listen at «http» after 1s", "if it needs more time, pass --start-limit"];
    refused(&["--start-limit", "1s"], &["sh", "-c", "exec sleep 600"], &said);
}

#[test]
fn an_application_that_goes_into_the_background_is_told() {
    let said = ["the application went into the background", "in the foreground"];
    refused(&[], &["sh", "-c", "php -S «http» page.php & exit 0"], &said);
}

#[test]
fn an_application_that_goes_into_the_background_as_a_daemon_is_told() {
    let said = ["the application went into the background", "in the foreground"];
    let line = "setsid -f php -S «http» page.php; exit 0";
    refused(&[], &["sh", "-c", line], &said);
}

/// Answers every client with an empty SETTINGS frame, like a server that knows only HTTP/2.
const HTTP2: &str = "\
import socket
listening = socket.create_server(('127.0.0.1', «http_port»))
while True:
    visitor, _ = listening.accept()
    try:
        visitor.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        visitor.recv(4096)
    except OSError:
        pass
    visitor.close()
";

#[test]
fn an_application_that_speaks_http2_alone_is_told() {
    if !is_there("python3") {
        return;
    }
    let Some(app) = plain() else {
        return;
    };
    app.1.write(&[("http2.py", HTTP2)]);
    let said = ["http://«http»/ does not answer", "HTTP/2", "make the application accept HTTP/1.1"];
    check(&app, &[], &["python3", "http2.py"], 2, &said);
}

#[test]
fn a_port_that_is_taken_already_is_told() {
    let Some(app) = plain() else {
        return;
    };
    let listener = std::net::TcpListener::bind(app.1.http).unwrap();
    let said = ["a process already listens at «http»", "listen on another port"];
    check(&app, &[], &PHP, 2, &said);
    drop(listener);
}

#[test]
fn an_application_runs_as_another_user() {
    if !is_root() || !has_php() {
        return;
    }
    let script = page_after("if (posix_getuid() !== 65534) { http_response_code(500); }");
    let Some((server, place)) = page(&script) else {
        return;
    };
    server.open_to_all();
    let run = trial(&place, &[&server])
        .args(words(&place, &["--user", "nobody", "--url", "http://«http»/", "--"]))
        .args(words(&place, &PHP))
        .run();
    run.expect_code(0);
    place.scratch.check_nothing_left();
}

#[test]
fn another_user_whom_the_socket_keeps_out_is_told() {
    if !is_root() {
        return;
    }
    let Some(app) = plain() else {
        return;
    };
    let folder = app.0.it.socket.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    let said = [
        "connections to mariadbd stayed on TCP although looptax should have moved them to the socket: ",
        "`looptax check` to see",
    ];
    check(&app, &["--user", "www-data"], &PHP, 2, &said);
}

#[test]
fn a_user_who_is_not_there_is_told() {
    refused(&["--user", "no-such-user"], &PHP, &["no-such-user"]);
}
