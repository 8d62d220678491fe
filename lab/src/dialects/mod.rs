//! `cargo lab dialects`: real drivers connect with the texts that `looptax dsn` prints, and the server reports whether
//! each connection uses the socket, the right user and the right database.
//!
//! The drivers are in `clients/dialects/`; `clients/setup.sh` installs them. `--write` keeps the proved dialects in
//! `crates/advise/data/proved.toml`, which looptax reads when it is built.

mod case;
pub(crate) mod dialogue;
pub(crate) mod driver;
mod dsn;
mod judge;
pub(crate) mod program;
mod proved;
mod server;
mod trial;

use std::path::Path;

use anyhow::{Result, bail};
use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;

use crate::workspace;
use driver::Driver;
use server::Server;
use trial::Trial;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Options {
    /// Try only these: names of dialects, or mysql, postgres, redis, memcached, mongodb
    names: Vec<String>,
    /// Keep the proved dialects in crates/advise/data/proved.toml
    #[arg(long)]
    write: bool,
}

/// The servers for each kind of URL; only the installed ones are used.
const SERVERS: &[(&str, &[Kind])] = &[
    ("mysql", &[Kind::Mariadb, Kind::Mysql]),
    ("postgres", &[Kind::Postgres]),
    ("redis", &[Kind::Redis, Kind::Valkey]),
    ("memcached", &[Kind::Memcached]),
    ("mongodb", &[Kind::Ferretdb]),
];

/// Tries the drivers, prints a table, and fails if a driver disagrees with looptax.
pub(crate) fn run(options: &Options) -> Result<()> {
    let drivers = driver::drivers(&options.names)?;
    let looptax = workspace::debug_looptax()?;
    let mut trials = Vec::new();
    let mut objections = Vec::new();
    for (word, kinds) in SERVERS {
        let of_kind: Vec<&Driver> = drivers.iter().filter(|it| it.kind == *word).collect();
        if of_kind.is_empty() {
            continue;
        }
        let installed: Vec<Kind> = kinds.iter().copied().filter(|it| find_binary(*it).is_some()).collect();
        if installed.is_empty() {
            bail!("no server for {word} is installed");
        }
        for kind in installed {
            for trial in try_all(&looptax, kind, &of_kind)? {
                match trial {
                    Ok(trial) => trials.push(trial),
                    Err(error) => objections.push(format!("{error:#}")),
                }
            }
        }
    }
    println!("{}", proved::table(&trials));
    if options.write {
        proved::keep(&trials)?;
    }
    objections.extend(trials.iter().flat_map(Trial::objections));
    if objections.is_empty() {
        return Ok(());
    }
    bail!("{} objections:\n  {}", objections.len(), objections.join("\n  "))
}

/// Tries all drivers. A driver that does not start does not stop the others.
fn try_all(looptax: &Path, kind: Kind, drivers: &[&Driver]) -> Result<Vec<Result<Trial>>> {
    let server = Server::start(looptax, kind)?;
    let printed = trial::Printed::by(looptax, &server)?;
    let mut trials = Vec::new();
    for driver in drivers {
        eprintln!("{} · {}.{}", server.name(), driver.kind, driver.name);
        trials.push(Trial::run(driver, &server, &printed));
    }
    server.stop()?;
    Ok(trials)
}
