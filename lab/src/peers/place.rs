//! The cores on which servers and load generators run. This process moves to the cores before it starts each program,
//! and the program inherits them.
//!
//! So no thread of the server has ever run on another core. A check makes sure that this stays so.

use std::fs;

use anyhow::{Context, Result, bail};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::case::Place;

/// The cores that this process may use.
pub(crate) struct Cores {
    all: CpuSet,
    first: usize,
    last: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Server,
    Client,
}

impl Cores {
    /// Returns the cores that this process was given.
    pub(crate) fn allowed() -> Result<Self> {
        let all = sched_getaffinity(None).context("cannot read which cores may be used")?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core));
        let first = cores.next().context("the kernel allows no core")?;
        Ok(Self { all, first, last: cores.next_back().unwrap_or(first) })
    }

    /// Moves this thread, and everything that it starts from now on.
    pub(crate) fn move_to(&self, place: Place, role: Role) -> Result<()> {
        if place == Place::Split && self.first == self.last {
            bail!("this needs two cores, but this process may use only one");
        }
        sched_setaffinity(None, &self.cores_for(place, role)).context("cannot move to other cores")
    }

    /// Returns the core of a role, if the role has only one.
    pub(crate) fn one(&self, place: Place, role: Role) -> Option<usize> {
        let set = self.cores_for(place, role);
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core));
        cores.next().filter(|_| cores.next().is_none())
    }

    /// Returns the number of cores that a client may use.
    pub(crate) fn n_for_client(&self, place: Place) -> usize {
        self.cores_for(place, Role::Client).count() as usize
    }

    /// Fails if a thread of the server may run on other cores than those of its place.
    pub(crate) fn check_server(&self, pid: u32, place: Place) -> Result<()> {
        let wanted = self.cores_for(place, Role::Server);
        let folder = format!("/proc/{pid}/task");
        let threads = fs::read_dir(&folder).with_context(|| format!("cannot list {folder}"))?;
        for thread in threads {
            let name = thread?.file_name();
            let tid = name.to_str().and_then(|name| name.parse().ok());
            let tid = tid.and_then(Pid::from_raw).context("a thread without id")?;
            match sched_getaffinity(Some(tid)) {
                Ok(set) if set != wanted => {
                    bail!("the server's thread {tid:?} is not on its core")
                }
                // A thread that has ended in the meantime does not count.
                Ok(_) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error).context("cannot read the server's cores"),
            }
        }
        Ok(())
    }

    /// Returns the cores for a role. The server gets the last core, because the first one serves the most interrupts.
    fn cores_for(&self, place: Place, role: Role) -> CpuSet {
        match (place, role) {
            (Place::Free, _) => self.all,
            (Place::OneCore, _) | (Place::Split, Role::Server) => only(self.last),
            (Place::Split, Role::Client) => only(self.first),
        }
    }
}

fn only(core: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(core);
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_is_the_same_for_both_and_two_cores_are_not() {
        let cores = Cores { all: CpuSet::new(), first: 0, last: 3 };
        let of = |place, role| cores.cores_for(place, role);
        assert_eq!(of(Place::OneCore, Role::Server), of(Place::OneCore, Role::Client));
        assert_eq!(of(Place::OneCore, Role::Client), only(3));
        assert_eq!(of(Place::Split, Role::Server), only(3));
        assert_eq!(of(Place::Split, Role::Client), only(0));
        assert_eq!(of(Place::Free, Role::Client), cores.all);
    }
}
