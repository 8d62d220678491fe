//! The connections that looptax found in a file or an environment, and the parts that it could not read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use looptax_model::dsn::{Address, Kind, MASK, Unspoken};
use looptax_model::record::Change;

use super::bound::Bound;
use super::change::{by_hand, change_for, moves_for};
use super::inside::Inside;
use super::pool::Pool;
use super::quotes::Quotes;
use super::rewrite::{Moves, Rewrite};
use super::setting::{Joins, Problem, Setting, Value};
use super::table::{Format, Role, Side, Words};
use crate::{Fields, Takes};

/// The word for an unknown kind of server.
pub(super) const UNKNOWN_KIND: &str = "unknown";

#[derive(Debug, Default)]
pub struct Reading {
    /// The connections, in the order of the file.
    pub found: Vec<Found>,
    /// Lines that name `SQLite`. `SQLite` has no server, so there is nothing to switch.
    pub sqlite: Vec<usize>,
    pub problems: Vec<Problem>,
    /// If nothing was found: each application with the settings that looptax looked for.
    pub looked_for: Vec<String>,
}

/// Whether the user and the password are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// The user and the password are in the source, or the server needs no login.
    Known,
    /// The user or the password is not known; the text is the reason, for a person.
    Unknown(String),
}

#[derive(Debug)]
pub struct Found {
    /// The applications to which the connection may belong: `WordPress`. There are several titles if the file does not
    /// show the application.
    pub titles: Vec<String>,
    /// The name that distinguishes the connection from the file's other connections, such as `default` in Django's
    /// `DATABASES`; empty if it has no name.
    pub label: String,
    /// The kind of the server as one word, such as `mysql`; `unknown` if it is not known.
    pub kind: &'static str,
    /// The address of the server, with the user; `None` if the server is not known, or if looptax does not speak its
    /// protocol. The address has a socket if the connection already uses the socket.
    pub address: Option<Address>,
    /// The address of a server whose protocol looptax does not speak.
    pub unspoken: Option<Unspoken>,
    /// Whether the connection was found only by the names of its settings, for an unknown application. looptax then
    /// writes nothing.
    pub is_guessed: bool,
    /// The transport that the connection uses now; `None` if that cannot be determined.
    pub takes: Option<Takes>,
    pub why: String,
    /// Whether the connection fails, or does not reach the socket in its settings; `why` has the reason. For example,
    /// the host is a path, or the setting gives the socket's file instead of its folder. If `fails` is true, `address`
    /// contains the socket from the settings.
    pub fails: bool,
    pub credentials: Credentials,
    /// The service whose environment contains the connection, if the services of a Compose file are read separately.
    pub service: Option<String>,
    /// The container to which the settings belong, if the file describes one.
    pub inside: Option<Inside>,
    /// The line of the connection; `None` in an environment.
    pub line: Option<usize>,
    /// The bytes of the setting in this line, including its name.
    pub at: Option<Range<usize>>,
    /// If the variables belong to a container and no sign shows the application: all applications that read variables
    /// with these names.
    pub may_be: Vec<String>,
    /// The only application in `may_be` that the container's image, command and dependencies do not contradict; `None`
    /// if no application or several applications remain.
    pub sole_reader: Option<String>,
    /// The largest number of connections that a process opens, if a setting gives it.
    pub pool: Option<Pool>,
    /// The files and objects from which the container takes some of these settings, in words: the `env_file` app.env.
    pub taken: Vec<String>,
    /// The values of those settings that come from a Secret.
    pub(super) secrets: Vec<String>,
    /// The line and the byte at which the settings' container begins; `None` if the file gives the container a unique
    /// name.
    pub(super) at_container: Option<(usize, usize)>,
    pub(super) bound: Vec<Bound>,
    /// The present signs, of those on which the table's advice for this connection depends.
    pub(super) signs: BTreeSet<&'static str>,
}

impl Found {
    /// Whether the connection is in the file of a web server or a proxy. Variables in such a file are not environment
    /// variables.
    pub fn is_of_a_proxy(&self) -> bool {
        self.bound.iter().any(|it| it.app.format.proxy().is_some())
    }

    pub fn has_known_kind(&self) -> bool {
        self.kind != UNKNOWN_KIND
    }

    /// Whether the only evidence of the connection is the names of settings, and not a driver call with an address.
    pub fn is_known_by_names(&self) -> bool {
        self.is_guessed && (self.address.is_none() || self.bound.iter().all(|it| it.app.calls.is_empty()))
    }

    /// Whether looptax has only advice for the connection, and no edit.
    pub fn has_no_lines(&self) -> bool {
        self.bound.iter().all(|it| it.app.change.is_empty())
    }

    /// Describes two things in the driver's own terms: the socket that the driver uses if the settings name no socket,
    /// and the setting that can name a socket.
    pub fn usual_socket(&self) -> (&'static str, &'static str) {
        let is_php = self.bound.iter().all(|it| it.app.format == Format::Php);
        match (self.kind == Kind::Postgres.name(), is_php) {
            (true, _) => (
                "without a host, libpq looks for the socket in its default folder",
                "set the host to the folder of the socket, or set PGHOST in the environment of the program",
            ),
            (false, true) => (
                "localhost means the driver's usual socket",
                "set the socket in the configuration, or mysqli.default_socket and pdo_mysql.default_socket in php.ini",
            ),
            (false, false) => (
                "localhost means the driver's usual socket",
                "set the socket in the configuration; with the C library, `socket` in [client] of my.cnf works, too",
            ),
        }
    }

