//! Random `pg_hba.conf` files, and the logins that they allow. Other parsers of such files are compared with this
//! code, which was written only from PostgreSQL's documentation.
//!
//! # Source
//! postgresql.org/docs/current/auth-pg-hba-conf.html

use std::collections::BTreeSet;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Users and databases that occur in the files; some have the same names as keywords.
pub const NAMES: [&str; 9] = ["alice", "bob", "carol", "shop", "Shop", "x y", "all", "sameuser", "replication"];

/// Addresses that occur in the files, and whether each includes connections from 127.0.0.1 and from `::1`; `None` if a
/// name lookup decides this.
const ADDRESSES: [(&str, Option<[bool; 2]>); 16] = [
    ("127.0.0.1/32", Some([true, false])),
    ("127.0.0.1 255.255.255.255", Some([true, false])),
    ("127.0.0.77/8", Some([true, false])),
    ("127.1.0.1 255.0.255.255", Some([true, false])),
    ("0.0.0.0/0", Some([true, false])),
    ("::1/128", Some([false, true])),
    ("::/0", Some([false, true])),
    ("all", Some([true, true])),
    ("samehost", Some([true, true])),
    ("samenet", Some([true, true])),
    ("localhost", Some([true, true])),
    ("127.0.0.2/32", Some([false, false])),
    ("10.0.0.0/8", Some([false, false])),
    ("fe80::/10", Some([false, false])),
    ("db.example.org", None),
    ("\"all\"", None),
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Keyword(&'static str),
    Name(&'static str),
    /// One of `+role`, `/pattern`, `@file` and `samerole`; the file does not show which names it matches.
    Hidden(&'static str),
}

#[derive(Debug, Clone)]
struct Rule {
    kind: &'static str,
    databases: Vec<Item>,
    users: Vec<Item>,
    address: (&'static str, Option<[bool; 2]>),
    method: &'static str,
    options: &'static str,
}

/// A file, as text and as rules.
#[derive(Debug, Clone)]
pub struct File {
    rules: Vec<Rule>,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Socket,
    /// TCP from 127.0.0.1 or from `::1`.
    Tcp {
        /// Whether the connection comes from `::1`, not from 127.0.0.1.
        is_v6: bool,
        wrap: Wrap,
    },
}

/// The encryption of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say it")]
pub enum Wrap {
    Plain,
    Tls,
    Gss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    /// The name of the database; `None` for physical replication.
    pub database: Option<&'a str>,
    pub user: &'a str,
}

/// A server's answer to a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The server refuses the login: the first line that matches rejects it, or no line matches.
    Refused,
    /// The server continues with this login method and these options.
    Asked(&'static str, &'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// All rules that a file may contain.
    Whole,
    /// Only rules whose result does not depend on anything outside the file.
    Plain,
    /// Only rules that work on a server without certificates, Kerberos and other roles; the database is always one of
    /// [`NAMES`].
    Live,
}

#[derive(Debug)]
pub struct Files {
    random: Xoshiro256PlusPlus,
    language: Language,
}

impl Files {
    /// Makes a generator; the same seed gives the same files.
    pub fn new(seed: u64, language: Language) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed), language }
    }

    fn below(&mut self, n: usize) -> usize {
        (self.random.next_u64() % n as u64) as usize
    }

    fn is_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Generates the next file: either random rules, or rules that are the same for socket and TCP except for at most
    /// a few changes.
    pub fn draw(&mut self) -> File {
        let mut rules = Vec::new();
        if self.is_in(4) {
            for _ in 0..=self.below(6) {
                rules.push(self.rule());
            }
        } else {
            let mut sides = [Vec::new(), Vec::new()];
            for _ in 0..=self.below(4) {
                self.add_alike(&mut sides);
            }
            // The lines for the socket keep their order, and so do the lines for TCP. Only the way in which both
            // sequences are mixed is random.
            let [mut local, mut host] = sides;
            local.reverse();
            host.reverse();
            while !local.is_empty() || !host.is_empty() {
                let side = if self.is_in(2) { &mut local } else { &mut host };
                rules.extend(side.pop());
            }
            if self.is_in(2) {
                self.change(&mut rules);
            }
        }
        // A server does not accept a file that has no rules.
        if rules.is_empty() {
            rules.push(self.rule());
        }
        let text = self.text(&rules);
        File { rules, text }
    }

    /// Adds a rule for the socket, and one or two rules for TCP with the same meaning.
    fn add_alike(&mut self, [local, host]: &mut [Vec<Rule>; 2]) {
        let mut rule = self.rule();
        rule.method = self.one(&["trust", "md5", "scram-sha-256", "password", "reject"]);
        rule.options = "";
        let with = |kind, address_idx: usize| Rule { kind, address: ADDRESSES[address_idx], ..rule.clone() };
        local.push(with("local", 0));
        match self.below(4) {
            0 => host.extend([with("host", 0), with("host", 5)]),
            1 => host.extend([with("host", 6), with("host", 4)]),
            2 => {
                let idx = 7 + self.below(3);
                host.extend([with("hostssl", idx), with("hostnossl", idx)]);
            }
            _ => host.push(with("host", 7 + self.below(4))),
        }
    }

    fn change(&mut self, rules: &mut Vec<Rule>) {
        let at = self.below(rules.len());
        let other = self.rule();
        match self.below(7) {
            0 => drop(rules.remove(at)),
            1 => rules.insert(at, other),
            2 => rules.push(other),
            3 => {
                let to = self.below(rules.len());
                rules.swap(at, to);
            }
            4 => rules[at].databases = other.databases,
            5 => rules[at].users = other.users,
            _ => rules[at].method = self.one(&["trust", "md5", "scram-sha-256", "reject"]),
        }
        for rule in rules.iter_mut() {
            if rule.kind == "hostgssenc" && !["gss", "trust"].contains(&rule.method) {
                rule.method = "reject";
            }
        }
    }

    fn rule(&mut self) -> Rule {
        let kinds = ["local", "local", "local", "host", "host", "hostssl", "hostnossl"];
        let kind = match self.below(9) {
            0 if self.language != Language::Live => self.one(&["hostgssenc", "hostnogssenc"]),
            _ => self.one(&kinds),
        };
        let n_addresses = if self.language == Language::Whole { ADDRESSES.len() } else { ADDRESSES.len() - 2 };
        let plain = ["trust", "md5", "scram-sha-256", "password", "reject"];
        let mut method = self.one(&plain);
        let mut options = "";
        match kind {
            "local" if self.is_in(8) => method = self.one(&["peer", "ident"]),
            "hostgssenc" => method = self.one(&["trust", "reject", "gss"]),
            "hostssl" if self.language != Language::Live && self.is_in(4) => {
                (method, options) = self.one(&[("scram-sha-256", "clientcert=verify-ca"), ("cert", "")]);
            }
            "local" | "hostnossl" | "hostnogssenc" => {}
            _ if self.language != Language::Live && self.is_in(12) => method = "ident",
            _ => {}
        }
        Rule {
            kind,
            databases: self.items(&["all", "all", "all", "sameuser", "replication"], &["samerole", "@names"]),
            users: self.items(&["all", "all", "all"], &["+staff", "/^a", "\"/b\"", "@names"]),
            address: ADDRESSES[self.below(n_addresses)],
            method,
            options,
        }
    }

    fn items(&mut self, keywords: &[&'static str], hidden: &[&'static str]) -> Vec<Item> {
        let n_items = if self.is_in(3) { 1 + self.below(3) } else { 1 };
        let items = (0..n_items).map(|_| match self.below(20) {
            0..3 if self.language == Language::Whole => Item::Hidden(self.one(hidden)),
            0..10 => Item::Keyword(self.one(keywords)),
            _ => Item::Name(self.one(&NAMES)),
        });
        items.collect()
    }

    fn text(&mut self, rules: &[Rule]) -> String {
        let mut text = String::new();
        for rule in rules {
            match self.below(12) {
                0 => text.push_str("# host all all all trust\n"),
                1 => text.push_str("  \t\n"),
                _ => {}
            }
            let mut words = vec![rule.kind.to_owned(), self.list(&rule.databases), self.list(&rule.users)];
            if rule.kind != "local" {
                words.push(rule.address.0.to_owned());
            }
            words.push(rule.method.to_owned());
            if !rule.options.is_empty() {
                words.push(rule.options.to_owned());
            }
            for word in words {
                let gap = match self.below(12) {
                    0 => "\\\n ",
                    1 => "\t\t",
                    _ => "  ",
                };
                let _ = write!(text, "{word}{gap}");
            }
            text.push_str(self.one(&["\n", "# trust\n", "\r\n"]));
        }
        text
    }

    fn list(&mut self, items: &[Item]) -> String {
        let mut text = String::new();
        for (idx, item) in items.iter().enumerate() {
            if idx > 0 {
                text.push_str(self.one(&[",", ", "]));
            }
            match item {
                Item::Keyword(word) | Item::Hidden(word) => text.push_str(word),
                Item::Name(name) => {
                    let has_to_be = name.contains(' ') || ["all", "sameuser", "replication"].contains(name);
                    if has_to_be || self.is_in(4) {
                        let _ = write!(text, "\"{name}\"");
                    } else {
                        text.push_str(name);
                    }
                }
            }
        }
        text
    }
}

impl File {
    /// Returns a server's answer to a login. `world` is a seed for facts that the file does not show: the members of a
    /// role, and the names that a pattern matches.
    pub fn answer(&self, login: Login<'_>, transport: Transport, world: u64) -> Answer {
        let hidden = |what: &str, name: &str| {
            let mut hasher = DefaultHasher::new();
            (what, name, world).hash(&mut hasher);
            hasher.finish().is_multiple_of(2)
        };
        let fits = |rule: &&Rule| {
            let is_about = match transport {
                Transport::Socket => rule.kind == "local",
                Transport::Tcp { is_v6, wrap } => {
                    let by_kind = match rule.kind {
                        "host" => true,
                        "hostssl" => wrap == Wrap::Tls,
                        "hostnossl" => wrap != Wrap::Tls,
                        "hostgssenc" => wrap == Wrap::Gss,
                        "hostnogssenc" => wrap != Wrap::Gss,
                        _ => false,
                    };
                    let by_address = match rule.address {
                        (_, Some(known)) => known[usize::from(is_v6)],
                        (name, None) => hidden(name, "address"),
                    };
                    by_kind && by_address
                }
            };
            let database = rule.databases.iter().any(|item| match login.database {
                None => match item {
                    Item::Hidden(list @ "@names") => hidden(list, "replication"),
                    item => *item == Item::Keyword("replication"),
                },
                Some(name) => match item {
                    Item::Keyword(word) => *word == "all" || *word == "sameuser" && name == login.user,
                    Item::Name(own) => *own == name,
                    Item::Hidden(what) => hidden(what, &format!("{name} {}", login.user)),
                },
            });
            let user = rule.users.iter().any(|item| match item {
                Item::Keyword(_) => true,
                Item::Name(own) => *own == login.user,
                Item::Hidden(what) => hidden(what, login.user),
            });
            is_about && database && user
        };
        match self.rules.iter().find(fits) {
            None => Answer::Refused,
            Some(rule) if rule.method == "reject" => Answer::Refused,
            // For sockets, the method `ident` means the same as `peer`.
            Some(rule) if rule.kind == "local" && rule.method == "ident" => Answer::Asked("peer", ""),
            Some(rule) => Answer::Asked(rule.method, rule.options),
        }
    }

    /// Returns all logins that may get different answers: with the names in the file, with two other names, and for
    /// replication.
    pub fn logins(&self) -> Vec<Login<'static>> {
        let rules = self.rules.iter();
        let items = rules.flat_map(|rule| rule.databases.iter().chain(&rule.users));
        let names = items.filter_map(|item| match item {
            Item::Name(name) => Some(*name),
            _ => None,
        });
        let mut names: BTreeSet<&str> = names.collect();
        names.extend(["nobody", "nothing"]);
        let databases = names.iter().map(|it| Some(*it)).chain([None]);
        let pairs = databases.flat_map(|database| {
            let users = names.iter();
            users.map(move |user| Login { database, user })
        });
        pairs.collect()
    }

    /// Returns whether the answers depend only on the file.
    pub fn is_plain(&self) -> bool {
        let is_hidden = |item: &Item| matches!(item, Item::Hidden(_));
        let mut rules = self.rules.iter();
        !rules.any(|rule| {
            rule.address.1.is_none() && rule.kind != "local" || rule.databases.iter().chain(&rule.users).any(is_hidden)
        })
    }

    /// Returns a login that gets different answers over the socket and over TCP, with the kind of TCP connection;
    /// `None` if there is no such login. `families` are the address families of the TCP connections; true is IPv6.
    pub fn differs(&self, families: &[bool], world: u64) -> Option<(Login<'static>, Transport)> {
        self.find(families, world, |tcp, socket| tcp != socket)
    }

    /// Returns a login that may be accepted over the socket and may be refused over TCP, with the kind of TCP
    /// connection; `None` if there is no such login. `families` are as in [`Self::differs`].
    pub fn gets_more(&self, families: &[bool], world: u64) -> Option<(Login<'static>, Transport)> {
        self.find(families, world, |tcp, socket| {
            let is_open = *tcp == Answer::Asked("trust", "");
            tcp != socket && !is_open && *socket != Answer::Refused
        })
    }

    fn find(
        &self,
        families: &[bool],
        world: u64,
        is_it: impl Fn(&Answer, &Answer) -> bool,
    ) -> Option<(Login<'static>, Transport)> {
        let wraps = [Wrap::Plain, Wrap::Tls, Wrap::Gss];
        let tcp = families.iter().flat_map(|is_v6| wraps.map(|wrap| Transport::Tcp { is_v6: *is_v6, wrap }));
        let tcp: Vec<_> = tcp.collect();
        let pairs = self.logins().into_iter().flat_map(|login| tcp.iter().map(move |tcp| (login, *tcp)));
        let mut pairs = pairs.filter(|(login, tcp)| {
            let socket = self.answer(*login, Transport::Socket, world);
            is_it(&self.answer(*login, *tcp, world), &socket)
        });
        pairs.next()
    }
}
