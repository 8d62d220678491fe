//! Programs that a test lays down itself, to start them.
//!
//! Another process writes them: of a file that we write, a child that another test starts at that moment
//! holds a descriptor until it executes, and whoever starts the program meanwhile gets `ETXTBSY`.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Copies a program, which can be started at once.
///
/// # Panics
/// When it cannot be copied.
#[track_caller]
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let status = Command::new("cp").arg("--").args([from.as_ref(), to.as_ref()]).status();
    assert!(status.expect("cp is everywhere").success());
}

/// Writes a script that everybody may start.
///
/// # Panics
/// When it cannot be written.
#[track_caller]
pub fn write(path: impl AsRef<Path>, text: &str) {
    let mut file = tempfile::NamedTempFile::new().expect("the folder for temporary files");
    file.write_all(text.as_bytes()).expect("our own file can be written");
    copy(file.path(), &path);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our own file can be changed");
}
