//! One run of looptax as root during an attack: its environment, its time limit, its result.

use std::ffi::OsString;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::ground::{Ground, PATH};

/// Time limit of a run. All but a few runs take less than a tenth of a second.
const LIMIT: Duration = Duration::from_secs(20);
/// Highest number of bytes of a run's output that are kept.
const MOST_BYTES: u64 = 64 << 10;

pub(super) struct Run<'a> {
    ground: &'a Ground,
    words: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    folder: PathBuf,
}

#[derive(Debug, Clone)]
pub(super) struct Ran {
    /// The exit code; `None` if the time limit or a signal ended the run.
    pub(super) code: Option<i32>,
    pub(super) is_late: bool,
    /// The run's output, of both streams.
    pub(super) said: String,
}

impl Ground {
    /// Returns a run of looptax with these arguments, as root in root's own environment.
    pub(super) fn looptax<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> Run<'_> {
        Run {
            ground: self,
            words: words.into_iter().map(Into::into).collect(),
            variables: Vec::new(),
            folder: self.at("ours"),
        }
    }

    pub(super) fn data(&self) -> PathBuf {
        self.at("ours").join("data")
    }
}

impl Run<'_> {
    /// Sets this variable for the run; replaces root's own variable of this name.
    pub(super) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    pub(super) fn within(mut self, folder: &Path) -> Self {
        folder.clone_into(&mut self.folder);
        self
    }

    /// Runs looptax to its end or to its time limit.
    pub(super) fn end(self) -> Result<Ran> {
        let mut said = tempfile::tempfile().context("cannot make a temporary file")?;
        let ground = self.ground;
        let mut command = Command::new(&ground.looptax);
        command
            .args(&self.words)
            .env_clear()
            .env("PATH", PATH)
            .env("LANG", "C.UTF-8")
            .env("HOME", ground.at("ours"))
            .env("XDG_DATA_HOME", ground.data())
            .env("TMPDIR", ground.at("tmp"))
            // The secret, which only root's environment contains.
            .env("LOOPTAX_COLLECTOR_PASSWORD", &ground.secret)
            .envs(self.variables)
            .current_dir(&self.folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(said.try_clone()?)
            .stderr(said.try_clone()?);
        let mut child = command.spawn().context("cannot start looptax")?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.context("it has no process number")?;
        let is_late = !ends(pid, LIMIT)?;
        if is_late {
            kill_process_group(pid, Signal::KILL).ok();
        }
        let status = child.wait()?;
        said.rewind()?;
        let mut text = Vec::new();
        said.take(MOST_BYTES).read_to_end(&mut text)?;
        Ok(Ran {
            code: if is_late { None } else { status.code() },
            is_late,
            said: format!(
                "{}{}",
                String::from_utf8_lossy(&text),
                status.signal().map_or_else(String::new, |it| format!("\nsignal {it}"))
            ),
        })
    }
}

/// Waits for the process to end; returns whether it ended in time.
fn ends(pid: Pid, within: Duration) -> Result<bool> {
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let limit = Timespec::try_from(within)?;
    loop {
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)) {
            Ok(n_ready) => return Ok(n_ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
