//! What differs between the kinds of server: how the data folder is prepared and with which settings
//! the server is launched. One file per family, with its recipe.
//!
//! Nothing is started here; `server` runs what these files name.

mod echo;
mod ferretdb;
mod http;
mod memcached;
mod mysql;
pub(crate) mod php_fpm;
mod postgres;
mod recipe;
mod redis;

use looptax_model::dsn::Protocol;

pub(crate) use recipe::{Engine, Launch, Ports, Site};

/// The recipe of a protocol's servers.
pub(crate) fn of(protocol: Protocol) -> &'static Engine {
    match protocol {
        Protocol::Mysql => &mysql::ENGINE,
        Protocol::Postgres => &postgres::ENGINE,
        Protocol::Redis => &redis::ENGINE,
        Protocol::Memcached => &memcached::ENGINE,
        Protocol::Mongodb => &ferretdb::ENGINE,
        Protocol::Fastcgi => &php_fpm::ENGINE,
        Protocol::Http => &http::ENGINE,
        Protocol::Echo => &echo::ENGINE,
    }
}
