//! Starts a program for a scratch folder: sets its account, environment and log, and reports it to the reaper.
//!
//! Every process of a private server is started by this module, so that the reaper knows all of them.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use looptax_host::program::trusted_program;
use looptax_host::rights::{CapabilitySet, pass_on};
use looptax_model::dsn::Secret;

use crate::servers::ServerError;
use crate::servers::account::Account;
use crate::servers::process::{Process, StopSignal};
use crate::servers::scratch::Scratch;

/// A program's stdin.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    Nothing,
    Text(&'static str),
    Open(Arc<OwnedFd>),
}

#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// The program's arguments. Every user can read them, so they must not contain secrets.
    pub(crate) args: Vec<String>,
    pub(crate) input: Input,
    /// A variable for the program's environment, which only the program's account and root can read.
    pub(crate) secret: Option<(&'static str, Secret)>,
    /// The rights that the program keeps. A program with rights runs as the user of looptax.
    pub(crate) rights: CapabilitySet,
}

impl Program {
    pub(crate) fn new(path: PathBuf, args: Vec<String>) -> Self {
        Self { path, args, input: Input::Nothing, secret: None, rights: CapabilitySet::empty() }
    }
}

/// Starts the program in the server's part of the scratch folder, as `account` if there is one, otherwise as the user
/// of looptax.
///
/// looptax sets the environment itself, because the caller's `PGDATA` or `MYSQL_HOME` must not reach the program. Both
/// output streams are written to the log.
pub(crate) fn spawn(
    program: &Program,
    account: Option<Account>,
    stop: StopSignal,
    scratch: &Scratch,
) -> Result<(Child, Process), ServerError> {
    let failed = |source| ServerError::Spawn { program: program.path.clone(), source };
    // Every program is checked here, although the server's program was checked when it was found: initdb and similar
    // programs may be in another folder.
    if program.path.is_absolute() && !is_own(&program.path) {
        trusted_program(&program.path).map_err(|why| ServerError::PassedOver { path: program.path.clone(), why })?;
    }
    let log = scratch.open_log()?;
    #[allow(clippy::disallowed_methods, reason = "if looptax has root's rights, only root can change this program")]
    let mut command = Command::new(&program.path);
    command
        .args(&program.args)
        .current_dir(scratch.path(""))
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .env("HOME", scratch.path(""))
        .env("TMPDIR", scratch.path(""))
        .stdin(match &program.input {
            Input::Nothing => Stdio::null(),
            Input::Text(_) => Stdio::piped(),
            Input::Open(file) => file.try_clone().map_err(failed)?.into(),
        })
        .stdout(log.try_clone().map_err(failed)?)
        .stderr(log);
    if let Some((name, value)) = &program.secret {
        command.env(name, value.reveal());
    }
    if let Some(account) = account.filter(|_| program.rights.is_empty()) {
        // As root, the standard library also removes all supplementary groups.
        command.uid(account.uid).gid(account.gid);
    }
    crate::servers::sys::tie_to_us(&mut command, stop.death_signal());
    pass_on(&mut command, program.rights);
    let mut child = command.spawn().map_err(failed)?;
    match register(&mut child, stop, scratch) {
        Ok(process) => {
            if let (Input::Text(text), Some(mut stdin)) = (&program.input, child.stdin.take()) {
                // The error is ignored: if a child ends early, the broken pipe does not explain the cause, but the
                // child's exit status and log explain it.
                stdin.write_all(text.as_bytes()).ok();
            }
            Ok((child, process))
        }
        Err(error) => {
            child.kill().ok();
            child.wait().ok();
            Err(error)
        }
    }
}

/// Whether the program is looptax itself, which needs no check because it is already running.
fn is_own(path: &Path) -> bool {
    std::env::current_exe().is_ok_and(|it| it == path)
}

/// Reports the child to the reaper before the child gets input or is waited for.
fn register(child: &mut Child, stop: StopSignal, scratch: &Scratch) -> Result<Process, ServerError> {
    // A child whose exit status was not collected yet still has its entry in /proc, even if it has ended.
    let process = Process::with_pid(child.id(), stop).ok_or_else(|| ServerError::Scratch {
        action: "read the start time in",
        path: format!("/proc/{}/stat", child.id()).into(),
        source: rustix::io::Errno::NOENT.into(),
    })?;
    scratch.note(process)?;
    Ok(process)
}
