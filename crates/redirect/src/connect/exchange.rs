//! The exchange: the new socket under the program's numbers, in place of the old one.

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

/// A program that changes its watches for as long as this is looked at no more.
const MOST_LOOKS: u32 = 8;

/// A connected socket on its way into the place of another.
pub(super) struct Exchange<'a> {
    pub(super) asked: &'a Asked<'a>,
    pub(super) supervisor: &'a Supervisor,
    pub(super) slot: &'a Slot,
    /// The inode of the old socket's file.
    pub(super) inode: u64,
    pub(super) new: OwnedFd,
    /// Whether the caller was its process's only thread before its queues were looked at: then nothing changes.
    pub(super) is_only_thread: bool,
}

impl Exchange<'_> {
    /// Puts the new socket in the place of the old one, wherever that is held; what may be closed once the
    /// program goes on. `None` when the call is gone (a signal ended it, or its thread was killed), or its
    /// descriptor is another file by now.
    pub(super) fn run(self, old: OwnedFd, watches: &[Watch]) -> Result<Option<OwnedFd>, Left> {
        let changed =
            self.may_change().then(|| self.asked.watches(self.supervisor, &[self.asked.fd], &old, self.inode));
        let changed = changed.transpose()?;
        let watches = changed.as_deref().unwrap_or(watches);
        self.watch(watches)?;
        let features = self.supervisor.features;
        let is_still = || self.asked.is_still(self.inode, &old, features.has_kcmp);
        if !self.replace(&[self.asked.fd], is_still)? {
            return Ok(None);
        }
        let watches = match self.follow(&[self.asked.fd], &old, &self.new, watches.to_vec()) {
            Ok(now) => now,
            Err(left) => {
                self.put_back(&[], &old, watches.to_vec())?;
                return Err(left);
            }
        };
        // An old file that is still there would tell its queues that it hung up, and its copies are sockets that will
        // never be connected: it has to be gone before the program goes on.
        match holders::release(old) {
            None => Ok(Some(self.begun(&watches))),
            Some(held) => self.replace_copies(&held, watches),
        }
    }

    /// The slow way, where something else holds the old file: the process under other numbers, which are replaced
    /// as well, or another process, whose numbers are out of reach. `watches` are those of the new file so far.
    fn replace_copies(self, held: &Held, mut watches: Vec<Watch>) -> Result<Option<OwnedFd>, Left> {
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
            None => Ok(Some(self.begun(&watches))),
            Some(held) => self.leave_to_others(&numbers, &held, watches),
        }
    }

    /// If another process, or a thread with its own descriptor table, holds the old file, everything stays as it was.
    fn leave_to_others(self, copies: &[i32], held: &Held, watches: Vec<Watch>) -> Result<Option<OwnedFd>, Left> {
        let others = holders::others(self.inode);
        if let Some(old) = others.iter().find_map(Holder::take) {
            self.put_back(copies, &old, watches)?;
            return Err(FallbackReason::Shared.into());
        }
        // A process only looked at it, or it is in a queue on its way to another process: there is no holder to go back
        // to.
        held.passes();
        Ok(Some(self.begun(&watches)))
    }

    /// Makes the program's descriptor, and copies of it, what they were, and watched as the program said meanwhile.
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

    /// Adds the watches of the new socket while there is a way back: if it is not put in its place after all, its
    /// watches end with it. No other thread gets its events yet.
    fn watch(&self, watches: &[Watch]) -> Result<(), Left> {
        let silent: Vec<Watch> = watches.iter().map(|it| it.silent()).collect();
        self.renew(&self.new, &[], if self.is_only_thread { watches } else { &silent })
    }

    fn renew(&self, file: &OwnedFd, before: &[Watch], now: &[Watch]) -> Result<(), Left> {
        let renewed = watches::renew(self.asked.caller, file.as_fd(), (before, now), &|_| true);
        renewed.map_err(failed(FallbackReason::Watched))
    }

    /// Whether another thread may watch the old file, or otherwise, while it is exchanged.
    fn may_change(&self) -> bool {
        let (supervisor, asked) = (self.supervisor, self.asked);
        !self.is_only_thread && supervisor.processes.has_queues(asked.caller, asked.person.pid, supervisor.features)
    }

    /// Looks again until nothing has changed: another thread may have watched the file meanwhile that was under these
    /// numbers, or otherwise. They are the file `to` now, so only a call that was on its way then still can.
    ///
    /// `known` is how the program has both watched as far as is known; comes back as it is then. The new file's watches
    /// stay silent.
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
                // The program's own change to the new file since then is final.
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

    /// The new file, from whose watches the program hears now that nothing leads back.
    fn begun(self, known: &[Watch]) -> OwnedFd {
        let begin = || -> Result<(), Left> {
            let numbers: BTreeSet<i32> = known.iter().map(|it| it.fd).collect();
            let numbers: Vec<i32> = numbers.into_iter().collect();
            // A watch that the program has changed meanwhile has begun already.
            let mut silent = self.look(&self.new, &numbers)?;
            silent.retain(|it| known.iter().any(|known| known.begins_as(it)));
            let mut begun = known.to_vec();
            begun.retain(|it| silent.iter().any(|silent| it.begins_as(silent)));
            let inode = process::inode(self.new.as_fd()).map_err(failed(FallbackReason::Failed))?;
            let (tid, file, has_kcmp) =
                (self.asked.call.tid, (self.new.as_fd(), inode), self.supervisor.features.has_kcmp);
            // No kernel changes a watch only if it is still the same. A thread that has just given up its core is seldom
            // put off it in the few microseconds between the look and the change.
            let is_silent = |it: &Watch| {
                std::thread::yield_now();
                watches::find(tid, &[it.queue], it.fd, file, has_kcmp).contains(&it.silent())
            };
            watches::renew(self.asked.caller, self.new.as_fd(), (&silent, &begun), &is_silent)
                .map_err(failed(FallbackReason::Watched))
        };
        // A thread for it may be more than its user can have at the moment.
        if !self.is_only_thread && !known.is_empty() {
            let _ = (0..MOST_LOOKS).any(|_| begin().is_ok() || wait::poll(&[], 1).is_err());
        }
        self.new
    }

    fn look(&self, file: &OwnedFd, numbers: &[i32]) -> Result<Vec<Watch>, Left> {
        let inode = process::inode(file.as_fd()).map_err(failed(FallbackReason::Failed))?;
        self.asked.watches(self.supervisor, numbers, file, inode)
    }

    /// False when the call is gone or `is_still` says no.
    ///
    /// `is_still` is asked last. Between it and the replacing the program has less than a microsecond to
    /// close the number and open something else in another thread; no kernel offers to do both at once.
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
    /// Who watches the old file under these numbers.
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

    /// Whether the program's descriptor is still the file that was looked at: another thread may have closed it and
    /// opened something else, or this one may have its own table.
    pub(super) fn is_still(&self, inode: u64, old: &OwnedFd, has_kcmp: bool) -> bool {
        let tid = self.call.tid;
        if has_kcmp {
            return process::is_same_file(tid, self.fd, old.as_fd()).unwrap_or_default();
        }
        let link = process::link(&format!("/proc/{tid}/fd/{}", self.fd));
        link.is_ok_and(|it| it == format!("socket:[{inode}]").into_bytes())
    }
}
