//! `FerretDB` on `SQLite`: `MongoDB`'s protocol from one program, with one account.
//!
//! Its authentication by SCRAM is behind a switch that it calls experimental: without it it takes every password. The
//! first account's password comes in its environment, since arguments are everybody's to read. It listens on one
//! address beside its socket. Tested live with 1.24.2.

use std::net::SocketAddr;

use super::recipe::{Engine, Launch, Site, owned};
use crate::servers::ServerError;
use crate::servers::spawn::Program;

/// The variable that its option `--setup-password` may come by.
const PASSWORD: &str = "FERRETDB_SETUP_PASSWORD";
/// The folder with a file for each database.
const DATA: &str = "data";

pub(super) const ENGINE: Engine = Engine { prepare, ..Engine::database(|site, _, ports| launch(site, ports.plain)) };

/// Makes the folder; nothing has to be run.
fn prepare(site: &Site<'_>) -> Result<Vec<Program>, ServerError> {
    site.scratch.create_folder(DATA)?;
    Ok(Vec::new())
}

/// Its account and the database are made on the way.
fn launch(site: &Site<'_>, tcp: SocketAddr) -> Result<Launch, ServerError> {
    let socket = site.scratch.socket_path("s.sock")?;
    let settings = settings(site);
    let told = settings.iter().map(|(name, value)| format!("{name}={value}"));
    let mut args: Vec<String> = told.collect();
    args.push(format!("--listen-addr={tcp}"));
    args.push(format!("--listen-unix={}", socket.display()));
    Ok(Launch {
        program: Program {
            path: site.binary.clone(),
            args,
            input: String::new(),
            secret: Some((PASSWORD, site.login.password.clone())),
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
        // Nothing about us is kept or sent, and it listens only to us.
        ("--state-dir", "-"),
        ("--telemetry", "disable"),
        ("--debug-addr", "-"),
        // No line for each command in the measured path.
        ("--log-level", "WARN"),
        ("--test-enable-new-auth", "true"),
        ("--setup-database", place),
        ("--setup-username", &site.login.user),
    ])
}
