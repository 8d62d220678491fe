//! A running driver's program: it gets a job and returns an answer, each as a line of JSON.
//!
//! Called by `driver`, with texts of `looptax dsn`, and by the oracle for spellings, with files.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::dialogue::{Answer, Job, Versions};
use crate::workspace;

/// A running program; it is killed when this is dropped.
pub(crate) struct Program {
    pub(crate) versions: Versions,
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    words: Receiver<String>,
    patience: Duration,
}

/// Returns the command that starts a program of `clients/dialects` for one dialect.
pub(crate) fn command(program: &str, dialect: &str) -> Result<Command> {
    let mut command = Command::new(workspace::root()?.join("clients/dialects/run"));
    command.args([program, dialect]).env("LC_ALL", "C.UTF-8");
    Ok(command)
}

impl Program {
    /// Starts the program and reads its first line. `patience` is the time limit for one answer.
    pub(crate) fn start(command: &mut Command, patience: Duration) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start it")?;
        let input = child.stdin.take().context("stdin was asked for as a pipe")?;
        let output = child.stdout.take().context("stdout was asked for as a pipe")?;
        let mut errors = child.stderr.take().context("stderr was asked for as a pipe")?;
        let (tell, lines) = channel();
        thread::spawn(move || {
            let all = BufReader::new(output).lines().map_while(Result::ok);
            all.map(|line| tell.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        let (tell, words) = channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // The program's errors are reported if it ends without an answer.
            errors.read_to_end(&mut bytes).ok();
            tell.send(String::from_utf8_lossy(&bytes).into_owned()).ok();
        });
        let versions = Versions { driver: String::new(), language: String::new() };
        let mut program = Self { versions, child, input, lines, words, patience };
        let head = program.lines.recv_timeout(patience).unwrap_or_default();
        if let Ok(versions) = serde_json::from_str(&head) {
            program.versions = versions;
            return Ok(program);
        }
        let words = program.ended();
        bail!("it does not start: `{head}` {words}; clients/setup.sh installs what it needs")
    }

    /// Sends a job to the program; returns `None` if the program gave no answer because it ended, or was killed because
    /// it took too long.
    pub(crate) fn ask(&mut self, job: &Job) -> Result<Option<Answer>> {
        // If the program has ended, its answer is missing; the code below notices that.
        writeln!(self.input, "{}", serde_json::to_string(job)?).ok();
        while let Ok(line) = self.lines.recv_timeout(self.patience) {
            // Other lines that a library prints are not answers.
            if let Ok(answer) = serde_json::from_str(&line) {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// Ends the program; returns how it ended, and what it printed on stderr.
    pub(crate) fn ended(&mut self) -> String {
        self.child.kill().ok();
        let status = self.child.wait().map_or_else(|error| error.to_string(), |it| it.to_string());
        // A child process of the program may keep stderr open.
        let words = self.words.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        format!("it ended ({status}): {words}")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The program may have ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
