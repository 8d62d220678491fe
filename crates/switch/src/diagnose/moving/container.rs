//! Finds the socket of a server in a container for a port that the container publishes.
//!
//! The socket counts only if its folder is visible to looptax too, and if the file in that folder is the same file on
//! which the server listens. In all other cases the port stays on TCP.

use looptax_host::discover::{Endpoint, NamespaceId, Place, Published, Server, SocketFile};
use looptax_redirect::SocketName;

use super::candidate::Candidate;
use super::pairs::{Socket, loopback, short_name, socket_for, usable};
use crate::diagnose::path_here::path_here;

/// Returns the published port with the server's socket; `None` for a server without a socket.
pub(super) fn published_candidate(
    published: &Published,
    server: &Server,
    network: Option<NamespaceId>,
) -> Option<Candidate> {
    let port = published.endpoints.iter().find_map(Endpoint::port)?;
    let near = published.endpoints.iter();
    let near = near.filter(|it| network.is_none_or(|own| own == it.network));
    let addresses = near.filter_map(Endpoint::tcp).filter(|it| it.port() == port);
    let from = loopback(addresses, port);
    let sockets = sockets(server);
    let first = sockets.first()?;
    if from.is_empty() {
        return None;
    }
    let mut ports: Vec<u16> = server.seen_endpoints().filter_map(Endpoint::port).collect();
    ports.sort_unstable();
    ports.dedup();
    let found = socket_for(published.server_port, &ports, &sockets);
    let socket = found.unwrap_or(first);
    let several = "the server listens on several ports and sockets; pass the port and the socket that belong \
        together with --map";
    let stays = match found {
        Some(socket) => socket.objection.clone(),
        None => Some(several.to_owned()),
    };
    let name = format!("{} through {}", server.name(), published.proxy.program_name());
    Some(Candidate {
        server: Some((name, server.process.pid)),
        owner: Some(socket.owner(server)),
        stays,
        ..Candidate::new(from, socket.name.clone())
    })
}

/// Returns the server's sockets that have a path; an abstract socket is valid only in the container's own network
/// namespace.
fn sockets(server: &Server) -> Vec<Socket> {
    let places = server.seen_endpoints().filter_map(|it| match &it.place {
        Place::Path { path, file } => Some((path, *file)),
        Place::Tcp(_) | Place::Abstract(_) => None,
    });
    places
        .map(|(path, file)| {
            let is_there = matches!(file, SocketFile::Present { .. });
            let here = path_here(&server.process, path).filter(|_| is_there);
            let hidden = || {
                let shown = path.display();
                format!("the container's socket {shown} is not in a folder that looptax shares with the container")
            };
            Socket {
                objection: here.as_deref().map_or_else(|| Some(hidden()), usable),
                bound: SocketName::Path(path.clone()),
                name: SocketName::Path(here.unwrap_or_else(|| path.clone())),
                short: short_name(path),
            }
        })
        .collect()
}
