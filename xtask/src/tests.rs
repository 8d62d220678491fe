//! Runs the test programs of the workspace, several at the same time; cargo runs them one after the other.
//!
//! Most test programs wait for servers and clocks, so two cores can serve more than two programs. A test program may
//! inspect the machine, but must not touch the servers of other tests or of a user. If a program passed, only its last
//! line is printed; otherwise everything except the tests that passed.

use std::collections::VecDeque;
use std::fs;
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Artifact, Message};
use tempfile::TempDir;

use crate::workspace::{cargo, fail_on, run_cargo};
use crate::{long, skips};

const AT_ONCE: usize = 2;
/// Threads of each test program; a test that starts servers waits from time to time. With three threads the long
/// program took 854 s, with four 784 s (2026-11-25); with six threads and no other program at the same time, 491 s
/// (2026-11-29).
const THREADS: &str = "6";

/// Number of lines of a failed test that are repeated at the end.
const LINES_OF_REASON: usize = 12;
/// Memory that has to be free before tests write their files in memory.
const LEAST_ROOM: u64 = 8 << 30;
/// The kind of a file system in memory, as statfs(2) returns it.
const TMPFS_MAGIC: u64 = 0x0102_1994;

struct Program {
    /// The folder and the target: `wire (it)`.
    name: String,
    path: PathBuf,
    /// The folder of the program's package, in which cargo runs the program.
    folder: PathBuf,
    is_integration: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// All tests except those that tests/long.toml leaves to `make test-all`.
    Short,
    All,
}

/// Builds and runs the test programs, then runs the examples in comments.
pub(crate) fn run(which: Which) -> Result<()> {
    let skipped = skips::fresh_file()?;
    let long = match which {
        Which::Short => long::list()?,
        Which::All => Vec::new(),
    };
    let n_left_out = AtomicUsize::new(0);
    let mut programs = build()?;
    // Programs that start servers take longest, most of all the tests of the command line, so they start first.
    programs.sort_by_key(|it| (!it.is_integration, !it.name.starts_with("cli ")));
    let in_memory = folder_in_memory();
    let queue = Mutex::new(VecDeque::from(programs));
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let next = || queue.lock().expect("nobody panics").pop_front();
                while let Some(program) = next() {
                    let mut command = Command::new(&program.path);
                    command.env(skips::FILE_VARIABLE, &skipped);
                    if let Some(folder) = &in_memory {
                        command.env("TMPDIR", folder.path());
                    }
                    if !long.is_empty() {
                        command.arg("--exact");
                        command.args(long.iter().flat_map(|test| ["--skip", test]));
                    }
                    match program.run(command) {
                        Ok(n) => {
                            n_left_out.fetch_add(n, Ordering::Relaxed);
                        }
                        Err(error) => {
                            let mut failed = failed.lock().expect("nobody panics");
                            failed.push(format!("{}: {error:#}", program.name));
                        }
                    }
                }
            });
        }
    });
    fail_on(&failed.into_inner().expect("nobody panics"))?;
    long::tell(&long, n_left_out.into_inner())?;
    run_cargo(&["test", "--workspace", "--locked", "--doc"])
}

/// Returns a folder in memory for the files that tests write, if there is enough memory. Tests start hundreds of
/// servers with data folders of a thousand small files each; on ext4, making and deleting these folders took a
/// twentieth of the tests' CPU time (perf, 2026-11-25).
fn folder_in_memory() -> Option<TempDir> {
    let root = Path::new("/dev/shm");
    let file_system = rustix::fs::statfs(root).ok()?;
    let is_in_memory = file_system.f_type as u64 == TMPFS_MAGIC;
    let n_free_bytes = file_system.f_bavail * file_system.f_bsize as u64;
    let available = fs::read_to_string("/proc/meminfo").ok()?;
    let available = available.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available: u64 = available.split_whitespace().next()?.parse().ok()?;
    let has_room = n_free_bytes.min(available << 10) >= LEAST_ROOM;
    let mut builder = tempfile::Builder::new();
    // Servers run as separate accounts, so the folder has to be open to them.
    let open = builder.prefix("lt-").permissions(fs::Permissions::from_mode(0o755));
    (is_in_memory && has_room).then(|| open.tempdir_in(root).ok()).flatten()
}

fn build() -> Result<Vec<Program>> {
    // The programs and the examples that tests start are built too: `cargo test --no-run` leaves out programs that no
    // integration test names, such as `lab`.
    let args = ["build", "--workspace", "--locked", "--bins", "--tests", "--examples"];
    let mut command = cargo(&args)?;
    command.arg("--message-format=json-render-diagnostics");
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("stdout is a pipe")?;
    let mut programs = Vec::new();
    for message in Message::parse_stream(BufReader::new(output)) {
        if let Message::CompilerArtifact(artifact) = message? {
            programs.extend(program(artifact)?);
        }
    }
    if !child.wait()?.success() {
        bail!("the tests cannot be built");
    }
    Ok(programs)
}

