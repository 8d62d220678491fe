//! The reaper: a process that stops the servers and removes the folders of a looptax process after that process has
//! ended.
//!
//! The reaper reads lines from a pipe. Only looptax holds the other end, so the reaper notices the end of looptax,
//! however looptax ends. [`Reaper`] is looptax's side; `looptax internal reaper` runs [`child_main`]. The reaper sends
//! signals only to processes whose start time matches, and removes only scratch folders of looptax.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

mod message;
mod watch;

use crate::servers::ServerError;
use crate::servers::process::Process;
use looptax_host::lent::Lent;
use message::Message;
use watch::Watch;

/// The line that the reaper prints once it is ready to read; a program without this subcommand prints something else.
const GREETING: &str = "looptax reaper 1\n";

/// looptax's side of the reaper. Clones share one reaper process, which ends after the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Reaper {
    line: Option<Arc<Line>>,
}

/// The reaper process and the pipe to it.
#[derive(Debug)]
struct Line {
    child: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
}

impl Reaper {
    /// Starts `self_exe internal reaper` in a separate session, and waits for its greeting.
    ///
    /// # Errors
    /// [`ServerError::ReaperStart`] if the program does not start or does not greet.
    pub fn start(self_exe: &Path) -> Result<Self, ServerError> {
        let failed = |source| ServerError::ReaperStart { program: self_exe.to_owned(), source };
        #[allow(clippy::disallowed_methods, reason = "looptax itself")]
        let mut command = Command::new(self_exe);
        command
            .args(["internal", "reaper"])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        crate::servers::sys::detach(&mut command);
        let mut child = command.spawn().map_err(failed)?;
        if let Err(source) = expect_greeting(&mut child) {
            child.kill().ok();
            child.wait().ok();
            return Err(failed(source));
        }
        let input = child.stdin.take();
        Ok(Self { line: Some(Arc::new(Line { child: Mutex::new(child), input: Mutex::new(input) })) })
    }

    /// Returns the reaper's process id; `None` in tests that have no reaper.
    pub fn pid(&self) -> Option<u32> {
        let line = self.line.as_ref()?;
        Some(line.child.lock().unwrap_or_else(PoisonError::into_inner).id())
    }

    /// Makes a handle without a reaper process, for tests of code that only sends messages.
    #[cfg(test)]
    pub(crate) fn absent() -> Self {
        Self { line: None }
    }

    pub(crate) fn watch_process(&self, process: Process) -> Result<(), ServerError> {
        self.send(&Message::Server(process))
    }

    pub(crate) fn watch_folder(&self, folder: &Path) -> Result<(), ServerError> {
        self.send(&Message::Folder(folder.to_owned()))
    }

    pub(crate) fn forget_process(&self, pid: u32) {
        // The error is ignored: a reaper that has ended does not need the message.
        self.send(&Message::Gone(pid)).ok();
    }

    pub(crate) fn forget_folder(&self, folder: &Path) {
        self.send(&Message::Removed(folder.to_owned())).ok();
    }

    /// Tells the reaper to let a server's thread use its cores again after looptax has ended.
    pub(crate) fn watch_thread(&self, lent: Lent) -> Result<(), ServerError> {
        self.send(&Message::Lent(lent))
    }

    pub(crate) fn forget_thread(&self, tid: u32) {
        self.send(&Message::Returned(tid)).ok();
    }

    fn send(&self, message: &Message) -> Result<(), ServerError> {
        let Some(line) = &self.line else {
            return Ok(());
        };
        let mut input = line.input.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pipe) = input.as_mut() else {
            return Ok(());
        };
        // Each line is written with one call, so that it is never cut in the middle when looptax ends.
        pipe.write_all(format!("{message}\n").as_bytes()).map_err(|source| ServerError::ReaperLost { source })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let input = self.input.lock();
        drop(input.unwrap_or_else(PoisonError::into_inner).take());
        self.child.lock().unwrap_or_else(PoisonError::into_inner).wait().ok();
    }
}

/// Reads and checks the child's first line; the pipe is then closed.
fn expect_greeting(child: &mut Child) -> io::Result<()> {
    let Some(output) = child.stdout.take() else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let mut greeting = String::new();
    BufReader::new(output.take(GREETING.len() as u64)).read_line(&mut greeting)?;
    if greeting == GREETING {
        Ok(())
    } else {
        Err(io::Error::other(format!("the reaper printed {greeting:?}, expected {GREETING:?}")))
    }
}

/// The main function of `looptax internal reaper`: prints the greeting, reads stdin to its end, and cleans up.
///
/// Returns the exit code: 0, or 1 if a folder could not be removed.
pub fn child_main() -> i32 {
    let mut stdout = io::stdout();
    // An error is ignored: if looptax gets no greeting, it sends nothing, and stdin ends immediately.
    stdout.write_all(GREETING.as_bytes()).and_then(|()| stdout.flush()).ok();
    let watch = Watch::follow(io::stdin().lock());
    i32::from(!watch.clean_up())
}
