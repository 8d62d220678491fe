//! One run of a command: starts it, watches it, waits for it, and reads the resources that it used.
//!
//! The command has a separate process group, so that it can be ended with all its processes. The measuring clock is
//! read right before the start and right after the end; nothing is printed or saved in between.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_host::processes::stat;
use looptax_model::stats::Side;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::outlet::Outlet;
use super::{CommandPlan, Sight, Watcher};
use crate::clock::now_ns;
use crate::error::CommandError;
use crate::sys::{self, ChildUsage};

/// looptax checks at least this often whether it has to stop, and whether a signal has stopped the command.
const STOP_CHECK: Duration = Duration::from_millis(100);
/// How long a command may take to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// A warm-up run is first inspected after this time. It is inspected again each time its age has grown by a tenth, but
/// not sooner than this time after the previous inspection.
const FIRST_LOOK: Duration = Duration::from_millis(1);

/// When to inspect a run's connections.
#[derive(Debug, Clone, Copy)]
pub(super) enum Looking {
    /// All the time, because the run does not count.
    Often,
    /// Three times in a run. The duration is the expected length of the run.
    Thrice(Duration),
}

#[derive(Clone, Copy)]
pub(super) struct Bounds<'a> {
    pub(super) timeout: Duration,
    pub(super) looking: Looking,
    pub(super) stop: &'a AtomicBool,
}

pub(super) struct Finished {
    pub(super) start_ns: u64,
    pub(super) wall_ns: u64,
    pub(super) used: ChildUsage,
    pub(super) sight: Sight,
}

/// Runs the command until it ends; `None` if looptax is to stop.
pub(super) fn run(
    plan: &CommandPlan,
    side: Side,
    watcher: &mut dyn Watcher,
    bounds: Bounds<'_>,
) -> Result<Option<Finished>, CommandError> {
    let mut command = command(plan);
    let start_ns = now_ns();
    let mut child = command.spawn().map_err(|source| CommandError::Start { source })?;
    let stderr = child.stderr.take().map(OwnedFd::from);
    let mut running = Running::new(child.id(), stderr)?;
    let mut sight = Sight::default();
    let mut next_stop_check = STOP_CHECK;
    let mut next_look = Some(first_look(bounds.looking));
    let end_ns = loop {
        let age = Duration::from_nanos(now_ns() - start_ns);
        if bounds.stop.load(Ordering::Relaxed) {
            running.end()?;
            return Ok(None);
        }
        if age >= bounds.timeout {
            running.end()?;
            return Err(CommandError::Timeout { limit: bounds.timeout, said: running.stderr.last_lines() });
        }
        if age >= next_stop_check {
            next_stop_check = age + STOP_CHECK;
            if running.is_stopped() {
                running.end()?;
                let said = running.stderr.last_lines();
                return Err(CommandError::Stopped { said });
            }
        }
        if next_look.is_some_and(|at| at <= age) {
            sight.add(watcher.watch(side, running.pid));
            let age = Duration::from_nanos(now_ns() - start_ns);
            next_look = look_after(bounds.looking, age);
        }
        let due = next_look.map_or(STOP_CHECK, |at| at.saturating_sub(age).min(STOP_CHECK));
        if running.has_ended_within(due.min(bounds.timeout.saturating_sub(age)))? {
            break now_ns();
        }
    };
    let (status, used) = running.collect()?;
    check(status, &mut running.stderr)?;
    Ok(Some(Finished { start_ns, wall_ns: end_ns - start_ns, used, sight }))
}

fn command(plan: &CommandPlan) -> Command {
    let (program, args) = plan.words.split_first().expect("a command has a program");
    #[allow(clippy::disallowed_methods, reason = "a command that the caller gave")]
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    for name in &plan.unset {
        command.env_remove(name);
    }
    command.envs(plan.set.iter().map(|(name, value)| (name, value)));
    command
}

fn first_look(looking: Looking) -> Duration {
    match looking {
        Looking::Often => FIRST_LOOK,
        Looking::Thrice(whole) => whole / 4,
    }
}

/// Returns the age at which the run is inspected next, for a run of age `age`.
fn look_after(looking: Looking, age: Duration) -> Option<Duration> {
    match looking {
        Looking::Often => Some(age + FIRST_LOOK.max(age / 10)),
        Looking::Thrice(whole) => (1..=3_u32).map(|part| whole * part / 4).find(|at| *at > age),
    }
}

