//! Runs the program of a process a second time, with other arguments. Starts the program as the process's owner, reads
//! its output within limits, and ends the program together with all processes that it started.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child as Started, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions};

use super::child::{self, Child, Parts};
use super::supervise::{self, Supervision, Verdict};
use super::{ProgramError, Subject};
use crate::children;

/// The maximum number of bytes read from a program's output: `nginx -T` prints whole configurations.
const MOST_BYTES: usize = 8 << 20;
/// The pause between two checks whether the program has ended.
const STEP: Duration = Duration::from_millis(5);
/// The environment that every program gets.
const OURS: [(&str, &str); 2] =
    [("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C")];

/// The variables from a process's own environment that its program gets, in addition to the environment above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variables {
    None,
    /// All variables, if the process does not belong to root: its owner set them, and the program has no more rights
    /// than the owner. If the process belongs to root, only variables whose names start with one of these prefixes
    /// (`APACHE_`). No loader or interpreter reads such variables.
    Own(&'static [&'static str]),
}

#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// The program's name in its arguments (`argv[0]`), because some programs depend on it.
    pub name: Option<OsString>,
    pub words: Vec<OsString>,
    pub variables: Variables,
    pub within: Duration,
    /// Ends the program early if the flag is set.
    pub stop: Option<&'a AtomicBool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The program's exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    pub output: String,
    pub errors: String,
}

impl Subject {
    /// Runs the program of the process until it ends, as the owner of the process.
    ///
    /// # Errors
    /// [`ProgramError::NotOurs`] unless looptax runs as root or as that user; [`ProgramError::Foreign`] if a program of
    /// root opened a file that users other than root can change. In the second case the output is not used.
    pub fn ask(&self, ask: &Ask<'_>) -> Result<Answer, ProgramError> {
        let failed = |source| ProgramError::Start { path: self.program.path.clone(), source };
        let is_ours = self.is_ours()?;
        let is_root_s = self.owner.uid == 0;
        let (supervision, confinement) = match is_root_s.then(supervise::start).transpose() {
            Ok(both) => both.unzip(),
            Err(source) => return Err(self.unsupervised(source)),
        };
        let child = Child::new(Parts {
            program: child::copy(self.program.fd.as_fd()).map_err(failed)?,
            folder: self.work_folder(),
            owner: &self.owner,
            is_ours,
            arguments: self.arguments(ask).map_err(failed)?,
            variables: self.variables(ask.variables)?,
            confinement,
        });
        let mut running = match start(child, ask.within) {
            Ok(running) => running,
            Err(source) => {
                // Without a filter of system calls the program is not started, and the kernel's error gives the reason.
                return match supervision.map(Supervision::end) {
                    Some(Verdict::Unsupported(source)) => Err(self.unsupervised(source)),
                    Some(_) if is_seccomp_s(&source) => Err(self.unsupervised(source)),
                    _ => Err(failed(source)),
                };
            }
        };
        let answer = self.read(&mut running, ask);
        child::end_group(running.id());
        let status = children::ended(&mut running).map_err(failed);
        if let Some(supervision) = supervision {
            match supervision.end() {
                Verdict::Counts => {}
                Verdict::Foreign(why) => {
                    let path = self.program.path.clone();
                    return Err(ProgramError::Foreign { path, why });
                }
                Verdict::Unsupported(source) => return Err(self.unsupervised(source)),
            }
        }
        let (output, errors) = answer?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Answer { code: status?.and_then(|it| it.code()), output: text(output), errors: text(errors) })
    }

    /// Whether looptax already runs as the owner, so that it need not become another user.
    fn is_ours(&self) -> Result<bool, ProgramError> {
        let own = rustix::process::geteuid();
        if own.is_root() {
            return Ok(false);
        }
        let is_same = own.as_raw() == self.owner.uid && own == rustix::process::getuid();
        is_same.then_some(true).ok_or(ProgramError::NotOurs { pid: self.pid, uid: self.owner.uid })
    }

    fn unsupervised(&self, source: io::Error) -> ProgramError {
        let path = self.program.path.clone();
        ProgramError::Unsupervised { path, source }
    }

    fn arguments(&self, ask: &Ask<'_>) -> io::Result<Vec<CString>> {
        let name = { ask.name.as_deref() }.unwrap_or(self.program.path.as_os_str());
        let words = ask.words.iter().map(OsString::as_os_str);
        std::iter::once(name).chain(words).map(child::text).collect()
    }

    fn variables(&self, which: Variables) -> Result<Vec<CString>, ProgramError> {
        let mut own = match which {
            Variables::None => Vec::new(),
            Variables::Own(_) => self.environment()?,
        };
        if let (Variables::Own(names), 0) = (which, self.owner.uid) {
            let is_named = |it: &OsString| {
                let name = it.as_encoded_bytes();
                names.iter().any(|start| name.starts_with(start.as_bytes()))
            };
            own.retain(|(name, _)| is_named(name));
        }
        let is_own = |name: &str| own.iter().any(|it| it.0 == OsStr::new(name));
        let ours = OURS.into_iter().filter(|it| !is_own(it.0));
        let ours = ours.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let all = own.iter().cloned().chain(ours);
        let pairs = all.filter_map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            child::text(&name).ok()
        });
        Ok(pairs.collect())
    }

    /// Reads the program's output until the program ends.
    fn read(&self, running: &mut Started, ask: &Ask<'_>) -> Result<(Vec<u8>, Vec<u8>), ProgramError> {
        let path = || self.program.path.clone();
        let failed = |source| ProgramError::Start { path: path(), source };
        let (mut output, mut errors) = (running.stdout.take(), running.stderr.take());
        let mut texts = (Vec::new(), Vec::new());
        let n_steps = ask.within.as_micros().div_ceil(STEP.as_micros());
        for _ in 0..n_steps {
            // The status is read before the pipes, so that the last bytes of an ended program are still read from the
            // pipes.
            let has_ended = has_ended(running).map_err(failed)?;
            let mut n_read = children::drain(output.as_mut(), &mut texts.0, MOST_BYTES + 1).map_err(failed)?;
            n_read += children::drain(errors.as_mut(), &mut texts.1, MOST_BYTES + 1).map_err(failed)?;
            if texts.0.len().max(texts.1.len()) > MOST_BYTES {
                let limit_bytes = MOST_BYTES;
                return Err(ProgramError::TooMuch { path: path(), limit_bytes });
            }
            if has_ended {
                return Ok(texts);
            }
            if ask.stop.is_some_and(|it| it.load(Ordering::Relaxed)) {
                return Err(ProgramError::Stopped { path: path() });
            }
            if n_read == 0 {
                std::thread::sleep(STEP);
            }
        }
        Err(ProgramError::TooLong { path: path(), limit: ask.within })
    }
}

