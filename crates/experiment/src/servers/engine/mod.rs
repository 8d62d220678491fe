//! The differences between the kinds of server: how the data folder is prepared, and with which settings the server is
//! launched. Each family of servers has one file with its recipe.
//!
//! This folder does not start any program: `server` runs the programs that these files name.

mod echo;
mod ferretdb;
mod http;
mod memcached;
mod mysql;
mod pgbouncer;
mod pgpool;
pub(crate) mod php_fpm;
mod postgres;
mod recipe;
mod redis;

use looptax_model::dsn::Kind;

pub(crate) use recipe::{Behind, Engine, Launch, Pooling, Ports, Site};

/// Returns the recipe of a kind; `None` for a kind that looptax cannot start.
pub(crate) fn of(kind: Kind) -> Option<&'static Engine> {
    Some(match kind {
        Kind::Mariadb | Kind::Mysql => &mysql::ENGINE,
        Kind::Postgres => &postgres::ENGINE,
        Kind::Pgbouncer => &pgbouncer::ENGINE,
        Kind::Pgpool => &pgpool::ENGINE,
        Kind::Redis | Kind::Valkey => &redis::ENGINE,
        Kind::Memcached => &memcached::ENGINE,
        Kind::Ferretdb => &ferretdb::ENGINE,
        Kind::PhpFpm => &php_fpm::ENGINE,
        Kind::Http => &http::ENGINE,
        Kind::Echo => &echo::ENGINE,
        _ => return None,
    })
}

/// Returns the facts that differ between poolers; `None` for a kind that is not a pooler, or that looptax cannot start.
pub(crate) fn pooling(kind: Kind) -> Option<&'static Pooling> {
    of(kind)?.pooling.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_that_can_be_started_has_a_recipe() {
        for kind in Kind::ALL {
            let is_startable = kind.facts().private.is_some();
            assert_eq!(of(kind).is_some(), is_startable, "{kind}");
            assert_eq!(pooling(kind).is_some(), is_startable && kind.is_pooler());
        }
    }
}
