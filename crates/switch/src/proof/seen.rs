//! Holds the observations of one connection's clients since the files were written, and judges them.
//!
//! Plain data and one decision; this file inspects nothing itself.

use std::collections::BTreeSet;
use std::time::Duration;

use looptax_model::dsn::Protocol;
use looptax_model::record::StepCode;

/// The application counts as moved when it has neither opened nor had a connection over TCP for this long.
pub(super) const QUIET: Duration = Duration::from_secs(2);
/// Replaces `QUIET` if a process connected over TCP, or started just before the switch, and has not connected over the
/// socket: the process may connect at intervals, or may not have connected yet.
const QUIET_IF_MISSING: Duration = Duration::from_secs(6);
/// How long a refusal has to last before it counts: a server may refuse clients while the server or the clients
/// restart.
const MAY_BE_REFUSED: Duration = Duration::from_secs(5);
/// If the server counted fewer connections than this, its count proves nothing: the only counted connection may be
/// looptax's own login, which the server counted late.
pub(super) const FEWEST_COUNTED: u64 = 2;

/// The kernel's counts of some processes' requests over the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asks {
    pub(super) n_opened: u64,
    /// The number of requests that were answered.
    pub(super) n_turns: u64,
    /// The maximum number of requests in `n_turns` that can belong to logins, if the server refused all logins; `None`
    /// if this is not known.
    pub(super) of_logins: Option<u64>,
    /// The minimum number of requests in `n_turns` that belong to logins, if each connection logs in; `None` if the
    /// login method is not known.
    pub(super) of_whole_logins: Option<u64>,
}

impl Default for Asks {
    fn default() -> Self {
        Self { n_opened: 0, n_turns: 0, of_logins: Some(0), of_whole_logins: Some(0) }
    }
}

impl Asks {
    pub(super) fn add(&mut self, other: Self) {
        self.n_opened += other.n_opened;
        self.n_turns += other.n_turns;
        let sum = |one: Option<u64>, more: Option<u64>| one.zip(more).map(|(one, more)| one + more);
        self.of_logins = sum(self.of_logins, other.of_logins);
        self.of_whole_logins = sum(self.of_whole_logins, other.of_whole_logins);
    }
}