    /// Whether the connection is the address at which a server listens, in the server's own file.
    pub fn is_of_the_server(&self) -> bool {
        !self.bound.is_empty() && self.bound.iter().all(|it| it.app.side != Side::Client)
    }

    /// The changes that move the connection to the socket, one change for each application to which the connection may
    /// belong. `fields` describes the socket; the password in `fields` is the text that is shown in place of the real
    /// password.
    pub fn changes(&self, fields: &Fields) -> Vec<Change> {
        let words = |it: &Words| it.are_general() || it.hold(|sign| self.signs.contains(sign));
        let change = |bound: &Bound| {
            let mut change = change_for(bound, fields, words);
            if change.edits.is_empty() && change.advice.is_empty() {
                change.advice = by_hand(bound.app, fields);
            }
            change
        };
        self.bound.iter().map(change).collect()
    }

    /// The changes for a connection whose lines looptax itself writes: without advice on how to write the lines, and
    /// with only the advice about this application.
    pub fn changes_to_write(&self, fields: &Fields) -> Vec<Change> {
        let words = |it: &Words| !it.are_general() && it.hold(|sign| self.signs.contains(sign));
        self.bound.iter().map(|bound| change_for(bound, fields, words)).collect()
    }

    /// The changes as bytes of the text, with the password from `fields`. `None` for an application whose change cannot
    /// be made in the file: the change belongs in the environment, or there is only advice.
    pub fn rewrites(&self, fields: &Fields, text: &str) -> Vec<Option<Vec<Rewrite>>> {
        let here = |moves: Option<Moves>| {
            let moves = moves.filter(|it| it.variables.is_empty() && it.own.is_empty())?;
            Some(moves.here)
        };
        self.moves(fields, text).into_iter().map(here).collect()
    }

    /// The changes to the text, together with the new values of environment variables.
    pub fn moves(&self, fields: &Fields, text: &str) -> Vec<Option<Moves>> {
        self.bound.iter().map(|bound| moves_for(bound, fields, text)).collect()
    }

    /// The byte of the text at which the container of the settings begins, or the byte of the first setting if no
    /// container is known.
    pub(super) fn place(&self) -> Option<usize> {
        let own = self.at_container.map(|it| it.1);
        own.or_else(|| self.first_place())
    }

    /// The settings in places that other containers may also read, and the settings whose value is a reference
    /// (`valueFrom`).
    pub(super) fn apart(&self) -> impl Iterator<Item = (Role, &Setting)> {
        let all = self.bound.iter().flat_map(|it| &it.roles).map(|(role, it)| (*role, it));
        all.filter(|(_, it)| it.joins == Joins::Apart || it.quotes == Quotes::Instead)
    }

    /// Describes the sources from which the container takes settings, and names the settings that stay unchanged there.
    /// `None` if the container takes no settings.
    pub fn taken_words(&self) -> Option<String> {
        let mut names: Vec<&str> = self.apart().filter_map(|(_, it)| it.path.first()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let from = Some(self.taken.join(" and ")).filter(|it| !it.is_empty())?;
        Some(match &*names {
            [] => format!("the settings are in {from}, which no other container in the file uses"),
            names => {
                let is_in_pod = self.inside.as_ref().is_some_and(Inside::is_in_pod);
                let podman = if is_in_pod {
                    "; except with an older `podman kube play`, in which `envFrom` takes precedence (podman issue \
                     27287)"
                } else {
                    ""
                };
                let names = names.join(", ");
                format!(
                    "{names} from {from}: looptax leaves them unchanged there; a new value goes into the container's own \
                     environment, which takes precedence{podman}"
                )
            }
        })
    }

    /// The name of the setting that gives the server's address.
    pub fn named_by(&self) -> Option<&str> {
        let roles = &self.bound.first()?.roles;
        let setting = [Role::Url, Role::Host, Role::Socket].iter().find_map(|it| roles.get(it))?;
        setting.path.first().map(String::as_str)
    }

    /// Whether some of the settings are in a Secret.
    pub fn has_secrets(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// Returns a text about the connection, with stars in place of values from a Secret.
    pub fn without_secrets(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| without(&text, secret))
    }

    /// The byte of the first setting in the text.
    pub(super) fn first_place(&self) -> Option<usize> {
        self.bound.iter().flat_map(|it| it.roles.values()).map(|it| it.start).min()
    }

    /// Returns the environment variables in the settings. The value is true for a variable that gives the server's
    /// address.
    pub fn variables(&self) -> BTreeMap<String, bool> {
        let mut found = BTreeMap::new();
        for (role, setting) in self.bound.iter().flat_map(|it| &it.roles) {
            let says_where = matches!(role, Role::Url | Role::Host | Role::Socket);
            if let Value::Variable { name, .. } = &setting.value {
                *found.entry(name.clone()).or_default() |= says_where;
            }
        }
        found
    }
}

/// Returns a text with stars in place of a word or of several consecutive words.
fn without(text: &str, word: &str) -> String {
    let is_part = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
    let (mut found, mut done) = (String::new(), 0);
    for (at, _) in text.match_indices(word).filter(|_| !word.is_empty()) {
        let end = at + word.len();
        let is_whole = !is_part(text[..at].chars().next_back()) && !is_part(text[end..].chars().next());
        if at >= done && is_whole {
            found.push_str(&text[done..at]);
            found.push_str(MASK);
            done = end;
        }
    }
    found + &text[done..]
}
