//! Runs a load generator to its end; returns its output, and the resources that it used.
//!
//! The figures are the kernel's for this one child process. Called by the tools and by `looptax`.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wait4::Wait4;

/// Pause between two reads of the memory of a program that prints nothing. Four reads per second take less than 0.1 %
/// of a core.
const LOOK_PAUSE: Duration = Duration::from_millis(250);

/// A program that has ended successfully.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) used: Used,
}

/// The resources that a whole process used, including its start and its own analysis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    /// CPU time in user mode, in seconds.
    pub(crate) user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub(crate) system_s: f64,
    /// Peak resident memory in bytes: the kernel's own figure, or the last value that was read if our own peak hides
    /// it; `None` if the process ended before its memory was read.
    pub(crate) peak_bytes: Option<u64>,
}

/// Runs the command. A status other than 0 is an error with the program's name and output, but without its arguments,
/// because they may contain a password.
pub(crate) fn run(mut command: Command) -> Result<Ended> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut complaints = tempfile::tempfile().context("cannot make a temporary file")?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(complaints.try_clone().context("cannot share a file")?);
    let mut child = command.spawn().with_context(|| format!("cannot start `{program}`"))?;
    let pipe = child.stdout.take().expect("stdout was asked for as a pipe");
    // The pipe is closed before the wait, so that a child also ends if its output cannot be read.
    let read = read_all(pipe, child.id());
    let ended = child.wait4().with_context(|| format!("cannot wait for `{program}`"))?;
    let own_status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let (stdout, seen_bytes) = read.with_context(|| format!("cannot read what `{program}` prints"))?;
    if !ended.status.success() {
        bail!(
            "`{program}` failed: {}; it printed:\n{}{}",
            ended.status,
            end_of(&stdout),
            end_of(&text_of(&mut complaints))
        );
    }
    Ok(Ended {
        stdout,
        used: Used {
            user_s: ended.rusage.utime.as_secs_f64(),
            system_s: ended.rusage.stime.as_secs_f64(),
            peak_bytes: peak_of(ended.rusage.maxrss, peak_in(&own_status), seen_bytes),
        },
    })
}

/// Returns the peak memory of an ended process: the value of `wait4`, unless it may be our own peak.
///
/// The kernel starts a child's peak at that of the process that starts it, so only a larger value belongs to the child.
/// Otherwise this is the value that was read while the child ran.
///
/// # Source
/// Linux, `fs/exec.c`, `exec_mmap`: the peak of the old address space is kept over exec.
fn peak_of(told_bytes: u64, own_bytes: Option<u64>, seen_bytes: Option<u64>) -> Option<u64> {
    let is_its_own = own_bytes.is_some_and(|own| told_bytes > own);
    is_its_own.then_some(told_bytes).or(seen_bytes)
}

fn text_of(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    read.map_or_else(|error| error.to_string(), |_| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the last lines of a text, because a failed program prints the reason at the end.
fn end_of(text: &str) -> String {
    const MOST_LINES: usize = 10;
    let n_lines = text.lines().count();
    let lines = text.lines().skip(n_lines.saturating_sub(MOST_LINES));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Reads everything from the pipe; returns it with the peak of the process's memory.
///
/// The peak is read at intervals and whenever the process prints: see [`peak_of`].
fn read_all(mut pipe: ChildStdout, pid: u32) -> io::Result<(String, Option<u64>)> {
    const CHUNK_BYTES: usize = 16 * 1024;
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut peak_bytes = None;
    loop {
        let has_more = is_readable(&pipe)?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        peak_bytes = peak_bytes.max(peak_in(&status));
        if !has_more {
            continue;
        }
        let n_bytes = pipe.read(&mut chunk)?;
        if n_bytes == 0 {
            break;
        }
        bytes.extend_from_slice(&chunk[..n_bytes]);
    }
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok((text, peak_bytes))
}

/// Waits for output, or for its end, at most for the pause.
fn is_readable(pipe: &ChildStdout) -> io::Result<bool> {
    let pause = Timespec::try_from(LOOK_PAUSE).expect("a quarter of a second fits");
    match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&pause)) {
        Ok(n_ready) => Ok(n_ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Parses the line `VmHWM: 1234 kB` in the status of a process; `None` for a process that has ended, which does not
/// have this line.
fn peak_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(1024 * kib)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Ended> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command)
    }

    #[test]
    fn gives_all_that_was_printed() {
        assert_eq!(shell("echo well; echo done").unwrap().stdout, "well\ndone\n");
    }

    #[test]
    fn reads_the_peak_as_the_kernel_prints_it() {
        let status = "Name:\tsh\nVmPeak:\t    2580 kB\nVmHWM:\t    1536 kB\n";
        assert_eq!(peak_in(status), Some(1536 * 1024));
        assert_eq!(peak_in("Name:\tsh\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn a_peak_that_may_be_ours_is_not_taken_for_the_childs() {
        assert_eq!(peak_of(30, Some(20), Some(25)), Some(30));
        assert_eq!(peak_of(20, Some(20), Some(5)), Some(5));
        assert_eq!(peak_of(20, Some(20), None), None);
        assert_eq!(peak_of(30, None, Some(5)), Some(5));
    }

    #[test]
    fn a_program_that_is_gone_at_once_has_a_peak() {
        // A hundred megabytes are more than this test's own process ever uses.
        let script = "dd if=/dev/zero of=/dev/null bs=100M count=1 2>&1";
        let peak_bytes = shell(script).unwrap().used.peak_bytes;
        assert!(peak_bytes > Some(100_000_000), "{peak_bytes:?}");
    }

    #[test]
    fn a_failure_shows_both_outputs_and_not_the_arguments() {
        let script = "echo why; echo because >&2; exit $((3)) # secret";
        let text = format!("{:#}", shell(script).unwrap_err());
        assert!(text.contains("why\nbecause") && !text.contains("secret"), "{text}");
    }
}
