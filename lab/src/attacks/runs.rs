//! One run of looptax as root, beside an attack: its environment, its limit, how it ended.

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

/// Longest that a run may take: all but a few take less than a tenth of a second.
const LIMIT: Duration = Duration::from_secs(20);
/// Most of what it printed that is kept.
const MOST_BYTES: u64 = 64 << 10;

pub(super) struct Run<'a> {
    ground: &'a Ground,
    words: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    folder: PathBuf,
}

#[derive(Debug, Clone)]
pub(super) struct Ran {
    /// Its exit code; `None` where its limit or a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) is_late: bool,
    /// The output, of both streams.
    pub(super) said: String,
}

impl Ground {
    /// looptax with these words, as root in root's own environment.
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
    /// With this variable besides, or in the place of root's own.
    pub(super) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    pub(super) fn within(mut self, folder: &Path) -> Self {
        folder.clone_into(&mut self.folder);
        self
    }

    /// Runs it to its end, or to that of its time.
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
            // Values that only root has.
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

/// Waits for its end; whether it came in time.
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
