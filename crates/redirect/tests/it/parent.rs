//! The supervisor as a parent process: which state and descriptors a program inherits, and that no other process holds
//! these descriptors.

use std::io::{BufRead, BufReader, Read, Write, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use libtest_mimic::Trial;

use crate::server::Server;
use crate::supervise::Run;
use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("r18_a_program_inherits_what_it_would", inherited),
        trial("r18_what_a_program_closes_is_closed", closed),
        trial("r18_who_kills_the_watchdog_kills_the_program", || killed(&[Helper::Watchdog])),
        trial("r18_who_kills_watchdog_and_supervisor_kills_the_program", || {
            killed(&[Helper::Watchdog, Helper::Supervisor]);
        }),
        trial("r50_who_kills_guard_and_watchdog_kills_the_program", || killed(&[Helper::Guard, Helper::Watchdog])),
    ]
}

/// Checks that the program sees the ignored signals, the timers and the mask for new files that were set before its
/// start.
fn inherited() {
    let server = Server::start();
    // Rust's start-up code changes one of the signals, so a shell prints them.
    let exe = std::env::current_exe().unwrap();
    let script =
        format!("grep -E 'Sig(Ign|Blk)' /proc/self/status; exec {} client inheritance {}", exe.display(), server.tcp);
    let run = Run::command(&["sh", "-c", &script]);
    let run = run.route(server.tcp, &server.socket);
    let seen = |run: &Run, ignored: &'static [i32]| {
        let mut command = run.to_command();
        let set = move || {
            unsafe {
                for signal in [libc::SIGPIPE, libc::SIGUSR2, libc::SIGCHLD, libc::SIGALRM] {
                    let is_ignored = ignored.contains(&signal);
                    let disposition = if is_ignored { libc::SIG_IGN } else { libc::SIG_DFL };
                    libc::signal(signal, disposition);
                }
                libc::alarm(5_050);
                libc::umask(0o27);
                libc::setpriority(libc::PRIO_PROCESS, 0, 3);
            }
            Ok(())
        };
        unsafe { command.pre_exec(set) };
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for ignored in [&[][..], &[libc::SIGPIPE, libc::SIGUSR2]] {
        let plain = seen(&run.clone().plain(), ignored);
        assert!(plain.contains("alarm 50"), "{plain}");
        assert_eq!(seen(&run, ignored), plain);
    }
}

/// Tests the program's output and another pipe that it inherited: after the program has closed both, their readers see
/// the end, although the program still runs.
fn closed() {
    let server = Server::start();
    let run = Run::client(&["closes", &server.tcp.to_string()]);
    let run = run.route(server.tcp, &server.socket);
    let (mut theirs, ours) = pipe().unwrap();
    let mut command = run.to_command();
    let number = ours.as_raw_fd();
    let hand_over = move || {
        let handed = unsafe { libc::dup2(number, 9) };
        if handed == 9 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    unsafe { command.pre_exec(hand_over) };
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    drop(ours);
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("echo hello"), "{text}");
    assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[derive(Clone, Copy, PartialEq)]
enum Helper {
    Watchdog,
    Supervisor,
    Guard,
}

/// Kills some of our processes, one after another. The program's output must then end, although its input is still
/// open.
fn killed(victims: &[Helper]) {
    let server = Server::start();
    let run = Run::client(&["forever", &server.tcp.to_string()]);
    let run = run.route(server.tcp, &server.socket);
    let mut child = run.to_command().stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    writeln!(input, "one").unwrap();
    let mut line = String::new();
    while line != "did one\n" {
        line.clear();
        output.read_line(&mut line).unwrap();
    }
    let watchdog = child.id().cast_signed();
    let supervisor = crate::deaths::first_child(child.id());
    // The guard sets its name a moment after the program has begun.
    let guard = || loop {
        let text = std::fs::read_to_string(format!("/proc/{watchdog}/task/{watchdog}/children")).unwrap();
        let name = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let mut pids = text.split_whitespace().map(|it| it.parse().unwrap());
        if let Some(pid) = pids.find(|pid| name(pid).trim() == "looptax-guard") {
            return pid;
        }
        std::thread::yield_now();
    };
    for victim in victims {
        let pid = match victim {
            Helper::Watchdog => watchdog,
            Helper::Supervisor => supervisor,
            Helper::Guard => guard(),
        };
        assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    }
    line.clear();
    assert_eq!(output.read_line(&mut line).unwrap(), 0, "{line}");
    child.wait().unwrap();
    drop(input);
}
