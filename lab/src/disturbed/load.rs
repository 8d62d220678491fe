//! The disturbances: busy loops, a limit of CPU time, and stops of the server.
//!
//! Each disturbance ends when its guard is dropped. Called by `real`.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rustix::process::{Pid, Signal, kill_process};

use crate::coin::Coin;
use crate::servers::Ours;

/// The kinds of disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Load {
    /// Two processes that do nothing but count
    Busy,
    /// Half a core for looptax and its server together
    Limit,
    /// The server stopped for 5 to 40 ms, two to ten times in a second
    Stops,
}

/// CPU quota: half of each 100 ms, which is the kernel's default period.
const QUOTA_US: u32 = 50_000;
const STOPPED_MS: [u64; 2] = [5, 40];
const RUNNING_MS: [u64; 2] = [100, 500];

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "beside two busy loops",
            Self::Limit => "under a limit of half a core",
            Self::Stops => "with the server stopped at random",
        })
    }
}

/// A disturbance that continues until it is dropped.
pub(crate) struct Disturbing {
    load: Load,
    _busy: Vec<Ours>,
    limit: Option<Limit>,
    stops: Option<Stops>,
}

impl Disturbing {
    pub(crate) fn start(load: Load) -> Result<Self> {
        let busy = match load {
            Load::Busy => vec![count()?, count()?],
            _ => Vec::new(),
        };
        Ok(Self { load, _busy: busy, limit: (load == Load::Limit).then(Limit::set).transpose()?, stops: None })
    }

    /// Returns the command for a program, under the CPU limit if there is one.
    pub(crate) fn limited(&self, program: &str) -> Command {
        let Some(Limit { folder }) = &self.limit else {
            return Command::new(program);
        };
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]);
        command.arg(folder).arg(program);
        command
    }

    /// Begins to stop the servers that this process starts, if stops are the chosen disturbance.
    pub(crate) fn aim_at_servers_of(&mut self, ancestor: u32) {
        if self.load == Load::Stops {
            self.stops = Some(Stops::start(ancestor));
        }
    }
}

fn count() -> Result<Ours> {
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
    Ours::start(&mut command)
}

/// A separate control group with a CPU limit.
struct Limit {
    folder: PathBuf,
}

impl Limit {
    /// Makes the group: with cgroup version 1 if its CPU controller is mounted, otherwise with version 2.
    fn set() -> Result<Self> {
        let name = format!("looptax-lab-{}", std::process::id());
        let first = PathBuf::from("/sys/fs/cgroup/cpu");
        let (above, file, text) = if first.join("cpu.cfs_quota_us").exists() || first.is_dir() {
            (first, "cpu.cfs_quota_us", QUOTA_US.to_string())
        } else {
            let second = PathBuf::from("/sys/fs/cgroup");
            (second, "cpu.max", format!("{QUOTA_US} 100000"))
        };
        let folder = above.join(name);
        let failed = || format!("cannot limit CPU time in `{}`", folder.display());
        fs::create_dir(&folder).with_context(failed)?;
        let limit = Self { folder };
        let written = fs::write(limit.folder.join(file), text);
        written.with_context(|| format!("`{}` accepts no limit", limit.folder.display()))?;
        Ok(limit)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // The folder cannot be removed until the last process in it has ended completely.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        eprintln!("left behind: {}", self.folder.display());
    }
}

/// A thread that repeatedly stops servers and lets them run again.
struct Stops {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stops {
    fn start(ancestor: u32) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let has_ended = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            let Ok(mut coin) = Coin::new(None) else {
                return;
            };
            let mut pause = |[least, most]: [u64; 2]| {
                thread::sleep(Duration::from_millis(least + coin.number() % (most - least)));
            };
            while !has_ended.load(Ordering::Relaxed) {
                pause(RUNNING_MS);
                let servers = servers_of(ancestor).unwrap_or_default();
                let tell = |signal| {
                    for server in &servers {
                        // The server may have ended already.
                        kill_process(*server, signal).ok();
                    }
                };
                tell(Signal::STOP);
                pause(STOPPED_MS);
                tell(Signal::CONT);
            }
        });
        Self { ends, thread: Some(thread) }
    }
}

impl Drop for Stops {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Returns the Redis servers among the descendants of a process.
fn servers_of(ancestor: u32) -> Result<Vec<Pid>> {
    let mut found = Vec::new();
    for pid in descendants_of(ancestor)? {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if name.trim_end() == "redis-server" {
            found.extend(i32::try_from(pid).ok().and_then(Pid::from_raw));
        }
    }
    Ok(found)
}

fn descendants_of(ancestor: u32) -> Result<Vec<u32>> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").context("cannot read /proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // The format is PID (NAME) STATE PARENT …; a name may contain brackets and blanks.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        parents.extend(parent.and_then(|it| it.parse::<u32>().ok()).map(|it| (pid, it)));
    }
    if parents.is_empty() {
        bail!("/proc shows no process");
    }
    let mut found = vec![ancestor];
    let mut idx = 0;
    while let Some(of) = found.get(idx).copied() {
        found.extend(parents.iter().filter(|(_, it)| *it == of).map(|(pid, _)| *pid));
        idx += 1;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_a_child_is_found_and_a_stranger_is_not() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & wait"]);
        let shell = Ours::start(&mut command).unwrap();
        crate::servers::wait_until("the shell starts nothing", || Ok(descendants_of(shell.0.id())?.len() == 2))
            .unwrap();
        let all = descendants_of(std::process::id()).unwrap();
        let shells = descendants_of(shell.0.id()).unwrap();
        assert!(shells.iter().all(|pid| all.contains(pid)));
        assert!(!shells.contains(&std::process::id()));
        assert_eq!(servers_of(shell.0.id()).unwrap(), []);
        let sleeper = Pid::from_raw(i32::try_from(shells[1]).unwrap()).unwrap();
        kill_process(sleeper, Signal::KILL).unwrap();
    }
}