#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each was seen or not")]
pub(super) struct Seen {
    pub(super) protocol: Option<Protocol>,
    /// The reason why looptax cannot ask the server over the socket; `None` if it can.
    pub(super) unasked: Option<String>,
    /// The application's requests over the socket; `None` if looptax may not count in the kernel.
    pub(super) by_kernel: Option<Asks>,
    /// The requests over the socket of other processes that use the application's file, and the names of these
    /// processes.
    pub(super) by_readers: Asks,
    pub(super) readers: BTreeSet<String>,
    /// Whether such a process has a connection to the socket open that was open at the previous inspection.
    pub(super) is_reader_connected: bool,
    /// The value of `by_kernel` at the second-to-last request for the server's counts.
    pub(super) asked_before: Asks,
    /// The connections that any program opened over any transport, counted by the kernel. Counting begins before the
    /// files are written, because the server may be late to count a client that was just connecting.
    pub(super) n_opened_by_all: u64,
    /// How many of `n_opened_by_all` are not the application's.
    pub(super) n_opened_by_others: u64,
    /// The largest number of sessions over the socket that the server listed at one time, minus other programs'
    /// connections to the socket. At least this many sessions were the application's.
    pub(super) n_listed: u64,
    /// Whether nothing identifies the application, so that any client may belong to it.
    pub(super) is_unknown: bool,
    /// The TCP connections that the kernel counted for processes that ended before looptax inspected them.
    pub(super) n_tcp_of_unknown: u64,
    /// Whether another looptax process is running; the server also counts its logins.
    pub(super) is_looptax_about: bool,
    /// The connections of the application's processes to the socket, according to the kernel's list.
    pub(super) n_of_application: u64,
    /// How many of `n_of_application` are open at present.
    pub(super) n_open_of_application: u64,
    /// How many of `n_of_application` are open at present and were already open at the previous inspection.
    pub(super) n_lasting_of_application: u64,
    /// The processes that made the connections of `n_of_application`, as far as looptax saw these processes.
    pub(super) over_socket: BTreeSet<String>,
    /// The connections to the socket that were opened since the file was written and are open at present, minus the
    /// sessions that the server lists for the account.
    pub(super) n_not_listed: u64,
    /// Programs that connected to the socket and certainly are not the application.
    pub(super) strangers: BTreeSet<String>,
    /// The number of all connections to the socket, according to the kernel's list.
    pub(super) n_over_socket: u64,
    /// The number of all connections over TCP, including closed ones, according to the kernel's list.
    pub(super) n_over_tcp: u64,
    /// The number of connections that the server counted; `None` if the server does not count.
    pub(super) n_counted: Option<u64>,
    /// The largest number of connections since the start that the server can have counted. `n_counted` may be smaller,
    /// because it leaves out earlier connections that the server may have counted late.
    pub(super) n_counted_at_most: Option<u64>,
    /// Whether, before anything was written, the kernel saw every connection that the server counted. If so, a
    /// connection that the kernel does not see over TCP came over another transport.
    pub(super) is_tcp_seen_whole: bool,
    /// The number of logins that the server refused; `None` if the server does not report it.
    pub(super) n_refused: Option<u64>,
    /// When the last inspection began. Nothing is known about the time since then: on a busy machine, an inspection
    /// takes seconds.
    pub(super) looked: Duration,
    /// When the first connection over the socket was seen.
    pub(super) first_over_socket: Option<Duration>,
    /// The application's processes that still hold a TCP connection from before the switch.
    pub(super) held: BTreeSet<String>,
    /// The application's processes that hold a TCP connection that they opened since the start.
    pub(super) open_over_tcp: BTreeSet<String>,
    /// Whether a running process of the application has not connected over the socket, and either connected over TCP
    /// since counting began, or started shortly before.
    pub(super) is_one_missing: bool,
    /// When the application was last seen with an open TCP connection, whenever the connection was opened.
    pub(super) last_open_over_tcp: Option<Duration>,
    /// Whether a page of the application is requested continuously.
    pub(super) is_asked: bool,
    pub(super) over_tcp: Vec<OverTcp>,
    /// When the application was reloaded. Earlier connections may come from the old file.
    pub(super) reloaded: Duration,
    /// The number of TCP connections that were too short to show their account, from processes like those of the
    /// application.
    pub(super) n_unclear: u64,
    /// Other programs that use the account over TCP.
    pub(super) others: BTreeSet<String>,
    /// Other programs of the application's user that have connected over TCP; their account is not known.
    pub(super) others_of_user: BTreeSet<String>,
    /// The time since which logins have been refused and none was admitted.
    pub(super) refused_since: Option<Duration>,
    /// The time since which the server has not answered, and the last error.
    pub(super) gone: Option<(Duration, String)>,
    /// Whether processes of the application were running before, and no such process is running at present.
    pub(super) is_application_gone: bool,
    /// Whether the application, or a process that ended before looptax saw it, used the server over TCP before anything
    /// was written.
    pub(super) was_used: bool,
    /// Whether a command of looptax made the application read its files.
    pub(super) is_read_by_command: bool,
}

/// A connection of the application over TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OverTcp {
    pub(super) who: String,
    pub(super) at: Duration,
    /// The server's number of the session, if the server reports a number.
    pub(super) session: Option<u64>,
    /// Whether the server still lists the session.
    pub(super) is_open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The application has moved; the text contains the evidence.
    Holds(String),
    Fails(StepCode, String),
    /// Nothing is proved; the text explains why.
    Unproved(String),
}

impl Seen {
    /// Whether the kernel has so far seen every connection that the server counted.
    pub(super) fn is_seen_whole(&self) -> bool {
        self.n_over_tcp > 0 && self.n_counted == Some(self.n_over_tcp)
    }

    /// Whether the connections over the socket prove that the application moved. For that, the application has to be
    /// known, or a page of the application has to be requested continuously.
    fn is_proof(&self) -> bool {
        self.is_over_socket() && (!self.is_unknown || self.is_asked)
    }

    /// Whether a program that may be the application connected to the socket. Refusals of other programs do not count,
    /// because they have other reasons.
    fn has_come(&self) -> bool {
        let n_counted = self.n_counted.unwrap_or(0).saturating_sub(self.n_over_tcp);
        let by_count = self.is_tcp_seen_whole && n_counted >= FEWEST_COUNTED;
        self.has_come_itself() || by_count && self.by_kernel.is_none() && self.strangers.is_empty()
    }

    /// Whether at least one of the refused connections was the application's.
    fn is_refused_itself(&self) -> bool {
        let others = if self.by_kernel.is_some() { self.n_opened_by_others } else { 0 };
        self.has_come() && self.n_refused.map_or_else(|| self.is_wholly_refused(), |it| it > others)
    }

