//! Determines the version of a server's program from files; executes no program for this.
//!
//! Reads the program's own bytes through `/proc/PID/exe`, which is the running file, wherever its path leads now. If
//! the bytes do not show a version, reads the text of the package database, but only if the file at the packaged path
//! is the running file. Everything that is read here may have been written by another user. Therefore reads are limited
//! in length, and a version may contain only characters that occur in versions.

mod file_now;
mod leading;
mod package;
mod program;
mod spelling;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::kernel;
use looptax_model::dsn::Kind;
use rustix::fs::fstat;

use crate::discover::process::Process;
use file_now::FileNow;
use leading::{MOST_VERSION_BYTES, leading_version};

/// The time limit for reading a program. Only a file system that does not answer takes longer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The maximum number of bytes of programs that one survey reads.
const MOST_BYTES_PER_LOOK: u64 = 1 << 30;

/// The kind of a server, and its version; `None` if the version was not found.
pub(crate) type Known = (Kind, Option<String>);

/// The versions that one survey has found. A file that several processes run is read once.
#[derive(Debug)]
pub(crate) struct Versions {
    known: HashMap<(Kind, FileNow), Known>,
    n_bytes_left: u64,
}

impl Versions {
    pub(crate) fn new() -> Self {
        Self { known: HashMap::new(), n_bytes_left: MOST_BYTES_PER_LOOK }
    }

    /// Returns the kind of server that a process really is, according to its program, and the server's version.
    pub(crate) fn of(&mut self, kind: Kind, process: &Process) -> Known {
        let (kind, version) = self.of_program(kind, process);
        let version = version.or_else(|| {
            let is_postgres = kind == Kind::Postgres;
            is_postgres.then(|| of_data_folder(process)).flatten()
        });
        (kind, version)
    }

    fn of_program(&mut self, kind: Kind, process: &Process) -> Known {
        // If looptax may not inspect the process, it does not know the program's path either.
        let Some(path) = process.program.clone() else {
            return (kind, None);
        };
        let link = process.file("exe");
        let within = |work| in_time(PATIENCE, work).flatten();
        let Some((file, now)) = within(Box::new(move || opened(&link))) else {
            return (kind, None);
        };
        if let Some(known) = self.known.get(&(kind, now)) {
            return known.clone();
        }
        let budget = self.n_bytes_left;
        let read = move || read(kind, &path, &file, now, budget);
        let Some((known, n_read)) = in_time(PATIENCE, Box::new(read)) else {
            // After a timeout, no further program is read, because the user might have to wait again.
            self.n_bytes_left = 0;
            return (kind, None);
        };
        self.n_bytes_left = self.n_bytes_left.saturating_sub(n_read);
        self.known.insert((kind, now), known.clone());
        known
    }
}

/// Opens the file that a process runs; only a regular file can be executed.
fn opened(link: &Path) -> Option<(File, FileNow)> {
    let file = kernel::open(link).ok()?;
    let now = FileNow::from(&fstat(&file).ok()?);
    Some((file, now))
}

/// Returns the kind and version of an open program, and the number of bytes that were read.
fn read(kind: Kind, path: &Path, file: &File, now: FileNow, budget: u64) -> (Known, u64) {
    let texts = program::texts(file, budget);
    let (kind, version) = spelling::found_in(kind, &texts);
    let version = version.or_else(|| package::version_of(path, now));
    ((kind, version), texts.len() as u64)
}

/// Returns the result of `work`; `None` if it takes too long. In that case the thread continues until this process
/// ends, or until the file system answers.
fn in_time<T: Send + 'static>(patience: Duration, work: Box<dyn FnOnce() -> T + Send>) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    let started = thread::Builder::new().spawn(move || {
        // If `work` took too long, the receiver no longer exists.
        let _ = sender.send(work());
    });
    started.ok()?;
    receiver.recv_timeout(patience).ok()
}

