//! A line, and the connections and logins that it covers.

use super::address::{Address, Origin};
use super::name::{Fit, Name, any, yes};

/// A line in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HbaLine {
    /// Its number in the file; for a line that continues, the first number.
    pub number: u32,
    pub(super) kind: Kind,
    pub(super) databases: Vec<Name>,
    pub(super) users: Vec<Name>,
    pub(super) address: Option<Address>,
    /// Its method: `peer`, `scram-sha-256`.
    pub method: String,
    pub(super) options: Vec<String>,
}

/// The connections that a line covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Local,
    Host,
    HostSsl,
    HostNoSsl,
    HostGss,
    HostNoGss,
}

/// The encryption of a TCP connection; a connection over a socket is never encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrap {
    None,
    Tls,
    Gss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session<'a> {
    /// A database, also for logical replication.
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
    /// Whether it covers TCP connections from `origin` with this encryption.
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

    /// Whether its options name a map of system users to roles.
    pub(super) fn has_map(&self) -> bool {
        self.options.iter().any(|option| option.starts_with("map="))
    }

    /// The line as written in the file, except for spaces and the form of a mask.
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

    /// The line with its number before it.
    pub(super) fn numbered(&self) -> String {
        format!("line {}: {}", self.number, self.shown())
    }
}

fn fits_database(names: &[Name], session: Session<'_>, user: &str) -> Fit {
    any(names.iter().map(|name| match (name.keyword(), session) {
        (Some("replication"), session) => yes(session == Session::Replication),
        // Only `replication` covers physical replication; `all` does not.
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
