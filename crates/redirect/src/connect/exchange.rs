//! The exchange: the new socket under the program's numbers, in place of the old one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::{Asked, Left, failed};
use crate::page::{Slot, Watch};
use crate::supervisor::Supervisor;
use crate::sys::{errno, process};
use crate::{FallbackReason, watches};

/// Programs copy a descriptor to the next free number, which is mostly the next one. Looking at more costs
/// every connection a microsecond each.
const NEXT: i32 = 1;

/// What belongs to a socket.
pub(super) struct Copies {
    /// Its descriptors.
    numbers: Vec<i32>,
    /// Who watches them.
    pub(super) watches: Vec<Watch>,
}

impl Asked<'_> {
    /// All that has to be carried over to the new socket.
    pub(super) fn copies(
        &self,
        supervisor: &Supervisor,
        old: &OwnedFd,
        inode: u64,
    ) -> Result<Copies, Left> {
        let features = supervisor.features;
        let (tid, pid) = (self.call.tid, self.person.pid);
        let numbers = self.numbers(old, features.has_kcmp);
        let queues = supervisor.processes.queues(self.caller, pid, features);
        let mut watches = Vec::new();
        for number in &numbers {
            let found = watches::find(tid, &queues, *number, inode, features.has_kcmp);
            watches.extend(found);
        }
        // A watch is made under the program's own number, which has to be one of ours, too.
        if let Some(highest) = watches.iter().map(|it| it.fd).max()
            && process::duplicate(old.as_fd(), highest + watches::N_ABOVE).is_err()
        {
            return Err(FallbackReason::Watched.into());
        }
        Ok(Copies { numbers, watches })
    }

    /// The descriptor, and copies of it that are near.
    fn numbers(&self, old: &OwnedFd, has_kcmp: bool) -> Vec<i32> {
        let mut numbers = vec![self.fd];
        if !has_kcmp {
            return numbers;
        }
        let next = self.fd + NEXT;
        if process::are_same_file(self.call.tid, self.fd, next).unwrap_or_default() {
            numbers.push(next);
        }
        if numbers.len() > 1 {
            let others = process::copies_of(self.call.tid, old.as_fd());
            numbers.extend(others.unwrap_or_default());
            numbers.sort_unstable();
            numbers.dedup();
        }
        numbers
    }

    /// Whether the program's descriptor is still the file that was looked at: another thread may have
    /// closed it and opened something else, or this one may have a table of its own.
    pub(super) fn is_still(&self, inode: u64, old: &OwnedFd, has_kcmp: bool) -> bool {
        let tid = self.call.tid;
        if has_kcmp {
            return process::is_same_file(tid, self.fd, old.as_fd()).unwrap_or_default();
        }
        let link = process::link(&format!("/proc/{tid}/fd/{}", self.fd));
        link.is_ok_and(|it| it == format!("socket:[{inode}]").into_bytes())
    }

    /// False when the call is gone (a signal ended it, or its thread was killed) or its descriptor is
    /// another file by now.
    ///
    /// `is_still` is asked last. Between it and the replacing the program has less than a microsecond to
    /// close the number and open something else in another thread; no kernel offers to do both at once.
    pub(super) fn replace(
        &self,
        supervisor: &Supervisor,
        slot: &Slot,
        new: &OwnedFd,
        copies: &Copies,
        is_still: impl Fn() -> bool,
    ) -> Result<bool, Left> {
        let id = self.call.id;
        // Copies first: once the number of the call itself is replaced, there is no way back.
        let others = copies.numbers.iter().filter(|it| **it != self.fd);
        let numbers: Vec<(i32, bool)> = others
            .chain([&self.fd])
            .map(|it| (*it, self.caller.is_cloexec(*it).unwrap_or(true)))
            .collect();
        slot.begin_replacing(&copies.watches);
        let listener = &supervisor.listener;
        let replaced = if is_still() {
            let mut numbers = numbers.iter();
            numbers.try_for_each(|(number, is_cloexec)| {
                listener.replace(id, new.as_fd(), *number, *is_cloexec)
            })
        } else {
            Err(io::Error::from_raw_os_error(libc::ENOENT))
        };
        match replaced {
            Ok(()) => Ok(true),
            Err(error) => {
                slot.end_replacing();
                if errno(&error) == libc::ENOENT {
                    Ok(false)
                } else {
                    Err(failed(FallbackReason::Failed)(error))
                }
            }
        }
    }
}
