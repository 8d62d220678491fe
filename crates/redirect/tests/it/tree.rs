//! The program among other processes: how it ends, which signals it gets, which processes it leaves behind.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use libtest_mimic::Trial;

use crate::server::Server;
use crate::supervise::{Done, ENDING_THREAD, Run};
use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("its_exit_code_is_ours", exit_codes),
        trial("its_deadly_signal_is_ours", deadly_signals),
        trial("a_program_that_is_none_is_told_apart", no_program),
        trial("signals_to_us_reach_it", forwarded),
        trial("a_signal_to_the_group_reaches_it_once", group_signal),
        trial("a_stop_of_the_program_is_ours", stopped),
        trial("r18_a_stop_for_us_is_the_programs", stopped_with_us),
        trial("r18_a_thread_that_is_about_to_end_is_waited_for", || {
            let mut command = shell("echo on").to_command();
            let output = command.env(ENDING_THREAD, "1").output().unwrap();
            assert_eq!(Done::new(output).good().stdout, "on\n");
        }),
        trial("its_group_and_session_are_ours", group),
        trial("input_and_output_end_with_it", streams),
        trial("signals_are_as_they_were", dispositions),
        trial("no_descriptor_is_left_open_in_it", descriptors),
        trial("a_run_inside_a_run_goes_on_as_it_is", nested),
        trial("without_a_listener_it_runs_as_it_is", no_listener),
        trial("what_it_leaves_behind_is_still_moved", daemon),
        trial("nobody_is_left_when_all_have_ended", nobody_left),
    ]
}

fn shell(script: &str) -> Run {
    Run::command(&["sh", "-c", script])
}

fn exit_codes() {
    for code in [0, 1, 7, 125, 255] {
        let done = shell(&format!("exit {code}")).run();
        assert_eq!(done.output.status.code(), Some(code));
    }
}

fn deadly_signals() {
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGPIPE] {
        let done = shell(&format!("kill -{signal} $$")).run();
        assert_eq!(done.output.status.signal(), Some(signal));
    }
}

fn no_program() {
    let done = Run::command(&["/no/such/program"]).run();
    assert!(done.stderr.contains("cannot run `/no/such/program`"), "{done:#?}");
    assert!(done.stderr.contains("code: 2"), "{done:#?}");
    let done = Run::command(&["/etc/passwd"]).run();
    assert!(done.stderr.contains("code: 13"), "{done:#?}");
}

/// Starts a run, and waits until the program prints that it is ready.
fn started(run: &Run) -> (Child, BufReader<std::process::ChildStdout>) {
    use std::os::unix::process::CommandExt;
    let mut command = run.to_command();
    // A shell cannot trap signals that were ignored before its start, for example by nohup.
    let listen = || {
        for signal in [libc::SIGHUP, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2] {
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    unsafe { command.pre_exec(listen) };
    // A separate group, so that a signal to this group does not reach the tests.
    let mut child = command.process_group(0).stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, lines)
}

fn kill(pid: i32, signal: i32) {
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

/// A program that prints which signals it gets, and ends with the last one.
const LISTENING: &str = "trap 'echo usr1' USR1; trap 'echo hup' HUP; trap 'echo term; exit 3' TERM; \
                         echo ready; while :; do read line && echo $line || exit 9; done";

fn forwarded() {
    let (mut child, mut lines) = started(&Run::command(&["bash", "-c", LISTENING]));
    let mut line = String::new();
    for (signal, wanted) in [(libc::SIGUSR1, "usr1\n"), (libc::SIGHUP, "hup\n"), (libc::SIGTERM, "term\n")] {
        kill(child.id().cast_signed(), signal);
        line.clear();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, wanted);
    }
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// The signal that is sent only to us is passed on after the decision about the signal to the group.
fn group_signal() {
    let script = LISTENING.replace("trap 'echo hup' HUP", "trap 'echo usr2' USR2");
    let (mut child, mut lines) = started(&Run::command(&["bash", "-c", &script]));
    let pid = child.id().cast_signed();
    let mut line = String::new();
    for (pid, signal, wanted) in [(-pid, libc::SIGUSR1, "usr1\n"), (pid, libc::SIGUSR2, "usr2\n")] {
        kill(pid, signal);
        line.clear();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, wanted);
    }
    drop(child.stdin.take());
    line.clear();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "");
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

/// The program stops itself; the test waits for this as a shell waits for its job.
fn stopped() {
    let run = Run::command(&["bash", "-c", "echo ready; kill -STOP $$; echo on; exit 5"]);
    let (mut child, mut lines) = started(&run);
    let pid = child.id().cast_signed();
    let mut status = 0;
    let found = unsafe { libc::waitpid(pid, &raw mut status, libc::WUNTRACED) };
    assert_eq!((found, libc::WIFSTOPPED(status)), (pid, true));
    kill(-pid, libc::SIGCONT);
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "on\n");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

/// Stops and continues the program as a terminal does, but with signals that are sent only to us.
fn stopped_with_us() {
    let script = LISTENING.replace("echo ready;", "echo ready; echo $$;");
    let (mut child, mut lines) = started(&Run::command(&["bash", "-c", &script]));
    let pid = child.id().cast_signed();
    let mut program = String::new();
    lines.read_line(&mut program).unwrap();
    kill(pid, libc::SIGTSTP);
    let mut status = 0;
    let found = unsafe { libc::waitpid(pid, &raw mut status, libc::WUNTRACED) };
    assert_eq!((found, libc::WIFSTOPPED(status)), (pid, true));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", program.trim())).unwrap();
    assert!(stat.contains(") T "), "{stat}");
    kill(pid, libc::SIGCONT);
    kill(pid, libc::SIGTERM);
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "term\n");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// Compares the process group and the session with those of a plain run.
fn group() {
    let run = shell("cut -d' ' -f5,6 /proc/self/stat");
    let (plain, moved) = (run.clone().plain().run(), run.run());
    assert_eq!(plain.stdout, moved.stdout);
}

fn streams() {
    let mut child = shell("cat; echo end").to_command().stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"words").unwrap();
    // The text ends only when no process holds the other end any more.
    let text = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert_eq!(text, "wordsend\n");
    child.wait().unwrap();
}