    /// Updates the times that later judgements need, from the observations until `now`.
    pub(super) fn pass(&mut self, now: Duration) {
        if self.is_over_socket() {
            self.first_over_socket.get_or_insert(now);
        }
        if self.n_refused.is_some_and(|it| it > 0) || self.is_wholly_refused() {
            self.refused_since.get_or_insert(now);
        }
        if self.is_open_over_tcp() {
            self.last_open_over_tcp = Some(now);
        }
    }

    fn is_open_over_tcp(&self) -> bool {
        !self.held.is_empty() || !self.open_over_tcp.is_empty() || self.over_tcp.iter().any(|it| it.is_open)
    }

    /// Judges the observations until `now`; `None` if no judgement is possible yet. `is_last` means that no time is left.
    pub(super) fn judge(&self, now: Duration, is_last: bool) -> Option<Judgement> {
        if let Some((since, why)) = &self.gone
            && (is_last || now >= *since + MAY_BE_REFUSED)
        {
            let words = format!("the server does not answer any more: {why}");
            return Some(Judgement::Fails(StepCode::ServerGone, words));
        }
        let last_over_tcp = self.over_tcp.iter().map(|it| it.at).max().max(self.last_open_over_tcp);
        let came_last = last_over_tcp.max(self.first_over_socket);
        let quiet = if self.is_one_missing { QUIET_IF_MISSING } else { QUIET };
        let is_quiet = came_last.is_some_and(|at| now >= at + quiet) && !self.is_open_over_tcp();
        let is_tcp_quiet = last_over_tcp.is_none_or(|at| now >= at + quiet);
        if self.is_proof() && is_quiet && self.gone.is_none() {
            return Some(Judgement::Holds(self.how_it_is_known()));
        }
        let is_refused = !self.is_over_socket() && self.refused_since.is_some() && self.is_refused_itself();
        if is_refused && (is_last || self.refused_since.is_some_and(|at| now >= at + MAY_BE_REFUSED)) {
            return Some(Judgement::Fails(StepCode::LoginsRefused, self.refusals()));
        }
        is_last.then(|| self.at_the_end(is_tcp_quiet))
    }

    /// Returns the processes that opened a TCP connection after the application was reloaded, or that opened a TCP
    /// connection since the start and still hold it.
    fn still_over_tcp(&self) -> BTreeSet<&str> {
        let still = { self.over_tcp.iter() }.filter(|it| it.is_open || it.at >= self.reloaded);
        still.map(|it| &*it.who).chain(self.open_over_tcp.iter().map(|it| &**it)).collect()
    }

    fn at_the_end(&self, is_tcp_quiet: bool) -> Judgement {
        let still = self.still_over_tcp();
        if !still.is_empty() {
            return Judgement::Fails(StepCode::StillOverTcp, self.words_of_tcp(&still));
        }
        if self.is_application_gone {
            let words = "the application's processes do not run any more".to_owned();
            return Judgement::Fails(StepCode::ApplicationGone, words);
        }
        // If a process connected and was refused, the switch fails, even if another process still has its TCP connection
        // from before the switch.
        if !self.is_proof() && self.asks_nothing() {
            return Judgement::Fails(StepCode::LoginsRefused, self.words_of_nothing());
        }
        if !self.is_proof() && self.are_readers_refused() {
            return Judgement::Fails(StepCode::LoginsRefused, self.words_of_readers());
        }
        if !self.held.is_empty() {
            return Judgement::Unproved(self.words_of_held());
        }
        if self.is_proof() && is_tcp_quiet {
            return Judgement::Holds(self.how_it_is_known());
        }
        if self.is_proof() {
            let words = "the application used TCP until shortly before the time limit: pass a longer --within";
            return Judgement::Unproved(words.to_owned());
        }
        if self.n_unclear > 0 || self.is_asked && self.n_over_tcp > 0 {
            let words = format!(
                "{} short {} came over TCP, and none over the socket",
                self.n_over_tcp,
                plural(self.n_over_tcp, "connection")
            );
            return Judgement::Fails(StepCode::StillOverTcp, words);
        }
        if self.was_used && self.is_read_by_command {
            // A client that fails before it connects, for example because of a wrong path, cannot be seen at all.
            let words = format!("{}; the server was used before the reload", self.words_of_nothing());
            return Judgement::Fails(StepCode::NothingConnected, words);
        }
        Judgement::Unproved(self.words_of_nothing())
    }
}

