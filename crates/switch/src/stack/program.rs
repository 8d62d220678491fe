//! Programs that run all the time and read files: their masters, a test of their files, what has them read again.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use looptax_discover::{Home, Process, any_process};

use crate::journal::ProgramOf;
use crate::reload::{Command as ShellCommand, environment, main_unit_of, reload_of_unit};

/// What the kernel writes behind the name of a program that was replaced.
const REPLACED: &str = " (deleted)";

/// The processes of a program that no other one of it started, on our own folders.
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

/// Whether it is root's or our own: as whose files are tested by running its program.
pub(super) fn is_trusted(process: &Process) -> bool {
    let own = rustix::process::geteuid().as_raw();
    process.uid == 0 || process.uid == own
}

fn is_here(process: &Process) -> bool {
    let is_elsewhere = process.is_in_chroot || matches!(process.home, Home::Container { .. });
    let our_mounts = looptax_discover::process(std::process::id()).and_then(|it| it.mounts);
    let file = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    // A service may have a /tmp of its own, and its program is still the one that we see.
    let is_same = process.mounts == our_mounts
        || file(&process.file("exe")).is_some_and(|it| Some(it) == file(&file_of(process)));
    !is_elsewhere && is_same
}

/// Its workers that run now.
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

/// Its file, also where a newer one has taken its place.
pub(super) fn file_of(process: &Process) -> PathBuf {
    let path = process.program.clone().unwrap_or_default();
    let text = path.to_string_lossy();
    PathBuf::from(text.trim_end_matches(REPLACED))
}

/// What it is found again by.
pub(super) fn told(process: &Process, name: &str) -> ProgramOf {
    ProgramOf {
        program: file_of(process),
        words: process.arguments().join(" "),
        name: Some(name.to_owned()),
    }
}

/// What a program says when it is run to its end; its words where it fails.
pub(super) fn said(
    program: &Path,
    words: impl IntoIterator<Item = String>,
) -> Result<String, String> {
    told_by(Command::new(program).args(words))
}

/// The same with the variables of one that runs.
pub(super) fn said_like(
    like: &Process,
    program: &Path,
    words: impl IntoIterator<Item = String>,
) -> Result<String, String> {
    let variables = environment(like).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    told_by(command.args(words).env_clear().envs(variables))
}

fn told_by(command: &mut Command) -> Result<String, String> {
    let output = { command.stdin(Stdio::null()).output() }.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr).trim().to_owned())
    }
}

/// A line of a shell.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// As it is typed and shown.
    pub(super) text: String,
    /// Whose user, folder and environment it needs, where those are not ours.
    pub(super) like: Option<Process>,
}

impl Line {
    pub(super) fn command(&self) -> ShellCommand<'_> {
        ShellCommand {
            text: &self.text,
            like: self.like.as_ref(),
        }
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self { text, like: None }
    }
}

/// What restarts the service that it belongs to.
pub(super) fn restart_of_unit(process: &Process) -> Option<String> {
    main_unit_of(process).map(|unit| format!("systemctl restart {unit}"))
}

/// What has it read its files: the service's own word, or the signal.
pub(super) fn reload(process: &Process, signal: &str) -> String {
    reload_of_unit(process).unwrap_or_else(|| format!("kill -{signal} {}", process.pid))
}

/// Words as a shell takes them.
pub(super) fn line(program: &Path, words: &[String]) -> String {
    let program = program.to_string_lossy().into_owned();
    let all = std::iter::once(&program).chain(words);
    let all: Vec<String> = all.map(|it| quoted(it)).collect();
    all.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=,+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        let words = ["-g".to_owned(), "user o'x; daemon off;".to_owned()];
        let line = line(Path::new("/usr/sbin/nginx"), &words);
        assert_eq!(line, r"/usr/sbin/nginx -g 'user o'\''x; daemon off;'");
    }
}
