//! Runs a load generator to its end: what it printed, and what it used.
//!
//! The figures are the kernel's for this one child. Called by `sysbench` and `looptax`.

use std::fs;
use std::io::{self, Read};
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use wait4::Wait4;

/// A program that has ended well.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) used: Used,
}

/// What a whole process used, its start and its own analysis included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    /// CPU time in user mode, in seconds.
    pub(crate) user_s: f64,
    /// Largest resident memory up to its last output, in bytes; `None` when it was gone too fast.
    pub(crate) peak_bytes: Option<u64>,
}

/// Runs the command; its stderr is ours. A status other than 0 is an error that names the program
/// alone, since the arguments may hold a password.
pub(crate) fn run(mut command: Command) -> Result<Ended> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start `{program}`"))?;
    let pipe = child.stdout.take().expect("stdout was asked for as a pipe");
    // The pipe is closed before waiting, so that a child whose output we cannot read ends too.
    let read = read_all(pipe, child.id());
    let ended = child
        .wait4()
        .with_context(|| format!("cannot wait for `{program}`"))?;
    let (stdout, peak_bytes) =
        read.with_context(|| format!("cannot read what `{program}` prints"))?;
    if !ended.status.success() {
        bail!(
            "`{program}` failed: {}; it printed:\n{stdout}",
            ended.status
        );
    }
    Ok(Ended {
        stdout,
        used: Used {
            user_s: ended.rusage.utime.as_secs_f64(),
            peak_bytes,
        },
    })
}

/// All that comes through the pipe, and the peak of the process's memory.
///
/// The peak is looked up whenever the process prints: that costs nothing while it measures, and its
/// memory has grown by then. What `wait4` says is of no use, because it starts from *our* peak.
///
/// # Source
/// Linux, `fs/exec.c`, `exec_mmap`: the peak of the old address space is kept over exec.
fn read_all(mut pipe: ChildStdout, pid: u32) -> io::Result<(String, Option<u64>)> {
    const CHUNK_BYTES: usize = 16 * 1024;
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut peak_bytes = None;
    loop {
        let n_bytes = pipe.read(&mut chunk)?;
        if n_bytes == 0 {
            break;
        }
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        peak_bytes = peak_bytes.max(peak_in(&status));
        bytes.extend_from_slice(&chunk[..n_bytes]);
    }
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok((text, peak_bytes))
}

/// The line `VmHWM: 1234 kB` of a process's status; a process that has ended has none.
fn peak_in(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
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
        assert_eq!(
            shell("echo well; echo done").unwrap().stdout,
            "well\ndone\n"
        );
    }

    #[test]
    fn reads_the_peak_as_the_kernel_prints_it() {
        let status = "Name:\tsh\nVmPeak:\t    2580 kB\nVmHWM:\t    1536 kB\n";
        assert_eq!(peak_in(status), Some(1536 * 1024));
        assert_eq!(peak_in("Name:\tsh\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn a_failure_shows_the_output_and_not_the_arguments() {
        let text = format!("{:#}", shell("echo why; exit $((3)) # secret").unwrap_err());
        assert!(text.contains("why") && !text.contains("secret"), "{text}");
    }
}
