//! Decides which of the server's sessions are new.

use std::collections::BTreeSet;

use super::eye::Session;

#[derive(Debug, Default)]
pub(super) struct Sessions {
    known: BTreeSet<u64>,
    /// New sessions of the previous list that had to wait for the next list.
    waiting: BTreeSet<u64>,
}

impl Sessions {
    /// Returns the sessions that earlier lists did not contain. A session for which `waits` is true is returned only
    /// from the next list: between the two lists looptax inspects the connections again.
    pub(super) fn new_of(&mut self, listed: Vec<Session>, waits: impl Fn(&Session) -> bool) -> Vec<Session> {
        let waited = std::mem::take(&mut self.waiting);
        let mut new = Vec::new();
        for it in listed {
            if self.known.contains(&it.id) {
            } else if !waited.contains(&it.id) && waits(&it) {
                self.waiting.insert(it.id);
            } else {
                self.known.insert(it.id);
                new.push(it);
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_whose_connection_no_look_has_shown_is_new_in_the_next_list_too() {
        let listed = || vec![1, 2].into_iter().map(|id| Session { id, from: None }).collect::<Vec<_>>();
        let ids = |all: Vec<Session>| all.into_iter().map(|it| it.id).collect::<Vec<_>>();
        let mut sessions = Sessions::default();
        assert_eq!(ids(sessions.new_of(listed(), |it| it.id == 2)), [1]);
        // The look in between has shown no process either.
        assert_eq!(ids(sessions.new_of(listed(), |it| it.id == 2)), [2]);
        assert!(sessions.new_of(listed(), |_| true).is_empty());
    }
}
