//! A process that looptax has started, identified by its pid and start time. This module ends the process together with
//! all processes that it started.
//!
//! Signals are sent through pidfds. The start time is checked after a pidfd was opened, so a process that has reused
//! the pid never gets a signal. The code that stops a server, the reaper and the sweep of leftovers all end processes
//! through this module.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use looptax_host::{Folder, processes};
use procfs::process::{MMapPath, Process as ProcEntry, Stat};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::servers::deadline::Deadline;
use crate::servers::kind::programs;
use crate::servers::wordpress::is_php_fpm;
use looptax_model::dsn::Kind;

/// How long a killed process may take to disappear.
///
/// The kernel needs well under a second to end a process with gigabytes of memory; the rest is a reserve for a busy
/// machine.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// The signal that asks a server to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopSignal {
    Term,
    /// SIGQUIT: an immediate shutdown of PostgreSQL, whose data are not needed afterwards. After SIGTERM, PostgreSQL
    /// would wait for clients; SIGKILL would leave the children and the shared memory behind.
    Quit,
}

impl StopSignal {
    pub(crate) fn signal(self) -> Signal {
        match self {
            Self::Term => Signal::TERM,
            Self::Quit => Signal::QUIT,
        }
    }

    /// Returns the signal that the kernel sends to the server when looptax ends.
    pub(crate) fn death_signal(self) -> Signal {
        match self {
            Self::Term => Signal::KILL,
            Self::Quit => Signal::QUIT,
        }
    }
}

/// A process that looptax started. Its text form is `<pid> <start time> <term or quit>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// When the process started, in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub(crate) start_ticks: u64,
    /// The signal that asks the process to end.
    pub(crate) stop: StopSignal,
}

impl Process {
    /// Returns the process that has this pid now; `None` if no process has it.
    pub(crate) fn with_pid(pid: u32, stop: StopSignal) -> Option<Self> {
        let start_ticks = stat(pid)?.starttime;
        Some(Self { pid, start_ticks, stop })
    }

    /// Opens a pidfd of the process; `None` if the process has ended or the pid now belongs to another process.
    fn open(self) -> Option<OwnedFd> {
        let handle = open_pid(self.pid)?;
        (stat(self.pid)?.starttime == self.start_ticks).then_some(handle)
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stop = match self.stop {
            StopSignal::Term => "term",
            StopSignal::Quit => "quit",
        };
        write!(f, "{} {} {stop}", self.pid, self.start_ticks)
    }
}

impl FromStr for Process {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let mut words = line.split(' ');
        let mut word = || words.next().ok_or(());
        let pid = word()?.parse().map_err(drop)?;
        let start_ticks = word()?.parse().map_err(drop)?;
        let stop = match word()? {
            "term" => StopSignal::Term,
            "quit" => StopSignal::Quit,
            _ => return Err(()),
        };
        // looptax never starts a process with pid 0 or 1; a damaged line must not lead to a signal to these pids.
        (pid > 1 && words.next().is_none()).then_some(Self { pid, start_ticks, stop }).ok_or(())
    }
}

/// Asks `processes` to end. If some do not end within `grace`, kills them with their descendants.
///
/// Returns the pids of the processes that were alive.
pub(crate) fn end(processes: &[Process], grace: Duration) -> Vec<u32> {
    let alive: Vec<(Process, OwnedFd)> =
        processes.iter().filter_map(|process| Some((*process, process.open()?))).collect();
    for (process, handle) in &alive {
        send(handle, process.stop.signal());
    }
    let patience = Deadline::after(grace);
    for (process, handle) in &alive {
        if !has_ended_by(handle, patience) {
            kill_all(descendants(process.pid), KILL_LIMIT);
            send(handle, Signal::KILL);
            has_ended_by(handle, Deadline::after(KILL_LIMIT));
        }
    }
    alive.into_iter().map(|(process, _)| process.pid).collect()
}

/// Kills the process group whose leader is a child of looptax. The child's exit status must not have been collected
/// yet: until then no other process can get the child's pid.
///
/// Also removes PostgreSQL's shared memory files that the group has mapped: `initdb` is killed in this way, and no
/// other process removes its files.
pub(crate) fn kill_group(leader: Process) {
    let Some(group) = Pid::from_raw(leader.pid.cast_signed()) else {
        return;
    };
    // The group is stopped first, so that its processes and their files no longer change.
    rustix::process::kill_process_group(group, Signal::STOP).ok();
    let is_member = |it: &ProcEntry| it.stat().is_ok_and(|it| it.pgrp == leader.pid.cast_signed());
    let members: Vec<ProcEntry> = entries().into_iter().filter(is_member).collect();
    let files: HashSet<PathBuf> = members.iter().flat_map(shared_memory).collect();
    let handles = { members.iter() }.filter_map(|it| open_pid(it.pid.cast_unsigned()));
    let handles: Vec<OwnedFd> = handles.collect();
    rustix::process::kill_process_group(group, Signal::KILL).ok();
    let deadline = Deadline::after(KILL_LIMIT);
    for handle in &handles {
        has_ended_by(handle, deadline);
    }
    for file in files {
        remove_shared(&file).ok();
    }
}

fn remove_shared(file: &Path) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default();
    Folder::open(Path::new("/dev/shm"))?.remove(name)
}

