//! Starts, stops and crashes of servers, with the checks that apply to every kind of server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use looptax_experiment::servers::{PrivateServer, Reaper, ServerError, find_binary, leftovers};
use looptax_model::dsn::Kind;
use looptax_model::failure::Explain;
use looptax_testkit::patience;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::victim;

/// How long a process may take to end before a test fails.
const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

/// Makes a scratch root that every account can enter; it is removed with the returned guard.
pub(crate) fn root() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::Builder::new().prefix("it-").tempdir().unwrap();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    root
}

pub(crate) fn reaper() -> Reaper {
    Reaper::start(&std::env::current_exe().unwrap()).unwrap()
}

#[track_caller]
pub(crate) fn start(kind: Kind, root: &Path, reaper: &Reaper) -> PrivateServer {
    match PrivateServer::start(&victim::config(kind, root), reaper) {
        Ok(server) => server,
        Err(error) => {
            panic!("{error}\n{:?}\n{:?}", std::error::Error::source(&error), error.hint())
        }
    }
}

#[track_caller]
pub(crate) fn check_empty(root: &Path) {
    let left: Vec<_> = fs::read_dir(root).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Waits until no process works in a folder. On a busy machine, processes whose leader was killed need a moment to end.
#[track_caller]
pub(crate) fn check_nobody_works_in(root: &Path) {
    let busy = || -> Vec<i32> {
        let all = procfs::process::all_processes().unwrap().flatten();
        let working = all.filter(|process| process.cwd().is_ok_and(|cwd| cwd.starts_with(root)));
        working.map(|process| process.pid).collect()
    };
    let is_over = patience::wait(Duration::from_secs(5), || busy().is_empty().then_some(()));
    assert!(is_over.is_some(), "still working in {}: {:?}", root.display(), busy());
}

/// Returns the segments of System V shared memory, which PostgreSQL uses, with the process ids of their creators. A
/// killed server leaves its segment behind, and another process may later have the same process id.
fn shared_memory() -> Vec<[u32; 2]> {
    let text = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let pieces = text.lines().skip(1).filter_map(|line| {
        let column = |idx| line.split_whitespace().nth(idx)?.parse().ok();
        Some([column(1)?, column(4)?])
    });
    pieces.collect()
}

#[track_caller]
fn check_no_shared_memory_of(pid: u32, before: &[[u32; 2]]) {
    let is_left = |it: &[u32; 2]| it[1] == pid && !before.contains(it);
    assert!(!shared_memory().iter().any(is_left));
}

pub(crate) fn start_and_stop(kind: Kind) {
    let (root, reaper) = (root(), reaper());
    let before = shared_memory();
    let server = start(kind, root.path(), &reaper);
    UnixStream::connect(&server.socket).unwrap();
    TcpStream::connect(server.tcp).unwrap();
    assert!(server.tcp.ip().is_loopback());
    assert!(server.version.starts_with(|first: char| first.is_ascii_digit()), "{}", server.version);
    check_secret_is_hidden(&server);
    for instance in &server.instances {
        check_stands_apart(server.kind, instance.pid);
    }
    let pid = server.pid;
    server.stop().unwrap();
    check_empty(root.path());
    check_nobody_works_in(root.path());
    check_no_shared_memory_of(pid, &before);
}

/// Checks that neither the arguments, which every user can read, nor the log nor the record contains the password.
#[track_caller]
fn check_secret_is_hidden(server: &PrivateServer) {
    let secret = server.login.password.reveal();
    if secret.is_empty() {
        let has_none = [Kind::Memcached, Kind::PhpFpm, Kind::Http, Kind::Echo];
        assert!(has_none.contains(&server.kind));
        return;
    }
    let arguments = fs::read(format!("/proc/{}/cmdline", server.pid)).unwrap();
    let log = fs::read_to_string(server.folder().join("log")).unwrap();
    for text in [String::from_utf8_lossy(&arguments).into_owned(), log, format!("{:?}", server.settings)] {
        assert!(!text.contains(secret));
    }
}

/// Checks that a process has its own process group (so that the terminal's Ctrl-C does not reach it), does not run as
/// root, and may open as many files as its hard limit allows.
#[track_caller]
fn check_stands_apart(kind: Kind, pid: u32) {
    let process = procfs::process::Process::new(pid.cast_signed()).unwrap();
    assert_eq!(process.stat().unwrap().pgrp, pid.cast_signed());
    if !matches!(kind, Kind::Http | Kind::Echo) && rustix::process::geteuid().is_root() {
        assert_ne!(process.status().unwrap().euid, 0);
        assert!(process.status().unwrap().groups.is_empty());
    }
    let files = process.limits().unwrap().max_open_files;
    assert_eq!(format!("{:?}", files.soft_limit), format!("{:?}", files.hard_limit));
}

pub(crate) fn two_at_once(kind: Kind) {
    let (root, reaper) = (root(), reaper());
    let first = start(kind, root.path(), &reaper);
    let second = start(kind, root.path(), &reaper);
    assert_ne!(first.tcp, second.tcp);
    assert!(leftovers::sweep(root.path()).is_empty(), "a sweep must spare the living");
    drop(first);
    UnixStream::connect(&second.socket).unwrap();
    drop(second);
    check_empty(root.path());
}

pub(crate) fn end_while_running(kind: Kind) {
    let (root, reaper) = (root(), reaper());
    let mut server = start(kind, root.path(), &reaper);
    assert_eq!(server.has_exited(), None);
    let handle = Handle::open(server.pid);
    handle.kill();
    handle.wait();
    let how = server.has_exited().unwrap();
    assert!(how.contains("SIGKILL"), "{how}");
    server.stop().unwrap();
    check_empty(root.path());
    check_nobody_works_in(root.path());
}

pub(crate) fn killed(kind: Kind) {
    killed_by_name(kind.name());
}

/// Does the same as [`killed`] for the server or site that a victim of this name starts.
pub(crate) fn killed_by_name(name: &str) {
    let root = root();
    let before = shared_memory();
    let mut victim = Victim::start(name, root.path());
    victim.kill();
    victim.reaper.wait();
    victim.server.wait();
    check_empty(root.path());
    check_nobody_works_in(root.path());
    check_no_shared_memory_of(victim.server.pid, &before);
}

pub(crate) fn killed_with_its_reaper(kind: Kind) {
    killed_with_its_reaper_by_name(kind.name());
}

/// Does the same as [`killed_with_its_reaper`] for the server or site that a victim of this name starts.
pub(crate) fn killed_with_its_reaper_by_name(name: &str) {
    let root = root();
    let before = shared_memory();
    let mut victim = Victim::start(name, root.path());
    victim.reaper.kill();
    victim.reaper.wait();
    victim.kill();
    // The server ends because of the kernel's death signal.
    victim.server.wait();
    let found = leftovers::sweep(root.path());
    assert_eq!(found.len(), 1);
    assert!(found[0].problem.is_none(), "{:?}", found[0].problem);
    check_empty(root.path());
    check_nobody_works_in(root.path());
    check_no_shared_memory_of(victim.server.pid, &before);
}

pub(crate) fn early_end() {
    let (root, reaper) = (root(), reaper());
    let mut config = victim::config(Kind::Echo, root.path());
    config.self_exe = "/bin/ls".into();
    let error = PrivateServer::start(&config, &reaper).unwrap_err();
    let ServerError::Exited { log_tail, status, .. } = &error else { panic!("{error}") };
    assert!(log_tail.contains("--socket"), "{log_tail}");
    assert!(status.contains("exit status"), "{status}");
    check_empty(root.path());
}

pub(crate) fn no_reaper() {
    let error = Reaper::start(Path::new("/bin/true")).unwrap_err();
    assert!(matches!(error, ServerError::ReaperStart { .. }), "{error}");
}

pub(crate) fn missing_server() {
    let Some(kind) = Kind::startable().find(|kind| find_binary(*kind).is_none()) else {
        return;
    };
    let (root, reaper) = (root(), reaper());
    let error = PrivateServer::start(&victim::config(kind, root.path()), &reaper).unwrap_err();
    assert!(matches!(error, ServerError::BinaryMissing { .. }), "{error}");
    check_empty(root.path());
}

pub(crate) fn long_root() {
    let (root, reaper) = (root(), reaper());
    let long = root.path().join("x".repeat(80));
    fs::create_dir(&long).unwrap();
    let error = PrivateServer::start(&victim::config(Kind::Echo, &long), &reaper).unwrap_err();
    assert!(matches!(error, ServerError::PathTooLong { limit: 107, .. }), "{error}");
    assert!(error.hint().is_some());
    check_empty(&long);
}

/// A process that is not a child of this one. The pidfd ensures that its process id is not mistaken for another
/// process's.
struct Handle {
    pid: u32,
    fd: OwnedFd,
}

impl Handle {
    #[track_caller]
    fn open(pid: u32) -> Self {
        let raw = Pid::from_raw(pid.cast_signed()).unwrap();
        Self { pid, fd: rustix::process::pidfd_open(raw, PidfdFlags::empty()).unwrap() }
    }

    fn kill(&self) {
        rustix::process::pidfd_send_signal(&self.fd, Signal::KILL).unwrap();
    }

    #[track_caller]
    fn wait(&self) {
        let n_ended = rustix::event::poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&PATIENCE)).unwrap();
        assert_eq!(n_ended, 1, "process {} does not end", self.pid);
    }
}

/// A second process of this test program, which holds a server.
struct Victim {
    child: Child,
    reaper: Handle,
    server: Handle,
}

impl Victim {
    #[track_caller]
    fn start(name: &str, root: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["internal", "victim", name, root.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pids: Vec<u32> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [reaper, server] = pids[..] else { panic!("the victim said {line:?}") };
        Self { child, reaper: Handle::open(reaper), server: Handle::open(server) }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // This also runs if a test fails half-way.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
