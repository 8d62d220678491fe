//! Children that act as another user, who may stop them or make them wait for ever.
//!
//! A child is given a time limit, then killed. If it does not end even then, because it waits in the kernel for a file
//! system of that user, it is abandoned. Called by `program`, and by `check` for the way to a socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};

use crate::waiting;

/// Pause between two looks at a child.
const STEP: Duration = Duration::from_millis(5);
/// How long a killed child may take to end.
const DYING: Duration = Duration::from_secs(1);

/// Runs one of looptax's own subcommands to its end. Its output must fit into a pipe (64 KiB).
///
/// # Errors
/// The child could not be started, took longer than `within` (`TimedOut`), or a signal ended the wait.
pub fn output(command: &mut Command, within: Duration) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    for _ in 0..n_steps(within) {
        if child.try_wait()?.is_some() {
            return child.wait_with_output();
        }
        if !waiting::pause(STEP) {
            break;
        }
    }
    // It may have ended by itself meanwhile.
    child.kill().ok();
    ended(&mut child)?;
    waiting::goes_on()?;
    let limit = format!("it did not end within {} s", within.as_secs());
    Err(io::Error::new(io::ErrorKind::TimedOut, limit))
}

/// The exit status of a killed child; `None` if it does not end, and is abandoned.
pub(crate) fn ended(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    for _ in 0..n_steps(DYING) {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        // Also after a signal, which ends other waits.
        thread::sleep(STEP);
    }
    Ok(None)
}

fn n_steps(time: Duration) -> u128 {
    time.as_micros().div_ceil(STEP.as_micros())
}

/// Starts a command whose child becomes another user before it executes the program. That user may stop it there, and
/// starting waits for the execution: after `within` the child is killed.
///
/// # Errors
/// The command could not be started.
pub(crate) fn start(command: impl FnOnce(OwnedFd) -> Command, within: Duration) -> io::Result<Child> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let (started, wait) = mpsc::channel::<()>();
    let mut command = command(writer);
    thread::scope(|scope| {
        scope.spawn(move || {
            if let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(within) {
                let mut number = [0; 4];
                let told = rustix::io::read(&reader, &mut number);
                let pid = Pid::from_raw(i32::from_ne_bytes(number)).filter(|_| told == Ok(4));
                // It is not reaped before `spawn` returns, so the number still belongs to it.
                pid.map(|pid| kill_process(pid, Signal::KILL));
            }
        });
        let child = command.spawn();
        drop(started);
        child
    })
}

/// In the child: writes its process id, for the kill. It only calls the kernel and allocates nothing.
pub(crate) fn tell(to: &impl AsFd) -> io::Result<()> {
    let number = Pid::as_raw(Some(rustix::process::getpid())).to_ne_bytes();
    Ok(rustix::io::write(to, &number).map(drop)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    const SHORT: Duration = Duration::from_millis(200);
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn one_that_ends_is_read_and_one_that_is_stopped_is_ended() {
        let mut echo = Command::new("/bin/echo");
        let said = output(echo.arg("x"), LONG).unwrap();
        assert_eq!(said.stdout, b"x\n");
        let mut stopped = Command::new("/bin/sh");
        let error = output(stopped.args(["-c", "kill -STOP $$"]), SHORT).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn one_that_is_stopped_before_it_is_a_program_is_ended() {
        let command = |teller: OwnedFd| {
            let mut command = Command::new("/bin/true");
            // SAFETY: it calls the kernel and makes no memory.
            unsafe {
                command.pre_exec(move || {
                    tell(&teller)?;
                    Ok(kill_process(rustix::process::getpid(), Signal::STOP)?)
                });
            }
            command
        };
        let mut child = start(command, SHORT).unwrap();
        let status = ended(&mut child).unwrap().unwrap();
        assert_eq!(status.code(), None);
    }
}