/// Whether a child has ended. Does not reap the child, whose pid must stay reserved until the child's process group was
/// ended.
fn has_ended(running: &Started) -> io::Result<bool> {
    let pid = { i32::try_from(running.id()).ok() }.and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::NotFound)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(rustix::process::waitid(WaitId::Pid(pid), options)?.is_some())
}

/// Whether the error means that the kernel does not support such filters of system calls.
fn is_seccomp_s(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL | libc::EBUSY))
}

fn start(child: Child, within: Duration) -> io::Result<Started> {
    let child = Arc::new(child);
    let command = |teller: OwnedFd| {
        // This path is not used: the child executes a descriptor before it would look up the path.
        let mut command = Command::new("/proc/self/exe");
        { command.stdin(Stdio::null()).stdout(Stdio::piped()) }.stderr(Stdio::piped());
        let become_program = move || {
            children::tell(&teller)?;
            Err(child.become_program())
        };
        // SAFETY: the closure only makes system calls and allocates no memory.
        unsafe { command.pre_exec(become_program) };
        command
    };
    let running = children::start(command, within)?;
    let nonblocking = |fd: std::os::fd::BorrowedFd<'_>| {
        // SAFETY: the call gets a descriptor of this process, and numbers.
        unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    };
    if let (Some(output), Some(errors)) = (&running.stdout, &running.stderr) {
        nonblocking(output.as_fd());
        nonblocking(errors.as_fd());
    }
    Ok(running)
}
