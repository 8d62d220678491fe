//! Identifies the thread that made a call: its process, user, groups and capabilities, and whether it has our root and
//! namespaces.
//!
//! A process may drop its rights at any time, so user, group and capabilities are read again for each connection.
//! Supplementary groups, root and namespaces change only by calls that the filter stops (`Changes`). looptax remembers
//! these facts until such a call, because reading them takes longer than all other steps.

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

/// Maximum number of threads that each thread of ours remembers; each remembered thread takes two descriptors.
const MAX_KNOWN: usize = 16;

/// A thread of the program that waits for the answer to a call.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) tid: i32,
    known: Rc<Known>,
}

/// A thread that has already made a call. After the thread has ended, its pidfd never refers to another thread.
#[derive(Debug)]
struct Known {
    pidfd: OwnedFd,
    number: Cell<Option<u64>>,
    /// The descriptor of the thread's last connection; the next connection usually gets the same number.
    descriptor: RefCell<Option<Descriptor>>,
    memory: RefCell<Option<(Moment, Rc<Memory>)>>,
}

/// Facts about a thread that change only by calls that the filter stops.
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
    /// The most recently added thread is last.
    static KNOWN: RefCell<Vec<Caller>> = const { RefCell::new(Vec::new()) };
}

impl Caller {
    /// Returns the thread, with a copy of its descriptor `fd`.
    ///
    /// # Errors
    /// `EBADF` if the thread has no such descriptor; other errors if it has ended or may not be inspected.
    pub(crate) fn with_file(tid: i32, fd: i32, features: Features) -> io::Result<(Self, OwnedFd)> {
        if let Some(caller) = recall(tid) {
            match process::pidfd_getfd(caller.pidfd(), fd) {
                // The remembered thread has ended, and another thread has its number.
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
            // Only a process's first thread can be opened by its own number; instead of another thread, its process is
            // opened.
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

    /// Returns the identity, root and namespaces that the thread has now.
    ///
    /// # Errors
    /// If the thread has ended or may not be inspected.
    pub(crate) fn look(&self, own: &Own, changes: &Changes, features: Features) -> io::Result<Person> {
        if !features.has_pidfd_info {
            let Status { pid, identity, .. } = status(self.tid)?;
            let world = own.compare(self.tid);
            return Ok(Person { pid, identity, world });
        }
        let memory = self.memory(own, changes)?;
        let info = process::pidfd_info(self.pidfd())?;
        // A supervisor without capabilities cannot assume the thread's capabilities, so they are not read.
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

    /// Returns whether one of the thread's descriptors is closed on exec.
    pub(crate) fn is_cloexec(&self, fd: i32) -> io::Result<bool> {
        let mut known = self.known.descriptor.borrow_mut();
        if let Some(it) = known.as_ref().filter(|it| it.fd == fd)
            && let Ok(is_cloexec) = it.is_cloexec()
        {
            return Ok(is_cloexec);
        }
        known.insert(Descriptor::open(self.tid, fd)?).is_cloexec()
    }

    /// Returns a number that distinguishes the thread's process from all earlier and later processes with the same id.
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
