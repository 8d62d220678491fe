//! Gathers facts about a socket that a client does not find: whether looptax sees the socket, which process listens at
//! the socket's name, and which other sockets are in the socket's folder.
//!
//! Inspects folders and the kernel's list of sockets; connects to nothing. Called if the path to a socket cannot be
//! followed to its end.

use std::path::Path;

use looptax_advise::check::{Absence, Listener};
use looptax_host::discover::listened_paths;
use looptax_host::read;

use super::client::Client;

/// The maximum number of names of other sockets that are shown; a folder may have hundreds.
const MOST_NAMES: usize = 3;

/// Gathers the facts; `missing` is the first part of the path that the client does not see.
pub(super) fn look(socket: &Path, missing: &str, client: &Client) -> Absence {
    let all = listened_paths();
    let listener = match all.on(socket) {
        Some([first, ..]) => Listener::Process(format!("{}, pid {}", first.program_name(), first.pid)),
        Some([]) => Listener::Process("a process of another user".to_owned()),
        None if all.is_complete => Listener::Nobody,
        None => Listener::NobodySeen,
    };
    Absence {
        missing: missing.to_owned(),
        is_there_for_us: read::is_socket(socket),
        listener,
        others: others_in(socket),
        is_us: client.pid.is_none() && client.rights.is_none(),
    }
}

fn others_in(socket: &Path) -> Vec<String> {
    let Some(folder) = socket.parent() else {
        return Vec::new();
    };
    let mut paths = read::list(folder).unwrap_or_default();
    paths.retain(|it| it != socket && read::is_socket(it));
    paths.sort();
    let names = paths.iter().filter_map(|it| it.file_name());
    names.take(MOST_NAMES).map(|it| it.to_string_lossy().into_owned()).collect()
}
