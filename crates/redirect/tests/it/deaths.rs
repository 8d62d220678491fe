//! The supervisor is killed: the program's connections continue, and new connections are made.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use libtest_mimic::Trial;

use crate::server::Server;
use crate::supervise::Run;
use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for stage in ["received", "replaced", "answered"] {
        trials.push(trial(&format!("a_supervisor_that_dies_when_it_has_{stage}_harms_nobody"), move || dies_at(stage)));
        trials.push(trial(&format!("event_queues_survive_a_death_when_it_has_{stage}"), move || queue_at(stage)));
    }
    trials.push(trial("a_killed_supervisor_is_replaced", || {
        killed(Victim::Supervisor);
    }));
    trials.push(trial("a_killed_watchdog_is_not_missed", || {
        killed(Victim::Watchdog);
    }));
    trials.push(trial("a_storm_survives_its_supervisor", storm));
    trials.push(trial("a_supervisor_may_die_after_the_program", after_the_program));
    trials
}

fn dies_at(stage: &str) {
    let server = Server::start();
    let run = Run::client(&["threads", &server.tcp.to_string(), "4", "25"]);
    let run = run.route(server.tcp, &server.socket);
    let done = run.without(&format!("life-after-{stage}")).run().good();
    assert!(done.stdout.contains("dials 100"), "{done:#?}");
    assert!(done.stderr.contains("SupervisorDied"), "{done:#?}");
    let (n_tcp, n_unix) = server.counts();
    // A connection that the supervisor had made but not yet passed to the program is made again.
    assert!((100..104).contains(&(n_tcp + n_unix)), "{done:#?}");
    assert!(n_unix >= 96, "{n_unix}");
}

fn queue_at(stage: &str) {
    let server = Server::start();
    let run = Run::client(&["epoll-before", &server.tcp.to_string()]);
    let plain = run.clone().plain().run().good();
    let run = run.route(server.tcp, &server.socket);
    let done = run.without(&format!("life-after-{stage}")).run().good();
    // A program that has its answer may end before the supervisor's death is noticed.
    let may_end_first = stage == "answered";
    assert!(may_end_first || done.stderr.contains("SupervisorDied"), "{done:#?}");
    let rest = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("way"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(rest(&plain.stdout), rest(&done.stdout));
}

#[derive(Clone, Copy, PartialEq)]
enum Victim {
    Supervisor,
    Watchdog,
}

/// Connects, kills the victim, and connects again several times.
fn killed(victim: Victim) {
    let server = Server::start();
    let run = Run::client(&["forever", &server.tcp.to_string()]);
    let run = run.route(server.tcp, &server.socket).keep_running();
    let mut child = run.to_command().stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut say = |word: &str| {
        writeln!(input, "{word}").unwrap();
        let wanted = format!("did {word}");
        let mut ways = Vec::new();
        for line in lines.by_ref() {
            let line = line.unwrap();
            if line == wanted {
                break;
            }
            ways.push(line);
        }
        ways
    };
    let before = say("one");
    assert!(before.contains(&"echo hello".to_owned()), "{before:?}");
    let pid = match victim {
        Victim::Watchdog => child.id().cast_signed(),
        Victim::Supervisor => first_child(child.id()),
    };
    unsafe { libc::kill(pid, libc::SIGKILL) };
    for word in ["two", "three", "four"] {
        let after = say(word);
        let moved = after.iter().any(|line| line.starts_with("way unix"));
        assert!(moved, "{after:?}");
        assert_eq!(after.iter().filter(|line| *line == "echo hello").count(), 2);
    }
    drop(input);
    let status = child.wait().unwrap();
    assert_eq!(status.success(), victim == Victim::Supervisor, "{status}");
}

pub(crate) fn first_child(pid: u32) -> i32 {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// Fifty threads dial while the supervisor is killed.
fn storm() {
    let server = Server::start();
    let run = Run::client(&["threads", &server.tcp.to_string(), "50", "40"]);
    let run = run.route(server.tcp, &server.socket);
    let mut child = run.to_command().spawn().unwrap();
    while server.n_unix_by_now() < 200 {
        std::thread::yield_now();
    }
    unsafe { libc::kill(first_child(child.id()), libc::SIGKILL) };
    let text = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    assert!(text.contains("dials 2000"), "{text}");
    let (n_tcp, n_unix) = server.counts();
    assert!((2000..2004).contains(&(n_tcp + n_unix)));
}

/// Processes that the program left behind are served by a separate watchdog.
fn after_the_program() {
    let server = Server::start();
    let exe = std::env::current_exe().unwrap();
    let folder = server.folder.path().display();
    let said = server.folder.path().join("said");
    let script = format!(
        "mkfifo {folder}/go; echo $PPID; (setsid sh -c 'read line < {folder}/go; {} client blocking {} > {folder}/new; \
         mv {folder}/new {folder}/said' > /dev/null 2>&1 < /dev/null &)",
        exe.display(),
        server.tcp,
    );
    let run = Run::command(&["sh", "-c", &script]).route(server.tcp, &server.socket);
    let done = run.run().good();
    let supervisor = done.stdout.trim().parse().unwrap();
    assert_eq!(unsafe { libc::kill(supervisor, libc::SIGKILL) }, 0);
    std::fs::write(server.folder.path().join("go"), "go\n").unwrap();
    while !said.exists() {
        std::thread::yield_now();
    }
    let text = std::fs::read_to_string(&said).unwrap();
    assert!(text.contains("echo hello"), "{text}");
}
