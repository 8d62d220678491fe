//! Creates program files that a test starts.
//!
//! A test does not write a program file itself, because another test may start a child process at the same time. The
//! child would inherit the open file, and keep the file open until the child executes its own program. Until then, the
//! new program could not be started (`ETXTBSY`). So a separate process writes each program file.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Copies a program; the copy can be started immediately.
///
/// # Panics
/// Panics if the program cannot be copied.
#[track_caller]
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let status = Command::new("cp").arg("--").args([from.as_ref(), to.as_ref()]).status();
    assert!(status.expect("cp is everywhere").success());
}

/// Returns a program that other accounts may also start: the program itself, or a copy if the test runs as root and
/// the program is in a private folder.
///
/// A shell removes the copy when this process ends for any reason: the shell waits for the end of its input.
///
/// # Panics
/// Panics if the program cannot be copied.
#[track_caller]
#[allow(clippy::zombie_processes, reason = "it outlives us")]
pub fn for_everybody(program: &Path) -> PathBuf {
    let mut folders = program.ancestors().skip(1);
    let is_open = |it: &Path| fs::metadata(it).is_ok_and(|it| it.permissions().mode() & 0o001 != 0);
    if !rustix::process::geteuid().is_root() || folders.all(is_open) {
        return program.to_owned();
    }
    // Not the usual folder for temporary files: some tests hide or fill it.
    let folder = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is there").keep();
    let mut remover = Command::new("sh");
    remover.args(["-c", "read -r _; rm -r -- \"$1\"", "sh"]).arg(&folder).stdin(Stdio::piped());
    let remover = remover.process_group(0).spawn().expect("sh is everywhere");
    std::mem::forget(remover.stdin);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("our own folder can be changed");
    let to = folder.join(program.file_name().expect("a program has a name"));
    copy(program, &to);
    to
}

/// Writes a script that every account may start.
///
/// # Panics
/// Panics if the script cannot be written.
#[track_caller]
pub fn write(path: impl AsRef<Path>, text: &str) {
    let mut file = tempfile::NamedTempFile::new().expect("the folder for temporary files");
    file.write_all(text.as_bytes()).expect("our own file can be written");
    copy(file.path(), &path);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our own file can be changed");
}
