//! Adds the kernel's counts of requests to the facts of a watch.

use looptax_host::eyes::Asked;
use looptax_model::dsn::Protocol;

use super::application::{is_looptax, named};
use super::counter::Asking;
use super::let_in::{least_login_turns, most_login_turns};
use super::seen::{Asks, OverTcp};
use super::watch::Watch;

impl Watch {
    /// Whether the server counts a connection only after it has admitted the client.
    pub(super) fn counts_late(&self) -> bool {
        self.of.address.protocol == Protocol::Postgres
    }

    /// Adds the requests that the kernel has counted since the last look.
    pub(super) fn take_asked(&mut self, all: &[Asking]) {
        let now = self.start.elapsed();
        let (protocol, is_earlier_open) = (self.of.address.protocol, self.is_earlier_open);
        // A server may use another login method for another account.
        let is_of_all = self.of.is_pooler() || protocol == Protocol::Mysql && self.of.is_whole;
        let of_all = self.method.filter(|_| is_of_all);
        let counts = self.seen.by_kernel.get_or_insert_default();
        for Asking { counted, client, has_libpq } in all.iter().filter(|it| self.of.takes(&it.counted.asked)) {
            let n_opened = counted.counts.n_opened;
            let of_logins = most_login_turns(protocol, of_all, *has_libpq, counted);
            // Requests over an earlier connection prove nothing about new connections.
            let n_turns = if is_earlier_open { 0 } else { counted.counts.n_turns() };
            let of_whole_logins = least_login_turns(protocol, self.method, n_opened).filter(|_| !is_earlier_open);
            let asks = Asks { n_opened, n_turns, of_logins, of_whole_logins };
            let end = counted.client.as_ref();
            let is_own = end.is_some_and(|it| self.application.has_asked(it, client.as_ref()));
            self.seen.n_opened_by_all += asks.n_opened;
            let itself = client.as_ref().filter(|it| end.is_some_and(|end| end.pid == it.pid));
            let is_of_socket = matches!(counted.asked, Asked::Unix { .. });
            if let Some(who) = itself.filter(|it| is_of_socket && self.application.shares_file_with(it)) {
                self.seen.by_readers.add(asks);
                self.seen.readers.insert(named(Some(who)));
            }
            self.seen.n_opened_by_others += if is_own { 0 } else { asks.n_opened };
            match (&counted.asked, is_own) {
                (Asked::Unix { .. }, true) => {
                    if let Some(end) = end {
                        self.came.over_socket(end.pid);
                    }
                    counts.add(asks);
                    self.seen.over_socket.extend(client.as_ref().map(|it| named(Some(it))));
                }
                (Asked::Unix { .. }, false) if asks.n_opened > 0 => {
                    let is_us = client.as_ref().is_some_and(|it| it.pid == std::process::id());
                    let stranger = client.as_ref().filter(|_| !is_us).map(|it| named(Some(it)));
                    self.seen.strangers.extend(stranger);
                }
                (Asked::Tcp { .. }, true) if asks.n_opened > 0 && self.of.is_whole => {
                    let who = named(client.as_ref());
                    self.came.over_tcp(itself);
                    self.seen.over_tcp.push(OverTcp { who, at: now, session: None, is_open: false });
                }
                (Asked::Tcp { .. }, false) if asks.n_opened > 0 && client.is_some() => {
                    // If the process has ended, `client` is its parent.
                    if let Some(other) = itself.filter(|it| !is_looptax(it)) {
                        self.came.other_over_tcp(other, now);
                    }
                }
                (Asked::Tcp { .. }, false) if client.is_none() => self.seen.n_tcp_of_unknown += asks.n_opened,
                _ => {}
            }
        }
        for (who, at) in self.came.take_recognised(&self.application) {
            self.came.over_tcp(Some(&who));
            if self.of.is_whole {
                self.seen.over_tcp.push(OverTcp { who: named(Some(&who)), at, session: None, is_open: false });
            }
        }
        self.seen.others_of_user = self.came.others_of(&self.application);
    }
}
