//! A program with a real driver that makes many connects at once on request: see `clients/README.md`.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use looptax_bench::path::Endpoint;
use looptax_experiment::storm::Ground;
use looptax_model::dsn::Arm;
use looptax_wire::site;

use crate::workspace;

/// Time after the stall; a connect without an answer after this time has failed, as in looptax's own storms.
const PATIENCE: Duration = Duration::from_secs(15);

/// The results of the connects in a storm.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) served: u64,
    pub(super) failed: u64,
    pub(super) unanswered: u64,
    /// The first error, as the driver reports it; empty if no connect failed.
    pub(super) first_error: String,
}

/// A running program that uses the driver.
pub(super) struct Driver {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    versions: String,
}

impl Driver {
    pub(super) fn start(name: &str, ground: &Ground, arm: Arm, stall: Duration) -> Result<Self> {
        let server = ground.server();
        let login = &server.login;
        let address = match ground.endpoint(arm) {
            Endpoint::Unix(path) => format!("unix:{}", path.display()),
            Endpoint::Tcp(address) => format!("tcp:{address}"),
            Endpoint::Abstract(_) => bail!("{name} is not tried with abstract sockets"),
        };
        let mut command = Command::new(workspace::root()?.join("clients/run"));
        command.args(["storm", name, &address]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env("LOOP_USER", &login.user).env("LOOP_PASSWORD", login.password.reveal());
        command.env("LOOP_DATABASE", login.database.clone().unwrap_or_default()).env("LOOP_ROWS", "1");
        command.env("LOOP_SCRIPT", site::script(login.place(), site::HELLO));
        command.env("LOOP_PATIENCE_S", (stall + PATIENCE).as_secs_f64().to_string());
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = (input.context("no input")?, BufReader::new(output.context("no output")?));
        let mut started = Self { child, input, output, versions: String::new() };
        let line = started.line()?;
        line.strip_prefix("ready ").with_context(|| format!("`{line}`"))?.clone_into(&mut started.versions);
        Ok(started)
    }

    /// Prepares everything except the connects.
    pub(super) fn prepare(&mut self, n: u32) -> Result<()> {
        writeln!(self.input, "{n}")?;
        match &*self.line()? {
            "set" => Ok(()),
            line => bail!("`{line}`, not `set`"),
        }
    }

    /// Makes the connects; calls `begun` when they begin.
    pub(super) fn go(&mut self, begun: &dyn Fn()) -> io::Result<Answer> {
        writeln!(self.input, "go")?;
        begun();
        let line = self.line()?;
        let mut words = line.splitn(4, ' ');
        let mut number = || words.next().and_then(|it| it.parse().ok());
        let counts = (number(), number(), number());
        let (Some(served), Some(failed), Some(unanswered)) = counts else {
            return Err(io::Error::other(format!("`{line}` is not the result of a storm")));
        };
        Ok(Answer { served, failed, unanswered, first_error: words.next().unwrap_or_default().to_owned() })
    }

    /// Returns the versions of the library and of the language.
    pub(super) fn versions(&self) -> &str {
        &self.versions
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the driver ended; clients/setup.sh installs what it needs"));
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
