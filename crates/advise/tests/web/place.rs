//! A scratch folder with the programs that run in it. Changes a program's file as looptax advises.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use looptax_advise::app::{Reading, Source, read, read_as, rewritten};
use looptax_advise::{Fields, Takes};
use looptax_testkit::patience::{wait, wait_for};
use looptax_testkit::ports::free_address;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;

/// Long enough for a slow machine, and short enough to end a test that hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// The folder in which the programs of a test run.
pub(super) struct Place {
    pub(super) scratch: Scratch,
}

impl Place {
    pub(super) fn new() -> Self {
        Self { scratch: Scratch::new() }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.scratch.file(name)
    }

    /// Writes a file in the folder, and returns its path.
    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Starts a program in the folder, in a separate process group.
    #[track_caller]
    pub(super) fn start(&self, program: &Path, args: &[&str]) -> Running {
        let log = fs::File::create(self.file("log")).unwrap();
        let child = Command::new("sh")
            .args(["-c", "umask 022; exec \"$0\" \"$@\""])
            .arg(program)
            .args(args)
            .current_dir(self.scratch.work())
            .env("HOME", self.scratch.work())
            .env("XDG_DATA_HOME", self.scratch.work())
            .env("XDG_CONFIG_HOME", self.scratch.work())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        Running { child }
    }

    /// The output of the program that was started last.
    pub(super) fn log(&self) -> String {
        let read = |name| fs::read_to_string(self.file(name)).unwrap_or_default();
        format!("{}{}", read("log"), read("error.log"))
    }

    #[track_caller]
    pub(super) fn answer(&self, what: &str, look: impl FnMut() -> Option<String>) -> String {
        let found = wait(PATIENCE, look);
        found.unwrap_or_else(|| panic!("{what}: no answer\n{}", self.log()))
    }
}

/// A program that ends when this value is dropped.
pub(super) struct Running {
    child: Child,
}

impl Running {
    pub(super) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([name, &pid]).status();
        assert!(status.is_ok_and(|it| it.success()), "kill {name} {pid}");
    }
}

impl Drop for Running {
    /// Asks the program to end, then kills its process group.
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let kill = |signal: &str| {
            let words = [signal, "--", &group];
            Command::new("kill").args(words).stderr(Stdio::null()).status().ok();
        };
        kill("-TERM");
        let mut has_ended = || self.child.try_wait().ok().flatten();
        wait(Duration::from_secs(3), &mut has_ended);
        kill("-KILL");
        self.child.wait().ok();
    }
}

/// Returns a port that was free a moment ago.
pub(super) fn free_port() -> u16 {
    free_address().port()
}

/// The path of a program. Reports a skip if the program is not installed.
pub(super) fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/local/sbin", "/usr/sbin", "/sbin"]);
    let mut files = folders.map(|it| Path::new(it).join(name));
    let found = files.find(|it| it.is_file());
    if found.is_none() {
        skip(&format!("application: {name} is not installed"));
    }
    found
}

/// The path of PHP-FPM, whatever version is in its name.
pub(super) fn php_fpm() -> Option<PathBuf> {
    let folder = fs::read_dir("/usr/sbin").ok()?;
    let mut names = folder.flatten().map(|it| it.path());
    let is_it = |it: &PathBuf| {
        let name = it.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("php-fpm")
    };
    let found = names.find(is_it);
    if found.is_none() {
        skip("application: php-fpm is not installed");
    }
    found
}

pub(super) fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let uid = status.lines().find_map(|it| it.strip_prefix("Uid:"));
    uid.and_then(|it| it.split_whitespace().nth(1)) == Some("0")
}

fn reading(path: &str, text: &str) -> Reading {
    let source = Source {
        path: Some(path),
        bytes: text.as_bytes(),
        included: &[],
        neighbours: &[],
        program: None,
        environment: None,
    };
    // Many programs have a variable PORT, so the application has to be named.
    let is_port = path.ends_with("/.env");
    let named = is_port.then(|| read_as(&source, "nodeport").unwrap());
    named.unwrap_or_else(|| read(&source))
}

/// Changes a file as looptax advises for this socket. The only connection to the port has to lead to the socket after
/// the change. `path` is a usual path for such a file.
#[track_caller]
pub(super) fn moved(path: &str, text: &str, port: u16, socket: &Path) -> String {
    let before = reading(path, text);
    let of_port = |it: &&looptax_advise::app::Found| {
        let own = it.address.as_ref().map(|it| it.port);
        it.takes == Some(Takes::Tcp) && own.is_none_or(|it| it == port)
    };
    let found: Vec<_> = before.found.iter().filter(of_port).collect();
    let [found] = found[..] else {
        panic!("not one connection to {port}: {:?}\n{text}", before.found);
    };
    let fields = Fields {
        socket: socket.display().to_string(),
        folder: socket.parent().unwrap().display().to_string(),
        port,
        ..Fields::default()
    };
    let rewrites = found.rewrites(&fields, text).into_iter().next().flatten();
    let new = rewritten(text, &rewrites.expect("it is to be written")).unwrap();
    let after = reading(path, &new);
    let is_there = after.found.iter().any(|it| it.takes == Some(Takes::Unix));
    assert!(is_there, "{:?}\n{new}", after.found);
    new
}

/// Waits until no process listens on the port.
#[track_caller]
pub(super) fn expect_closed(port: u16) {
    let is_closed = || {
        let found = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        found.is_err().then_some(())
    };
    wait_for("the port to be closed", PATIENCE, is_closed);
}
