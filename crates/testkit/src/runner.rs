//! Runs the program under test in a scratch folder with a cleaned environment.
//!
//! A failure is reported with the command, its folder, its status, and the text of stdout and stderr. Used by
//! integration tests of the command line; the runner does not know what the program does.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::patience;
use crate::scratch::Scratch;

/// Time limit of a run; it is far longer than any run takes.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
/// Width of the terminal: enough for a whole progress line.
const COLUMNS: u16 = 250;

#[derive(Debug, Clone)]
pub struct Looptax<'a> {
    scratch: &'a Scratch,
    exe: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    uid: Option<u32>,
    has_terminal: bool,
}

impl<'a> Looptax<'a> {
    /// Prepares a run of the program `exe` in `scratch`.
    pub fn new(exe: impl Into<PathBuf>, scratch: &'a Scratch) -> Self {
        Self { scratch, exe: exe.into(), args: Vec::new(), env: Vec::new(), uid: None, has_terminal: false }
    }

    /// Adds arguments after the arguments that were added before.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable. The program already has `PATH`, `HOME`, `LANG`, `TMPDIR` and `COLUMNS` (120).
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Runs the program as another account, which becomes the owner of the scratch folders. Needs root.
    #[must_use]
    pub fn uid(mut self, uid: u32) -> Self {
        self.uid = Some(uid);
        self
    }

    /// Gives the program a terminal as stderr, so that it shows its progress.
    #[must_use]
    pub fn on_terminal(mut self) -> Self {
        self.has_terminal = true;
        self
    }

    #[track_caller]
    pub fn run(self) -> Finished {
        self.spawn().wait()
    }

    /// Starts the program.
    ///
    /// # Panics
    /// Panics if the program does not start.
    #[track_caller]
    pub fn spawn(self) -> Running<'a> {
        let mut command = Command::new(&self.exe);
        command
            .args(&self.args)
            .current_dir(self.scratch.work())
            .env_clear()
            .env("HOME", self.scratch.work())
            .env("COLUMNS", "120")
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm")
            .env("TMPDIR", self.scratch.tmp())
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs(self.env)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(uid) = self.uid {
            self.scratch.give_to(uid);
            command.uid(uid).gid(uid);
        }
        let terminal = self.has_terminal.then(terminal);
        let master = terminal.map(|(master, ours)| {
            command.stderr(ours);
            master
        });
        let shown = format!("{command:?}\n  in {}", self.scratch.work().display());
        let mut child = command.spawn().expect("the program under test starts");
        // Drops the command's copy of the terminal; otherwise the reader would never reach the end of the terminal's
        // output.
        drop(command);
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from).or(master);
        Running {
            scratch: self.scratch,
            child,
            is_over: false,
            stdout: Stream::follow(stdout.expect("stdout is piped")),
            stderr: Stream::follow(stderr.expect("stderr is piped or a terminal")),
            shown,
        }
    }
}

/// Opens a new terminal; returns the runner's end and the program's end.
fn terminal() -> (OwnedFd, OwnedFd) {
    let master =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("the kernel has terminals");
    grantpt(&master).expect("it is ours");
    unlockpt(&master).expect("it is ours");
    let size = Winsize { ws_row: 50, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).expect("it is ours");
    let name = ptsname(&master, Vec::new()).expect("it is unlocked");
    let program_end = File::options()
        .read(true)
        .write(true)
        .custom_flags(OFlags::NOCTTY.bits().cast_signed())
        .open(name.to_str().expect("/dev/pts/N"))
        .expect("it is unlocked");
    (master, program_end.into())
}

/// The output of the program on stdout or stderr so far.
#[derive(Debug)]
struct Stream {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    fn follow(fd: OwnedFd) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&text);
        let reader = thread::spawn(move || {
            let mut file = File::from(fd);
            let mut part = [0; 4096];
            // Reading from a terminal whose other end is closed gives an error, which also means the end of the
            // output.
            while let Ok(n_bytes @ 1..) = file.read(&mut part) {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.extend_from_slice(&part[..n_bytes]);
            }
        });
        Self { text, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn whole(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader does not panic");
        }
        self.so_far()
    }
}

/// The running program. If this value is dropped before the program ends, the program is killed.
#[derive(Debug)]
pub struct Running<'a> {
    scratch: &'a Scratch,
    child: Child,
    is_over: bool,
    stdout: Stream,
    stderr: Stream,
    shown: String,
}

