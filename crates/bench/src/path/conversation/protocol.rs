//! A logged-in connection of one of the protocols.

use looptax_wire::{echo, fastcgi, memcached, mongodb, mysql, postgres, redis, upstream};

use crate::path::Link;

/// The protocol-specific part of a [`crate::path::Conversation`].
pub(crate) enum ProtocolConnection {
    Mysql(mysql::Connection<Link>),
    Postgres(postgres::Connection<Link>),
    Redis(redis::Connection<Link>),
    Memcached(memcached::Connection<Link>),
    Mongodb(mongodb::Connection<Link>),
    Fastcgi(fastcgi::Connection<Link>),
    Http(upstream::Connection<Link>),
    Echo(echo::Connection<Link>),
}
