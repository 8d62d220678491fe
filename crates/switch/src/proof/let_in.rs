//! Decides whether the server admitted the application over the socket, and which observations show that.
//!
//! Each conclusion is true even if other programs use the same account over the socket, or if the server refuses other
//! programs. Called by `seen`, which judges.

use looptax_host::eyes::{Counted, Counts};
use looptax_model::dsn::Protocol;

use super::seen::{Asks, FEWEST_COUNTED, Seen};

/// The number of TCP connections is used only if it is below this limit. Among more connections, two may have used the
/// same port, and would count as one.
const MOST_COUNTED: u64 = 1000;

/// The maximum number of turns of a PostgreSQL login: the start message, and two messages of SCRAM. A turn is a message
/// of the client and the server's answer.
const MOST_OF_METHOD: u64 = 3;

/// The maximum number of turns of a MySQL or MariaDB login with any plugin, including two turns of TLS.
const MOST_OF_PLUGINS: u64 = 6;

/// Returns the largest number of turns that can belong to logins, assuming that the server refused every login; `None`
/// if this number is not known. `method` is the login method of all accounts that the application may use, if it is
/// known.
///
/// # Source
/// A login of MySQL or MariaDB has at most these turns: two turns of TLS, the answer to the greeting, another method, a
/// request for the server's key, and the password. A login of PostgreSQL has at most these turns: requests for GSSAPI
/// and for TLS, the start, and one turn for a password or two turns for SCRAM. Over a socket libpq requests neither
/// GSSAPI nor TLS (`fe-connect.c`).
pub(super) fn most_login_turns(
    protocol: Protocol,
    method: Option<&str>,
    has_libpq: Option<bool>,
    counted: &Counted,
) -> Option<u64> {
    let Counts { n_opened, .. } = counted.counts;
    match protocol {
        Protocol::Mysql => Some(n_opened * method.map_or(MOST_OF_PLUGINS, turns_of_plugin)),
        Protocol::Postgres => {
            let of_method = method.map_or(MOST_OF_METHOD, turns_of);
            let most = n_opened * if has_libpq == Some(true) { of_method } else { of_method + 2 };
            // A process that ended before looptax saw it may have been a short command that uses libpq, whose logins
            // have fewer turns. The process sends no more turns, so at most its turns so far can belong to logins.
            let is_over = has_libpq.is_none() && counted.client.as_ref().is_some_and(|it| it.has_ended);
            Some(if is_over { most.min(counted.counts.n_turns()) } else { most })
        }
        _ => None,
    }
}

/// Returns the smallest number of turns that belong to logins, assuming that each of these connections logs in; `None`
/// if this number is not known.
pub(super) fn least_login_turns(protocol: Protocol, method: Option<&str>, n_opened: u64) -> Option<u64> {
    match protocol {
        // A login has at least one turn: in MySQL the answer to the greeting, in Redis `AUTH`.
        Protocol::Mysql | Protocol::Redis => Some(n_opened),
        Protocol::Postgres => method.map(|it| n_opened * turns_of(it)),
        _ => None,
    }
}

/// Returns the turns of a `PostgreSQL` login with this method.
fn turns_of(method: &str) -> u64 {
    match method {
        "none" => 1,
        "password" | "md5" => 2,
        _ => MOST_OF_METHOD,
    }
}

/// Returns the number of turns of a MySQL or MariaDB login without TLS, for an account that has only this plugin. The
/// turns are the answer to the greeting, a change from the greeting's plugin to this plugin, and the plugin's further
/// messages.
fn turns_of_plugin(plugin: &str) -> u64 {
    match plugin {
        "mysql_native_password" | "client_ed25519" => 2,
        _ => 4,
    }
}

/// Whether a server of this protocol may refuse a client after the client has connected.
fn has_logins(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Mysql | Protocol::Postgres | Protocol::Redis | Protocol::Mongodb)
}

impl Seen {
    /// Returns the number of connections over the socket, derived from the server's count: all connections, minus those
    /// that the kernel saw over TCP, and minus the refused connections. If the kernel may have missed connections over
    /// TCP, the number is not usable, and 0 is returned.
    pub(super) fn n_counted_over_socket(&self) -> u64 {
        let is_known = (self.n_over_socket > 0 || self.is_tcp_seen_whole) && self.held.is_empty();
        let is_countable = is_known && self.n_over_tcp < MOST_COUNTED;
        let counted = self.n_counted.filter(|_| is_countable).unwrap_or(0);
        let rest = counted.saturating_sub(self.n_over_tcp).saturating_sub(self.n_refused.unwrap_or(0));
        if rest < FEWEST_COUNTED { 0 } else { rest }
    }