impl Running<'_> {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the program.
    ///
    /// # Panics
    /// Panics if the kernel refuses the signal.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Waits until `look` returns a value.
    ///
    /// # Panics
    /// Panics if there is no value within the time limit, or if the program ends before there is a value.
    #[track_caller]
    pub fn wait_for<T>(&mut self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let child = &mut self.child;
        let found = patience::wait(PATIENCE, || match look() {
            Some(found) => Some(Some(found)),
            None => child.try_wait().ok().flatten().map(|_| None),
        });
        if let Some(Some(found)) = found {
            return found;
        }
        panic!(
            "waited in vain for {what}\n  {}\n{}\nstderr:\n{}",
            self.shown,
            self.scratch.tree(),
            self.stderr.so_far()
        );
    }

    /// Waits until stderr contains `words`.
    ///
    /// # Panics
    /// Panics as [`Self::wait_for`] does.
    #[track_caller]
    pub fn wait_for_stderr(&mut self, words: &str) {
        let text = Arc::clone(&self.stderr.text);
        self.wait_for(&format!("`{words}` on stderr"), || {
            let text = text.lock().unwrap_or_else(PoisonError::into_inner);
            String::from_utf8_lossy(&text).contains(words).then_some(())
        });
    }

    /// Waits until the program ends.
    ///
    /// # Panics
    /// Panics if the program does not end within the time limit.
    #[track_caller]
    pub fn wait(mut self) -> Finished {
        let child = &mut self.child;
        let Some(status) = patience::wait(PATIENCE, || child.try_wait().ok().flatten()) else {
            panic!("does not end: {}\nstderr:\n{}", self.shown, self.stderr.so_far());
        };
        self.is_over = true;
        Finished {
            status,
            stdout: self.stdout.whole(),
            stderr: without_drawing(&self.stderr.whole()),
            tree: self.scratch.tree(),
            shown: self.shown.clone(),
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// Removes the sequences that only move a terminal's cursor, and puts each redrawn line on a separate line.
fn without_drawing(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut parts = lines.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';' || c == '?');
        plain.extend(rest.chars().skip(1));
    }
    plain
}

/// Sends a signal to a process that the test started.
///
/// # Panics
/// Panics if the kernel refuses the signal.
#[track_caller]
pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process id"), signal).expect("the process is ours");
}

/// The exit status of the program, and its output.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    tree: String,
    shown: String,
}

impl Finished {
    /// Returns stdout as one line, because the line breaks depend on the length of folder names.
    pub fn words(&self) -> String {
        let words: Vec<_> = self.stdout.split_whitespace().collect();
        words.join(" ")
    }

    /// Fails unless the program ended with this exit code.
    ///
    /// # Panics
    /// Panics if the exit code is another one.
    #[track_caller]
    pub fn expect_code(&self, code: i32) -> &Self {
        if self.status.code() != Some(code) {
            self.fail(&format!("exit code {code} was expected"));
        }
        self
    }

    /// Fails unless the program ended with this exit code, reported exactly one error and exactly one hint, and printed
    /// each of `words` on stderr.
    ///
    /// # Panics
    /// Panics if one of these conditions is not met.
    #[track_caller]
    pub fn expect_error(&self, code: i32, words: &[&str]) -> &Self {
        self.expect_code(code);
        for (start, n_expected) in [("error: ", 1), ("hint: ", 1)] {
            let lines = self.stderr.lines().filter(|line| line.starts_with(start));
            if lines.count() != n_expected {
                self.fail(&format!("{n_expected} line with `{start}` was expected"));
            }
        }
        for words in words {
            if !self.stderr.contains(words) {
                self.fail(&format!("`{words}` was expected on stderr"));
            }
        }
        if self.stderr.contains("panicked") {
            self.fail("it panicked");
        }
        self
    }

    /// Fails, and prints everything that is known about the run.
    ///
    /// # Panics
    /// Always.
    #[track_caller]
    pub fn fail(&self, why: &str) -> ! {
        panic!(
            "{why}\n  {}\n  ended: {}\ntree:\n{}\nstdout:\n{}\nstderr:\n{}",
            self.shown, self.status, self.tree, self.stdout, self.stderr
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_with_a_cleaned_environment_and_tells_the_streams_apart() {
        let scratch = Scratch::new();
        let run =
            Looptax::new("sh", &scratch).args(["-c", "env; pwd; echo words >&2; exit 3"]).env("EXTRA", "yes").run();
        run.expect_code(3);
        assert_eq!(run.stderr, "words\n");
        assert!(run.stdout.contains("EXTRA=yes"), "{}", run.stdout);
        assert!(!run.stdout.contains("CARGO"), "{}", run.stdout);
        let place = scratch.work().display().to_string();
        assert!(run.stdout.ends_with(&format!("{place}\n")));
    }

    #[test]
    fn drawing_is_taken_out_of_the_words() {
        let text = "epoch 1\r\x1b[2Kepoch 2\x1b[1A\r\n\x1b[31merror\x1b[0m: no";
        assert_eq!(without_drawing(text), "epoch 1\nepoch 2\nerror: no");
        assert_eq!(without_drawing("plain\n"), "plain\n");
    }

    #[test]
    fn gives_a_terminal_and_waits_for_its_words() {
        let scratch = Scratch::new();
        let mut run = Looptax::new("sh", &scratch)
            .args(["-c", "test -t 2 && echo ready >&2; exec sleep 600"])
            .on_terminal()
            .spawn();
        run.wait_for_stderr("ready");
        run.signal(Signal::TERM);
        assert_eq!(run.wait().status.code(), None);
    }

    #[test]
    fn an_error_needs_its_hint_and_its_words() {
        let scratch = Scratch::new();
        let run = |script: &str| Looptax::new("sh", &scratch).args(["-c", script]).run();
        let whole = run("echo 'error: no' >&2; echo 'hint: yes' >&2; exit 2");
        whole.expect_error(2, &["no"]);
        let fails = |run: Finished| {
            let checked = std::panic::AssertUnwindSafe(|| {
                run.expect_error(2, &["no"]);
            });
            assert!(std::panic::catch_unwind(checked).is_err());
        };
        fails(run("echo 'error: no' >&2; exit 2"));
        fails(run("echo 'error: no' >&2; echo 'hint: yes' >&2; exit 1"));
        fails(run("echo 'error: ja' >&2; echo 'hint: yes' >&2; exit 2"));
    }
}
