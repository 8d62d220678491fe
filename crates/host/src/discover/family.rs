//! Determines which processes belong together: a server or web server and its workers.
//!
//! A worker is a process that was started by a process of the same program. This module is used to assign connections,
//! which the workers hold, to the programs that people know.

use std::collections::HashMap;

use crate::discover::process::Process;
use crate::discover::servers::Server;

/// The maximum number of ancestors that are followed; no program has more. A limit is needed because pids are reused,
/// so a chain of parents may be circular.
const MOST_GENERATIONS: usize = 32;

/// The processes by their pids, with their parents.
pub(crate) struct Families<'a> {
    processes: HashMap<u32, &'a Process>,
}

impl<'a> Families<'a> {
    pub(crate) fn new(processes: &'a [Process]) -> Self {
        Self { processes: processes.iter().map(|it| (it.pid, it)).collect() }
    }

    pub(crate) fn process(&self, pid: u32) -> Option<&'a Process> {
        self.processes.get(&pid).copied()
    }

    /// Returns the index of the server to which a process belongs: the process is this server itself, or works for it.
    pub(crate) fn server_of(&self, pid: u32, by_pid: &HashMap<u32, usize>) -> Option<usize> {
        let is_kin = |parent: &Process, child: &Process| is_same_program(parent, child);
        let mut line = self.line(pid, is_kin);
        line.find_map(|it| by_pid.get(&it.pid).copied())
    }

    /// Returns the topmost ancestor that shares its work with this process. This is the process itself if it was not
    /// started by a process with the same program and name.
    pub(crate) fn leader(&self, pid: u32) -> u32 {
        let is_kin = |parent: &Process, child: &Process| is_same_program(parent, child) && parent.name == child.name;
        self.line(pid, is_kin).last().map_or(pid, |it| it.pid)
    }

    /// Returns the process, then its parent, grandparent and so on, as long as `is_kin` accepts them.
    fn line(&self, pid: u32, is_kin: impl Fn(&Process, &Process) -> bool) -> impl Iterator<Item = &'a Process> {
        let next = move |child: &&'a Process| {
            let parent = self.process(child.parent)?;
            is_kin(parent, child).then_some(parent)
        };
        std::iter::successors(self.process(pid), next).take(MOST_GENERATIONS)
    }
}

fn is_same_program(one: &Process, other: &Process) -> bool {
    one.pid != other.pid && one.program_name() == other.program_name()
}

/// Returns the servers' indexes in their list, by the pids of their processes.
pub(crate) fn places(servers: &[Server]) -> HashMap<u32, usize> {
    let numbered = servers.iter().enumerate();
    numbered.map(|(idx, it)| (it.process.pid, idx)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::process::process;

    /// Builds processes from pid, parent, program and own name.
    fn processes(all: &[(u32, u32, &str, &str)]) -> Vec<Process> {
        let own = process(std::process::id()).unwrap();
        let each = all.iter().map(|(pid, parent, program, name)| Process {
            pid: *pid,
            parent: *parent,
            program: Some(format!("/usr/bin/{program}").into()),
            name: (*name).to_owned(),
            ..own.clone()
        });
        each.collect()
    }

    #[test]
    fn workers_stand_behind_their_server_and_other_scripts_do_not() {
        let all = processes(&[
            (10, 1, "python3.11", "supervisord"),
            (20, 10, "python3.11", "gunicorn"),
            (21, 20, "python3.11", "gunicorn"),
            (30, 10, "python3.11", "celery"),
            (31, 30, "python3.11", "celery"),
        ]);
        let families = Families::new(&all);
        let servers = HashMap::from([(20, 7)]);
        assert_eq!(families.server_of(21, &servers), Some(7));
        assert_eq!(families.server_of(31, &servers), None);
        assert_eq!(families.leader(31), 30);
        assert_eq!(families.leader(10), 10);
    }

    #[test]
    fn a_circle_of_numbers_that_came_again_ends() {
        let all = processes(&[(10, 20, "nginx", "nginx"), (20, 10, "nginx", "nginx")]);
        let families = Families::new(&all);
        assert!([10, 20].contains(&families.leader(10)));
        assert_eq!(families.server_of(10, &HashMap::new()), None);
    }
}
