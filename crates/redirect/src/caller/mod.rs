//! Who made a call: process, user, groups, rights; and whether it lives in our world.
//!
//! A process may drop its rights at any time, so user, group and capabilities are read again for each connection.
//! Supplementary groups, root and namespaces change only by calls that the filter stops (`Changes`): they are
//! remembered until then, since finding them out takes longer than all the rest.

mod changes;
mod own;
mod status;

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

pub(crate) use changes::Changes;
pub(crate) use own::{Own, World};
pub(crate) use status::status;

use crate::Features;
use crate::sys::identity::{Identity, effective_capabilities};
use crate::sys::process::Descriptor;
use crate::sys::{errno, process};
use changes::Moment;
use status::Status;

/// Threads that are remembered, by each thread of ours; every one takes two descriptors.
const MAX_KNOWN: usize = 16;

/// A thread that waits for an answer.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) tid: i32,
    known: Rc<Known>,
}

/// A thread that has called before. A descriptor of one that has ended never means another.
#[derive(Debug)]
struct Known {
    pidfd: OwnedFd,
    number: Cell<Option<u64>>,
    /// That of its last connection: mostly the next one gets the same number.
    descriptor: RefCell<Option<Descriptor>>,
    memory: RefCell<Option<(Moment, Rc<Memory>)>>,
}

/// The facts that a thread keeps until it makes a call that the filter stops.
#[derive(Debug)]
struct Memory {
    groups: Vec<u32>,
    world: World,
}

#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) pid: i32,
    pub(crate) identity: Identity,
    pub(crate) world: World,
}

thread_local! {
    /// The youngest last.
    static KNOWN: RefCell<Vec<Caller>> = const { RefCell::new(Vec::new()) };
}

impl Caller {
    /// The thread, with a copy of one of its descriptors.
    ///
    /// # Errors
    /// `EBADF` when it has no such descriptor; others when it is gone or may not be looked into.
    pub(crate) fn with_file(tid: i32, fd: i32, features: Features) -> io::Result<(Self, OwnedFd)> {
        if let Some(caller) = recall(tid) {
            match process::pidfd_getfd(caller.pidfd(), fd) {
                // That one has ended, and another has its number.
                Err(error) if errno(&error) == libc::ESRCH => forget(tid),
                other => return other.map(|file| (caller, file)),
            }
        }
        let caller = Self::open(tid, features)?;
        let file = process::pidfd_getfd(caller.pidfd(), fd)?;
        if features.has_thread_pidfd {
            remember(&caller);
        }
        Ok((caller, file))
    }

    fn open(tid: i32, features: Features) -> io::Result<Self> {
        let pidfd = if features.has_thread_pidfd {
            process::pidfd_open(tid, libc::PIDFD_THREAD)
        } else {
            // Only a process's first thread has a handle by its own number; for others this takes their process's.
            process::pidfd_open(tid, 0).or_else(|_| process::pidfd_open(status(tid)?.pid, 0))
        };
        let known = Known {
            pidfd: pidfd?,
            number: Cell::default(),
            descriptor: RefCell::default(),
            memory: RefCell::default(),
        };
        let known = Rc::new(known);
        Ok(Self { tid, known })
    }

    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.known.pidfd.as_fd()
    }

    /// Who it is now, and where.
    ///
    /// # Errors
    /// When it is gone or may not be looked into.
    pub(crate) fn look(&self, own: &Own, changes: &Changes, features: Features) -> io::Result<Person> {
        if !features.has_pidfd_info {
            let Status { pid, identity, .. } = status(self.tid)?;
            let world = own.compare(self.tid);
            return Ok(Person { pid, identity, world });
        }
        let memory = self.memory(own, changes)?;
        let info = process::pidfd_info(self.pidfd())?;
        // A supervisor without capabilities cannot give any.
        let capabilities = match own.identity.capabilities {
            0 => 0,
            _ => effective_capabilities(self.tid)?,
        };
        Ok(Person {
            pid: info.tgid.cast_signed(),
            identity: Identity {
                euid: info.euid,
                egid: info.egid,
                fsuid: info.fsuid,
                fsgid: info.fsgid,
                groups: memory.groups.clone(),
                capabilities,
            },
            world: memory.world,
        })
    }

    fn memory(&self, own: &Own, changes: &Changes) -> io::Result<Rc<Memory>> {
        let now = changes.moment();
        if let (Some(now), Some((then, memory))) = (now, &*self.known.memory.borrow())
            && now == *then
        {
            return Ok(Rc::clone(memory));
        }
        let memory = Rc::new(Memory { groups: status(self.tid)?.identity.groups, world: own.compare(self.tid) });
        self.known.memory.replace(now.map(|now| (now, Rc::clone(&memory))));
        Ok(memory)
    }

    /// Whether one of its descriptors is closed on exec.
    pub(crate) fn is_cloexec(&self, fd: i32) -> io::Result<bool> {
        let mut known = self.known.descriptor.borrow_mut();
        if let Some(it) = known.as_ref().filter(|it| it.fd == fd)
            && let Ok(is_cloexec) = it.is_cloexec()
        {
            return Ok(is_cloexec);
        }
        known.insert(Descriptor::open(self.tid, fd)?).is_cloexec()
    }

    /// A number that tells its process from all that had or will have the same id.
    pub(crate) fn number(&self, pid: i32, features: Features) -> Option<u64> {
        if self.known.number.get().is_none() {
            let number = process::number(self.pidfd(), self.tid, pid, features);
            self.known.number.set(number);
        }
        self.known.number.get()
    }
}

fn recall(tid: i32) -> Option<Caller> {
    KNOWN.with_borrow(|known| known.iter().find(|it| it.tid == tid).cloned())
}

fn forget(tid: i32) {
    KNOWN.with_borrow_mut(|known| known.retain(|it| it.tid != tid));
}

fn remember(caller: &Caller) {
    KNOWN.with_borrow_mut(|known| {
        if known.len() == MAX_KNOWN {
            known.remove(0);
        }
        known.push(caller.clone());
    });
}
