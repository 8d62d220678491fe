//! Decides which processes belong to the application: processes that were seen to use the server with the file's
//! account, and processes with the same program, user and unit.

use std::collections::BTreeSet;
use std::path::PathBuf;

use looptax_host::discover::{Home, Process, process};
use looptax_host::eyes::End;
use serde::{Deserialize, Serialize};

/// The properties that the processes of one application have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kin {
    program: Option<PathBuf>,
    uid: u32,
    unit: Option<String>,
}

impl Kin {
    pub(crate) fn new(process: &Process) -> Self {
        let unit = match &process.home {
            Home::Unit(unit) => Some(unit.clone()),
            Home::Container { name, .. } => Some(name.clone()),
            Home::Elsewhere => None,
        };
        Self {
            // If the program was upgraded in the meantime, the kernel adds this suffix; the program is still the same.
            program: process.program.as_deref().map(|it| {
                let name = it.to_string_lossy();
                PathBuf::from(name.trim_end_matches(" (deleted)"))
            }),
            uid: process.uid,
            unit,
        }
    }
}

/// The processes of an application, as far as looptax knows them.
#[derive(Debug, Clone, Default)]
pub struct Application {
    kin: Vec<Kin>,
    pids: BTreeSet<u32>,
    /// Processes that were seen to use the server themselves. The master process of these processes does not use the
    /// server, and may run as root.
    users_of_server: BTreeSet<u32>,
    uids: BTreeSet<u32>,
    /// Processes that have the same interpreter and user as the application, but run another program.
    bystanders: BTreeSet<u32>,
    /// The titles of the application's processes, needed if no unit or container distinguishes them from other programs
    /// with the same interpreter and user.
    titles: BTreeSet<String>,
    /// The user that the caller passed. It is needed if no process of this user was seen.
    user: Option<u32>,
    /// The processes that have opened the application's file since looptax wrote it; `None` if looptax cannot observe
    /// this.
    readers: Option<BTreeSet<u32>>,
    /// The pids of the application's processes that have sent requests to a server; these processes may have ended.
    asked: BTreeSet<u32>,
    /// Short commands, which may end before looptax sees them.
    commands: Vec<Started>,
    /// The containers whose processes all belong to the application; if there are any, no process outside these
    /// containers belongs to the application.
    containers: Vec<Home>,
}

/// A program that sent requests to the server.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    /// The process that sent the requests, or its parent if the process ended before looptax saw it.
    pub(super) process: Process,
    /// The name of the process that sent the requests, as the process set it.
    pub(super) comm: String,
    /// Whether looptax saw the process before it ended.
    pub(super) is_seen: bool,
}

/// A short command, identified by its own name and by the process that starts it.
#[derive(Debug, Clone)]
struct Started {
    comm: String,
    by: Kin,
    by_title: String,
    /// Whether looptax saw this command before it ended. If so, the same command can later be recognised by other
    /// properties too.
    is_seen: bool,
}

/// The maximum number of ancestors of a worker that are followed.
const MOST_ANCESTORS: usize = 16;

impl Application {
    /// Adds a process, and with it all processes like it.
    pub fn add(&mut self, process: &Process) {
        self.add_kin(process);
        self.users_of_server.insert(process.pid);
        self.uids.insert(process.uid);
    }

    /// Returns the application that consists of all processes in the containers of these processes.
    pub(super) fn in_containers(all: &[Process]) -> Self {
        let mut application = Self::default();
        for process in all {
            application.add(process);
            if !application.containers.contains(&process.home) {
                application.containers.push(process.home.clone());
            }
        }
        application
    }

    /// Whether the containers of these processes are exactly the application's containers.
    pub(super) fn are_all_in(&self, all: &[Process]) -> bool {
        let is_in = |home: &Home| all.iter().any(|it| it.home == *home);
        self.containers.iter().all(is_in) && all.iter().all(|it| self.containers.contains(&it.home))
    }

