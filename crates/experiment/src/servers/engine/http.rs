//! The HTTP upstream: looptax itself, under its hidden subcommand. No files, no account, no settings.

use std::net::SocketAddr;

use super::{Launch, Site, echo};
use crate::servers::ServerError;
use crate::servers::spawn::Program;

/// Nothing has to be prepared.
pub(super) fn prepare(site: &Site<'_>) -> Result<Vec<Program>, ServerError> {
    echo::prepare(site)
}

/// As the echo server, with a thread for each connection.
pub(super) fn launch(site: &Site<'_>, tcp: SocketAddr) -> Result<Launch, ServerError> {
    let mut launch = echo::launch(site, tcp)?;
    launch.program.args.push("--http".to_owned());
    Ok(launch)
}
