//! Children that act as somebody else: who that is may stop them, and have what they wait for never come.
//!
//! Each is waited for until a limit, then killed, and left to itself where it does not even end of that: in the kernel it
//! may wait for a file system of theirs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::waiting;

/// How long the end of one may take that was killed.
const DYING: Duration = Duration::from_secs(1);

/// Runs a command of looptax's own to its end. It prints no more than a pipe holds (64 KiB).
///
/// # Errors
/// That it could not be started, took longer than `within`, or that a signal ended the wait.
pub fn output(command: &mut Command, within: Duration) -> io::Result<Output> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let has_ended = pid_of(&child)
        .and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?))
        .and_then(|process| waiting::until_ready(process, PollFlags::IN, Some(within)));
    match has_ended {
        Ok(true) => child.wait_with_output(),
        late => {
            // It may have ended by itself meanwhile.
            child.kill().ok();
            ended(&mut child)?;
            late?;
            let limit = format!("it did not end within {} s", within.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, limit))
        }
    }
}

/// How one ended that was killed; `None` where it has not, and is left to itself.
pub(crate) fn ended(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let process = pidfd_open(pid_of(child)?, PidfdFlags::empty())?;
    let limit = Timespec::try_from(DYING).map_err(io::Error::other)?;
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    // Also after a signal, which ends other waits.
    while poll(&mut fds, Some(&limit)) == Err(Errno::INTR) {}
    child.try_wait()
}

/// Starts a command whose child becomes somebody else before it executes the program: whoever stops it there would stop
/// us, who wait for that.
///
/// # Errors
/// Those of starting it.
pub(crate) fn start(
    command: impl FnOnce(OwnedFd) -> Command,
    within: Duration,
) -> io::Result<Child> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let (started, wait) = mpsc::channel::<()>();
    let mut command = command(writer);
    thread::scope(|scope| {
        scope.spawn(move || {
            if let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(within) {
                let mut number = [0; 4];
                let told = rustix::io::read(&reader, &mut number);
                let pid = Pid::from_raw(i32::from_ne_bytes(number)).filter(|_| told == Ok(4));
                // Not collected before we know of its start, so that the number is its own.
                pid.map(|pid| kill_process(pid, Signal::KILL));
            }
        });
        let child = command.spawn();
        drop(started);
        child
    })
}

/// In the child: says who is to be ended. It calls the kernel and makes no memory.
pub(crate) fn tell(to: &impl AsFd) -> io::Result<()> {
    let number = Pid::as_raw(Some(rustix::process::getpid())).to_ne_bytes();
    Ok(rustix::io::write(to, &number).map(drop)?)
}

fn pid_of(child: &Child) -> io::Result<Pid> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::ErrorKind::NotFound.into())
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