fn check(status: ExitStatus, stderr: &mut Outlet) -> Result<(), CommandError> {
    if status.success() {
        return Ok(());
    }
    let said = stderr.last_lines();
    Err(match (status.code(), status.signal()) {
        (Some(code), _) => CommandError::Code { code, said },
        (None, signal) => CommandError::Signal { signal: signal.unwrap_or_default(), said },
    })
}

/// A running command. If this value is dropped before the command has ended, all processes of the command's group are
/// killed.
struct Running {
    pid: u32,
    group: Pid,
    handle: OwnedFd,
    stderr: Outlet,
    is_collected: bool,
}

impl Running {
    fn new(pid: u32, stderr: Option<OwnedFd>) -> Result<Self, CommandError> {
        let wait = |source: io::Error| CommandError::Wait { source };
        let group = Pid::from_raw(pid.cast_signed()).ok_or_else(|| wait(io::ErrorKind::NotFound.into()))?;
        // The process number is not reused until the process is reaped.
        let parts = pidfd_open(group, PidfdFlags::empty()).map_err(io::Error::from).and_then(|handle| {
            let pipe = stderr.ok_or(io::ErrorKind::BrokenPipe)?;
            Ok((handle, Outlet::new(pipe)?))
        });
        let (handle, stderr) = parts.map_err(|source| {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = sys::reap(pid);
            wait(source)
        })?;
        Ok(Self { pid, group, handle, stderr, is_collected: false })
    }

    /// Waits up to `time` for the end of the command, and empties the pipe during the wait.
    fn has_ended_within(&mut self, time: Duration) -> Result<bool, CommandError> {
        let timeout = Timespec::try_from(time).unwrap_or_default();
        let (has_ended, has_words) = {
            let mut fds = vec![PollFd::from_borrowed_fd(self.handle.as_fd(), PollFlags::IN)];
            let pipe = self.stderr.fd();
            fds.extend(pipe.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    return Err(CommandError::Wait { source: error.into() });
                }
            }
            let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
            (is_ready(&fds[0]), fds.get(1).is_some_and(is_ready))
        };
        // If the command has ended, the pipe is not emptied here, because the time for emptying does not belong to the
        // command.
        if has_words && !has_ended {
            self.stderr.drain();
        }
        Ok(has_ended)
    }

    /// Returns whether the command was stopped. If the command reads from the terminal, the kernel stops the command.
    /// looptax never gives the terminal to the command, so the command would stay stopped forever.
    fn is_stopped(&self) -> bool {
        stat(self.pid).is_some_and(|it| it.is_stopped)
    }

    /// Asks the whole group to end, and kills the processes that do not end.
    fn end(&mut self) -> Result<(), CommandError> {
        let _ = kill_process_group(self.group, Signal::TERM);
        // A stopped process handles the first signal only after it continues.
        let _ = kill_process_group(self.group, Signal::CONT);
        let start_ns = now_ns();
        while Duration::from_nanos(now_ns() - start_ns) < GRACE {
            if self.has_ended_within(STOP_CHECK)? {
                break;
            }
        }
        self.kill_and_collect().map(drop)
    }

    /// Kills the group. The group's number is not reused before the first process is reaped.
    fn kill_and_collect(&mut self) -> Result<(ExitStatus, ChildUsage), CommandError> {
        let _ = kill_process_group(self.group, Signal::KILL);
        self.collect()
    }

    fn collect(&mut self) -> Result<(ExitStatus, ChildUsage), CommandError> {
        self.is_collected = true;
        sys::reap(self.pid).map_err(|source| CommandError::Wait { source })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_collected {
            let _ = self.kill_and_collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counted_run_is_looked_at_three_times() {
        let ms = Duration::from_millis;
        let looking = Looking::Thrice(ms(40));
        assert_eq!(first_look(looking), ms(10));
        assert_eq!(look_after(looking, ms(11)), Some(ms(20)));
        assert_eq!(look_after(looking, ms(25)), Some(ms(30)));
        assert_eq!(look_after(looking, ms(30)), None);
    }

    #[test]
    fn a_warm_up_run_is_looked_at_all_the_time() {
        let ms = Duration::from_millis;
        assert_eq!(look_after(Looking::Often, ms(2)), Some(ms(3)));
        assert_eq!(look_after(Looking::Often, ms(200)), Some(ms(220)));
    }
}
