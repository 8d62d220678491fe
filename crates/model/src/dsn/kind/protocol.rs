//! The wire protocols that looptax speaks, one for each family of servers.
//!
//! Data only. A protocol's bytes are in `wire`.

use std::fmt;

use super::{Kind, Protocol};

impl Protocol {
    /// The kind that is meant where nothing but the protocol is known.
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

    /// The word for it: `mysql`.
    pub const fn name(self) -> &'static str {
        self.kind().name()
    }

    /// Its name as people write it: `MySQL`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Fastcgi => "FastCGI",
            _ => self.kind().facts().title,
        }
    }

    /// The port that goes without saying; the echo server has none.
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
