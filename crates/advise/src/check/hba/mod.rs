//! PostgreSQL's `pg_hba.conf`: which line lets a connection in over either transport.
//!
//! The first line that fits in type, database, user and address decides; there is no second try.
//!
//! # Source
//! postgresql.org/docs/current/auth-pg-hba-conf.html

mod address;
mod difference;
mod read;
mod verdict;

use std::net::IpAddr;

pub use address::Origin;
pub use difference::{Difference, Session};
pub use verdict::postgres_rules;

use address::Address;

/// A line that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HbaLine {
    /// Its number in the file; the first one where it goes over several.
    pub number: u32,
    kind: Kind,
    databases: Vec<Name>,
    users: Vec<Name>,
    address: Option<Address>,
    /// Its method: `peer`, `scram-sha-256`.
    pub method: String,
    options: Vec<String>,
}

/// Which connections a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Local,
    Host,
    HostSsl,
    HostNoSsl,
    HostGss,
    HostNoGss,
}

/// What wraps a connection over TCP; a socket has neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrap {
    None,
    Tls,
    Gss,
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
    /// It depends on what cannot be seen from outside: roles, files, the names of hosts.
    Maybe,
}

impl Hba {
    /// The line for a connection over the socket (`address` is `None`) or over TCP without TLS; the
    /// flag says that an earlier line may fit as well, or was not understood.
    fn decides(
        &self,
        database: &str,
        user: &str,
        address: Option<IpAddr>,
    ) -> (Option<&HbaLine>, bool) {
        let session = Session::Database(database);
        // What loopback addresses are called.
        let is_localhost = true;
        let origin = address.map(|ip| Origin::Known { ip, is_localhost });
        let mut is_unsure = false;
        for line in &self.lines {
            let by_transport = match origin {
                None => yes(line.kind == Kind::Local),
                Some(origin) => line.fits_tcp(Wrap::None, origin),
            };
            match by_transport.and(line.fits_login(session, user)) {
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

impl Kind {
    fn named(text: &str) -> Option<Self> {
        Some(match text {
            "local" => Self::Local,
            "host" => Self::Host,
            "hostssl" => Self::HostSsl,
            "hostnossl" => Self::HostNoSsl,
            "hostgssenc" => Self::HostGss,
            "hostnogssenc" => Self::HostNoGss,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Host => "host",
            Self::HostSsl => "hostssl",
            Self::HostNoSsl => "hostnossl",
            Self::HostGss => "hostgssenc",
            Self::HostNoGss => "hostnogssenc",
        }
    }
}

impl HbaLine {
    /// Whether it is about TCP connections from there that are wrapped so.
    fn fits_tcp(&self, wrap: Wrap, origin: Origin) -> Fit {
        let by_kind = match self.kind {
            Kind::Local => false,
            Kind::Host => true,
            Kind::HostSsl => wrap == Wrap::Tls,
            Kind::HostNoSsl => wrap != Wrap::Tls,
            Kind::HostGss => wrap == Wrap::Gss,
            Kind::HostNoGss => wrap != Wrap::Gss,
        };
        let address = self.address.as_ref().filter(|_| by_kind);
        address.map_or(Fit::No, |address| address.fits(origin))
    }

    fn fits_login(&self, session: Session<'_>, user: &str) -> Fit {
        fits_database(&self.databases, session, user).and(fits_user(&self.users, user))
    }

    /// Whether its options name a map of system users to roles.
    fn has_map(&self) -> bool {
        self.options.iter().any(|option| option.starts_with("map="))
    }

    /// As it stands in the file, but for spaces and the way a mask is written.
    fn shown(&self) -> String {
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
        let mut words = vec![
            self.kind.name().to_owned(),
            list(&self.databases),
            list(&self.users),
        ];
        words.extend(self.address.as_ref().map(ToString::to_string));
        words.push(self.method.clone());
        words.extend(self.options.iter().cloned());
        words.join(" ")
    }

    /// The same with its number before it.
    fn numbered(&self) -> String {
        format!("line {}: {}", self.number, self.shown())
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

fn fits_database(names: &[Name], session: Session<'_>, user: &str) -> Fit {
    any(names.iter().map(|name| match (name.keyword(), session) {
        (Some("replication"), session) => yes(session == Session::Replication),
        (Some(file), Session::Replication) if file.starts_with('@') => Fit::Maybe,
        // Nothing else is about physical replication, `all` neither.
        (_, Session::Replication) => Fit::No,
        (Some("all"), _) => Fit::Yes,
        (Some("sameuser"), Session::Database(database)) => yes(database == user),
        (Some("samerole" | "samegroup"), _) => Fit::Maybe,
        (_, Session::Database(database)) => name.is(database),
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

    /// `/pattern` is a regular expression from version 16 on, in quotes, too, and `@file` a list elsewhere:
    /// neither is followed.
    fn is(&self, wanted: &str) -> Fit {
        let is_file = self.keyword().is_some_and(|text| text.starts_with('@'));
        if is_file || self.text.starts_with('/') {
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