/// Returns the files in `/dev/shm` that PostgreSQL has made and that this process has mapped.
fn shared_memory(process: &ProcEntry) -> Vec<PathBuf> {
    let maps = process.maps().into_iter().flatten();
    let files = maps.filter_map(|it| match it.pathname {
        MMapPath::Path(path) if path.starts_with("/dev/shm") => Some(path),
        _ => None,
    });
    let is_made_by_postgres = |it: &PathBuf| {
        let name = it.file_name().and_then(|name| name.to_str());
        let digits = name.and_then(|name| name.strip_prefix("PostgreSQL."));
        digits.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    files.filter(is_made_by_postgres).collect()
}

/// Kills every server process that is still running inside `folder`: orphans of a killed server, such as PostgreSQL's
/// backends, which have their own sessions.
///
/// A shell that a user has opened in the folder must not be killed. So a process is killed only if its program is a
/// server, or if it belongs to the process group of one of the `noted` processes.
pub(crate) fn kill_strays(folder: &Path, noted: &[Process]) {
    kill_all(strays(folder, noted), KILL_LIMIT);
}

/// Kills all these processes and waits until they have ended.
fn kill_all(handles: Vec<OwnedFd>, limit: Duration) {
    let deadline = Deadline::after(limit);
    for handle in &handles {
        send(handle, Signal::KILL);
    }
    for handle in handles {
        has_ended_by(&handle, deadline);
    }
}

/// Returns all descendants of `pid`: its children, their children, and so on.
fn descendants(pid: u32) -> Vec<OwnedFd> {
    let found = processes::descendants(&[pid]).into_iter();
    found.filter_map(|it| open_pid(it.pid)).collect()
}

/// Returns the processes of a server whose working folder is inside `folder`.
fn strays(folder: &Path, noted: &[Process]) -> Vec<OwnedFd> {
    let is_in_folder = |entry: &ProcEntry| entry.cwd().is_ok_and(|cwd| cwd.starts_with(folder));
    let is_grouped = |entry: &ProcEntry| {
        entry.stat().is_ok_and(|stat| noted.iter().any(|process| process.pid.cast_signed() == stat.pgrp))
    };
    entries()
        .into_iter()
        // The pidfd is opened before the process is read again, so that exactly the process that was checked is killed.
        .filter_map(|entry| Some((open_pid(entry.pid.cast_unsigned())?, ProcEntry::new(entry.pid).ok()?)))
        .filter(|(_, entry)| is_in_folder(entry) && (runs_server(entry) || is_grouped(entry)))
        .map(|(handle, _)| handle)
        .collect()
}

/// Whether the process runs one of the server programs that looptax starts.
fn runs_server(entry: &ProcEntry) -> bool {
    let Ok(program) = entry.exe() else {
        return false;
    };
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.trim_end_matches(" (deleted)");
    // php-fpm is recognized by its name, because its group may not be one of the noted groups: if php-fpm does not lead
    // its process group, it starts a separate session.
    Kind::startable().any(|kind| programs(kind).contains(&name)) || is_php_fpm(name)
}

/// Returns all visible processes.
fn entries() -> Vec<ProcEntry> {
    procfs::process::all_processes().map(|all| all.flatten().collect()).unwrap_or_default()
}

fn stat(pid: u32) -> Option<Stat> {
    ProcEntry::new(i32::try_from(pid).ok()?).ok()?.stat().ok()
}

fn open_pid(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Sends a signal. An error is ignored: the process has ended.
fn send(handle: &OwnedFd, signal: Signal) {
    rustix::process::pidfd_send_signal(handle, signal).ok();
}

/// Waits until the process has ended or the deadline has passed; returns whether it has ended.
fn has_ended_by(handle: &OwnedFd, deadline: Deadline) -> bool {
    loop {
        let left = Timespec::try_from(deadline.left()).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        let mut watched = [PollFd::new(handle, PollFlags::IN)];
        match rustix::event::poll(&mut watched, Some(&left)) {
            Ok(n_ready) => return n_ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[track_caller]
    fn check_unreadable(line: &str) {
        assert!(line.parse::<Process>().is_err(), "{line}");
    }

    #[test]
    fn a_process_line_is_read_back_and_a_broken_one_refused() {
        let process = Process { pid: 4711, start_ticks: 99, stop: StopSignal::Quit };
        assert_eq!(process.to_string(), "4711 99 quit");
        assert_eq!(process.to_string().parse(), Ok(process));
        for line in ["", "4711", "4711 99", "1 99 term", "0 99 term", "-5 99 term", "4711 99 kill", "4711 99 term x"] {
            check_unreadable(line);
        }
    }

    #[test]
    fn ends_the_process_and_spares_one_that_merely_has_its_pid() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::with_pid(child.id(), StopSignal::Term).unwrap();
        let impostor = Process { start_ticks: process.start_ticks + 1, ..process };
        assert_eq!(end(&[impostor], Duration::from_secs(1)), Vec::<u32>::new());
        assert!(child.try_wait().unwrap().is_none());
        assert_eq!(end(&[process], Duration::from_secs(9)), vec![process.pid]);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn kills_the_children_of_one_that_does_not_listen() {
        // The shell and the process that it starts ignore SIGTERM. The pipe closes when both have ended.
        let script = "trap '' TERM; cat <&3 & echo $!; wait";
        let mut child = Command::new("sh")
            .args(["-c", &format!("exec 3<&0; {script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let grandchild = Process::with_pid(line.trim().parse().unwrap(), StopSignal::Term).unwrap();
        let process = Process::with_pid(child.id(), StopSignal::Term).unwrap();
        end(&[process], Duration::ZERO);
        child.wait().unwrap();
        let handle = grandchild.open();
        assert!(handle.is_none_or(|handle| has_ended_by(&handle, Deadline::after(KILL_LIMIT))));
    }
}
