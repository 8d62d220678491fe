//! PostgreSQL's `pg_hba.conf`: which line lets a connection in over either transport.
//!
//! The first line that fits in type, database, user and address decides; there is no second try.
//!
//! # Source
//! postgresql.org/docs/current/auth-pg-hba-conf.html

mod read;
mod verdict;

use std::net::IpAddr;

pub use verdict::postgres_rules;

/// A line that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HbaLine {
    /// Its number in the file.
    pub number: u32,
    kind: String,
    databases: Vec<Name>,
    users: Vec<Name>,
    address: Option<String>,
    mask: Option<String>,
    /// Its method: `peer`, `scram-sha-256`.
    pub method: String,
    /// Whether its options name a map of system users to roles.
    has_map: bool,
}

/// A name in a list; in quotes it is no keyword.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Name {
    text: String,
    is_quoted: bool,
}

/// What stands between white space: names with commas between them.
type Word = Vec<Name>;

/// The lines of a file, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hba {
    lines: Vec<HbaLine>,
    /// Numbers of the lines that were not understood; what they say is not known.
    pub unread: Vec<u32>,
}

/// Whether a line fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    /// It depends on roles that cannot be seen from outside.
    Maybe,
}

/// Methods that take over the socket what they take over TCP, from any user of the machine.
const SAME_EVERYWHERE: [&str; 4] = ["trust", "password", "md5", "scram-sha-256"];

impl Hba {
    /// The first line for sockets under which somebody may not come in who comes in over TCP: it asks who
    /// the client's system user is (peer), or refuses. Lines for replication alone do not count.
    pub fn otherwise_on_sockets(&self) -> Option<&HbaLine> {
        let is_replication = |line: &HbaLine| {
            let names = &line.databases;
            names
                .iter()
                .all(|it| it.text == "replication" && !it.is_quoted)
        };
        let mut local = self.lines.iter().filter(|line| line.kind == "local");
        local.find(|line| !is_replication(line) && !SAME_EVERYWHERE.contains(&&*line.method))
    }

    /// The line for a connection over the socket (`address` is `None`) or over TCP without TLS; the
    /// flag says that an earlier line may fit as well, or was not understood.
    fn decides(
        &self,
        database: &str,
        user: &str,
        address: Option<IpAddr>,
    ) -> (Option<&HbaLine>, bool) {
        let mut is_unsure = false;
        for line in &self.lines {
            match line.fits(database, user, address) {
                Fit::Yes => {
                    let is_after_unread = self.unread.iter().any(|it| *it < line.number);
                    return (Some(line), is_unsure || is_after_unread);
                }
                Fit::Maybe => is_unsure = true,
                Fit::No => {}
            }
        }
        (None, is_unsure || !self.unread.is_empty())
    }
}

impl HbaLine {
    fn fits(&self, database: &str, user: &str, address: Option<IpAddr>) -> Fit {
        let by_kind = match (&*self.kind, address) {
            ("local", None) => Fit::Yes,
            ("host" | "hostnossl" | "hostnogssenc", Some(address)) => self.fits_address(address),
            _ => Fit::No,
        };
        [
            by_kind,
            fits_database(&self.databases, database, user),
            fits_user(&self.users, user),
        ]
        .into_iter()
        .fold(Fit::Yes, Fit::and)
    }

    fn fits_address(&self, address: IpAddr) -> Fit {
        let Some(own) = self.address.as_deref() else {
            return Fit::No;
        };
        match own {
            // An address of this machine is in its own network.
            "all" | "samehost" | "samenet" => return Fit::Yes,
            _ => {}
        }
        let (network, bits) = own.split_once('/').unwrap_or((own, ""));
        let Ok(network) = network.parse::<IpAddr>() else {
            // A name: `localhost` is what loopback addresses are called.
            return if own == "localhost" {
                Fit::Yes
            } else {
                Fit::Maybe
            };
        };
        let width = if network.is_ipv4() { 32 } else { 128 };
        let bits = match (bits.parse::<u32>(), self.mask.as_deref()) {
            (Ok(bits), _) => bits.min(width),
            (Err(_), Some(mask)) => match mask.parse::<IpAddr>() {
                Ok(mask) => value(mask).count_ones(),
                Err(_) => return Fit::No,
            },
            (Err(_), None) => return Fit::No,
        };
        let is_same = network.is_ipv4() == address.is_ipv4()
            && (bits == 0 || value(network) >> (width - bits) == value(address) >> (width - bits));
        if is_same { Fit::Yes } else { Fit::No }
    }

    /// As it stands in the file, but for spaces.
    fn shown(&self) -> String {
        let address = self.address.as_ref();
        let address = address.map(|it| format!(" {it}")).unwrap_or_default();
        let list = |names: &[Name]| {
            let names = names.iter().map(|name| {
                if name.is_quoted {
                    format!("\"{}\"", name.text)
                } else {
                    name.text.clone()
                }
            });
            names.collect::<Vec<_>>().join(",")
        };
        format!(
            "line {}: {} {} {}{address} {}",
            self.number,
            self.kind,
            list(&self.databases),
            list(&self.users),
            self.method
        )
    }
}

impl Fit {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Maybe, _) | (_, Self::Maybe) => Self::Maybe,
            _ => Self::Yes,
        }
    }
}

fn value(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn fits_database(names: &[Name], database: &str, user: &str) -> Fit {
    any(names.iter().map(|name| match name.keyword() {
        Some("all") => Fit::Yes,
        Some("sameuser") => yes(database == user),
        Some("samerole" | "samegroup") => Fit::Maybe,
        // Replication connections, and no database of that name.
        Some("replication") => Fit::No,
        _ => name.is(database),
    }))
}

fn fits_user(names: &[Name], user: &str) -> Fit {
    any(names.iter().map(|name| match name.keyword() {
        Some("all") => Fit::Yes,
        Some(role) if role.starts_with('+') => Fit::Maybe,
        _ => name.is(user),
    }))
}

impl Name {
    fn keyword(&self) -> Option<&str> {
        (!self.is_quoted).then_some(&*self.text)
    }

    /// `/pattern` is a regular expression and `@file` a list elsewhere: neither is followed.
    fn is(&self, wanted: &str) -> Fit {
        if self
            .keyword()
            .is_some_and(|text| text.starts_with(['/', '@']))
        {
            return Fit::Maybe;
        }
        yes(self.text == wanted)
    }
}

fn yes(is_so: bool) -> Fit {
    if is_so { Fit::Yes } else { Fit::No }
}

fn any(fits: impl Iterator<Item = Fit>) -> Fit {
    fits.fold(Fit::No, |best, fit| match (best, fit) {
        (Fit::Yes, _) | (_, Fit::Yes) => Fit::Yes,
        (Fit::Maybe, _) | (_, Fit::Maybe) => Fit::Maybe,
        _ => Fit::No,
    })
}
