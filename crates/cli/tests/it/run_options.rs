//! `run`: its options and environment, and what others see of them.

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use crate::fixture::{Alive, exe};

fn run(scratch: &Scratch) -> Looptax<'_> {
    Looptax::new(exe(), scratch).args(["run"])
}

#[test]
fn an_option_that_is_mistyped_is_no_program() {
    let scratch = Scratch::new();
    run(&scratch)
        .args(["--stat", "--", "true"])
        .run()
        .expect_error(125, &["`run` has no option `--stat`", "run --help"]);
}

#[test]
fn an_address_leads_to_one_socket_of_a_length_that_sockets_have() {
    let scratch = Scratch::new();
    let twice = ["--map", "127.0.0.1:1=/a", "--map", "localhost:1=/b"];
    run(&scratch)
        .args(twice)
        .args(["--", "true"])
        .run()
        .expect_error(125, &["mapped already"]);
    let long = format!("127.0.0.1:1=/{}", "x".repeat(107));
    run(&scratch)
        .args(["--map", &long, "--", "true"])
        .run()
        .expect_error(125, &["108 bytes, and a socket's path at most 107"]);
}

#[test]
fn what_is_wrong_with_a_socket_that_was_named_is_said_beforehand() {
    let scratch = Scratch::new();
    let (file, socket) = (scratch.file("file"), scratch.file("socket"));
    fs::write(&file, "").unwrap();
    let _listens = UnixListener::bind(&socket).unwrap();
    let dry = |path: &str| {
        let map = format!("127.0.0.1:1={path}");
        let run = run(&scratch).args(["--dry-run", "--map", &map]).run();
        run.expect_code(0);
        run.stdout
    };
    assert!(dry("/nowhere").contains("cannot be reached now"));
    assert!(dry(file.to_str().unwrap()).contains("is no socket"));
    assert_eq!(dry(socket.to_str().unwrap()).lines().count(), 1);
}

/// A program may blank a password among its own arguments; those of looptax name only the program.
#[test]
fn the_arguments_of_the_program_stand_with_the_program_alone() {
    let scratch = Scratch::new();
    let mut command = Command::new(exe());
    command.args(["run", "--map", "127.0.0.1:1=/nowhere", "--", "sh", "-c"]);
    command.args(["cat /proc/$PPID/cmdline; exec cat", "geheim"]);
    command.current_dir(scratch.work());
    let mut client = Alive(
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    drop(client.0.stdin.take());
    let mut supervisor = String::new();
    let mut stdout = client.0.stdout.take().unwrap();
    std::io::Read::read_to_string(&mut stdout, &mut supervisor).unwrap();
    assert!(supervisor.contains("run\0--map"), "{supervisor}");
    assert!(supervisor.contains("\0sh\0"), "{supervisor}");
    assert!(!supervisor.contains("geheim"), "{supervisor}");
}
