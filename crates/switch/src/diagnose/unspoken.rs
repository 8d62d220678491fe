//! Finds the socket that replaces the address of a server whose protocol looptax does not speak. No login can prove
//! that the socket belongs to this server.
//!
//! Inspects the machine; connects to nothing.

use std::path::Path;

use looptax_advise::Fields;
use looptax_model::dsn::{Address, Kind, Protocol, Unspoken};
use looptax_model::failure::Failure;

use crate::diagnose::socket_of::{self, Near, SocketOf};

const UWSGI: &str = "/run/uwsgi/app.sock";

/// Finds the socket: the socket that the caller passed, the socket in the address, the running server's socket, or the
/// usual one. If looptax speaks the protocol of this kind of server after all, uses `socket_of`.
pub(crate) fn find(address: &Unspoken, given: Option<&Path>, near: Near<'_>) -> Result<SocketOf, Failure> {
    let protocol = address.kind.protocol();
    let place = Address {
        host: address.host.clone(),
        port: address.port,
        socket: address.socket.clone(),
        ..Address::bare(protocol.unwrap_or(Protocol::Echo))
    };
    if protocol.is_some() {
        return socket_of::find(&place, given, near);
    }
    if let Some(path) = given {
        return Ok(socket_at(address.kind, path, "as given"));
    }
    if let Some(path) = &address.socket {
        return Ok(socket_at(address.kind, path, "from the URL"));
    }
    let server = near.listener(&place).filter(|it| it.kind == address.kind);
    if let Some((server, (path, _))) = server.and_then(|it| Some((it, it.socket(place.port)?))) {
        let words = format!("of {}, pid {}", server.name(), server.process.pid);
        return Ok(socket_at(address.kind, path, &words));
    }
    let words = socket_of::unseen(address.host.as_deref(), address.port);
    Ok(SocketOf { is_guess: true, ..socket_at(address.kind, Path::new(UWSGI), &words) })
}

/// Returns the fields for a text's template; `password` is the text that is shown in the password's place.
pub(crate) fn fields(socket: &SocketOf, address: &Unspoken, password: Option<String>) -> Fields {
    Fields {
        user: address.user.clone(),
        password,
        database: address.database.clone(),
        socket: socket.file.clone(),
        folder: socket.folder.clone(),
        port: address.port,
        options: None,
        page: None,
    }
}

fn socket_at(kind: Kind, path: &Path, words: &str) -> SocketOf {
    let folder = path.parent().unwrap_or(path);
    SocketOf {
        words: format!("{kind} over {} ({words})", path.display()),
        file: path.to_string_lossy().into_owned(),
        folder: folder.to_string_lossy().into_owned(),
        is_guess: false,
        is_candidate: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_named_counts_before_the_usual_one() {
        let address = |url: &str| Unspoken::parse(url).unwrap().unwrap();
        let found = |url: &str, given: Option<&str>| {
            let found = find(&address(url), given.map(Path::new), Near::nobody()).unwrap();
            (found.file, found.is_guess)
        };
        let usual = ("/tmp/mongodb-27018.sock".to_owned(), true);
        assert_eq!(found("mongodb://127.0.0.1:27018,b/", None), usual);
        let own = ("/s.sock".to_owned(), false);
        assert_eq!(found("mongodb://%2Fs.sock/?replicaSet=rs", None), own);
        assert_eq!(found("uwsgi://127.0.0.1:3031", Some("/s.sock")), own);
    }
}
