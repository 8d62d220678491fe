//! The exchange: the new socket under the program's numbers, in place of the old one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use super::holders::{self, Held, Holder};
use super::{Asked, Left, failed};
use crate::FallbackReason;
use crate::page::Slot;
use crate::processes::holds_files;
use crate::supervisor::Supervisor;
use crate::sys::{errno, process, wait};
use crate::watches::{self, Watch};

/// A program that changes its watches for as long as this is looked at no more.
const MOST_LOOKS: u32 = 8;
/// Longer than a call of `epoll_ctl` runs that has found its file already.
const LAST_CALL: Duration = Duration::from_micros(30);

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
        self.watch(&[], watches)?;
        let features = self.supervisor.features;
        let is_still = || self.asked.is_still(self.inode, &old, features.has_kcmp);
        if !self.replace(&[self.asked.fd], is_still)? {
            return Ok(None);
        }
        if let Err(left) = self.follow(&old, watches) {
            self.put_back(&[], &old)?;
            return Err(left);
        }
        // An old file that is still there would tell its queues that it hung up, and its copies are sockets that
        // nobody will ever connect: it has to be gone before the program goes on.
        match holders::release(old) {
            None => Ok(Some(self.new)),
            Some(held) => self.replace_copies(&held),
        }
    }

    /// The slow way, where something else holds the old file: the process under other numbers, which are replaced
    /// as well, or another process, whose numbers are out of reach.
    fn replace_copies(self, held: &Held) -> Result<Option<OwnedFd>, Left> {
        let own = holders::own(self.asked.call.tid, self.inode);
        let Some(old) = own.iter().find_map(Holder::take) else {
            return self.leave_to_others(&[], held);
        };
        let numbers: Vec<i32> = own.iter().map(|it| it.fd).collect();
        let replaced = self
            .asked
            .watches(self.supervisor, &numbers, &old, self.inode)
            .and_then(|watches| self.watch(&[], &watches))
            .and_then(|()| self.replace(&numbers, || true));
        if let Err(left) = replaced {
            self.put_back(&numbers, &old)?;
            return Err(left);
        }
        match holders::release(old) {
            None => Ok(Some(self.new)),
            Some(held) => self.leave_to_others(&numbers, &held),
        }
    }

    /// Where another process holds the old file, or a thread with descriptors of its own, all of it stays as it was.
    fn leave_to_others(self, copies: &[i32], held: &Held) -> Result<Option<OwnedFd>, Left> {
        let others = holders::others(self.inode);
        if let Some(old) = others.iter().find_map(Holder::take) {
            self.put_back(copies, &old)?;
            return Err(FallbackReason::Shared.into());
        }
        // It was only looked at, or lies in a queue on its way to somebody: nobody is left to go back to.
        held.passes();
        Ok(Some(self.new))
    }

    /// Makes the program's descriptor, and copies of it, what they were.
    fn put_back(&self, copies: &[i32], old: &OwnedFd) -> Result<(), Left> {
        let (call, listener) = (self.asked.call, &self.supervisor.listener);
        let mut numbers = copies.iter().chain([&self.asked.fd]);
        let replaced = numbers.try_for_each(|fd| {
            let is_cloexec = self.asked.caller.is_cloexec(*fd).unwrap_or(true);
            listener.replace(call.id, old.as_fd(), *fd, is_cloexec)
        });
        self.slot.end_replacing();
        replaced.map_err(failed(FallbackReason::Failed))
    }

    /// Has the new socket watched already, while there is a way back: where it is not put in its place after all,
    /// its watches end with it.
    fn watch(&self, before: &[Watch], now: &[Watch]) -> Result<(), Left> {
        watches::renew(self.asked.caller, self.new.as_fd(), before, now).map_err(failed(FallbackReason::Watched))
    }

    /// Whether another thread may watch the old file, or otherwise, while it is exchanged.
    fn may_change(&self) -> bool {
        let (supervisor, asked) = (self.supervisor, self.asked);
        !self.is_only_thread && supervisor.processes.has_queues(asked.caller, asked.person.pid, supervisor.features)
    }

    /// Looks again until nothing has changed: another thread may have watched the old file meanwhile, or otherwise. The
    /// number is the new file now, so only a call that was on its way then still can.
    fn follow(&self, old: &OwnedFd, watches: &[Watch]) -> Result<(), Left> {
        if !self.may_change() {
            return Ok(());
        }
        let (supervisor, asked) = (self.supervisor, self.asked);
        let mut known = watches.to_vec();
        let mut is_waited_for = false;
        for _ in 0..MOST_LOOKS {
            let now = asked.watches(supervisor, &[asked.fd], old, self.inode)?;
            if now != known {
                self.watch(&known, &now)?;
                known = now;
            } else if is_waited_for {
                return Ok(());
            }
            wait::yield_for(LAST_CALL);
            is_waited_for = true;
        }
        Ok(())
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
}
