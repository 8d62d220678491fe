//! The echo server: looptax itself, started with its hidden subcommand. It has no files, no account and no settings.

use std::net::SocketAddr;

use super::recipe::{Engine, Launch, Site};
use crate::servers::ServerError;
use crate::servers::echo::{MOST_THREADS, ONE_THREAD};
use crate::servers::spawn::Program;

pub(super) const ENGINE: Engine = Engine::bare(|site, _, ports| launch(site, ports.plain));

pub(super) fn launch(site: &Site<'_>, tcp: SocketAddr) -> Result<Launch, ServerError> {
    let socket = site.scratch.socket_path("s.sock")?;
    let words = ["internal", "echo-server", "--socket", &socket.display().to_string(), "--tcp", &tcp.to_string()];
    let mut args = words.map(str::to_owned).to_vec();
    for address in &site.listening.addresses {
        let also = SocketAddr::new(*address, tcp.port());
        args.extend(["--tcp".to_owned(), also.to_string()]);
    }
    let abstract_name = site.abstract_name();
    if let Some(name) = &abstract_name {
        args.extend(["--abstract".to_owned(), name.clone()]);
    }
    let mut settings = Vec::new();
    if site.n_connections > MOST_THREADS {
        args.push("--one-thread".to_owned());
        let (name, value) = ONE_THREAD;
        settings.push((name.to_owned(), value.to_owned()));
    }
    let program = Program::new(site.binary.clone(), args);
    Ok(Launch {
        program,
        socket: Some(socket),
        tcp: Some(tcp),
        tls: None,
        abstract_name: abstract_name.map(String::into_bytes),
        settings,
    })
}
