//! A child process that is ended together with all processes that it started, no matter how its owner ends.
//!
//! `server` holds a child while it prepares and launches a server, and uses this module to end the server.

use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

use crate::servers::ServerError;
use crate::servers::account::Account;
use crate::servers::deadline::Deadline;
use crate::servers::process::{self, Process, StopSignal};
use crate::servers::scratch::Scratch;
use crate::servers::spawn::{Program, spawn};
use looptax_host::waiting;

/// Time limit for the end of a server, if looptax cannot wait for a normal end.
pub(crate) const DROP_GRACE: Duration = Duration::from_secs(2);

/// Pause between two checks of a starting server; short compared with the second that a start takes.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// The reason why the wait for a child is over.
pub(crate) enum Waited {
    Ready,
    Ended(ExitStatus),
    TooLong,
}

/// A child that is ended when this guard is dropped, unless [`keep`](Self::keep) has handed it over to another owner.
pub(crate) struct ChildGuard<'a> {
    parts: Option<(Child, Process)>,
    scratch: &'a Scratch,
}

impl<'a> ChildGuard<'a> {
    /// Starts the program as the account that owns the scratch folder.
    pub(crate) fn spawn(program: &Program, stop: StopSignal, scratch: &'a Scratch) -> Result<Self, ServerError> {
        Self::spawn_as(program, scratch.account(), stop, scratch)
    }

    /// Starts the program as the user of looptax. If looptax is root, the program itself gives up root's rights.
    pub(crate) fn spawn_as_us(program: &Program, stop: StopSignal, scratch: &'a Scratch) -> Result<Self, ServerError> {
        Self::spawn_as(program, None, stop, scratch)
    }

    fn spawn_as(
        program: &Program,
        account: Option<Account>,
        stop: StopSignal,
        scratch: &'a Scratch,
    ) -> Result<Self, ServerError> {
        let (child, process) = spawn(program, account, stop, scratch)?;
        Ok(Self { parts: Some((child, process)), scratch })
    }

    /// Waits until the child is ready or has ended, or until `limit` has passed.
    ///
    /// # Errors
    /// [`ServerError::Stopped`] if a signal asks looptax to stop.
    pub(crate) fn wait(
        &mut self,
        limit: Duration,
        mut is_ready: impl FnMut(u32) -> bool,
    ) -> Result<Waited, ServerError> {
        let deadline = Deadline::after(limit);
        loop {
            if waiting::has_stopped() {
                return Err(ServerError::Stopped);
            }
            if let Some(status) = self.ended() {
                return Ok(Waited::Ended(status));
            }
            if is_ready(self.pid()) {
                return Ok(Waited::Ready);
            }
            if deadline.has_passed() {
                return Ok(Waited::TooLong);
            }
            thread::sleep(LOOK_PAUSE);
        }
    }

    /// Kills the child and its process group immediately.
    pub(crate) fn kill_group(&mut self) {
        if let Some((_, process)) = &self.parts {
            process::kill_group(*process);
        }
    }

    /// Returns the exit status of the child, if it has ended.
    fn ended(&mut self) -> Option<ExitStatus> {
        self.parts.as_mut().and_then(|(child, _)| child.try_wait().ok().flatten())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.parts.as_ref().map_or(0, |(_, process)| process.pid)
    }

    /// Hands over the child to the caller, who must end it.
    pub(crate) fn keep(mut self) -> (Child, Process) {
        self.parts.take().expect("only this function and `drop` take the parts")
    }
}

impl Drop for ChildGuard<'_> {
    fn drop(&mut self) {
        if let Some((mut child, process)) = self.parts.take() {
            end_child(&mut child, process, self.scratch, DROP_GRACE);
        }
    }
}

/// Ends a child with all processes that it started, and collects its exit status. Returns whether the child has ended.
pub(crate) fn end_child(child: &mut Child, process: Process, scratch: &Scratch, grace: Duration) -> bool {
    if !matches!(child.try_wait(), Ok(Some(_))) {
        process::end(&[process], grace);
    }
    let is_gone = matches!(child.try_wait(), Ok(Some(_)));
    if is_gone {
        scratch.forget(process.pid);
    }
    is_gone
}
