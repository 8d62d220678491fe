//! Writes the text of each judgement.

use std::collections::BTreeSet;

use super::seen::{Asks, Seen, plural};

impl Seen {
    /// Lists the processes that still hold connections from before the file was written.
    pub(super) fn words_of_held(&self) -> String {
        let came = if self.is_over_socket() {
            "other processes connected over the socket, and".to_owned()
        } else if self.has_come_itself() {
            format!("{}; and", self.words_of_nothing())
        } else {
            "nothing new connected:".to_owned()
        };
        let who: Vec<&str> = self.held.iter().map(|it| &**it).collect();
        format!("{came} {} still has its earlier connection over TCP: restart or reload this process", who.join(", "))
    }

    /// Describes the connections that were seen, if they do not prove that the application moved.
    pub(super) fn words_of_nothing(&self) -> String {
        if self.is_unknown && self.has_come_itself() {
            let whose = self.whose();
            return format!(
                "a process connected over the socket{whose}, and nothing shows that this process is the \
                 application; pass the application with --user or --pid"
            );
        }
        if self.has_come_itself() && !self.is_over_socket() {
            let counted = self.by_kernel.map_or_else(String::new, |it| {
                let (connections, questions) = (plural(it.n_opened, "connection"), plural(it.n_turns, "request"));
                let refused = it.of_logins.map_or_else(String::new, |n| format!(" (a refused login causes up to {n})"));
                format!(
                    "; the kernel counted {} {connections}, and {} {questions} that were answered{refused}",
                    it.n_opened, it.n_turns
                )
            });
            let why = { self.unasked.as_ref() }
                .map_or_else(String::new, |it| format!("; looptax did not ask the server: {it}"));
            let whose = self.whose();
            return format!(
                "the application connected to the socket{whose}, and nothing shows that the login was \
                 accepted{counted}{why}"
            );
        }
        if !self.strangers.is_empty() {
            let who: Vec<&str> = self.strangers.iter().map(|it| &**it).collect();
            return format!(
                "only {} connected over the socket, and nothing shows that this is the application; pass the \
                 application with --pid",
                who.join(", ")
            );
        }
        if self.n_over_tcp > 0 {
            return format!(
                "{} short {} came over TCP, from processes that looptax could not see, and none over the socket",
                self.n_over_tcp,
                plural(self.n_over_tcp, "connection")
            );
        }
        "no process connected, neither over the socket nor over TCP".to_owned()
    }

    /// Describes the refused connections of other processes that use the application's file.
    pub(super) fn words_of_readers(&self) -> String {
        let n = self.by_readers.n_opened;
        format!(
            "{} read the new file and connected to the socket {n} times, but got no answer after the login",
            some(&self.readers)
        )
    }

    pub(super) fn how_it_is_known(&self) -> String {
        let whose = self.whose();
        let how = match (&self.unasked, self.by_kernel) {
            (Some(why), by_kernel) => {
                let n = by_kernel.map_or(self.n_of_application, |it| it.n_opened.max(self.n_of_application));
                let connections = plural(n, "connection");
                format!(
                    "the kernel saw {n} {connections} of the application to the socket{whose}; looptax did not ask \
                     the server about them: {why}"
                )
            }
            (None, _) if self.n_listed > 0 => {
                let n = self.n_listed;
                format!("the server saw {n} {} over the socket{whose}", plural(n, "session"))
            }
            (None, Some(Asks { n_opened, n_turns, .. })) => {
                let (connections, questions) = (plural(n_opened, "connection"), plural(n_turns, "request"));
                let refused = match self.n_refused {
                    Some(0) => ", and the server refused none",
                    _ => ", more than were refused",
                };
                format!(
                    "the kernel counted {n_opened} {connections} to the socket{whose}, with {n_turns} {questions} that \
                     were answered{refused}"
                )
            }
            (None, None) => {
                let counted = self.n_counted_over_socket();
                let connections = plural(counted, "connection");
                format!(
                    "the server counted {counted} {connections}; the kernel saw none of these over TCP, unlike the \
                     connections before the switch"
                )
            }
        };
        if self.over_tcp.is_empty() {
            format!("{how}; looptax saw no connection of the application over TCP")
        } else {
            format!("{how}; looptax saw no new TCP connection of the application after the last one ended")
        }
    }

    fn whose(&self) -> String {
        if self.over_socket.is_empty() { String::new() } else { format!(" ({})", some(&self.over_socket)) }
    }

    pub(super) fn words_of_tcp(&self, still: &BTreeSet<&str>) -> String {
        let who: Vec<&str> = still.iter().copied().collect();
        let who = who.join(", ");
        if self.is_over_socket() {
            return format!("still over TCP: {who}; other processes connected over the socket");
        }
        if self.has_come_itself() {
            return format!(
                "{who} connected over TCP; the application connected to the socket{}, and nothing shows that the \
                 login was accepted",
                self.whose()
            );
        }
        format!("still over TCP: {who}")
    }

    pub(super) fn refusals(&self) -> String {
        let Some(n) = self.n_refused else {
            let n = self.by_kernel.map_or(0, |it| it.n_opened);
            let whose = self.whose();
            return format!(
                "the application connected to the socket {n} times{whose}, but the server counted no new session"
            );
        };
        format!("the server refused {n} {} and accepted none over the socket", plural(n, "login"))
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.others.is_empty() {
            notes.push(format!(
                "other programs still use the account over TCP: {}; a program that uses the changed settings has to be \
                 restarted",
                some(self.others.iter())
            ));
        }
        let mut of_user = self.others_of_user.difference(&self.others).peekable();
        if of_user.peek().is_some() {
            notes.push(format!(
                "other programs of the same user have connected to this server over TCP since the switch: {}; a program \
                 that uses the changed settings has to be restarted",
                some(of_user)
            ));
        }
        if self.n_unclear > 0 {
            notes.push(format!(
                "{} short {} over TCP came from processes that may be the application's; looptax could not see \
                 which account these processes used",
                self.n_unclear,
                plural(self.n_unclear, "connection")
            ));
        }
        notes
    }
}

/// Lists the first three names.
pub(super) fn some<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let mut names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    let more = if names.len() > 3 { " and others" } else { "" };
    names.truncate(3);
    format!("{}{more}", names.join(", "))
}
