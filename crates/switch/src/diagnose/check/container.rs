//! What to say of a server that is a container's: a Compose file gives it its name, which means nothing
//! outside of the containers.
//!
//! Reads such files, up to a bound. Called by `sources` and `answer`.

use std::path::Path;

use looptax_advise::app;
use looptax_model::dsn::{Address, Protocol};
use looptax_model::record::{Outcome, Point, PointCode, Topic};

use super::bounded_read::Files;

/// What Compose looks for in a folder.
pub(super) const COMPOSE_FILES: [&str; 4] =
    ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"];

#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: String,
    /// The name of the file that gives it.
    pub(super) file: String,
}

/// The services of a file and of the Compose files beside it; what cannot be read has none.
pub(super) fn services(path: &Path, neighbours: &[String], files: Files<'_>) -> Vec<Service> {
    let own = path.file_name().map(|name| name.to_string_lossy());
    let compose = COMPOSE_FILES.into_iter().filter(|it| neighbours.iter().any(|name| name == it));
    let mut names: Vec<&str> = own.iter().map(|it| &**it).chain(compose).collect();
    names.dedup();
    let of_file = |name: &str| {
        let path = path.with_file_name(name);
        let bytes = files.read(&path).ok();
        let found = bytes.map(|bytes| app::services(&bytes));
        let file = name.to_owned();
        let service = move |name| Service { name, file: file.clone() };
        found.unwrap_or_default().into_iter().map(service)
    };
    names.into_iter().flat_map(of_file).collect()
}

/// The point about a host that is one of these services; `None` for any other.
pub(super) fn point(address: &Address, services: &[Service]) -> Option<Point> {
    let host = address.host.as_deref()?;
    let service = services.iter().find(|it| it.name == host)?;
    let volume = format!("{host}-socket");
    let folder = folder(address.protocol);
    let turned_on = turned_on(address.protocol).map_or_else(String::new, |how| format!(" {how},"));
    Some(Point::new(Topic::Server, PointCode::ServerInContainer, Outcome::Fail, format!(
            "`{host}` is the name of a container: {} has a service of that name, and nothing outside of its containers \
             knows it",
            service.file
        ), format!("read the services of {}", service.file)).with_next(format!(
            "share the folder of the server's socket: give `{host}` and the application the same named volume there \
             (volumes: ['{volume}:{folder}'], never the socket file itself),{turned_on} and name the socket in the \
             application; then check it with --socket PATH and the container's address"
        )))
}

/// Where the usual images have their socket, or may have one.
pub(super) fn folder(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mysql => "/var/run/mysqld",
        Protocol::Postgres => "/var/run/postgresql",
        Protocol::Redis => "/run/redis",
        Protocol::Memcached => "/run/memcached",
        Protocol::Fastcgi => "/run/php",
        Protocol::Mongodb => "/tmp",
        Protocol::Http | Protocol::Echo => "/run",
    }
}

/// What a server needs that has no socket of its own accord.
fn turned_on(protocol: Protocol) -> Option<&'static str> {
    match protocol {
        Protocol::Mysql | Protocol::Postgres | Protocol::Mongodb | Protocol::Http | Protocol::Echo => None,
        Protocol::Fastcgi => Some("set `listen` of its pool to a path in a folder that both share"),
        Protocol::Redis => {
            Some("start the server with --unixsocket /run/redis/redis.sock --unixsocketperm 770 and a common group")
        }
        Protocol::Memcached => Some("start the server with -s /run/memcached/memcached.sock, which ends its TCP"),
    }
}
