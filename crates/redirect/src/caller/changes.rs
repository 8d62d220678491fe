//! Records calls by which a thread gets other groups, another root or other namespaces, because its identity may then
//! differ from the identity that was read before. Also records calls by which a thread confines itself.
//!
//! The record is in the page that supervisor and watchdog share, so it outlives a supervisor.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The changes so far in the program and its descendants. All zeroes means that there were no changes.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Changes {
    n_of_groups: AtomicU64,
    is_past_following: AtomicBool,
    has_filtered: AtomicBool,
    has_fenced: AtomicBool,
}

/// A period without changes: facts that are read in the period stay valid as long as the period lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment(u64);

impl Changes {
    /// Records that the first thread of a process is about to get other groups.
    pub(crate) fn note_groups(&self) {
        self.n_of_groups.fetch_add(1, Ordering::SeqCst);
    }

    /// Records that a thread is about to make a change that may also apply to threads that make no call: to the threads
    /// that share its root, and to the first thread of its process. (A thread that executes a program takes over the
    /// first thread's number.)
    pub(crate) fn note_other(&self) {
        self.is_past_following.store(true, Ordering::SeqCst);
    }

    /// Records that a thread is about to install a seccomp filter, or to enter a Landlock domain.
    pub(crate) fn note_confinement(&self, is_landlock: bool) {
        let what = if is_landlock { &self.has_fenced } else { &self.has_filtered };
        what.store(true, Ordering::SeqCst);
    }

    /// Returns whether any thread has installed a seccomp filter; `/proc` shows which thread.
    pub(crate) fn has_filtered(&self) -> bool {
        self.has_filtered.load(Ordering::SeqCst)
    }

    /// Returns whether any thread has entered a Landlock domain; the kernel does not report which thread.
    pub(crate) fn has_fenced(&self) -> bool {
        self.has_fenced.load(Ordering::SeqCst)
    }

    /// Returns the current period; `None` if facts that are read now may become wrong without notice.
    pub(super) fn moment(&self) -> Option<Moment> {
        let may_follow = !self.is_past_following.load(Ordering::SeqCst);
        may_follow.then(|| Moment(self.n_of_groups.load(Ordering::SeqCst)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_lasts_until_groups_change_and_after_other_changes_there_is_none() {
        let changes = Changes::default();
        let before = changes.moment();
        assert!(before.is_some() && before == changes.moment());
        changes.note_groups();
        assert!(changes.moment().is_some() && before != changes.moment());
        changes.note_other();
        assert_eq!(changes.moment(), None);
    }
}
