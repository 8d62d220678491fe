//! The wire protocols that looptax speaks, one for each family of servers.
//!
//! This file contains only data; the crate `looptax-wire` reads and writes the protocols.

use std::fmt;
use std::path::Path;

use super::{Kind, Protocol};

impl Protocol {
    /// Returns the kind of server to assume if only the protocol is known.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Mysql => Kind::Mysql,
            Self::Postgres => Kind::Postgres,
            Self::Redis => Kind::Redis,
            Self::Memcached => Kind::Memcached,
            Self::Mongodb => Kind::Mongodb,
            Self::Fastcgi => Kind::PhpFpm,
            Self::Http => Kind::Http,
            Self::Echo => Kind::Echo,
        }
    }

    /// Returns the protocol's name in commands and records: `mysql`.
    pub const fn name(self) -> &'static str {
        self.kind().name()
    }

    /// Returns the protocol's proper name: `MySQL`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Fastcgi => "FastCGI",
            _ => self.kind().facts().title,
        }
    }

    /// Checks whether a socket with this name may belong to a server of this protocol on this port.
    pub fn may_name(self, path: &Path, port: u16) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_lowercase();
        if self == Self::Postgres {
            return name == format!(".s.pgsql.{port}");
        }
        let facts = Kind::ALL.into_iter().map(Kind::facts);
        let its = facts.filter(|it| it.protocol == Some(self));
        let mut names = its.flat_map(|it| it.usual.names);
        names.any(|it| name.contains(it)) && !name.contains("mysqlx")
    }

    /// Returns the default port; 0 for the echo server, which has no default port.
    pub const fn port(self) -> u16 {
        match self {
            Self::Mysql => 3306,
            Self::Postgres => 5432,
            Self::Redis => 6379,
            Self::Memcached => 11_211,
            Self::Mongodb => 27_017,
            Self::Fastcgi => 9000,
            Self::Http => 80,
            Self::Echo => 0,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
