//! `run`: its options and environment, and what other users see of them.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
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
    run(&scratch).args(twice).args(["--", "true"]).run().expect_error(125, &["mapped already"]);
    let long = format!("127.0.0.1:1=/{}", "x".repeat(107));
    run(&scratch)
        .args(["--map", &long, "--", "true"])
        .run()
        .expect_error(125, &["108 bytes, but a socket's path may have at most 107"]);
}

#[test]
fn what_is_wrong_with_a_socket_that_was_named_is_said_beforehand() {
    let scratch = Scratch::new();
    let (file, socket) = (scratch.file("file"), scratch.file("socket"));
    fs::write(&file, "").unwrap();
    let _listens = UnixListener::bind(&socket).unwrap();
    let left = scratch.file("left");
    drop(UnixListener::bind(&left).unwrap());
    let map = |path: &Path| format!("127.0.0.1:1={}", path.display());
    let dry = |path: &Path, code: i32| {
        let run = run(&scratch).args(["--dry-run", "--map", &map(path)]).run();
        run.expect_code(code);
        run.stdout
    };
    let nowhere = Path::new("/nowhere");
    assert!(dry(nowhere, 1).contains("/nowhere cannot be reached now"));
    assert!(dry(&file, 1).contains("is not a socket"));
    assert!(dry(&left, 1).contains("no process listens"));
    assert_eq!(dry(&socket, 0).lines().count(), 1);
    let strict = |path| {
        let map = map(path);
        let run = run(&scratch).args(["--strict", "--map", &map, "--", "true"]);
        run.run()
    };
    for path in [nowhere, &file, &left] {
        strict(path).expect_error(125, &["no process accepts connections on any socket"]);
    }
    strict(&socket).expect_code(0);
}

#[test]
fn r18_what_keeps_run_from_starting_ends_with_125() {
    let scratch = Scratch::new();
    for (options, words) in [
        (&["--stat"][..], "no option `--stat`"),
        (&["--port", "abc"], "a port is a number from 1 to 65535"),
        (&["--port", "0"], "a port is a number from 1 to 65535"),
        (&["--map", "17379="], "such as 127.0.0.1:3306"),
        (&["--map", "127.0.0.1:1="], "write a path, or @"),
        (&["--map", "x=y", "--port", "3"], "cannot be used with"),
        (&["--login", ""], "for example --login mysql://"),
        (&["--login", "http://x"], "for example --login mysql://"),
        (&["--without", "x"], "--without"),
    ] {
        for dry in [&[][..], &["--dry-run"]] {
            let run = run(&scratch).args(options).args(dry).args(["--", "true"]);
            let run = run.run();
            run.expect_code(125);
            assert!(run.stderr.contains(words), "{options:?}: {}", run.stderr);
        }
    }
    run(&scratch).run().expect_code(125);
    run(&scratch).args(["--help"]).run().expect_code(0);
}

#[test]
fn r18_a_check_that_is_about_no_port_is_told() {
    let scratch = Scratch::new();
    let check = ["--port", "1", "--login", "mysql://app@127.0.0.1/"];
    let run = run(&scratch).args(["-q"]).args(check).args(["--", "true"]);
    let run = run.run();
    run.expect_code(0);
    let words =
        "looptax: warning: --login has the address 127.0.0.1:3306, but no connections to that address are moved\n";
    assert_eq!(run.stderr, words);
}

/// A program may hide a password in its own arguments, so the arguments of looptax show only the program's name.
#[test]
fn the_arguments_of_the_program_stand_with_the_program_alone() {
    let scratch = Scratch::new();
    let mut command = Command::new(exe());
    command.args(["run", "--map", "127.0.0.1:1=/nowhere", "--", "sh", "-c"]);
    command.args(["cat /proc/$PPID/cmdline; exec cat", "geheim"]);
    command.current_dir(scratch.work());
    let mut client = Alive(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    drop(client.0.stdin.take());
    let mut supervisor = String::new();
    let mut stdout = client.0.stdout.take().unwrap();
    std::io::Read::read_to_string(&mut stdout, &mut supervisor).unwrap();
    assert!(supervisor.contains("run\0--map"), "{supervisor}");
    assert!(supervisor.contains("\0sh\0"), "{supervisor}");
    assert!(!supervisor.contains("geheim"), "{supervisor}");
}