fn dispositions() {
    let run = Run::command(&["grep", "^Sig\\(Blk\\|Ign\\|Cgt\\)", "/proc/self/status"]);
    assert_eq!(run.clone().plain().run().stdout, run.run().stdout);
}

fn descriptors() {
    let run = shell("ls /proc/self/fd | wc -l");
    assert_eq!(run.clone().plain().run().stdout, run.run().stdout);
}

fn nested() {
    let server = Server::start();
    let inner = Run::client(&["blocking", &server.tcp.to_string()]);
    let inner = inner.route(server.tcp, &server.socket).to_command();
    let words: Vec<&str> =
        std::iter::once(inner.get_program()).chain(inner.get_args()).map(|it| it.to_str().unwrap()).collect();
    let done = Run::command(&words).route(server.tcp, &server.socket).run().good();
    assert!(done.stderr.contains("obstacle: another program already answers"), "{done:#?}");
    done.expect_counts(1, "");
}

fn no_listener() {
    let server = Server::start();
    let run = Run::client(&["blocking", &server.tcp.to_string()]);
    let done = run.route(server.tcp, &server.socket).without("listener").run().good();
    assert!(done.stdout.contains("way tcp"), "{done:#?}");
    assert!(done.stderr.contains("obstacle: the kernel"), "{done:#?}");
}

/// A process that outlives the program connects when it reads a line.
fn daemon() {
    let server = Server::start();
    let exe = std::env::current_exe().unwrap();
    let said = server.folder.path().join("said");
    let script = format!(
        "mkfifo {0}/go; (setsid sh -c 'read line < {0}/go; {1} client blocking {2} > {3}.new; mv {3}.new {3}' \
         > /dev/null 2>&1 < /dev/null &)",
        server.folder.path().display(),
        exe.display(),
        server.tcp,
        said.display(),
    );
    shell(&script).route(server.tcp, &server.socket).run().good();
    std::fs::write(server.folder.path().join("go"), "go\n").unwrap();
    while !said.exists() {
        std::thread::yield_now();
    }
    assert!(std::fs::read_to_string(&said).unwrap().contains("way unix"));
}

/// The supervisor ends with the last process that could make a call.
fn nobody_left() {
    let done = shell("echo $PPID").run().good();
    let supervisor = done.stdout.trim().to_owned();
    while std::fs::exists(format!("/proc/{supervisor}")).unwrap() {
        std::thread::yield_now();
    }
}