    /// Whether the server admitted the application over the socket. This requires that the application's own processes
    /// connected, and that the server accepted them. Other programs may use the same account over the socket.
    pub(super) fn is_over_socket(&self) -> bool {
        self.has_come_itself() && (self.n_listed > 0 || self.is_let_in_unasked() || self.is_let_in_by_count())
    }

    /// Whether a process of the application was seen on the socket.
    pub(super) fn has_come_itself(&self) -> bool {
        self.n_of_application > 0 || self.by_kernel.is_some_and(|it| it.n_opened > 0)
    }

    /// Whether the server admitted the client; used if looptax cannot ask the server. Each of these facts can show it:
    /// the application got more answers than refused logins can get; the server counts refusals, and has counted none;
    /// the protocol has no logins; a page of the application works as before.
    fn is_let_in_unasked(&self) -> bool {
        let lets_all_in = self.is_asked || self.protocol.is_some_and(|it| !has_logins(it));
        let is_answered = self.by_kernel.map_or(lets_all_in, |it| it.n_turns > 0);
        self.unasked.is_some() && is_answered && (lets_all_in || self.has_worked() || self.n_refused == Some(0))
    }

    /// Whether the application got more answers than refused logins can get.
    fn has_worked(&self) -> bool {
        self.by_kernel.is_some_and(|it| it.of_logins.is_some_and(|most| it.n_turns > most))
    }

    /// Whether the server answered more of the application's logins or requests than it can have refused.
    fn is_let_in_by_count(&self) -> bool {
        let Some(now) = self.by_kernel else {
            return self.is_let_in_by_rest();
        };
        let (before, has_worked) = (self.asked_before, self.has_worked());
        let is_not_refused = |n: u64| self.n_refused.is_some_and(|refused| n > refused);
        match self.protocol {
            Some(Protocol::Mysql) => has_worked || now.n_turns > 0 && is_not_refused(before.n_opened),
            // Redis refuses a login at the first request, so the number of requests is compared with the number of
            // refusals. The server's list contains every connection that is still open, except connections with another
            // account, such as the account of another program of the same user.
            Some(Protocol::Redis) => now.n_opened > self.n_not_listed && is_not_refused(before.n_turns),
            Some(Protocol::Postgres) => {
                let refused = self.n_opened_by_all.saturating_sub(self.n_counted.unwrap_or(0));
                // The server may have counted a connection that the kernel's count does not contain yet, because the
                // two counts are taken at different times.
                let is_more = now.n_opened >= refused + FEWEST_COUNTED;
                // Clients that are counted late make the number of refusals too small.
                let has_asked = now.of_whole_logins.is_none_or(|least| now.n_turns > least);
                has_worked || self.n_counted.is_some() && is_more && has_asked
            }
            _ => false,
        }
    }

    /// Whether the application connected and disconnected, but the server cannot have counted any client in that time.
    /// The server counts every client that it admits.
    pub(super) fn is_wholly_refused(&self) -> bool {
        let counts_who_is_in = self.protocol == Some(Protocol::Postgres) && !self.is_unknown;
        let has_come = self.by_kernel.is_some_and(|it| it.n_opened >= FEWEST_COUNTED);
        let is_none_in = self.n_counted_at_most == Some(0) && self.n_listed == 0 && self.n_lasting_of_application == 0;
        counts_who_is_in && has_come && is_none_in
    }

    /// Whether the application connected, closed each connection, and got no answers except those to its logins. A
    /// client of Redis may send its login and its requests together. So Redis has one more condition: the number of
    /// refused logins is at least as high as the number of answered requests.
    pub(super) fn asks_nothing(&self) -> bool {
        let is_refused = self.n_refused.is_some_and(|it| it >= self.asked_before.n_turns.max(FEWEST_COUNTED));
        let has_refused = self.protocol != Some(Protocol::Redis) || is_refused;
        let is_known = !self.is_unknown && self.n_lasting_of_application == 0 && has_refused;
        let is_no_more = |it: Asks| it.of_whole_logins.is_some_and(|least| it.n_turns <= least);
        // A single connection that is still open may be about to send a request.
        let fewest = if self.n_open_of_application == 0 { 1 } else { FEWEST_COUNTED };
        is_known && self.by_kernel.is_some_and(|it| it.n_opened >= fewest && is_no_more(it))
    }

