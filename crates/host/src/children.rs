//! Runs child processes that act as another user. That user may stop the processes or make them wait for ever.
//!
//! After a time limit, a child is killed. If a killed child waits in the kernel for a file system that the other user
//! controls, the child does not end, and looptax abandons it. Called by `program`, by `check` for the path to a socket,
//! and by `mcp` for the commands that its tools run.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use crate::waiting::{self, Time};

/// The pause between two checks whether a child has ended.
const STEP: Duration = Duration::from_millis(5);
/// The pause between two checks while the child's output is read. The pause is longer than `STEP`, because the child
/// may be measuring and must not be disturbed.
const LISTENING_STEP: Duration = Duration::from_millis(20);
/// The time limit for a killed child to end.
const DYING: Duration = Duration::from_secs(1);

/// Runs one of looptax's own subcommands until it ends. The output must fit into a pipe (64 KiB).
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
    // The child may have ended by itself in the meantime.
    child.kill().ok();
    ended(&mut child)?;
    waiting::goes_on()?;
    let limit = format!("the program did not end within {} s", within.as_secs());
    Err(io::Error::new(io::ErrorKind::TimedOut, limit))
}

/// The file to which a child of [`listen`] writes its result, separate from its output.
pub const RESULT_FILE: &str = "/proc/self/fd/0";

/// The limits on a child's time and output.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    pub within: Duration,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// The maximum number of bytes of the result; a child that writes a longer result is ended.
    pub most_result_bytes: usize,
    /// For each of the child's other streams: the maximum number of bytes that are kept. Further bytes are read and
    /// discarded.
    pub most_text_bytes: usize,
    /// Ends the child early if the flag is set.
    pub stop: &'a AtomicBool,
}

/// The reason why a child was ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Time,
    Size,
    Stopped,
}

/// The output of a child.
#[derive(Debug, Default)]
pub struct Heard {
    /// The exit code; `None` if a signal ended the child, or if the child does not end.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub result: Vec<u8>,
    pub cut: Option<Cut>,
}

/// Runs one of looptax's own commands. The command's standard input is the writing end of a pipe. The command writes
/// its result to this end, as [`RESULT_FILE`], so that no other descriptor has to be passed on. To end the child, sends
/// SIGTERM, and SIGKILL after the grace period. If the calling thread ends first, as after `kill -9` of this process,
/// the child also gets SIGTERM.
///
/// # Errors
/// The child could not be started or read.
pub fn listen(command: &mut Command, bounds: &Bounds<'_>) -> io::Result<Heard> {
    let (results, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    command.stdin(writer).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: the closure only makes a system call and allocates no memory.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?)) };
    let mut child = command.spawn()?;
    // `command` also holds the writing end of the pipe; replacing the standard input closes it.
    command.stdin(Stdio::null());
    let heard = read(&mut child, results, bounds);
    if heard.is_err() {
        child.kill().ok();
        ended(&mut child)?;
    }
    heard
}

fn read(child: &mut Child, results: OwnedFd, bounds: &Bounds<'_>) -> io::Result<Heard> {
    let mut results = std::fs::File::from(results);
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    rustix::io::ioctl_fionbio(&results, true)?;
    if let (Some(stdout), Some(stderr)) = (&stdout, &stderr) {
        rustix::io::ioctl_fionbio(stdout, true)?;
        rustix::io::ioctl_fionbio(stderr, true)?;
    }
    let mut heard = Heard::default();
    let (mut begun, mut limit, mut is_killed) = (Time::begun(), bounds.within, false);
    loop {
        // The exit status is read before the pipes, so that the last bytes of an ended child are still read from the
        // pipes.
        let status = child.try_wait()?;
        let mut n_read = drain(Some(&mut results), &mut heard.result, bounds.most_result_bytes + 1)?;
        n_read += drain(stdout.as_mut(), &mut heard.stdout, bounds.most_text_bytes)?;
        n_read += drain(stderr.as_mut(), &mut heard.stderr, bounds.most_text_bytes)?;
        if let Some(status) = status {
            heard.code = status.code();
            return Ok(heard);
        }
        if heard.cut.is_none() {
            heard.cut = match () {
                () if bounds.stop.load(Ordering::Relaxed) || waiting::has_stopped() => Some(Cut::Stopped),
                () if heard.result.len() > bounds.most_result_bytes => Some(Cut::Size),
                () if begun.passed() >= limit => Some(Cut::Time),
                () => None,
            };
            if heard.cut.is_some() {
                (begun, limit) = (Time::begun(), bounds.grace);
                signal(child, Signal::TERM);
            }
        } else if begun.passed() >= limit {
            if is_killed {
                // The killed child waits in the kernel, so it is abandoned.
                return Ok(heard);
            }
            is_killed = true;
            (begun, limit) = (Time::begun(), DYING);
            signal(child, Signal::KILL);
        }
        if n_read == 0 {
            // A plain sleep, because `waiting::pause` does not wait after a signal.
            thread::sleep(LISTENING_STEP);
        }
    }
}