    /// Adds a program that sent requests to the server, and with it other programs that are started in the same way.
    pub(super) fn add_asker(&mut self, asker: &Asker) {
        self.add(&asker.process);
        let by = if asker.is_seen { process(asker.process.parent) } else { Some(asker.process.clone()) };
        // init and a parent of another user are not added, because they may start processes of every user.
        let by = by.filter(|it| it.pid > 1 && it.uid == asker.process.uid);
        self.commands.extend(by.map(|by| Started {
            comm: asker.comm.clone(),
            by: Kin::new(&by),
            by_title: title(&by),
            is_seen: asker.is_seen,
        }));
    }

    /// Whether a process is a short command of the application. If `is_any` is false, counts only the commands that
    /// looptax has never seen running, because such commands cannot be recognised in any other way.
    fn is_command(&self, comm: &str, by: u32, is_any: bool) -> bool {
        let mut alike = self.commands.iter().filter(|it| it.comm == comm && (is_any || !it.is_seen)).peekable();
        alike.peek().is_some()
            && process(by).is_some_and(|by| alike.any(|it| it.by == Kin::new(&by) && it.by_title == title(&by)))
    }

    fn add_kin(&mut self, process: &Process) {
        let kin = Kin::new(process);
        if !self.kin.contains(&kin) {
            self.kin.push(kin);
        }
        self.pids.insert(process.pid);
        self.titles.insert(title(process));
    }

    /// Adds the workers of the processes that were added, and the workers of their master process. Another process with
    /// the same program and user belongs to another application, unless it is in the same unit or container.
    pub fn know_the_others(&mut self) {
        let known: Vec<Process> = { self.pids.iter() }.filter_map(|pid| process(*pid)).collect();
        let mut family = Vec::new();
        let mut bystanders = BTreeSet::new();
        looptax_host::discover::any_process(|it| {
            if self.pids.contains(&it.pid) {
                return false;
            }
            if known.iter().any(|own| is_family(own, it)) {
                family.push(it.clone());
            } else if self.kin.contains(&Kin::new(it)) && !self.is_of_a_unit(it) {
                bystanders.insert(it.pid);
            }
            false
        });
        for process in &family {
            self.add_kin(process);
        }
        self.bystanders = bystanders;
    }

    /// Keeps only the processes of this user. If no process is known afterwards, every process of this user counts as
    /// the application's.
    pub(crate) fn retain(&mut self, uid: u32) {
        self.user = Some(uid);
        self.kin.retain(|it| it.uid == uid);
        self.uids.retain(|it| *it == uid);
        let is_its = |pid: &u32| process(*pid).is_some_and(|it| it.uid == uid);
        self.pids.retain(is_its);
        self.users_of_server.retain(is_its);
    }

    /// Returns the user that the caller passed.
    pub(crate) fn user(&self) -> Option<u32> {
        self.user
    }

    /// Whether a process belongs to the same unit or container as a process that was added.
    fn is_of_a_unit(&self, process: &Process) -> bool {
        let kin = Kin::new(process);
        kin.unit.is_some() && self.kin.contains(&kin)
    }

    /// Whether looptax knows neither the application's program, nor its user, nor the readers of its file.
    pub fn is_unknown(&self) -> bool {
        self.kin.is_empty() && self.user.is_none() && self.readers.is_none()
    }

    pub(crate) fn knows_readers(&mut self, tells: bool) {
        self.readers = tells.then(BTreeSet::new);
    }

    pub(crate) fn is_read_by(&mut self, pids: &[u32]) {
        if let Some(readers) = &mut self.readers {
            readers.extend(pids);
        }
    }

