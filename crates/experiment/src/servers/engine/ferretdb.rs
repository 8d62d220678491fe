//! `FerretDB` on `SQLite`: one program that speaks `MongoDB`'s protocol, with one account.
//!
//! Login by SCRAM needs an option that `FerretDB` calls experimental; without this option `FerretDB` accepts every
//! password. The password of the first account is passed in the environment, because every user can read a process's
//! arguments. Besides its socket, `FerretDB` listens on only one address. Tested live with 1.24.2.

use std::net::SocketAddr;

use super::recipe::{Engine, Launch, Site, owned};
use crate::servers::ServerError;
use crate::servers::spawn::Program;

/// The environment variable that replaces the option `--setup-password`.
const PASSWORD: &str = "FERRETDB_SETUP_PASSWORD";
/// The folder with a file for each database.
const DATA: &str = "data";

pub(super) const ENGINE: Engine = Engine { prepare, ..Engine::database(|site, _, ports| launch(site, ports.plain)) };

/// Makes the data folder; no program has to be run before the server.
fn prepare(site: &Site<'_>) -> Result<Vec<Program>, ServerError> {
    site.scratch.create_folder(DATA)?;
    Ok(Vec::new())
}

/// Launches the server; at its start it also makes the account and the database.
fn launch(site: &Site<'_>, tcp: SocketAddr) -> Result<Launch, ServerError> {
    let socket = site.scratch.socket_path("s.sock")?;
    let settings = settings(site);
    let told = settings.iter().map(|(name, value)| format!("{name}={value}"));
    let mut args: Vec<String> = told.collect();
    args.push(format!("--listen-addr={tcp}"));
    args.push(format!("--listen-unix={}", socket.display()));
    Ok(Launch {
        program: Program {
            secret: Some((PASSWORD, site.login.password.clone())),
            ..Program::new(site.binary.clone(), args)
        },
        socket: Some(socket),
        tcp: Some(tcp),
        tls: None,
        abstract_name: None,
        settings,
    })
}

fn settings(site: &Site<'_>) -> Vec<(String, String)> {
    let place = site.login.database.as_deref().unwrap_or_default();
    owned(&[
        ("--handler", "sqlite"),
        ("--sqlite-url", &format!("file:{}/", site.path_text(DATA))),
        // `FerretDB` gets no state folder, no telemetry and no debug address: it stores and sends no data about its
        // use, and listens only on this machine.
        ("--state-dir", "-"),
        ("--telemetry", "disable"),
        ("--debug-addr", "-"),
        // Without this level, each command of the measured loop would write a log line.
        ("--log-level", "WARN"),
        ("--test-enable-new-auth", "true"),
        ("--setup-database", place),
        ("--setup-username", &site.login.user),
    ])
}
