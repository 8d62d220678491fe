//! A line of `pg_hba.conf`, and the connections and logins to which it applies.

use super::address::{Address, Origin};
use super::name::{Fit, Name, any, yes};

/// A line that the server applies, not a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HbaLine {
    /// The number of the line in the file; if the line continues, the number of its first part.
    pub number: u32,
    pub(super) kind: Kind,
    pub(super) databases: Vec<Name>,
    pub(super) users: Vec<Name>,
    pub(super) address: Option<Address>,
    /// The method of the line: `peer`, `scram-sha-256`.
    pub method: String,
    pub(super) options: Vec<String>,
}

/// The kind of connections to which a line applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Local,
    Host,
    HostSsl,
    HostNoSsl,
    HostGss,
    HostNoGss,
}

/// The encryption of a TCP connection. A connection over a socket is never encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrap {
    None,
    Tls,
    Gss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session<'a> {
    /// A session in a database, also for logical replication.
    Database(&'a str),
    Replication,
}

impl Kind {
    pub(super) fn named(text: &str) -> Option<Self> {
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

    pub(super) fn name(self) -> &'static str {
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
    /// Whether the line applies to TCP connections from `origin` with this encryption.
    pub(super) fn fits_tcp(&self, wrap: Wrap, origin: Origin) -> Fit {
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

    pub(super) fn fits_login(&self, session: Session<'_>, user: &str) -> Fit {
        fits_database(&self.databases, session, user).and(fits_user(&self.users, user))
    }

    /// Whether an option of the line names a map of system users to roles.
    pub(super) fn has_map(&self) -> bool {
        self.options.iter().any(|option| option.starts_with("map="))
    }

    /// The line as written in the file, apart from spaces and the form of a mask.
    pub(super) fn shown(&self) -> String {
        let list = |names: &[Name]| {
            let names =
                names.iter().map(|name| if name.is_quoted { format!("\"{}\"", name.text) } else { name.text.clone() });
            names.collect::<Vec<_>>().join(",")
        };
        let mut words = vec![self.kind.name().to_owned(), list(&self.databases), list(&self.users)];
        words.extend(self.address.as_ref().map(ToString::to_string));
        words.push(self.method.clone());
        words.extend(self.options.iter().cloned());
        words.join(" ")
    }

    /// The line with its number: `line 3: local all all peer`.
    pub(super) fn numbered(&self) -> String {
        format!("line {}: {}", self.number, self.shown())
    }
}

fn fits_database(names: &[Name], session: Session<'_>, user: &str) -> Fit {
    any(names.iter().map(|name| match (name.keyword(), session) {
        (Some("replication"), session) => yes(session == Session::Replication),
        // Only the word `replication` includes physical replication; the word `all` does not.
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