    /// Whether the process that sent requests to a server belongs to the application. A process that has ended is
    /// judged by its earlier requests, by the files that it opened, and by its name and parent. `client` is the
    /// process, or its parent if the process has ended.
    pub(crate) fn has_asked(&mut self, end: &End, client: Option<&Process>) -> bool {
        let End { pid, parent, comm, has_ended } = end;
        let has_read = || self.readers.as_ref().is_some_and(|it| it.contains(pid));
        let is_known = || self.asked.contains(pid) || !self.is_seen() && self.user.is_none() && has_read();
        let had = *has_ended && (is_known() || self.is_command(comm, *parent, true));
        let has = had || client.is_some_and(|it| !is_looptax(it) && (self.has(it) || self.is_unknown()));
        if has {
            self.asked.insert(*pid);
        }
        has
    }

    /// Whether a process, one of its ancestors, or another worker of the same master process has opened the file.
    fn is_reader(of: &Process, readers: &BTreeSet<u32>) -> bool {
        let mut above = Some(of.clone());
        for _ in 0..MOST_ANCESTORS {
            let Some(it) = above.filter(|it| it.pid > 1 && it.pid != std::process::id()) else { break };
            if readers.contains(&it.pid) {
                return true;
            }
            above = process(it.parent);
        }
        readers.iter().filter_map(|pid| process(*pid)).any(|it| is_fellow(&it, of))
    }

    /// Whether a process that is not known as the application's uses the same file: it has opened the file, and runs as
    /// a user of the application.
    pub(super) fn shares_file_with(&self, process: &Process) -> bool {
        self.uids.contains(&process.uid) && !is_looptax(process) && !self.has(process) && { self.readers.as_ref() }
            .is_some_and(|it| Self::is_reader(process, it))
    }

    /// Whether looptax saw a process of the application.
    pub fn is_seen(&self) -> bool {
        !self.kin.is_empty()
    }

    pub fn kin(&self) -> &[Kin] {
        &self.kin
    }

    pub fn has(&self, process: &Process) -> bool {
        if !self.containers.is_empty() {
            return self.containers.contains(&process.home);
        }
        if self.pids.contains(&process.pid) && self.kin.contains(&Kin::new(process)) {
            return true;
        }
        if self.bystanders.contains(&process.pid) {
            return false;
        }
        if !self.is_seen() {
            let is_users = self.user.is_none_or(|it| it == process.uid);
            return match &self.readers {
                // systemd reads a unit's environment file, and sets the variables for the processes of the unit.
                Some(readers) if readers.contains(&1) && self.user.is_some() => {
                    is_users && (Kin::new(process).unit.is_some() || Self::is_reader(process, readers))
                }
                Some(readers) => is_users && Self::is_reader(process, readers),
                None => self.user.is_some() && is_users,
            };
        }
        let kin = Kin::new(process);
        self.kin.contains(&kin) && (kin.unit.is_some() || self.titles.contains(&title(process)))
            || self.is_command(&process.name, process.parent, false)
    }

    pub(super) fn is_in_containers(&self) -> bool {
        !self.containers.is_empty()
    }

    /// Whether a connection that this user owns may be the application's.
    pub fn has_user(&self, uid: u32) -> bool {
        // Users of a container have the same numbers as users of the machine.
        let is_kins = self.containers.is_empty() && self.kin.iter().any(|it| it.uid == uid);
        is_kins || !self.is_seen() && self.user == Some(uid)
    }

    /// Whether a process that was added, or a process like it, is running at present.
    pub fn runs(&self) -> bool {
        let lives = |pid: &u32| process(*pid).is_some_and(|it| self.has(&it));
        self.pids.iter().any(lives) || looptax_host::discover::any_process(|it| self.has(it))
    }

    /// Lists the application's processes for a person, such as `php-fpm8.2 812, 813 and 4 more`.
    pub fn words(&self) -> String {
        let names = self.pids.iter().filter_map(|pid| process(*pid));
        let mut names: Vec<String> = names.map(|it| format!("{} {}", it.program_name(), it.pid)).collect();
        let n_more = names.len().saturating_sub(2);
        names.truncate(2);
        let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
        names.join(", ") + &more
    }

