//! `cargo lab clients`: how real clients wait for answers, and whether looptax's models agree with them.
//!
//! `trace` runs the loops in the folder `clients/` under strace and keeps the system calls per request in
//! `clients/traces.toml`. Needs the libraries that `clients/setup.sh` installs.

mod agree;
mod client;
mod data;
mod found;
mod model;
mod moved;
mod namespaced_redis;
mod reduce;
mod relay;
mod server;
mod stale;
mod strace;
mod tls;
mod trace;
mod view;

use anyhow::Result;

#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Chore {
    /// System calls per request of real clients, on both arms, as a table
    Trace(trace::Options),
    /// The tax of real clients compared with that of their models, as a table
    Agree(agree::Options),
    /// Whether `looptax find` reports real clients correctly, as a table
    Find(found::Options),
    /// Whether real clients are connected to the socket under `looptax run`, as a table
    Run(moved::Options),
    /// The errors that real clients get after the server closed their connection, also under `looptax run`, as a table
    Stale(stale::Options),
    /// Which programs of MySQL and MariaDB encrypt over TCP and over the socket, and whether `check` lists them, as a
    /// table
    Tls(tls::Options),
}

pub(crate) fn run(chore: &Chore) -> Result<()> {
    match chore {
        Chore::Trace(options) => trace::run(options),
        Chore::Agree(options) => agree::run(options),
        Chore::Find(options) => found::run(options),
        Chore::Run(options) => moved::run(options),
        Chore::Stale(options) => stale::run(options),
        Chore::Tls(options) => tls::run(options),
    }
}
