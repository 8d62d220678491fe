//! What a file or an environment holds: its connections, and what was not understood.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use looptax_model::dsn::{Address, Kind, MASK, Unspoken};
use looptax_model::record::Change;

use super::bound::Bound;
use super::change::{change_for, moves_for};
use super::inside::Inside;
use super::pool::Pool;
use super::quotes::Quotes;
use super::rewrite::{Moves, Rewrite};
use super::setting::{Joins, Problem, Setting, Value};
use super::table::{Format, Role, Side, Words};
use crate::{Fields, Takes};

/// The word for a server of a kind that is not stated.
pub(super) const UNKNOWN_KIND: &str = "unknown";

#[derive(Debug, Default)]
pub struct Reading {
    /// The connections, in the order of the file.
    pub found: Vec<Found>,
    /// Lines that name `SQLite`, which has no server: there is nothing to switch.
    pub sqlite: Vec<usize>,
    /// What was not understood.
    pub problems: Vec<Problem>,
    /// What was looked for where nothing was found: an application and its settings.
    pub looked_for: Vec<String>,
}

/// Whether user and password are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// They are in the source, or none are needed.
    Known,
    /// They do not; why, for a person.
    Unknown(String),
}

#[derive(Debug)]
pub struct Found {
    /// The applications that may be meant: `WordPress`. Several where the file does not tell.
    pub titles: Vec<String>,
    /// Which of a file's: `default`; empty where there is one.
    pub label: String,
    /// The word for what is at the other end.
    pub kind: &'static str,
    /// Where it goes, who one is there; `None` where that is not known, or nothing that looptax can talk
    /// to. Its socket is set where the connection is over it already.
    pub address: Option<Address>,
    /// The same of a server that looptax does not talk to.
    pub unspoken: Option<Unspoken>,
    /// Whether it was found by the names of its settings alone, and nobody knows the application: then nothing is
    /// written.
    pub is_guessed: bool,
    /// The transport it takes now; `None` where it cannot be known.
    pub takes: Option<Takes>,
    pub why: String,
    /// Whether the connection fails, or does not reach the socket that is named; `why` is the reason. A path is given as the
    /// host, for example, or the socket's file instead of its folder. The address then contains the named socket.
    pub fails: bool,
    pub credentials: Credentials,
    /// The service of a Compose file whose environment names it, where services were told apart.
    pub service: Option<String>,
    /// The container that its settings are for, if the file describes one.
    pub inside: Option<Inside>,
    /// The line where it stands; `None` in an environment.
    pub line: Option<usize>,
    /// The bytes of the text that are the setting in this line, with its name.
    pub at: Option<Range<usize>>,
    /// Applications that read such variables, where a container has them and nothing says whose they are.
    pub may_be: Vec<String>,
    /// How many connections a process opens at most, if a setting beside it says that.
    pub pool: Option<Pool>,
    /// What its container takes some of its settings from, in words: the `env_file` app.env.
    pub taken: Vec<String>,
    /// Those values of its settings that a Secret has.
    pub(super) secrets: Vec<String>,
    /// The container that has them, if it has no name of its own in the file: the line and the byte where it begins.
    pub(super) at_container: Option<(usize, usize)>,
    pub(super) bound: Vec<Bound>,
    /// Those signs of the table's words about it that are there.
    pub(super) signs: BTreeSet<&'static str>,
}

impl Found {
    /// Whether it is in a web server's or a proxy's file, whose variables are no environment's.
    pub fn is_of_a_proxy(&self) -> bool {
        self.bound.iter().any(|it| it.app.format.proxy().is_some())
    }

    /// Whether it is known of which kind its server is.
    pub(super) fn has_known_kind(&self) -> bool {
        self.kind != UNKNOWN_KIND
    }

    /// Whether there is only advice for it, and no edit.
    pub fn has_no_lines(&self) -> bool {
        self.bound.iter().all(|it| it.app.change.is_empty())
    }