    /// Returns a running process of the application, from which the caller finds out the application's environment and
    /// rights. Prefers a process that uses the server.
    pub fn example(&self) -> Option<Process> {
        let running = |pids: &BTreeSet<u32>| -> Vec<Process> { pids.iter().filter_map(|pid| process(*pid)).collect() };
        let all = running(&self.pids);
        let alike = all.iter().find(|it| self.uids.contains(&it.uid)).or(all.first()).cloned();
        running(&self.users_of_server).into_iter().next().or(alike)
    }

    pub fn pids(&self) -> Vec<u32> {
        self.pids.iter().copied().collect()
    }
}

/// Whether the process is looptax, which also sends requests to servers but is not an application. The executable of
/// looptax may have another name.
pub(super) fn is_looptax(process: &Process) -> bool {
    let is_own_file = || process.program.is_some() && process.program == std::env::current_exe().ok();
    process.program_name() == "looptax" || is_own_file()
}

pub(super) fn named(process: Option<&Process>) -> String {
    process.map_or_else(
        || "a process that ended before looptax saw it".to_owned(),
        |it| format!("{} {}", it.program_name(), it.pid),
    )
}

/// Returns the words that distinguish programs with the same interpreter: the first words of the command line, without
/// digits, because the command line of a worker may contain the worker's number.
fn title(process: &Process) -> String {
    let words = process.arguments().into_iter().take(2).collect::<Vec<_>>().join(" ");
    words.chars().filter(|it| !it.is_ascii_digit()).collect()
}

/// Whether two processes are workers of one application. Programs below a supervisor may have the same interpreter.
pub(super) fn is_fellow(one: &Process, other: &Process) -> bool {
    let is_alike = one.uid == other.uid && one.home == other.home && title(one) == title(other);
    is_alike && is_family(one, other)
}

/// Whether two processes run the same program and are relatives: one process is the parent of the other process, or
/// both are children of a third process that runs this program too.
fn is_family(one: &Process, other: &Process) -> bool {
    let is_same_program = one.program.is_some() && one.program == other.program;
    if one.parent == other.pid || other.parent == one.pid {
        return is_same_program;
    }
    let master = || process(one.parent).is_some_and(|it| it.program == one.program);
    is_same_program && one.parent == other.parent && one.parent > 1 && master()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use looptax_testkit::patience;

    use super::*;

    #[test]
    fn a_worker_that_does_not_read_the_file_again_is_the_application_s_too() {
        let mut master = Command::new("bash");
        master.args(["-c", "exec 3<&0; (read -r <&3) & (read -r <&3) & wait"]).stdin(Stdio::piped());
        let mut master = master.spawn().unwrap();
        let workers = || {
            let mut all = Vec::new();
            looptax_host::discover::any_process(|it| {
                if it.parent == master.id() {
                    all.push(it.clone());
                }
                false
            });
            (all.len() == 2).then_some(all)
        };
        let workers = patience::wait_for("two workers", Duration::from_secs(20), workers);
        let mut application = Application::default();
        application.knows_readers(true);
        application.is_read_by(&[workers[0].pid]);
        let alien = process(std::process::id()).unwrap();
        let has = [&workers[0], &workers[1], &alien].map(|it| application.has(it));
        // Another program was taken for the application; the workers use the same file.
        let mut guessed = Application::default();
        guessed.knows_readers(true);
        guessed.add(&alien);
        let shares = |guessed: &Application| [&workers[0], &workers[1], &alien].map(|it| guessed.shares_file_with(it));
        let before = shares(&guessed);
        guessed.is_read_by(&[workers[0].pid]);
        let after = shares(&guessed);
        for pid in workers.iter().map(|it| it.pid).chain([master.id()]) {
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        master.wait().unwrap();
        assert_eq!(has, [true, true, false]);
        assert_eq!((before, after), ([false; 3], [true, true, false]));
    }
}
