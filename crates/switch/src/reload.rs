//! Determines which command makes an application read its files again, and runs the command.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_host::discover::{Home, Process, any_process};
use looptax_host::program::{ProgramError, find_program};
use looptax_host::read;
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, memfd_create};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::clock::Since;
use crate::line::{Line, Question};

/// The maximum number of bytes of the command's output that are shown.
const MOST_BYTES: u64 = 4 << 10;
/// The command's output is kept in memory. If it is longer than this, only its end is kept.
const MOST_KEPT: u64 = 1 << 20;
/// looptax's own variables, which the command must not get.
const SECRETS: [&str; 2] = ["LOOPTAX_PASSWORD", "LOOPTAX_ADMIN_PASSWORD"];
const STEP: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct Ran {
    /// The command's exit code; `None` if a signal or the time limit ended it.
    pub(crate) code: Option<i32>,
    /// The end of the command's output.
    pub(crate) said: String,
}

/// Returns the usual reload command of the service to which a process belongs; `None` if it does not belong to a
/// service, or systemd is not running.
pub fn usual_reload(process: &Process) -> Option<String> {
    unit_of(process).map(|unit| format!("systemctl reload-or-restart {unit}"))
}

/// Returns the service to which a process belongs, if systemd is running.
fn unit_of(process: &Process) -> Option<&str> {
    let Home::Unit(unit) = &process.home else {
        return None;
    };
    let is_service = read::is_folder(Path::new("/run/systemd/system")) && unit.ends_with(".service");
    is_service.then_some(&**unit)
}

/// Returns the unit if the process is the unit's main process. In a unit with several programs (those of supervisord or
/// of a cron job) no single program represents the unit.
pub(crate) fn main_unit_of(process: &Process) -> Option<&str> {
    unit_of(process).filter(|unit| main_pid(unit) == Some(process.pid))
}