pub(super) fn plural(n: u64, word: &'static str) -> String {
    if n == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::proof) const S: fn(u64) -> Duration = Duration::from_secs;

    pub(in crate::proof) fn holds(seen: &Seen, now: u64) -> bool {
        matches!(seen.judge(S(now), false), Some(Judgement::Holds(_)))
    }

    fn fails_with(seen: &Seen, now: u64, is_last: bool) -> Option<StepCode> {
        match seen.judge(S(now), is_last) {
            Some(Judgement::Fails(code, _)) => Some(code),
            _ => None,
        }
    }

    #[test]
    fn r47_an_application_that_was_reloaded_and_does_not_come_is_taken_to_fail() {
        let mut seen = Seen { was_used: true, ..Seen::default() };
        assert!(matches!(seen.judge(S(60), true), Some(Judgement::Unproved(_))));
        seen.is_read_by_command = true;
        assert_eq!(fails_with(&seen, 60, true), Some(StepCode::NothingConnected));
        assert_eq!(fails_with(&seen, 59, false), None);
        // Nothing used the server before: the application may be one that connects once a day.
        seen.was_used = false;
        assert!(matches!(seen.judge(S(60), true), Some(Judgement::Unproved(_))));
        seen = Seen {
            was_used: true,
            is_read_by_command: true,
            n_listed: 1,
            n_of_application: 1,
            first_over_socket: Some(S(1)),
            ..seen
        };
        assert!(holds(&seen, 60));
    }

    #[test]
    fn a_session_over_the_socket_counts_once_tcp_was_quiet() {
        let mut seen = Seen { n_listed: 1, n_of_application: 1, first_over_socket: Some(S(1)), ..Seen::default() };
        assert!(!holds(&seen, 2));
        assert!(holds(&seen, 3));
        // A worker with the old configuration connects later.
        seen.over_tcp = vec![over_tcp("php 7", 4, true)];
        assert!(!holds(&seen, 5));
        assert!(!holds(&seen, 6));
        seen.over_tcp[0].is_open = false;
        assert!(holds(&seen, 6));
    }

    #[test]
    fn a_worker_that_came_over_tcp_alone_has_to_be_quiet_for_longer() {
        let mut seen = Seen { n_listed: 1, n_of_application: 1, first_over_socket: Some(S(1)), ..Seen::default() };
        seen.over_tcp = vec![over_tcp("php 7", 2, false)];
        seen.is_one_missing = true;
        assert!(!holds(&seen, 7));
        assert!(holds(&seen, 8));
        seen.is_one_missing = false;
        assert!(holds(&seen, 4));
    }

    #[test]
    fn at_the_end_of_the_time_tcp_must_have_been_quiet_too() {
        let seen = Seen {
            n_listed: 1,
            n_of_application: 1,
            first_over_socket: Some(S(1)),
            reloaded: S(8),
            over_tcp: vec![over_tcp("php 7", 7, false)],
            ..Seen::default()
        };
        let Some(Judgement::Unproved(words)) = seen.judge(S(8), true) else { panic!("{seen:?}") };
        assert!(words.contains("--within"), "{words}");
        assert!(matches!(seen.judge(S(9), true), Some(Judgement::Holds(_))));
    }

    fn over_tcp(who: &str, at: u64, is_open: bool) -> OverTcp {
        OverTcp { who: who.to_owned(), at: S(at), session: Some(1), is_open }
    }

    #[test]
    fn what_came_before_the_reload_counts_while_it_is_open() {
        let mut seen = Seen { reloaded: S(5), over_tcp: vec![over_tcp("php 7", 4, false)], ..Seen::default() };
        assert!(matches!(seen.judge(S(60), true), Some(Judgement::Unproved(_))));
        seen.over_tcp[0].is_open = true;
        assert_eq!(fails_with(&seen, 60, true), Some(StepCode::StillOverTcp));
    }

    #[test]
    fn who_never_rests_over_tcp_has_not_moved() {
        let seen = Seen {
            n_listed: 3,
            n_of_application: 3,
            first_over_socket: Some(S(1)),
            over_tcp: vec![over_tcp("worker 9", 20, false)],
            ..Seen::default()
        };
        assert_eq!(fails_with(&seen, 21, false), None);
        assert_eq!(fails_with(&seen, 21, true), Some(StepCode::StillOverTcp));
    }

    #[test]
    fn a_connection_that_was_refused_is_no_proof() {
        let seen = Seen {
            n_of_application: 2,
            n_over_socket: 2,
            n_counted: Some(2),
            n_refused: Some(2),
            first_over_socket: Some(S(1)),
            refused_since: Some(S(1)),
            ..Seen::default()
        };
        assert!(!holds(&seen, 4));
        assert_eq!(fails_with(&seen, 6, false), Some(StepCode::LoginsRefused));
        // The refused logins are those of another client, which never connected to the socket.
        let others = Seen {
            n_counted: Some(2),
            n_refused: Some(2),
            n_over_tcp: 2,
            refused_since: Some(S(1)),
            ..Seen::default()
        };
        assert_eq!(fails_with(&others, 60, true), None);
    }

    #[test]
    fn a_server_that_tells_of_no_refusals_shows_them_by_counting_nobody() {
        let by_kernel = Some(Asks { n_opened: 4, n_turns: 8, of_logins: Some(12), of_whole_logins: None });
        let mut seen = Seen {
            protocol: Some(Protocol::Postgres),
            by_kernel,
            n_opened_by_all: 4,
            n_counted: Some(0),
            n_counted_at_most: Some(0),
            n_of_application: 4,
            ..Seen::default()
        };
        seen.pass(S(1));
        assert_eq!(fails_with(&seen, 5, false), None);
        assert_eq!(fails_with(&seen, 6, false), Some(StepCode::LoginsRefused));
        // A connection that still waits for an answer, and a client that the server may have admitted.
        assert_eq!(fails_with(&Seen { n_lasting_of_application: 1, ..seen.clone() }, 6, true), None);
        assert_eq!(fails_with(&Seen { n_counted_at_most: Some(1), ..seen.clone() }, 6, true), None);
        // The clients that connected may be another program's.
        assert_eq!(fails_with(&Seen { is_unknown: true, ..seen }, 6, true), None);
    }

    #[test]
    fn who_never_asks_anything_after_its_login_is_taken_to_be_refused() {
        let with = |n_turns, of_whole_logins| Seen {
            protocol: Some(Protocol::Postgres),
            by_kernel: Some(Asks { n_opened: 8, n_turns, of_logins: Some(40), of_whole_logins }),
            n_of_application: 8,
            // The server admits other programs.
            n_counted: Some(9),
            n_opened_by_all: 17,
            ..Seen::default()
        };
        assert_eq!(fails_with(&with(24, Some(24)), 60, true), Some(StepCode::LoginsRefused));
        assert_eq!(fails_with(&with(24, Some(24)), 6, false), None);
        let half = Seen { held: ["php 7".to_owned()].into(), ..with(24, Some(24)) };
        assert_eq!(fails_with(&half, 60, true), Some(StepCode::LoginsRefused), "another process is still on TCP");
        assert_eq!(fails_with(&with(25, Some(24)), 60, true), None);
        assert_eq!(fails_with(&with(24, None), 60, true), None);
        let asks = Asks { n_opened: 1, n_turns: 3, of_logins: Some(5), of_whole_logins: Some(3) };
        let single = Seen { by_kernel: Some(asks), n_of_application: 1, ..with(3, Some(3)) };
        assert_eq!(fails_with(&single, 60, true), Some(StepCode::LoginsRefused));
        assert_eq!(fails_with(&Seen { n_open_of_application: 1, ..single }, 60, true), None);
        // A client of Redis may send its login and its requests together.
        let redis = |n_refused| Seen { protocol: Some(Protocol::Redis), n_refused, ..with(8, Some(8)) };
        assert_eq!(fails_with(&redis(Some(8)), 60, true), Some(StepCode::LoginsRefused));
        assert_eq!(fails_with(&redis(Some(0)), 60, true), None);
        assert_eq!(fails_with(&redis(None), 60, true), None);
        // A connection that still waits, and clients that may be another program's.
        assert_eq!(fails_with(&Seen { n_lasting_of_application: 1, ..with(24, Some(24)) }, 60, true), None);
        assert_eq!(fails_with(&Seen { is_unknown: true, ..with(24, Some(24)) }, 60, true), None);
    }

    #[test]
    fn who_reads_the_file_and_is_refused_counts_although_another_program_is_taken_for_the_application() {
        let seen = Seen {
            protocol: Some(Protocol::Mysql),
            by_kernel: Some(Asks::default()),
            by_readers: Asks { n_opened: 16, n_turns: 16, of_logins: Some(64), of_whole_logins: Some(16) },
            n_refused: Some(16),
            held: ["php 7".to_owned()].into(),
            ..Seen::default()
        };
        assert_eq!(fails_with(&seen, 60, true), Some(StepCode::LoginsRefused));
        assert_eq!(fails_with(&seen, 60, false), None);
        let others = [
            Seen { is_reader_connected: true, ..seen.clone() },
            Seen { n_refused: Some(1), ..seen.clone() },
            Seen { by_readers: Asks { n_turns: 17, ..seen.by_readers }, ..seen.clone() },
            Seen { by_kernel: Some(Asks { n_opened: 1, n_turns: 5, ..Asks::default() }), ..seen.clone() },
            Seen { by_kernel: None, ..seen },
        ];
        assert!(others.iter().all(|it| fails_with(it, 60, true).is_none()));
    }

    #[test]
    fn tcp_is_quiet_from_the_end_of_its_last_connection_on() {
        let mut seen = Seen { n_listed: 1, n_of_application: 1, held: ["php 7".to_owned()].into(), ..Seen::default() };
        seen.pass(S(1));
        seen.pass(S(9));
        seen.held.clear();
        seen.pass(S(10));
        assert!(!holds(&seen, 10));
        assert!(holds(&seen, 11));
    }

    #[test]
    fn who_is_not_known_proves_nothing_unless_its_page_is_asked() {
        let mut seen = Seen {
            n_listed: 1,
            n_of_application: 1,
            is_unknown: true,
            over_socket: ["python3 7".to_owned()].into(),
            first_over_socket: Some(S(1)),
            ..Seen::default()
        };
        assert!(!holds(&seen, 3));
        let Some(Judgement::Unproved(words)) = seen.judge(S(60), true) else { panic!("{seen:?}") };
        assert!(words.contains("python3 7") && words.contains("--user"), "{words}");
        seen.is_asked = true;
        assert!(holds(&seen, 3));
    }

    #[test]
    fn without_the_server_the_kernel_alone_counts_and_says_so() {
        let seen = Seen {
            protocol: Some(Protocol::Memcached),
            unasked: Some("it lists no connections".to_owned()),
            n_of_application: 1,
            first_over_socket: Some(S(0)),
            ..Seen::default()
        };
        let Some(Judgement::Holds(words)) = seen.judge(S(3), false) else { panic!("{seen:?}") };
        assert!(words.contains("looptax did not ask the server"), "{words}");
        // A server that may refuse the login.
        let seen = Seen { protocol: Some(Protocol::Mysql), ..seen };
        let Some(Judgement::Unproved(words)) = seen.judge(S(60), true) else { panic!("{seen:?}") };
        assert!(words.contains("login was accepted") && words.contains("lists no connections"), "{words}");
    }

    #[test]
    fn who_was_not_restarted_keeps_it_from_being_proved() {
        let mut seen = Seen {
            n_listed: 1,
            n_of_application: 1,
            first_over_socket: Some(S(1)),
            held: ["python3 7".to_owned()].into(),
            ..Seen::default()
        };
        assert!(!holds(&seen, 10));
        let Some(Judgement::Unproved(words)) = seen.judge(S(60), true) else { panic!("{seen:?}") };
        assert!(words.contains("python3 7 still has"), "{words}");
        seen.held.clear();
        assert!(holds(&seen, 10));
    }

    #[test]
    fn another_program_with_the_account_proves_nothing_of_the_application() {
        let mut seen = Seen {
            n_listed: 1,
            n_over_socket: 1,
            n_counted: Some(5),
            first_over_socket: Some(S(1)),
            strangers: ["mariadb 9".to_owned()].into(),
            ..Seen::default()
        };
        assert!(!holds(&seen, 10));
        let Some(Judgement::Unproved(words)) = seen.judge(S(60), true) else { panic!("{seen:?}") };
        assert!(words.contains("only mariadb 9"), "{words}");
        seen.n_of_application = 1;
        assert!(holds(&seen, 10));
    }

    #[test]
    fn a_page_that_goes_on_over_tcp_has_not_moved() {
        let mut seen = Seen { n_over_tcp: 30, n_counted: Some(30), ..Seen::default() };
        assert!(matches!(seen.judge(S(60), true), Some(Judgement::Unproved(_))));
        seen.is_asked = true;
        assert_eq!(fails_with(&seen, 60, true), Some(StepCode::StillOverTcp));
    }

    #[test]
    fn nothing_proves_nothing() {
        let judged = Seen::default().judge(S(60), true);
        assert!(matches!(judged, Some(Judgement::Unproved(_))), "{judged:?}");
        let gone = Seen { is_application_gone: true, ..Seen::default() };
        assert_eq!(fails_with(&gone, 60, true), Some(StepCode::ApplicationGone));
    }
}