    /// Whether other processes that use the application's file connected, closed each connection, and got no answers
    /// except those to their logins, while the processes that looptax takes for the application did not connect.
    pub(super) fn are_readers_refused(&self) -> bool {
        let it = self.by_readers;
        let is_no_more = it.of_whole_logins.is_some_and(|least| it.n_turns <= least);
        let fewest = if self.protocol == Some(Protocol::Redis) { it.n_turns } else { 0 };
        let is_refused = self.n_refused.is_none_or(|n| n >= fewest.max(FEWEST_COUNTED));
        let is_alone = self.by_kernel.is_some_and(|own| own.n_opened == 0) && !self.is_reader_connected;
        is_alone && it.n_opened >= FEWEST_COUNTED && is_no_more && is_refused
    }

    /// Whether the server admitted the client, if looptax knows only the server's counts. looptax subtracts all known
    /// connections from the server's count, and judges by the number that is left. This proves something only if no
    /// other client connects.
    fn is_let_in_by_rest(&self) -> bool {
        let is_alone = self.strangers.is_empty() && !self.is_looptax_about;
        let rest = self.n_counted_over_socket();
        match self.protocol {
            // PostgreSQL counts only connections that it admitted.
            Some(Protocol::Postgres) => is_alone && rest > 0,
            // MySQL and MariaDB also count connections that never log in, and such connections stay open.
            Some(Protocol::Mysql) => is_alone && rest >= self.n_open_of_application + FEWEST_COUNTED,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use looptax_host::eyes::Asked;

    use super::*;
    use crate::proof::seen::Asks;
    use crate::proof::seen::tests::{S, holds};

    #[test]
    fn without_the_kernel_s_count_what_is_left_of_the_server_s_is_a_proof_where_nobody_else_is_about() {
        let mut seen = Seen {
            protocol: Some(Protocol::Mysql),
            n_counted: Some(4),
            n_over_tcp: 1,
            n_over_socket: 1,
            n_of_application: 1,
            first_over_socket: Some(S(1)),
            ..Seen::default()
        };
        assert!(holds(&seen, 3));
        // The open connections may never have logged in.
        seen.n_open_of_application = 2;
        assert!(!holds(&seen, 3));
        seen.n_open_of_application = 0;
        // Another looptax process may have logged in, or another program connected.
        seen.is_looptax_about = true;
        assert!(!holds(&seen, 3));
        seen.is_looptax_about = false;
        seen.strangers = ["mariadb 9".to_owned()].into();
        assert!(!holds(&seen, 3));
        seen.strangers.clear();
        // All connections came over TCP.
        seen.n_over_tcp = 4;
        assert!(!holds(&seen, 3));
        // Redis also counts connections that sent nothing.
        seen = Seen { n_over_tcp: 1, protocol: Some(Protocol::Redis), ..seen };
        assert!(!holds(&seen, 3));
    }

    #[test]
    fn a_server_that_is_not_asked_let_it_in_if_more_was_answered_than_logins_that_it_refuses() {
        let asks = |n_turns, of_logins| Asks { n_opened: 2, n_turns, of_logins, of_whole_logins: None };
        let with = |protocol, now| Seen {
            protocol: Some(protocol),
            unasked: Some("a pooler".to_owned()),
            first_over_socket: Some(S(1)),
            n_of_application: 2,
            by_kernel: now,
            ..Seen::default()
        };
        assert!(!holds(&with(Protocol::Postgres, Some(asks(6, Some(6)))), 3));
        assert!(holds(&with(Protocol::Postgres, Some(asks(7, Some(6)))), 3));
        // Without the kernel's count, only a server that admits every client counts as having admitted this client.
        assert!(!holds(&with(Protocol::Postgres, None), 3));
        assert!(holds(&with(Protocol::Memcached, None), 3));
        assert!(!holds(&with(Protocol::Memcached, Some(asks(0, None))), 3));
        assert!(holds(&with(Protocol::Memcached, Some(asks(1, None))), 3));
        assert!(holds(&Seen { is_asked: true, ..with(Protocol::Postgres, None) }, 3));
        // Redis needs a count of refusals that is zero.
        assert!(!holds(&with(Protocol::Redis, Some(asks(4, None))), 3));
        assert!(holds(&Seen { n_refused: Some(0), ..with(Protocol::Redis, Some(asks(4, None))) }, 3));
    }

    #[test]
    fn a_login_has_no_more_turns_than_the_only_plugin_of_its_account() {
        let counts = Counts { n_opened: 3, ..Counts::default() };
        let asked = Asked::Tcp { to: "127.0.0.1:3306".parse().unwrap(), network: 0 };
        let counted = Counted { asked, client: None, server: None, counts };
        let most = |method| most_login_turns(Protocol::Mysql, method, None, &counted);
        assert_eq!(most(None), Some(18));
        assert_eq!(most(Some("mysql_native_password")), Some(6));
        assert_eq!(most(Some("caching_sha2_password")), Some(12));
    }

    #[test]
    fn by_the_kernel_s_count_the_application_was_let_in_if_more_was_answered_than_refused() {
        let asks = |n_opened, n_turns| Asks { n_opened, n_turns, of_logins: Some(6 * n_opened), of_whole_logins: None };
        let base = Seen { first_over_socket: Some(S(1)), n_refused: Some(3), n_counted: Some(9), ..Seen::default() };
        let with = |protocol, now, asked_before| Seen {
            protocol: Some(protocol),
            by_kernel: Some(now),
            asked_before,
            ..base.clone()
        };
        // As many connections as refusals, with one request each.
        assert!(!holds(&with(Protocol::Mysql, asks(3, 3), asks(3, 3)), 3));
        assert!(holds(&with(Protocol::Mysql, asks(4, 4), asks(4, 4)), 3));
        // A connection whose refusal is not counted yet, and connections that sent nothing.
        assert!(!holds(&with(Protocol::Mysql, asks(4, 4), asks(3, 3)), 3));
        assert!(!holds(&with(Protocol::Mysql, asks(9, 0), asks(9, 0)), 3));
        // More requests than a login has.
        assert!(holds(&with(Protocol::Mysql, asks(1, 7), asks(0, 0)), 3));
        assert!(!holds(&with(Protocol::Redis, asks(1, 3), asks(1, 3)), 3));
        assert!(holds(&with(Protocol::Redis, asks(1, 4), asks(1, 4)), 3));
        // An open connection that is not in the server's list uses another account.
        let open = Seen { n_not_listed: 1, ..with(Protocol::Redis, asks(1, 4), asks(1, 4)) };
        assert!(!holds(&open, 3));
        assert!(holds(&Seen { n_listed: 1, ..open.clone() }, 3));
        assert!(holds(&Seen { by_kernel: Some(asks(2, 8)), ..open }, 3));
        // All programs together opened eleven connections; the server admitted nine of them.
        let mut postgres = Seen { n_opened_by_all: 11, ..with(Protocol::Postgres, asks(2, 6), asks(2, 6)) };
        assert!(!holds(&postgres, 3));
        // One more connection may be the one that the server counted and the kernel did not.
        postgres.by_kernel = Some(asks(3, 9));
        assert!(!holds(&postgres, 3));
        postgres.by_kernel = Some(asks(4, 9));
        assert!(holds(&postgres, 3));
        // No more answers than the refused logins have: the server counted another client late.
        let of_whole_logins = Some(12);
        postgres.by_kernel = Some(Asks { of_whole_logins, ..asks(4, 12) });
        assert!(!holds(&postgres, 3));
        postgres.by_kernel = Some(Asks { of_whole_logins, ..asks(4, 13) });
        assert!(holds(&postgres, 3));
        // The server counted more clients than the kernel; the application opened nothing that the kernel saw.
        let nothing = Seen { n_opened_by_all: 8, n_of_application: 1, by_kernel: Some(asks(0, 0)), ..postgres.clone() };
        assert!(!holds(&nothing, 3));
        // A server that reports no counts.
        postgres.n_counted = None;
        assert!(!holds(&postgres, 3));
    }
}
