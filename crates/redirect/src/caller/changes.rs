//! Calls by which a thread gets other groups, another root or other namespaces: its identity may differ from the one
//! that was read before. And calls by which it forbids itself something.
//!
//! Is in the page, so that it outlives a supervisor.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The changes so far in the program and its descendants. All zeroes means no changes.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Changes {
    n_of_groups: AtomicU64,
    is_past_following: AtomicBool,
    has_filtered: AtomicBool,
    has_fenced: AtomicBool,
}

/// A time between two changes: what was seen in it holds in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment(u64);

impl Changes {
    /// A process's first thread is about to get other groups.
    pub(crate) fn note_groups(&self) {
        self.n_of_groups.fetch_add(1, Ordering::SeqCst);
    }

    /// A thread is about to become something that others may become without a word: those that share its
    /// root, or its process's first one, whose number it takes when it executes a program.
    pub(crate) fn note_other(&self) {
        self.is_past_following.store(true, Ordering::SeqCst);
    }

    /// A thread is about to put a filter of system calls over itself, or to enter a Landlock domain.
    pub(crate) fn note_confinement(&self, is_landlock: bool) {
        let what = if is_landlock { &self.has_fenced } else { &self.has_filtered };
        what.store(true, Ordering::SeqCst);
    }

    /// Whether anybody has put a filter over itself: whose it is, `/proc` says.
    pub(crate) fn has_filtered(&self) -> bool {
        self.has_filtered.load(Ordering::SeqCst)
    }

    /// Whether any thread has entered a Landlock domain: the kernel does not report which one.
    pub(crate) fn has_fenced(&self) -> bool {
        self.has_fenced.load(Ordering::SeqCst)
    }

    /// Now; `None` when nothing that is seen now may be believed later.
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