fn main_pid(unit: &str) -> Option<u32> {
    #[allow(clippy::disallowed_methods, reason = "if looptax has root's rights, only root can change this program")]
    let output = process::Command::new(find_program("systemctl").ok()?)
        .args(["show", "-p", "MainPID", "--value", "--", unit])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

/// Returns the command that reloads a process through its service, if the process is that service's main process.
pub(crate) fn reload_of_unit(process: &Process) -> Option<String> {
    main_unit_of(process).map(|unit| format!("systemctl reload-or-restart {unit}"))
}

/// Runs a command and waits for it. Processes that a shell leaves in the background keep running.
///
/// # Errors
/// If no shell can be started, or if the program was not run; the error then contains the reason.
pub(crate) fn run(line: &Line, within: Duration, stop: &AtomicBool) -> io::Result<Ran> {
    match line.question() {
        Some(question) => answer(question, within, stop),
        None => shell(line.text(), within, stop),
    }
}

fn answer(question: &Question, within: Duration, stop: &AtomicBool) -> io::Result<Ran> {
    match question.answer(within, Some(stop)) {
        Ok(answer) => {
            let said = format!("{}{}", answer.output, answer.errors).into_bytes();
            let start = said.len().saturating_sub(MOST_BYTES as usize);
            Ok(Ran { code: answer.code, said: String::from_utf8_lossy(&said[start..]).trim().to_owned() })
        }
        Err(error @ (ProgramError::TooLong { .. } | ProgramError::Stopped { .. })) => {
            Ok(Ran { code: None, said: error.to_string() })
        }
        Err(error) => Err(io::Error::other(error)),
    }
}

fn shell(text: &str, within: Duration, stop: &AtomicBool) -> io::Result<Ran> {
    let mut output = File::from(memfd_create("output", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    #[allow(clippy::disallowed_methods, reason = "the caller ordered this command, and saw it before")]
    let mut shell = process::Command::new("/bin/sh");
    { shell.args(["-c", text]).stdin(Stdio::null()).stdout(output.try_clone()?) }.stderr(output.try_clone()?);
    for name in SECRETS {
        shell.env_remove(name);
    }
    // The shell leads a process group, so the processes that it started can be ended together with it.
    let mut child = shell.process_group(0).spawn()?;
    let start = Since::now();
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if start.elapsed() > within || stop.load(Ordering::Relaxed) {
            end_with_descendants(&child);
            child.kill()?;
            child.wait()?;
            break None;
        }
        forget_what_is_old(&output);
        thread::sleep(STEP);
    };
    // Nothing reads the output of the processes in the background, so the output must not grow.
    let _said_enough = fcntl_add_seals(&output, SealFlags::GROW);
    let length = output.metadata()?.len();
    output.seek(io::SeekFrom::Start(length.saturating_sub(MOST_BYTES)))?;
    let mut said = Vec::new();
    output.take(MOST_BYTES).read_to_end(&mut said)?;
    Ok(Ran { code, said: String::from_utf8_lossy(&said).trim().to_owned() })
}

/// Kills the shell's process group, and also every descendant that left the group.
fn end_with_descendants(shell: &Child) {
    let mut family = BTreeSet::from([shell.id()]);
    // A child process may be listed before its parent.
    while any_process(|it| family.contains(&it.parent) && family.insert(it.pid)) {}
    // Each process may have ended in the meantime.
    let _ended = kill_process_group(Pid::from_child(shell), Signal::KILL);
    for pid in family.into_iter().filter(|it| *it != shell.id()) {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let _ended = pid.map(|it| kill_process(it, Signal::KILL));
    }
}

/// Frees the memory of the part of the output that is no longer needed.
fn forget_what_is_old(output: &File) {
    let length = output.metadata().map_or(0, |it| it.len());
    let old = length.saturating_sub(MOST_BYTES);
    let kept = output.metadata().map_or(0, |it| it.blocks() * 512);
    if kept > MOST_KEPT {
        // If the memory cannot be freed, the old output stays.
        let _forgotten = fallocate(output, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(command: &str, within: Duration) -> Ran {
        run(&Line::from(command), within, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn a_command_tells_its_code_and_its_words() {
        let minute = Duration::from_secs(60);
        let done = ran("echo out; echo err >&2; exit 3", minute);
        assert_eq!((done.code, &*done.said), (Some(3), "out\nerr"));
        // A background process holds the output open, but the command is complete without it.
        let done = ran("sleep 5 & echo begun", minute);
        assert_eq!((done.code, &*done.said), (Some(0), "begun"));
    }

    #[test]
    fn a_command_that_says_much_takes_no_memory_and_one_in_the_background_is_heard_no_more() {
        let done = ran("head -c 300000000 /dev/zero | tr '\\0' x; echo end", Duration::from_secs(60));
        assert_eq!(done.code, Some(0));
        assert!(done.said.ends_with("xend") && done.said.len() as u64 <= MOST_BYTES, "{}", done.said.len());
        let scratch = looptax_testkit::scratch::Scratch::new();
        let refused = scratch.file("refused");
        let command = format!("(sleep 0.3; echo more || echo refused > {}) & echo begun", refused.display());
        assert_eq!(ran(&command, Duration::from_secs(60)).said, "begun");
        let is_refused = || std::fs::read_to_string(&refused).is_ok_and(|it| it == "refused\n").then_some(());
        looptax_testkit::patience::wait_for("a write that is refused", Duration::from_secs(10), is_refused);
    }

    #[test]
    fn a_command_without_end_is_ended() {
        let done = ran("exec sleep 1000", Duration::from_millis(50));
        assert_eq!(done.code, None);
        // The shell ends together with the processes that it started and waits for.
        for command in ["sleep 1000 & echo $!; wait", "setsid -w sh -c 'echo $$; sleep 1000'"] {
            let done = ran(command, Duration::from_millis(500));
            assert_eq!(done.code, None);
            expect_ended(done.said.parse().unwrap());
        }
    }

    #[track_caller]
    fn expect_ended(pid: u32) {
        let ended = || {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            (state.is_empty() || state.contains(") Z ")).then_some(())
        };
        looptax_testkit::patience::wait_for("the end of what it started", Duration::from_secs(10), ended);
    }
}