/// Sends a signal to a child that has not been reaped yet: until then, no other process can get the child's pid.
fn signal(child: &Child, signal: Signal) {
    let pid = { i32::try_from(child.id()).ok() }.and_then(Pid::from_raw);
    // The child may have ended by itself in the meantime.
    pid.map(|pid| kill_process(pid, signal));
}

/// Reads the present contents of the pipe, and stops after `most` bytes or a little more. Appends the bytes to `into`,
/// up to a length of `most` bytes. Returns how many bytes were read.
pub(crate) fn drain(pipe: Option<&mut impl Read>, into: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    let Some(pipe) = pipe else { return Ok(0) };
    let mut n_read = 0;
    let mut part = [0; 16 << 10];
    // Even if a child never stops writing, the loop has to end, because the caller has to check the time limit.
    while n_read < most {
        match pipe.read(&mut part) {
            Ok(0) => break,
            Ok(n) => {
                n_read += n;
                into.extend_from_slice(&part[..n.min(most.saturating_sub(into.len()))]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n_read)
}

/// Waits for the exit status of a killed child; `None` if the child does not end, and is abandoned.
pub(crate) fn ended(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    for _ in 0..n_steps(DYING) {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        // A plain sleep, because `waiting::pause` does not wait after a signal.
        thread::sleep(STEP);
    }
    Ok(None)
}

fn n_steps(time: Duration) -> u128 {
    time.as_micros().div_ceil(STEP.as_micros())
}

/// Starts a command whose child becomes another user before it executes the program. That user may stop the child
/// before the program is executed. In this case `spawn` would not return, because it waits for the execution. Therefore
/// the child is killed after `within`.
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
                // The child is not reaped before `spawn` returns, so the pid still belongs to the child.
                pid.map(|pid| kill_process(pid, Signal::KILL));
            }
        });
        let child = command.spawn();
        drop(started);
        child
    })
}

/// Writes the child's pid, so that the parent can kill the child. Runs in the child; only makes system calls and
/// allocates no memory.
pub(crate) fn tell(to: &impl AsFd) -> io::Result<()> {
    let number = Pid::as_raw(Some(rustix::process::getpid())).to_ne_bytes();
    Ok(rustix::io::write(to, &number).map(drop)?)
}

#[cfg(test)]
mod tests {
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

    #[track_caller]
    fn check_heard(script: &str, result: &[u8], cut: Option<Cut>) -> Heard {
        let stop = AtomicBool::new(cut == Some(Cut::Stopped));
        let within = if cut == Some(Cut::Time) { SHORT } else { LONG };
        let bounds = Bounds { within, grace: SHORT, most_result_bytes: 8, most_text_bytes: 4, stop: &stop };
        let heard = listen(Command::new("/bin/sh").args(["-c", script]), &bounds).unwrap();
        assert_eq!((&*heard.result, heard.cut), (result, cut), "{script}");
        heard
    }

    #[test]
    fn a_result_is_read_beside_what_is_printed() {
        let heard = check_heard("echo result >/proc/self/fd/0; echo 12; echo 34567 >&2; exit 3", b"result\n", None);
        assert_eq!((heard.code, &*heard.stdout, &*heard.stderr), (Some(3), &b"12\n"[..], &b"3456"[..]));
    }

    #[test]
    fn one_that_takes_too_long_writes_too_much_or_is_stopped_is_ended() {
        let heard = check_heard("trap 'echo 1; exit 7' TERM; while :; do sleep 0.01; done", b"", Some(Cut::Time));
        assert_eq!((heard.code, &*heard.stdout), (Some(7), &b"1\n"[..]));
        check_heard("trap 'exit 7' TERM; while :; do echo 1; done", b"", Some(Cut::Time));
        check_heard("while :; do echo 12 >/proc/self/fd/0; done", b"12\n12\n12\n", Some(Cut::Size));
        let heard = check_heard("trap '' TERM; kill -STOP $$", b"", Some(Cut::Stopped));
        assert_eq!(heard.code, None);
    }

    #[test]
    fn one_that_is_stopped_before_it_is_a_program_is_ended() {
        let command = |teller: OwnedFd| {
            let mut command = Command::new("/bin/true");
            // SAFETY: the closure only makes system calls and allocates no memory.
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
