//! A running loop of a real client: this file starts it, asks it for a number of requests at a time, and ends it.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::server::Server;
use crate::workspace;

/// The address to which a loop connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    Unix(PathBuf),
    Tcp(std::net::SocketAddr),
}

impl Address {
    fn argument(&self) -> String {
        match self {
            Self::Unix(path) => format!("unix:{}", path.display()),
            Self::Tcp(address) => format!("tcp:{address}"),
        }
    }
}

/// Returns the command of a client's loop, without a wrapper such as `looptax run` and without its environment.
pub(crate) fn arguments(name: &str, address: &Address) -> Result<[String; 3]> {
    let run = workspace::root()?.join("clients/run");
    Ok([run.display().to_string(), name.to_owned(), address.argument()])
}

/// The report of a loop about a series of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Answer {
    pub(crate) n_requests: usize,
    pub(crate) seconds: f64,
    /// CPU time of the whole process, user and system.
    pub(crate) cpu_seconds: f64,
}

/// The outcome of a request that may fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answered {
    Served,
    /// The request failed; contains the driver's own message.
    Failed(String),
    /// The program has ended; contains how it ended.
    Ended(String),
}

pub(crate) struct Loop {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Versions of the library and of the language.
    pub(crate) versions: String,
}

impl Loop {
    pub(crate) fn connect(name: &str, address: &Address, server: &Server) -> Result<Self> {
        let [program, arguments @ ..] = arguments(name, address)?;
        let mut command = Command::new(program);
        command.args(arguments).envs(server.environment());
        Self::start(name, command)
    }

    /// Starts the command, and waits until the loop is connected.
    pub(crate) fn start(name: &str, mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start the loop of {name}"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("stdout was asked for as a pipe");
        let mut started =
            Self { name: name.to_owned(), child, input, output: BufReader::new(output), versions: String::new() };
        let line = started.line()?;
        line.strip_prefix("ready ")
            .with_context(|| format!("the loop of {name} prints `{line}`, not `ready`"))?
            .clone_into(&mut started.versions);
        Ok(started)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn ask(&mut self, n_requests: usize) -> Result<Answer> {
        let input = self.input.as_mut().expect("closed by `end` alone");
        writeln!(input, "{n_requests}").with_context(|| format!("{} has ended", self.name))?;
        let line = self.line()?;
        let all_of_them = line.strip_prefix(&format!("{n_requests} "));
        let numbers = all_of_them.map(|rest| rest.split(' ').map(str::parse).collect());
        match numbers {
            Some(Ok::<Vec<f64>, _>(numbers)) if numbers.len() > 1 && numbers[0] > 0.0 => {
                Ok(Answer { n_requests, seconds: numbers[0], cpu_seconds: numbers[1..].iter().sum() })
            }
            _ => bail!("the loop of {} prints `{line}`", self.name),
        }
    }

    /// Asks for one request that may fail. The environment of the loop must contain `LOOP_TELLS`.
    pub(crate) fn ask_again(&mut self) -> Result<Answered> {
        let input = self.input.as_mut().expect("closed by `end` alone");
        // A loop that has ended does not read this line; the code below reports how it ended.
        let _ = writeln!(input, "1");
        let Ok(line) = self.line() else {
            return Ok(Answered::Ended(self.child.wait()?.to_string()));
        };
        let failed = line.strip_prefix("failed ").map(str::to_owned);
        Ok(failed.map_or(Answered::Served, Answered::Failed))
    }

    /// Closes the loop's input, and waits for the loop to end.
    pub(crate) fn end(mut self) -> Result<()> {
        drop(self.input.take());
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the loop of {} failed: {status}", self.name);
        }
        Ok(())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let n_bytes = self.output.read_line(&mut line)?;
        if n_bytes == 0 {
            bail!("the loop of {} ended; clients/setup.sh installs what it needs", self.name);
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if self.input.is_some() {
            // The loop did not end regularly. Another error is the cause, and is reported instead.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
