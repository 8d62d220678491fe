//! The usual paths of sockets. They are used to find sockets on which no process listens any more.
//!
//! Contains data, and inspects the file system once for each path.

use std::path::{Path, PathBuf};

use crate::read;

use crate::discover::namespaces::Networks;
use crate::discover::servers::{is_file, is_socket};
use crate::discover::sock_diag::UnixName;

/// The usual paths of sockets.
///
/// # Source
/// The servers' defaults on Debian, Fedora, openSUSE, XAMPP, GitLab and in the official images; the list of paths that
/// Rails tries for MySQL.
const PATHS: [&str; 14] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/run/mysql/mysql.sock",
    "/tmp/mysql.sock",
    "/var/tmp/mysql.sock",
    "/opt/lampp/var/mysql/mysql.sock",
    "/run/redis/redis-server.sock",
    "/run/redis/redis.sock",
    "/run/valkey/valkey.sock",
    "/tmp/redis.sock",
    "/var/opt/gitlab/redis/redis.socket",
    "/run/memcached/memcached.sock",
    "/tmp/memcached.sock",
    "/tmp/mongodb-27017.sock",
];
/// The folders in which PostgreSQL and `PgBouncer` put their sockets, one socket for each port.
const POSTGRES_FOLDERS: [&str; 3] = ["/run/postgresql", "/tmp", "/var/opt/gitlab/postgresql"];
const POSTGRES_PREFIX: &str = ".s.PGSQL.";

/// Returns sockets at usual paths on which no process listens, for example after a crash.
pub(crate) fn deserted(networks: &Networks) -> Vec<PathBuf> {
    usual().filter(|path| is_deserted(path, networks)).collect()
}

/// Returns the usual paths of sockets, whether the sockets exist or not.
pub(crate) fn usual() -> impl Iterator<Item = PathBuf> {
    let folders = POSTGRES_FOLDERS.iter();
    let of_postgres = folders.flat_map(|folder| postgres_in(folder));
    PATHS.iter().map(PathBuf::from).chain(of_postgres)
}

fn postgres_in(folder: &str) -> Vec<PathBuf> {
    let mut paths = read::list(Path::new(folder)).unwrap_or_default();
    paths.retain(|path| {
        let name = path.file_name().and_then(|it| it.to_str());
        let port = name.and_then(|it| it.strip_prefix(POSTGRES_PREFIX));
        port.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
    });
    paths
}

/// Whether there is a socket at this path, but no process in any namespace listens on the socket.
fn is_deserted(path: &Path, networks: &Networks) -> bool {
    let Ok(Some(found)) = read::look_at_link(path) else {
        return false;
    };
    let is_listened_on = || {
        let mut listening =
            networks.sockets.values().flat_map(|sockets| &sockets.unix).filter(|socket| socket.is_listening);
        listening.any(|socket| match (&socket.name, socket.file) {
            (_, Some(file)) => is_file(&found, Some(file)),
            (Some(UnixName::Path(bound)), None) => bound == path,
            _ => false,
        })
    };
    is_socket(&found) && !is_listened_on()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::discover::namespaces::networks;

    #[test]
    fn a_socket_is_deserted_when_its_listener_is_gone() {
        let folder = std::env::temp_dir().join(format!("looptax-deserted-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(".s.PGSQL.5999");
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(postgres_in(folder.to_str().unwrap()), std::slice::from_ref(&path));
        let is_alive = !is_deserted(&path, &networks(&[], None));
        drop(listener);
        let is_left = is_deserted(&path, &networks(&[], None));
        fs::remove_dir_all(&folder).unwrap();
        assert!(is_alive && is_left);
    }
}
