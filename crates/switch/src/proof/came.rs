//! The transports over which each process of the application has come since counting began.

use std::collections::{BTreeMap, BTreeSet};

use looptax_host::discover::{Process, process};

#[derive(Debug, Default)]
pub(super) struct Came {
    over_tcp: BTreeMap<u32, Process>,
    over_socket: BTreeSet<u32>,
}

impl Came {
    pub(super) fn over_tcp(&mut self, who: Option<&Process>) {
        if let Some(who) = who.filter(|it| !self.over_tcp.contains_key(&it.pid)) {
            self.over_tcp.insert(who.pid, who.clone());
        }
    }

    pub(super) fn over_socket(&mut self, pid: u32) {
        self.over_socket.insert(pid);
    }

    /// Whether a process that is still running has come over TCP, and not over the socket.
    pub(super) fn is_one_missing(&self) -> bool {
        let mut only_tcp = self.over_tcp.values().filter(|it| !self.over_socket.contains(&it.pid));
        only_tcp
            .any(|it| process(it.pid).as_ref().is_some_and(|now| now.parent == it.parent && now.program == it.program))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_come_over_tcp_is_missing_until_it_comes_over_the_socket_or_ends() {
        let own = process(std::process::id()).unwrap();
        let mut came = Came::default();
        came.over_tcp(None);
        assert!(!came.is_one_missing());
        came.over_tcp(Some(&own));
        assert!(came.is_one_missing());
        came.over_socket(own.pid);
        assert!(!came.is_one_missing());
        let ended = Process { pid: u32::MAX, ..own };
        came.over_tcp(Some(&ended));
        assert!(!came.is_one_missing());
    }
}
