//! The exchange: puts the new socket under the program's descriptor numbers in place of the old one.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::holders::{self, Held, Holder};
use super::{Asked, Left, calls, failed};
use crate::FallbackReason;
use crate::page::Slot;
use crate::processes::holds_files;
use crate::supervisor::Supervisor;
use crate::sys::{errno, process, wait};
use crate::watches::{self, Watch};

/// Maximum number of times that watches are read again while a program keeps changing them.
const MOST_LOOKS: u32 = 8;

/// A connected socket that is about to replace another one.
pub(super) struct Exchange<'a> {
    pub(super) asked: &'a Asked<'a>,
    pub(super) supervisor: &'a Supervisor,
    pub(super) slot: &'a Slot,
    /// The inode of the old socket's file.
    pub(super) inode: u64,
    pub(super) new: OwnedFd,
    /// Whether the caller was its process's only thread before its queues were read; if so, the queues do not change.
    pub(super) is_only_thread: bool,
}

impl Exchange<'_> {
    /// Puts the new socket in place of the old one under all numbers of the program that refer to it. False
    /// if the call no longer exists (a signal ended it, or its thread was killed), or if its descriptor refers to
    /// another file by now.
    ///
    /// This process closes the new socket before the program continues: while we hold the socket, queues would report
    /// the socket's events even after the program has closed it.
    pub(super) fn run(self, old: OwnedFd, watches: &[Watch]) -> Result<bool, Left> {
        let changed =
            self.may_change().then(|| self.asked.watches(self.supervisor, &[self.asked.fd], &old, self.inode));
        let changed = changed.transpose()?;
        let watches = changed.as_deref().unwrap_or(watches);
        self.watch(watches)?;
        let features = self.supervisor.features;
        let is_still = || self.asked.is_still(self.inode, &old, features.has_kcmp);
        if !self.replace(&[self.asked.fd], is_still)? {
            return Ok(false);
        }
        let watches = match self.follow(&[self.asked.fd], &old, &self.new, watches.to_vec()) {
            Ok(now) => now,
            Err(left) => {
                self.put_back(&[], &old, watches.to_vec())?;
                return Err(left);
            }
        };
        // If the old file still existed, it would report a hang-up to its queues, and its copies would be sockets that
        // never connect. So it must be gone before the program continues.
        match holders::release(old) {
            None => self.begun(&watches),
            Some(held) => return self.replace_copies(&held, watches),
        }
        Ok(true)
    }

    /// Handles the slow case, in which another descriptor still holds the old file. If the process itself holds the
    /// file under other numbers, these numbers get the new socket as well. If another process holds the file, the
    /// numbers of that process cannot be replaced. `watches` are the watches of the new file so far.
    fn replace_copies(self, held: &Held, mut watches: Vec<Watch>) -> Result<bool, Left> {
        let own = holders::own(self.asked.call.tid, self.inode);
        let Some(old) = own.iter().find_map(Holder::take) else {
            return self.leave_to_others(&[], held, watches);
        };
        let numbers: Vec<i32> = own.iter().map(|it| it.fd).collect();
        let replaced = self.asked.watches(self.supervisor, &numbers, &old, self.inode).and_then(|found| {
            self.watch(&found)?;
            watches.extend(&found);
            self.replace(&numbers, || true)?;
            self.follow(&numbers, &old, &self.new, found)
        });
        match replaced {
            Ok(now) => {
                watches.retain(|it| !numbers.contains(&it.fd));
                watches.extend(now);
            }
            Err(left) => {
                self.put_back(&numbers, &old, watches)?;
                return Err(left);
            }
        }
        match holders::release(old) {
            None => self.begun(&watches),
            Some(held) => return self.leave_to_others(&numbers, &held, watches),
        }
        Ok(true)
    }

    /// Puts everything back if another process, or a thread with a separate descriptor table, holds the old file.
    fn leave_to_others(self, copies: &[i32], held: &Held, watches: Vec<Watch>) -> Result<bool, Left> {
        let others = holders::others(self.inode);
        if let Some(old) = others.iter().find_map(Holder::take) {
            self.put_back(copies, &old, watches)?;
            return Err(FallbackReason::Shared.into());
        }
        // A process only inspected the file, or the file is in a message on its way to another process. There is no
        // descriptor from which the old file could be put back.
        held.passes();
        self.begun(&watches);
        Ok(true)
    }

    /// Makes the program's descriptor, and copies of it, refer to the old file again. The old file also gets the
    /// watches that the program has set during the exchange.
    fn put_back(&self, copies: &[i32], old: &OwnedFd, watches: Vec<Watch>) -> Result<(), Left> {
        let (call, listener) = (self.asked.call, &self.supervisor.listener);
        let numbers: Vec<i32> = copies.iter().copied().chain([self.asked.fd]).collect();
        let replaced = numbers.iter().try_for_each(|fd| {
            let is_cloexec = self.asked.caller.is_cloexec(*fd).unwrap_or(true);
            listener.replace(call.id, old.as_fd(), *fd, is_cloexec)
        });
        self.slot.end_replacing();
        replaced.map_err(failed(FallbackReason::Failed))?;
        self.follow(&numbers, &self.new, old, watches).map(drop)
    }

    /// Adds the watches of the new socket while the exchange can still be undone: if the socket is not put in place
    /// after all, its watches end with it. Until the socket is in place, no other thread gets its events.
    fn watch(&self, watches: &[Watch]) -> Result<(), Left> {
        let silent: Vec<Watch> = watches.iter().map(|it| it.silent()).collect();
        self.renew(&self.new, &[], if self.is_only_thread { watches } else { &silent })
    }

    fn renew(&self, file: &OwnedFd, before: &[Watch], now: &[Watch]) -> Result<(), Left> {
        let renewed = watches::renew(self.asked.caller, file.as_fd(), (before, now), &|_| true);
        renewed.map_err(failed(FallbackReason::Watched))
    }

    /// Returns whether another thread may add or change watches of the old file while the file is exchanged.
    fn may_change(&self) -> bool {
        let (supervisor, asked) = (self.supervisor, self.asked);
        !self.is_only_thread && supervisor.processes.has_queues(asked.caller, asked.person.pid, supervisor.features)
    }

    /// Copies to the file `to` the watches that another thread adds or changes on the file `from`, until `from` no
    /// longer changes. `numbers` referred to `from` and now refer to `to`, so only a call that had already begun can
    /// still change a watch of `from`.
    ///
    /// `known` are the program's watches, as far as looptax knows them. Returns the program's watches in their final
    /// state. Watches of the new file stay silent.
    fn follow(&self, numbers: &[i32], from: &OwnedFd, to: &OwnedFd, mut known: Vec<Watch>) -> Result<Vec<Watch>, Left> {
        if !self.may_change() {
            return Ok(known);
        }
        let now = |file: &OwnedFd, known: &[Watch]| self.look(file, numbers).map(|it| watches::as_called(known, it));
        let is_silent = std::ptr::eq(to, &raw const self.new);
        let told = |watches: &[Watch]| -> Vec<Watch> {
            watches.iter().map(|it| if is_silent { it.silent() } else { *it }).collect()
        };
        let mut is_waited_for = false;
        for _ in 0..MOST_LOOKS {
            let was_told = now(from, &known)?;
            if !watches::are_alike(&was_told, &known) {
                // If the program has meanwhile changed the watches of `to`, its changes are kept.
                let is_told = now(to, &known)?;
                if !watches::are_alike(&is_told, &known) {
                    return Ok(is_told);
                }
                self.renew(to, &told(&known), &told(&was_told))?;
                known = was_told;
            } else if is_waited_for {
                break;
            }
            calls::let_end(self.asked.person.pid, self.asked.call.tid);
            is_waited_for = true;
        }
        Ok(known)
    }

    /// Makes the watches of the new file effective, because the exchange can no longer be undone.
    fn begun(&self, known: &[Watch]) {
        let begin = || -> Result<(), Left> {
            let numbers: BTreeSet<i32> = known.iter().map(|it| it.fd).collect();
            let numbers: Vec<i32> = numbers.into_iter().collect();
            // If the program has changed a watch of the new file, the watch is no longer silent, so nothing is left to
            // do.
            let mut silent = self.look(&self.new, &numbers)?;
            silent.retain(|it| known.iter().any(|known| known.begins_as(it)));
            let mut begun = known.to_vec();
            begun.retain(|it| silent.iter().any(|silent| it.begins_as(silent)));
            let inode = process::inode(self.new.as_fd()).map_err(failed(FallbackReason::Failed))?;
            let (tid, file, has_kcmp) =
                (self.asked.call.tid, (self.new.as_fd(), inode), self.supervisor.features.has_kcmp);
            // The kernel has no call that changes a watch only if it is still unchanged, so we check first and then
            // change it. A thread that has just given up its core is rarely interrupted in the few microseconds between
            // check and change.
            let is_silent = |it: &Watch| {
                std::thread::yield_now();
                watches::find(tid, &[it.queue], it.fd, file, has_kcmp).contains(&it.silent())
            };
            watches::renew(self.asked.caller, self.new.as_fd(), (&silent, &begun), &is_silent)
                .map_err(failed(FallbackReason::Watched))
        };
        // If `begin` fails, it is tried again: it needs a new thread, and the user may be at the limit of threads for a
        // moment.
        if !self.is_only_thread && !known.is_empty() {
            let _ = (0..MOST_LOOKS).any(|_| begin().is_ok() || wait::poll(&[], 1).is_err());
        }
    }

    fn look(&self, file: &OwnedFd, numbers: &[i32]) -> Result<Vec<Watch>, Left> {
        let inode = process::inode(file.as_fd()).map_err(failed(FallbackReason::Failed))?;
        self.asked.watches(self.supervisor, numbers, file, inode)
    }

    /// Replaces the program's descriptors. Returns false if the call no longer exists, or if `is_still` returns false.
    ///
    /// `is_still` is called last. Between this call and the replacement, another thread of the program has less than a
    /// microsecond to close the number and open another file under it; the kernel cannot do both steps atomically.
    fn replace(&self, numbers: &[i32], is_still: impl Fn() -> bool) -> Result<bool, Left> {
        let (asked, listener) = (self.asked, &self.supervisor.listener);
        let numbers: Vec<(i32, bool)> =
            numbers.iter().map(|it| (*it, asked.caller.is_cloexec(*it).unwrap_or(true))).collect();
        self.slot.begin_replacing();
        let replaced = if is_still() {
            numbers.iter().try_for_each(|(number, is_cloexec)| {
                listener.replace(asked.call.id, self.new.as_fd(), *number, *is_cloexec)
            })
        } else {
            Err(io::Error::from_raw_os_error(libc::ENOENT))
        };
        match replaced {
            Ok(()) => Ok(true),
            Err(error) => {
                self.slot.end_replacing();
                if errno(&error) == libc::ENOENT { Ok(false) } else { Err(failed(FallbackReason::Failed)(error)) }
            }
        }
    }
}