    /// The socket that the driver uses if none is named, and where to name one, by the driver's own terms.
    pub fn usual_socket(&self) -> (&'static str, &'static str) {
        let is_php = self.bound.iter().all(|it| it.app.format == Format::Php);
        match (self.kind == Kind::Postgres.name(), is_php) {
            (true, _) => (
                "without a host libpq uses its own folder",
                "set the host to the folder of the socket, or set PGHOST in the environment of the program",
            ),
            (false, true) => (
                "localhost means the driver's usual socket",
                "set the socket in the configuration, or mysqli.default_socket and pdo_mysql.default_socket in php.ini",
            ),
            (false, false) => (
                "localhost means the driver's usual socket",
                "set the socket in the configuration; for programs with the C library, `socket` in [client] of my.cnf also works",
            ),
        }
    }

    /// Whether it is where a server itself listens, by its own file.
    pub fn is_of_the_server(&self) -> bool {
        !self.bound.is_empty() && self.bound.iter().all(|it| it.app.side != Side::Client)
    }

    /// What has to be written for the socket, once per application that may be meant. `fields` is the
    /// socket; a password in it is what is shown in its place.
    pub fn changes(&self, fields: &Fields) -> Vec<Change> {
        let words = |it: &Words| it.are_general() || it.hold(|sign| self.signs.contains(sign));
        self.bound.iter().map(|bound| change_for(bound, fields, words)).collect()
    }

    /// The same for one whose lines looptax writes itself: words about the writing are left out, and what is said is about
    /// this application.
    pub fn changes_to_write(&self, fields: &Fields) -> Vec<Change> {
        let words = |it: &Words| !it.are_general() && it.hold(|sign| self.signs.contains(sign));
        self.bound.iter().map(|bound| change_for(bound, fields, words)).collect()
    }

    /// The same as bytes of the text that was read, with the password as it is in `fields`. `None` for an application
    /// whose change cannot be made there: what is to be written belongs into the environment, or is advice.
    pub fn rewrites(&self, fields: &Fields, text: &str) -> Vec<Option<Vec<Rewrite>>> {
        let here = |moves: Option<Moves>| {
            let moves = moves.filter(|it| it.variables.is_empty() && it.own.is_empty())?;
            Some(moves.here)
        };
        self.moves(fields, text).into_iter().map(here).collect()
    }

    /// The same with what variables of the environment have to become.
    pub fn moves(&self, fields: &Fields, text: &str) -> Vec<Option<Moves>> {
        self.bound.iter().map(|bound| moves_for(bound, fields, text)).collect()
    }

    /// Where its container begins in the text, or else the first of its settings.
    pub(super) fn place(&self) -> Option<usize> {
        let own = self.at_container.map(|it| it.1);
        own.or_else(|| self.first_place())
    }

    /// Its settings that stand where others may read them, too, and those that another one stands for.
    pub(super) fn apart(&self) -> impl Iterator<Item = (Role, &Setting)> {
        let all = self.bound.iter().flat_map(|it| &it.roles).map(|(role, it)| (*role, it));
        all.filter(|(_, it)| it.joins == Joins::Apart || it.quotes == Quotes::Instead)
    }

    /// Where the settings stand that its container takes from elsewhere, and which of these stay as they are; `None` if it
    /// takes none.
    pub fn taken_words(&self) -> Option<String> {
        let mut names: Vec<&str> = self.apart().filter_map(|(_, it)| it.path.first()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let from = Some(self.taken.join(" and ")).filter(|it| !it.is_empty())?;
        Some(match &*names {
            [] => format!("its settings are in {from}, which no other container in the file uses"),
            names => {
                let is_in_pod = self.inside.as_ref().is_some_and(Inside::is_in_pod);
                let podman = if is_in_pod {
                    "; except with an older `podman kube play`, in which `envFrom` wins (podman issue 27287)"
                } else {
                    ""
                };
                let names = names.join(", ");
                format!(
                    "{names} from {from}: looptax leaves that unchanged; the container's own environment wins{podman}"
                )
            }
        })
    }

    /// Whether a Secret has some of its settings.
    pub fn has_secrets(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// A text of it with stars for what a Secret has.
    pub fn without_secrets(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| without(&text, secret))
    }

    /// Where the first of its settings is in the text.
    pub(super) fn first_place(&self) -> Option<usize> {
        self.bound.iter().flat_map(|it| it.roles.values()).map(|it| it.start).min()
    }

    /// The variables of the environment that its settings are, and whether they say where it goes.
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

/// A text with stars in the place of a word, or of several.
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
