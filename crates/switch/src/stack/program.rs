//! Programs that keep running and read files: their master processes, a test of their files, and the command that makes
//! them read the files again.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use looptax_host::discover::{Home, Process, any_process};
use looptax_host::{kernel, read};
use looptax_model::failure::Failure;

use crate::journal::ProgramOf;
use crate::line::{Question, file_of};
use crate::reload::{main_unit_of, reload_of_unit};

/// Finds the processes of a program that were not started by another process of the program, and that see the same
/// folders as looptax.
pub(super) fn masters(is_it: impl Fn(&Process) -> bool) -> Vec<Process> {
    let mut all = Vec::new();
    any_process(|it| {
        if is_it(it) {
            all.push(it.clone());
        }
        false
    });
    let pids: Vec<u32> = all.iter().map(|it| it.pid).collect();
    all.retain(|it| !pids.contains(&it.parent) && is_here(it));
    all
}

/// Whether the process runs as root or as the user that runs looptax. To test files, looptax runs the program of such a
/// process, as the process's own user.
pub(super) fn is_trusted(process: &Process) -> bool {
    let own = rustix::process::geteuid().as_raw();
    process.uid == 0 || process.uid == own
}

fn is_here(process: &Process) -> bool {
    let is_elsewhere = process.is_in_chroot || matches!(process.home, Home::Container { .. });
    let our_mounts = looptax_host::discover::process(std::process::id()).and_then(|it| it.mounts);
    let exe = kernel::metadata(process.file("exe")).ok();
    let exe = exe.map(|it| (it.dev(), it.ino()));
    let file = read::look(&file_of(process)).ok().flatten();
    let file = file.map(|it| (it.st_dev, it.st_ino));
    // A service may have its own `/tmp`, but its program is still the file that looptax sees.
    let is_same = process.mounts == our_mounts || exe.is_some() && exe == file;
    !is_elsewhere && is_same
}

pub(super) fn workers(master: &Process) -> Vec<Process> {
    let mut all = Vec::new();
    any_process(|it| {
        if it.parent == master.pid {
            all.push(it.clone());
        }
        false
    });
    all
}

/// Returns the facts by which a program is recognised later.
pub(super) fn found_again_by(process: &Process, name: &str) -> ProgramOf {
    ProgramOf { name: name.to_owned(), words: process.arguments().join(" ") }
}

/// The time limit for a program to list its files.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a program with the given arguments; returns its output.
///
/// # Errors
/// The reason why the program was not run, or the program's own message if it fails.
pub(super) fn said(title: &str, question: &Question) -> Result<String, Failure> {
    match question.answer(PATIENCE, None) {
        Ok(answer) if answer.code == Some(0) => Ok(answer.output),
        Ok(answer) => {
            let (pid, words) = (question.process.pid, answer.errors.trim());
            let words = format!("{title} (process {pid}) rejects its own files: {words}");
            Err(Failure::usage(words, "fix these files first, or stop that process if it is not in use"))
        }
        Err(error) => Err(Failure::usage(&error, error.hint())),
    }
}

/// Returns the error for a program's file that cannot be read.
pub(super) fn unread(path: &Path, error: &std::io::Error) -> Failure {
    let words = format!("cannot read {}: {error}", path.display());
    Failure::usage(words, "run looptax as root")
}

/// Returns the command that restarts the service whose main process this is.
pub(super) fn restart_of_unit(process: &Process) -> Option<String> {
    main_unit_of(process).map(|unit| format!("systemctl restart {unit}"))
}

/// Returns the command that reloads a program's files: the service's own reload, or else a signal.
pub(super) fn reload(process: &Process, signal: &str) -> String {
    reload_of_unit(process).unwrap_or_else(|| format!("kill -{signal} {}", process.pid))
}