/// Returns the major version in PostgreSQL's data folder, which is the server's working folder.
///
/// The process controls this folder, and a link in it could lead to any file of the machine, so links are not followed.
fn of_data_folder(process: &Process) -> Option<String> {
    let mut text = Vec::new();
    let file = process.view().ok()?.open_ordinary(Path::new("PG_VERSION")).ok()?;
    file.take(MOST_VERSION_BYTES as u64).read_to_end(&mut text).ok()?;
    leading_version(&text).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A child process that is ended when this value is dropped.
    struct Alive(Child);

    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.kill().ok();
            self.0.wait().ok();
        }
    }

    /// Returns the first word that starts with a digit, after an optional `v=` or `v`: every server prints its version
    /// there.
    fn version_in(text: &str) -> Option<&str> {
        text.split_whitespace()
            .map(|word| word.strip_prefix("v=").unwrap_or(word))
            .map(|word| word.strip_prefix('v').unwrap_or(word))
            .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
    }

    /// Returns the servers that are installed on this machine: in the usual folders, and in those of PATH.
    fn installed() -> Vec<(Kind, PathBuf)> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let usual = ["/usr/sbin", "/usr/bin", "/usr/lib/postgresql/15/bin"];
        let folders = std::env::split_paths(&path).chain(usual.map(PathBuf::from));
        let files = folders.flat_map(|it| std::fs::read_dir(it).into_iter().flatten().flatten());
        let paths = files.filter_map(|it| std::fs::canonicalize(it.path()).ok());
        let named = |path: PathBuf| {
            let kind = Kind::of_program(path.file_name()?.to_str()?)?;
            Some((kind, path))
        };
        let mut all: Vec<_> = paths.filter_map(named).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Returns the version that a program prints. One file is both a server and a checker of dumps, and behaves
    /// according to the name by which it is called.
    fn printed(program: &Path) -> String {
        use std::os::unix::process::CommandExt;
        let name = program.to_string_lossy().replace("-check-rdb", "-server");
        let mut command = Command::new(program);
        let output = command.arg0(name).arg("--version").output().unwrap();
        // Pgpool-II prints the version to its error output.
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    #[test]
    fn the_version_that_is_read_is_the_one_that_each_installed_server_prints() {
        for (kind, program) in installed() {
            let printed = printed(&program);
            // A script that starts another program instead of being the program is skipped.
            let file = File::open(&program).unwrap();
            let now = FileNow::from(&fstat(&file).unwrap());
            let mut start = [0; 4];
            (&file).read_exact(&mut start).unwrap();
            if &start != b"\x7fELF" {
                continue;
            }
            let (known, _) = read(kind, &program, &file, now, MOST_BYTES_PER_LOOK);
            let (refined, version) = known;
            let version = version.unwrap_or_else(|| panic!("{}: no version", program.display()));
            let told = version_in(&printed).unwrap();
            // A distribution may add its own suffix to the printed version.
            assert!(told.starts_with(&version), "{version}: {printed}");
            let rest = &told[version.len()..];
            let is_whole = !rest.starts_with(|it: char| it.is_ascii_digit() || it == '.');
            assert!(is_whole, "{version}: {printed}");
            let is_named = |name: &str| printed.to_lowercase().contains(name);
            for (name, named) in [("mariadb", Kind::Mariadb), ("valkey", Kind::Valkey)] {
                assert_eq!(is_named(name), refined == named, "{printed}");
            }
        }
    }

    #[test]
    fn the_program_of_a_process_is_read_and_not_executed() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("redis-server");
        std::fs::copy("/bin/sleep", &program).unwrap();
        let running = Command::new(&program).arg("600").stdin(Stdio::null()).spawn();
        let running = Alive(running.unwrap());
        let process = std::iter::repeat_with(|| crate::discover::process(running.0.id()))
            .flatten()
            .find(|it| it.program.as_deref() == Some(&*program))
            .unwrap();
        // The name now leads to a script, but the process still runs the original file.
        let (mark, script) = (folder.path().join("executed"), folder.path().join("script"));
        let text = format!("#!/bin/sh\ntouch {}\necho v=6.6.6\n", mark.display());
        looptax_testkit::programs::write(&script, &text);
        std::fs::rename(&script, &program).unwrap();
        let known = Versions::new().of(Kind::Redis, &process);
        assert_eq!(known, (Kind::Redis, None));
        assert!(!mark.exists());
    }

    #[test]
    fn a_version_has_only_the_characters_of_one() {
        let check = |text: &[u8], expected| assert_eq!(leading_version(text), expected);
        check(b"15\n", Some("15"));
        check(b"10.11.19-MariaDB\0more", Some("10.11.19-MariaDB"));
        check(b"1.2.3\x1b[31m", Some("1.2.3"));
        check(b"1.2.3-", Some("1.2.3"));
        check(b"root:x:0:0", None);
        check(b"", None);
        check(&[b'1'; 1000], Some(&"1".repeat(MOST_VERSION_BYTES)));
    }

    #[test]
    fn a_link_in_the_place_of_pg_version_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sleep");
        let running = Alive(command.arg("600").current_dir(&folder).spawn().unwrap());
        let process = crate::discover::process(running.0.id()).unwrap();
        let path = folder.path().join("PG_VERSION");
        std::fs::File::create(folder.path().join("other"))
            .and_then(|mut it| std::io::Write::write_all(&mut it, b"15\n"))
            .unwrap();
        std::os::unix::fs::symlink("other", &path).unwrap();
        assert_eq!(of_data_folder(&process), None);
        std::fs::remove_file(&path).unwrap();
        // Opening a pipe to which no process writes would wait for ever.
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        assert_eq!(of_data_folder(&process), None);
        std::fs::rename(folder.path().join("other"), &path).unwrap();
        assert_eq!(of_data_folder(&process).as_deref(), Some("15"));
    }

    #[test]
    fn a_file_system_that_does_not_answer_is_not_waited_for() {
        let (_open, never) = mpsc::channel::<()>();
        let work = Box::new(move || never.recv());
        assert!(in_time(Duration::from_millis(10), work).is_none());
    }
}
