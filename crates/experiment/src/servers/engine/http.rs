//! The HTTP upstream: looptax itself, started with its hidden subcommand. It has no files, no account and no settings.

use std::net::SocketAddr;

use looptax_wire::site;

use super::echo;
use super::recipe::{Engine, Launch, Site};
use crate::servers::ServerError;

pub(super) const ENGINE: Engine =
    Engine { place: |_| Some(format!("/{}", site::WHO)), ..Engine::bare(|site, _, ports| launch(site, ports.plain)) };

/// Launches the server in the same way as the echo server, with a thread for each connection.
fn launch(site: &Site<'_>, tcp: SocketAddr) -> Result<Launch, ServerError> {
    let mut launch = echo::launch(site, tcp)?;
    launch.program.args.push("--http".to_owned());
    Ok(launch)
}