fn program(artifact: Artifact) -> Result<Option<Program>> {
    let Some(path) = artifact.executable.filter(|_| artifact.profile.test) else {
        return Ok(None);
    };
    let folder = artifact.manifest_path.parent();
    let folder = folder.context("a manifest lies in a folder")?;
    let package = folder.file_name().context("a package has a folder")?;
    Ok(Some(Program {
        name: format!("{package} ({})", artifact.target.name),
        path: path.into(),
        folder: folder.into(),
        is_integration: artifact.target.is_test(),
    }))
}

impl Program {
    /// Runs the test program; returns the number of tests that were left out.
    fn run(&self, mut command: Command) -> Result<usize> {
        let start = Instant::now();
        command.current_dir(&self.folder).stdin(Stdio::null());
        command.env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("RUST_TEST_THREADS", THREADS);
        let output = command.output().context("it cannot be started")?;
        let seconds = start.elapsed().as_secs_f64();
        let stdout = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            let closing = stdout.lines().rfind(|line| !line.is_empty());
            let closing = closing.unwrap_or("no tests");
            println!("{seconds:6.1} s {}: {closing}", self.name);
            skips::note_passed(number_before("passed;", closing));
            return Ok(number_before("filtered", closing));
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        println!("{seconds:6.1} s {}\n{}\n{stderr}", self.name, without_passed(&stdout));
        let failed = failed_tests(&stdout).flat_map(|name| [&[name], &*reasons(&stdout, name)].concat());
        bail!("{}\n    {}", output.status, failed.collect::<Vec<_>>().join("\n    "))
    }
}

/// Returns the output of a test program without the tests that passed, because some readers of a log see only its end.
fn without_passed(stdout: &str) -> String {
    let lines = stdout.lines().filter(|line| !(line.starts_with("test ") && line.ends_with(" ... ok")));
    lines.collect::<Vec<_>>().join("\n")
}

fn failed_tests(stdout: &str) -> impl Iterator<Item = &str> {
    stdout.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
}

/// Returns the first lines that a failed test printed.
fn reasons<'a>(stdout: &'a str, name: &str) -> Vec<&'a str> {
    let is_heading = |line: &str| line.strip_prefix("---- ").is_some_and(|it| it.split(' ').next() == Some(name));
    let printed = stdout.lines().skip_while(|line| !is_heading(line)).skip(1);
    let printed = printed.take_while(|line| !line.starts_with("---- ") && *line != "failures:");
    let printed = printed.take_while(|line| *line != "stack backtrace:");
    printed.filter(|line| !line.trim().is_empty()).take(LINES_OF_REASON).collect()
}

/// Returns the number before `what` in `test result: ok. 103 passed; 0 failed; … 2 filtered out; …`; 0 if it is
/// missing.
fn number_before(what: &str, closing: &str) -> usize {
    let words: Vec<&str> = closing.split_whitespace().collect();
    let at = words.iter().position(|word| *word == what);
    let number = at.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok());
    number.unwrap_or(0)
}

#[cfg(test)]
mod closing_lines {
    use super::*;

    #[test]
    fn the_closing_line_of_a_program_says_how_many_passed_and_were_left_out() {
        let line = "test result: ok. 103 passed; 0 failed; 2 ignored; 0 measured; 7 filtered out";
        assert_eq!(number_before("passed;", line), 103);
        assert_eq!(number_before("filtered", line), 7);
        assert_eq!(number_before("passed;", "no tests"), 0);
        assert_eq!(number_before("passed;", "passed; 3"), 0);
    }

    #[test]
    fn of_a_program_that_failed_the_failed_tests_are_named() {
        let stdout = "running 2 tests\ntest a::fine ... ok\ntest b::broken ... FAILED\n";
        assert_eq!(without_passed(stdout), "running 2 tests\ntest b::broken ... FAILED");
        assert_eq!(failed_tests(stdout).collect::<Vec<_>>(), ["b::broken"]);
        let of_libtest = "---- a::x stdout ----\nx\n\n---- b::broken stdout ----\n\nleft: 1\nright: 2\n\n\nfailures:\n";
        assert_eq!(reasons(of_libtest, "b::broken"), ["left: 1", "right: 2"]);
        let of_mimic = "---- b::broken ----\ntest panicked: left: 1\n\n\nfailures:\n    b::broken\n";
        assert_eq!(reasons(of_mimic, "b::broken"), ["test panicked: left: 1"]);
    }
}
