//! Finds the socket that may belong to the server on a port, and how certain this is.
//!
//! Reads only the kernel's lists, and owners from the file system. A socket that is found here is only a candidate: the
//! code that connects to it has to prove that port and socket lead to the same server. A password must be sent only to
//! the server. Therefore, if the socket's process is not visible, two conditions apply: the socket has the same owner
//! as the port, and no other user can create a socket in its folder.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::read;
use looptax_model::dsn::Protocol;
use rustix::fs::Stat;

use crate::discover::candidates::usual;
use crate::discover::once::{own_sockets, owners};
use crate::discover::owners::Owners;
use crate::discover::servers::{Place, is_file, is_socket};
use crate::discover::sock_diag::{Sockets, UnixName, UnixSocket};

/// A socket that may lead to the same server as a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    pub path: PathBuf,
    pub by: FoundBy,
}

/// How a socket was found; the most certain variant is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundBy {
    /// The process that listens on the port also listens on this socket.
    Process,
    /// The user whose process listens on the port also has a listening socket with a name that servers of this protocol
    /// use.
    User,
    /// The socket is at a path where the servers' packages put it.
    UsualPlace,
}

/// Returns the Unix sockets that may lead to the same server as the address `tcp` of looptax's own network namespace,
/// the most certain one first.
///
/// # Cost
/// A netlink dump, and a `readlink` for each open file that looptax may inspect.
pub fn sockets_beside(protocol: Protocol, tcp: SocketAddr) -> Vec<Beside> {
    let all = own_sockets().unwrap_or_default();
    let mut found = of_listeners(&all, &owners(), protocol, tcp);
    let in_usual_places = usual().filter(|path| protocol.may_name(path, tcp.port()));
    let in_usual_places = in_usual_places.filter(|path| is_out_of_reach(path, None));
    found.extend(in_usual_places.map(|path| Beside { path, by: FoundBy::UsualPlace }));
    found.sort_by_key(|it| it.by);
    let mut seen: Vec<PathBuf> = Vec::new();
    found.retain(|it| {
        let is_new = !seen.contains(&it.path);
        seen.push(it.path.clone());
        is_new
    });
    found
}

fn of_listeners(all: &Sockets, owners: &Owners, protocol: Protocol, tcp: SocketAddr) -> Vec<Beside> {
    let ports = all.tcp.iter().filter(|it| it.remote.is_none());
    let ports: Vec<_> = ports.filter(|it| Place::Tcp(it.local).takes(tcp)).collect();
    let pids: Vec<u32> = { ports.iter() }.flat_map(|it| owners.of_socket(it.inode)).copied().collect();
    let by = |socket: &UnixSocket, path: &Path| {
        let holders = owners.of_socket(socket.inode);
        if holders.iter().any(|pid| pids.contains(pid)) {
            return Some(FoundBy::Process);
        }
        let is_users = ports.iter().any(|port| is_of(path, port.uid, socket));
        // The users are compared only if the socket's process is not visible. A visible process shows to which server
        // the socket belongs.
        (holders.is_empty() && is_users && protocol.may_name(path, tcp.port())).then_some(FoundBy::User)
    };
    let listening = all.unix.iter().filter(|it| it.is_listening);
    let named = listening.filter_map(|socket| match &socket.name {
        Some(UnixName::Path(path)) if path.is_absolute() => Some((socket, path)),
        _ => None,
    });
    let found = named.filter_map(|(socket, path)| Some(Beside { path: path.clone(), by: by(socket, path)? }));
    let mut found: Vec<Beside> = found.collect();
    // The X protocol of MySQL has its own socket, which is listed last.
    found.sort_by_key(|it| it.path.to_string_lossy().contains("mysqlx"));
    found
}

/// Whether this user owns the socket, and no other user's socket can replace it.
fn is_of(path: &Path, uid: u32, socket: &UnixSocket) -> bool {
    let is_its = |found: &Stat| found.st_uid == uid && is_file(found, socket.file);
    let found = read::look_at_link(path).ok().flatten();
    found.is_some_and(|it| is_its(&it)) && is_out_of_reach(path, Some(uid))
}