impl Asked<'_> {
    /// Returns the watches on the old file under these numbers.
    pub(super) fn watches(
        &self,
        supervisor: &Supervisor,
        numbers: &[i32],
        old: &OwnedFd,
        inode: u64,
    ) -> Result<Vec<Watch>, Left> {
        let features = supervisor.features;
        let pid = self.person.pid;
        let known = supervisor.processes.descriptors(self.caller, pid, features);
        if known.rings.iter().any(|ring| holds_files(self.call.tid, *ring)) {
            return Err(FallbackReason::Ring.into());
        }
        let mut found = Vec::new();
        for number in numbers {
            let file = (old.as_fd(), inode);
            let watches = watches::find(self.call.tid, &known.queues, *number, file, features.has_kcmp);
            found.extend(watches);
        }
        Ok(found)
    }

    /// Returns whether the program's descriptor still refers to the file that was inspected: another thread may have
    /// closed the descriptor and opened another file under its number, or this thread may have a separate descriptor
    /// table.
    pub(super) fn is_still(&self, inode: u64, old: &OwnedFd, has_kcmp: bool) -> bool {
        let tid = self.call.tid;
        if has_kcmp {
            return process::is_same_file(tid, self.fd, old.as_fd()).unwrap_or_default();
        }
        let link = process::link(&format!("/proc/{tid}/fd/{}", self.fd));
        link.is_ok_and(|it| it == format!("socket:[{inode}]").into_bytes())
    }
}