/// Whether root or this user owns the folder, and other users cannot replace a file in it.
fn is_out_of_reach(path: &Path, uid: Option<u32>) -> bool {
    const STICKY: u32 = 0o1000;
    const OTHERS_WRITE: u32 = 0o002;
    let folder = path.parent().and_then(|it| read::look(it).ok().flatten());
    let Some(folder) = folder else {
        return false;
    };
    let socket = read::look_at_link(path).ok().flatten();
    let is_socket = socket.is_some_and(|it| is_socket(&it));
    let is_closed = folder.st_mode & OTHERS_WRITE == 0;
    match uid {
        Some(uid) => {
            let is_trusted = [0, uid].contains(&folder.st_uid);
            is_socket && is_trusted && (is_closed || folder.st_mode & STICKY != 0)
        }
        None => is_socket && is_closed,
    }
}

/// Returns the file of a socket. `path` is this file or the folder of the socket; a folder means the only socket in it.
///
/// # Errors
/// The number of sockets in the folder, if it is not 1.
pub fn socket_named(path: &Path, protocol: Protocol, port: u16) -> Result<PathBuf, usize> {
    if !read::is_folder(path) {
        return Ok(path.to_owned());
    }
    if protocol == Protocol::Postgres {
        return Ok(path.join(format!(".s.PGSQL.{port}")));
    }
    let mut sockets = read::list(path).unwrap_or_default();
    sockets.retain(|it| matches!(read::look_at_link(it), Ok(Some(found)) if is_socket(&found)));
    if sockets.len() > 1 {
        sockets.retain(|it| protocol.may_name(it, port));
    }
    match (sockets.pop(), sockets.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => Err(0),
        (Some(_), n) => Err(n + 1),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn r20_the_socket_of_the_process_on_the_port_is_found_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let _unix = UnixListener::bind(&path).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = sockets_beside(Protocol::Mysql, tcp.local_addr().unwrap());
        let expected = Beside { path, by: FoundBy::Process };
        assert!(found.contains(&expected), "{found:?}");
        assert_eq!(found[0].by, FoundBy::Process);
    }

    #[test]
    fn r20_only_the_owners_sockets_count_where_no_process_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".s.PGSQL.7");
        let _unix = UnixListener::bind(&path).unwrap();
        let all = own_sockets().unwrap();
        let socket = { all.unix.iter() }.find(|it| it.name == Some(UnixName::Path(path.clone()))).unwrap();
        let uid = rustix::process::geteuid().as_raw();
        assert!(is_of(&path, uid, socket));
        assert!(!is_of(&path, uid + 1, socket));
        assert!(Protocol::Postgres.may_name(&path, 7));
        assert!(!Protocol::Postgres.may_name(&path, 8));
        assert!(!Protocol::Redis.may_name(&path, 7));
    }

    #[test]
    fn r20_a_folder_means_the_socket_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let named = |protocol| socket_named(folder.path(), protocol, 7);
        let path = |name: &str| folder.path().join(name);
        assert_eq!(named(Protocol::Mysql), Err(0));
        assert_eq!(named(Protocol::Postgres), Ok(path(".s.PGSQL.7")));
        let _one = UnixListener::bind(path("my.sock")).unwrap();
        assert_eq!(named(Protocol::Mysql), Ok(path("my.sock")));
        let _two = UnixListener::bind(path("mysqld.sock")).unwrap();
        assert_eq!(named(Protocol::Mysql), Ok(path("mysqld.sock")));
        let _three = UnixListener::bind(path("mysql2.sock")).unwrap();
        assert_eq!(named(Protocol::Mysql), Err(2));
        assert_eq!(socket_named(&path("x"), Protocol::Mysql, 7), Ok(path("x")));
    }
}
